# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow 1.15 has recorded in distribution_recorded.json of clusters in TF_CONFIG and of distribution strategies.

With the real one: python distribution_cases.py > distribution_recorded.json
Each case is a function of tensorflow that gives numbers, texts, lists and dictionaries of them.
"""
import json
import os
import sys

PS, WORKERS, CHIEF = ["p0:1", "p1:1"], ["w0:1", "w1:1", "w2:1"], ["c:1"]
CLUSTER = {"chief": CHIEF, "worker": WORKERS, "ps": PS}


def task(kind, index, cluster=None, **more):
    return dict({"cluster": CLUSTER if cluster is None else cluster, "task": {"type": kind, "index": index}}, **more)


CONFIGS = {
    "none": {}, "environment": {"environment": "google"}, "no task": {"cluster": CLUSTER}, "chief": task("chief", 0),
    "worker 0": task("worker", 0), "worker 2": task("worker", 2), "ps 1": task("ps", 1), "evaluator": task("evaluator", 0),
    "evaluator 2": task("evaluator", 2), "master": task("master", 0, {"master": CHIEF, "worker": WORKERS, "ps": PS}),
    "worker of a master": task("worker", 1, {"master": CHIEF, "worker": WORKERS, "ps": PS}),
    "chief and master": task("chief", 0, {"master": CHIEF, "chief": CHIEF}), "no chief": task("worker", 0, {"worker": WORKERS, "ps": PS}),
    "two chiefs": task("chief", 0, {"chief": CHIEF * 2}), "alone": task("chief", 0, {"chief": CHIEF}),
    "chief out of range": task("chief", 1), "worker out of range": task("worker", 3), "negative": task("worker", -1),
    "unknown job": task("cook", 0), "evaluator in the cluster": task("evaluator", 0, dict(CLUSTER, evaluator=["e:1"])),
    "no index": {"cluster": CLUSTER, "task": {"type": "chief"}}, "no type": {"cluster": CLUSTER, "task": {"index": 0}},
    "text index": task("worker", "1"), "local worker": {"task": {"type": "worker", "index": 0}},
    "local evaluator": {"task": {"type": "evaluator", "index": 0}}, "local ps": {"task": {"type": "ps", "index": 0}},
    "local worker 1": {"task": {"type": "worker", "index": 1}}, "rpc_layer": task("chief", 0, rpc_layer="grpc"),
    "no layer": task("chief", 0, rpc_layer=""), "model_dir": task("chief", 0, model_dir="/here"), "service": task("chief", 0, service={"a": 1}),
    "master of a session": {"session_master": "grpc://x:1", "eval_session_master": "grpc://y:1"},
    "master of a cluster's session": task("chief", 0, session_master="grpc://x:1"), "job without tasks": task("chief", 0, {"chief": CHIEF, "ps": []}),
}
ASKED = ("task_type task_id master evaluation_master is_chief num_ps_replicas num_worker_replicas global_id_in_cluster model_dir service "
         "protocol").split()


def refused(call):
    """[kind of error, text] of a call that does not work; what it gives of one that does."""
    try:
        return call()
    except Exception as e:
        return [type(e).__name__, str(e).split(" in Replica Context")[0]]  # advice follows


def of_config(tf, name):
    """What a RunConfig says of a TF_CONFIG."""
    os.environ["TF_CONFIG"] = json.dumps(CONFIGS[name])
    try:
        config = tf.estimator.RunConfig()
    finally:
        del os.environ["TF_CONFIG"]
    found = {asked: getattr(config, asked) for asked in ASKED}
    found["cluster_spec"] = {job: tasks or [] for job, tasks in config.cluster_spec.as_dict().items()}
    found["filters"] = list(config.session_config.device_filters) if config.session_config else None
    return found


def run_configs(tf):
    return {name: refused(lambda: of_config(tf, name)) for name in sorted(CONFIGS)}


def config_of_a_worker(tf):
    os.environ["TF_CONFIG"] = json.dumps(task("worker", 1))
    try:
        return tf.estimator.RunConfig()
    finally:
        del os.environ["TF_CONFIG"]


def devices(tf):
    """Where an Estimator's variables and operations are in a cluster: columns, a network in parts, a global step, slots."""
    config, found = config_of_a_worker(tf), {}

    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [4, 2], partitioner=tf.fixed_size_partitioner(3))
        b = tf.get_variable("b", [2], use_resource=True)
        loss = tf.reduce_sum(tf.matmul(features, w) + b)
        with tf.device("/job:ps/task:1"):
            given = tf.identity(loss, "given")
        tf.train.AdagradOptimizer(0.1).minimize(given, tf.train.get_global_step())
        found.update({v.op.name: v.device for v in tf.global_variables() if "Adagrad" not in v.op.name})
        found.update({t.op.name: t.device for t in (given, loss)})
        raise KeyError("stop here")

    estimator = tf.estimator.Estimator(model_fn, config=config)
    try:
        estimator.train(lambda: (tf.ones([3, 4]), tf.ones([3])), steps=1)
    except KeyError:
        pass
    return found


def ready_made_models(tf):
    """Where ready-made models have their variables in a cluster, and in which parts: a task finds those that another release has made."""
    config, found, columns = config_of_a_worker(tf), {}, tf.feature_column
    job = columns.categorical_column_with_vocabulary_list("job", ["cook", "clerk"])
    wide, deep = [job], [columns.numeric_column("x", [3]), columns.embedding_column(job, 4)]
    parts = tf.fixed_size_partitioner(2)
    models = {"linear": tf.estimator.LinearClassifier(wide, partitioner=parts, config=config),
              "deep": tf.estimator.DNNClassifier([400, 400], deep, config=config),
              "deep in parts": tf.estimator.DNNClassifier([8], deep, input_layer_partitioner=parts, config=config),
              "both": tf.estimator.DNNLinearCombinedClassifier(
                  linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[8], input_layer_partitioner=parts, config=config)}

    def inputs():
        return tf.data.Dataset.from_tensors(({"x": [[1.0, 2.0, 3.0]], "job": ["cook"]}, [1]))

    class Look(tf.estimator.SessionRunHook):
        def begin(self):
            self.found = {v.op.name: f"{v.device} {v.shape.as_list()}" for v in tf.global_variables()}
            raise KeyError("stop here")

    for name, model in models.items():
        look = Look()
        try:
            model.train(inputs, hooks=[look], steps=1)
        except KeyError:
            found[name] = look.found
    return found


TWO = ["/cpu:0", "/cpu:1"]
OPTIMIZERS = {"sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1), "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
              "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1), "adam": lambda tf: tf.train.AdamOptimizer(0.1)}
STRATEGIES = {"mirrored": lambda tf: tf.distribute.MirroredStrategy(TWO), "one device": lambda tf: tf.distribute.OneDeviceStrategy("/cpu:1"),
              "central": lambda tf: tf.distribute.experimental.CentralStorageStrategy(TWO, "/cpu:0")}


def session(tf):
    return tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))


def place(thing):
    """Its device in its task."""
    return thing.device.replace("/replica:0/task:0", "")


def numbers(values):
    return [round(float(v), 5) for v in values]


def trained(tf, strategy, optimizer):
    """Losses of some steps over a dataset, names and places of variables, and what a checkpoint has."""
    import tempfile
    rows = [[float(i % 3), float(i % 5) - 2.0] for i in range(16)]
    with strategy.scope():
        opt = OPTIMIZERS[optimizer](tf)
        step = tf.train.get_or_create_global_step()
        dataset = tf.data.Dataset.from_tensor_slices((rows, [[a - 2 * b + 1] for a, b in rows])).repeat().batch(8)
        iterator = strategy.make_dataset_iterator(dataset)

        def one(inputs):
            x, y = inputs
            w = tf.get_variable("w", initializer=[[0.5], [-0.5]])
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), use_resource=True)
            loss = tf.losses.mean_squared_error(y, tf.matmul(x, w) + b)
            with tf.control_dependencies([opt.minimize(loss, step)]):
                return tf.identity(loss)

        each = strategy.experimental_run_v2(one, args=(iterator.get_next(),))
        mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, each)
        start = iterator.initialize()
        saver = tf.train.Saver()
        with session(tf) as sess:
            sess.run([tf.global_variables_initializer(), start])
            losses = numbers(sess.run(mean) for _ in range(5))
            path = saver.save(sess, tempfile.mkdtemp() + "/model")
            before = [sess.run(v).tolist() for v in tf.trainable_variables()]
            sess.run(tf.global_variables_initializer())
            saver.restore(sess, path)
            after = [[sess.run(p).tolist() for p in strategy.experimental_local_results(v)] for v in tf.trainable_variables()]
            steps = int(sess.run(step))
            restored = all(part == value for value, parts in zip(before, after) for part in parts)
            more = numbers(sess.run(mean) for _ in range(2))
        return {"losses": losses, "more": more, "steps": steps, "restored": restored,
                "variables": sorted(v.op.name for v in tf.global_variables()), "trainable": sorted(v.op.name for v in tf.trainable_variables()),
                "checkpoint": sorted([n, list(s)] for n, s in tf.train.list_variables(path)),
                "parts": {v.op.name: [p.op.name for p in strategy.experimental_local_results(v)] for v in tf.trainable_variables()},
                "replicas": strategy.num_replicas_in_sync}


def training(tf):
    found = {}
    for kind, optimizers in (("mirrored", ["sgd", "momentum", "adagrad", "adam"]), ("central", ["adagrad", "adam"]), ("one device", ["momentum"])):
        for optimizer in optimizers:
            with tf.Graph().as_default():
                found[kind + " " + optimizer] = trained(tf, STRATEGIES[kind](tf), optimizer)
    return found


def contexts(tf):
    """What is said of the strategy and replica where code runs."""
    found, strategy = {}, tf.distribute.MirroredStrategy(TWO)
    ask = lambda: [tf.distribute.has_strategy(), tf.distribute.in_cross_replica_context(),  # noqa: E731
                   tf.distribute.get_replica_context() is None, tf.distribute.get_strategy().num_replicas_in_sync]
    found["outside"] = ask()
    seen = []

    def replica():
        context = tf.distribute.get_replica_context()
        seen.append(ask() + [context.num_replicas_in_sync, context.strategy is strategy, tf.get_default_graph().get_name_scope() or ""])
        value = tf.constant(1.0 + len(seen), name="value")
        seen.append([value.op.name, place(value)])
        merged = context.merge_call(lambda s, v: (seen.append([s is strategy] + ask()), s.reduce(tf.distribute.ReduceOp.SUM, v))[1], (value,))
        total = context.all_reduce(tf.distribute.ReduceOp.MEAN, value)
        return {"merged": merged, "total": total, "id": tf.identity(context.replica_id_in_sync_group)}

    with strategy.scope():
        found["scope"] = ask()
        each = strategy.experimental_run_v2(replica)
        local = [strategy.experimental_local_results(each[k]) for k in ("merged", "total", "id")]
        sums = [strategy.reduce(op, each["id"]) for op in (tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN)]
    with session(tf) as sess:
        found["local"], found["sums"] = [[float(v) for v in sess.run(part)] for part in local], [float(v) for v in sess.run(sums)]
    found["seen"] = seen
    return found


def variables(tf):
    """Variables of modes, assigned in and out of replicas."""
    found, strategy = {}, tf.distribute.MirroredStrategy(TWO)
    with strategy.scope():
        for name, aggregation in (("sum", tf.VariableAggregation.SUM), ("mean", tf.VariableAggregation.MEAN),
                                  ("first", tf.VariableAggregation.ONLY_FIRST_REPLICA), ("none", tf.VariableAggregation.NONE)):
            v = tf.get_variable(name, initializer=1.0, aggregation=aggregation, use_resource=True)

            def change(v=v):
                context = tf.distribute.get_replica_context()
                return v.assign_add(tf.cast(context.replica_id_in_sync_group, tf.float32) + 2.0)

            def run(change=change, v=v):
                each = strategy.experimental_local_results(strategy.experimental_run_v2(change))
                with session(tf) as sess:
                    sess.run(tf.global_variables_initializer())
                    sess.run(each)
                    return [float(sess.run(p)) for p in strategy.experimental_local_results(v)]
            found[name] = refused(run)
        local = tf.get_variable("local", initializer=1.0, synchronization=tf.VariableSynchronization.ON_READ,
                                aggregation=tf.VariableAggregation.SUM, use_resource=True)

        def more():
            return local.assign_add(tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 2.0)
        each = strategy.experimental_local_results(strategy.experimental_run_v2(more))
        with session(tf) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(each)
            found["local"] = [float(sess.run(p)) for p in strategy.experimental_local_results(local)] + [float(sess.run(local.read_value()))]
        v = tf.get_variable("across", initializer=1.0)
        changed = v.assign(3.0)
        with session(tf) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(changed)
            found["across"] = [float(sess.run(p)) for p in strategy.experimental_local_results(v)]
        found["places"] = {v.op.name: [[p.op.name, place(p)] for p in strategy.experimental_local_results(v)] for v in tf.global_variables()}
        found["local variables"] = sorted(v.op.name for v in tf.local_variables())
    return found


def with_an_estimator(tf):
    """Variables of Estimators that train over replicas: batches are of one replica each, the loss is merged by its reduction."""
    found = {}
    rows = [[float(i % 3), float(i % 5) - 2.0] for i in range(16)]

    def model_of(reduction):
        def model_fn(features, labels, mode):
            predicted = tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer(), name="out")
            loss = tf.losses.mean_squared_error(labels, predicted, reduction=reduction)
            metrics = {"mae": tf.metrics.mean_absolute_error(labels, predicted)}
            train = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)
        return model_fn

    def inputs():
        return tf.data.Dataset.from_tensor_slices((rows, [[a - 2 * b + 1] for a, b in rows])).repeat(20).batch(4)

    for name, reduction in (("mean", tf.losses.Reduction.SUM_OVER_BATCH_SIZE), ("sum", tf.losses.Reduction.SUM)):
        config = tf.estimator.RunConfig(train_distribute=tf.distribute.MirroredStrategy(TWO), save_summary_steps=None, log_step_count_steps=None,
                                        session_config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))
        estimator = tf.estimator.Estimator(model_of(reduction), config=config)
        estimator.train(inputs, steps=5)
        estimator.train(inputs, max_steps=8)
        measured = estimator.evaluate(inputs, steps=2)
        found[name] = {"variables": {n: [round(float(x), 5) for x in estimator.get_variable_value(n).ravel()]
                                     for n in estimator.get_variable_names()},
                       "measured": {k: round(float(v), 4) for k, v in measured.items()}}
    return found


def measuring(tf):
    """Metrics of Estimators that measure over replicas: every replica counts its own batches, what is told is of all."""
    found, rows = {}, [[float(i % 3), float(i % 5) - 2.0] for i in range(16)]

    def model_fn(features, labels, mode):
        predicted = tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer(), name="out")
        loss = tf.losses.mean_squared_error(labels, predicted)
        above, given = predicted > 0.5, labels > 0.0
        metrics = {"mae": tf.metrics.mean_absolute_error(labels, predicted), "rmse": tf.metrics.root_mean_squared_error(labels, predicted),
                   "accuracy": tf.metrics.accuracy(given, above), "precision": tf.metrics.precision(given, above),
                   "recall": tf.metrics.recall(given, above), "auc": tf.metrics.auc(given, tf.sigmoid(predicted)),
                   "mean": tf.metrics.mean(predicted), "tensor": tf.metrics.mean_tensor(tf.reduce_sum(predicted, 0)),
                   "classes": tf.metrics.mean_per_class_accuracy(given, above, 2), "iou": tf.metrics.mean_iou(given, above, 2)}
        train = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)

    def inputs(batches):
        return lambda: tf.data.Dataset.from_tensor_slices((rows, [[a - 2 * b + 1] for a, b in rows])).repeat(20).batch(4).take(batches)

    for name in ("none", *STRATEGIES):
        config = tf.estimator.RunConfig(eval_distribute=STRATEGIES[name](tf) if name in STRATEGIES else None,
                                        session_config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))
        estimator = tf.estimator.Estimator(model_fn, config=config)
        estimator.train(inputs(4), steps=2)
        for batches, steps in ((4, None), (5, 1)):
            measured = estimator.evaluate(inputs(batches), steps=steps)
            found[f"{name} {batches} {steps}"] = {k: numbers(v.ravel()) if getattr(v, "ndim", 0) else round(float(v), 4) for k, v in measured.items()}
    return found


CASES = {f.__name__: f for f in (run_configs, devices, ready_made_models, training, contexts, variables, with_an_estimator, measuring)}


def recorded():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "distribution_recorded.json"), encoding="utf-8") as f:
        return json.load(f)


if __name__ == "__main__":
    import tensorflow as real
    real.compat.v1.logging.set_verbosity(real.compat.v1.logging.FATAL)
    results = {"provenance": "tensorflow %s, python distribution_cases.py" % real.__version__}
    for case_name, case in CASES.items():
        with real.Graph().as_default():
            results[case_name] = case(real)
    json.dump(results, sys.stdout, indent=1, sort_keys=True)
    print()
