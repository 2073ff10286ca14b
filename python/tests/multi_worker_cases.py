# SPDX-License-Identifier: Apache-2.0
"""Programs of workers that train in step, one process each, and what TensorFlow 1.15 has recorded of them in multi_worker_recorded.json.

With the real one: python multi_worker_cases.py > multi_worker_recorded.json
As a worker:       TF_CONFIG=... python multi_worker_cases.py CASE [FOLDER]
Each case is a function of tensorflow, the worker's server and a folder that gives numbers, texts, lists and dictionaries of them.
"""
import json
import os
import socket
import subprocess
import sys

ROWS = [[float(i % 3), float(i % 5) - 2.0] for i in range(24)]
LABELS = [[a - 2 * b + 1] for a, b in ROWS]
OPTIMIZERS = {"sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1), "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
              "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1), "adam": lambda tf: tf.train.AdamOptimizer(0.1)}


def task():
    """(number, count) of this worker."""
    told = json.loads(os.environ.get("TF_CONFIG") or "{}")
    return (told["task"]["index"], len(told["cluster"]["worker"])) if told else (0, 1)


def numbers(values):
    return [float(v) for v in values]


def strategy_of(tf):
    return tf.distribute.experimental.MultiWorkerMirroredStrategy()


def config_of(tf, strategy):
    return strategy.update_config_proto(tf.compat.v1.ConfigProto(allow_soft_placement=True))


def session(tf, strategy, server):
    return tf.compat.v1.Session(server.target if server else "", config=config_of(tf, strategy))


def trained(tf, server, optimizer):
    """Losses, variables, and the rows that this worker has, of some steps over batches of 12 rows; initial values are the chief's."""
    strategy, (number, count) = strategy_of(tf), task()
    with tf.Graph().as_default(), strategy.scope():
        opt = OPTIMIZERS[optimizer](tf)
        step = tf.train.get_or_create_global_step()
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat().batch(12))

        def one(inputs):
            x, y = inputs
            w = tf.get_variable("w", initializer=[[0.5 + number], [-0.5]])
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), use_resource=True)
            loss = tf.losses.mean_squared_error(y, tf.matmul(x, w) + b) / count
            with tf.control_dependencies([opt.minimize(loss, step)]):
                return tf.identity(loss), tf.reduce_sum(x, 0)

        loss, rows = strategy.experimental_run_v2(one, args=(iterator.get_next(),))
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, loss)
        nodes = sorted([op.type, op.get_attr("group_key"), op.get_attr("group_size"), op.get_attr("instance_key")]
                       for op in tf.get_default_graph().get_operations() if op.type.startswith("Collective"))
        with session(tf, strategy, server) as sess:
            sess.run([tf.global_variables_initializer(), iterator.initialize()])
            steps = [sess.run([total, rows]) for _ in range(5)]
            return {"losses": numbers(loss for loss, _ in steps), "rows": [numbers(rows) for _, rows in steps], "step": int(sess.run(step)),
                    "values": {v.op.name: numbers(sess.run(v).reshape(-1)) for v in tf.trainable_variables()},
                    "variables": sorted([v.op.name, v.device] for v in tf.global_variables()), "nodes": nodes}


def facts(tf, server, folder):
    """What the strategy says of itself and of input, and what it makes of values."""
    strategy, number = strategy_of(tf), task()[0]
    extended, sums = strategy.extended, tf.distribute.ReduceOp.SUM
    found = {name: getattr(extended, name) for name in ("should_checkpoint", "should_save_summary", "experimental_should_init",
                                                        "experimental_between_graph", "worker_devices", "parameter_devices")}
    config = strategy.update_config_proto(tf.compat.v1.ConfigProto(device_filters=["/job:ps"]))
    found.update(replicas=strategy.num_replicas_in_sync, leader=config.experimental.collective_group_leader, filters=list(config.device_filters))
    with tf.Graph().as_default(), strategy.scope():
        def input_fn(context):
            found["context"] = [context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync,
                                context.get_per_replica_batch_size(12)]
            return tf.data.Dataset.range(12).shard(context.num_input_pipelines, context.input_pipeline_id).batch(2)
        iterator = strategy.make_input_fn_iterator(input_fn)

        def one(x):
            context = tf.distribute.get_replica_context()
            own = tf.cast(x, tf.float32) + 10.0 * number
            v = tf.get_variable("v", initializer=1.0, aggregation=tf.VariableAggregation.MEAN, use_resource=True)
            first = tf.get_variable("first", initializer=1.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA, use_resource=True)
            local = tf.get_variable("local", initializer=1.0, synchronization=tf.VariableSynchronization.ON_READ,
                                    aggregation=tf.VariableAggregation.SUM, use_resource=True)
            table = tf.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=True)
            looked = tf.nn.embedding_lookup(table, [number % 3, 0])
            changes = [v.assign_add(own[0]), first.assign_add(2.0), local.assign_add(own[1]),
                       tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(looked * looked), var_list=[table])]
            with tf.control_dependencies(changes):
                return {"own": own, "replica": tf.identity(context.replica_id_in_sync_group),
                        "mean": context.all_reduce(tf.distribute.ReduceOp.MEAN, own),
                        "merged": context.merge_call(lambda s, value: s.reduce(sums, value), args=(own,))}
        each = strategy.experimental_run_v2(one, args=(iterator.get_next(),))
        fetched = dict(each, total=strategy.reduce(sums, each["own"]), along=strategy.reduce(tf.distribute.ReduceOp.MEAN, each["own"], axis=0))
        read = {v.op.name: v.read_value() for v in tf.global_variables() + tf.local_variables()}
        with session(tf, strategy, server) as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            sess.run(iterator.initialize())
            values = sess.run({name: value if name in ("total", "along") else strategy.experimental_local_results(value)[0]
                               for name, value in fetched.items()})
            found["values"] = {name: numbers(value.reshape(-1)) for name, value in values.items()}
            found["variables"] = {name: numbers(value.reshape(-1)) for name, value in sess.run(read).items()}
    return found


def estimator(tf, server, folder):
    """What each task is told, and what an Estimator leaves behind that trains in step and is measured by an evaluator."""
    told = json.loads(os.environ["TF_CONFIG"])
    strategy = strategy_of(tf)

    def model_fn(features, labels, mode):
        predicted = tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer(), name="out")
        normal = tf.layers.batch_normalization(predicted, training=mode == tf.estimator.ModeKeys.TRAIN, name="normal")
        loss = tf.losses.mean_squared_error(labels, predicted + 0.0 * normal)
        tf.summary.scalar("seen", loss)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.MomentumOptimizer(0.05, 0.5).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops={"mae": tf.metrics.mean_absolute_error(labels, predicted)})

    seen = []

    def input_fn(input_context=None):
        seen.append(None if input_context is None else [input_context.num_input_pipelines, input_context.input_pipeline_id])
        data = tf.data.Dataset.from_tensor_slices((ROWS, LABELS))
        return (data if input_context is None else data.shard(*seen[-1])).repeat().batch(4)

    config = tf.estimator.RunConfig(folder, train_distribute=strategy, save_checkpoints_steps=4, save_summary_steps=2, log_step_count_steps=3,
                                    tf_random_seed=1)
    model = tf.estimator.Estimator(model_fn, config=config)
    tf.estimator.train_and_evaluate(
        model, tf.estimator.TrainSpec(input_fn, max_steps=8),
        tf.estimator.EvalSpec(lambda: tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(6), steps=None, start_delay_secs=0, throttle_secs=0))
    return {"task": told["task"], "contexts": seen}


def left_in(tf, folder):
    """The checkpoints of a folder, what is in the last one, and the metrics of the last measurement."""
    path = tf.train.latest_checkpoint(folder)
    measured = os.path.join(folder, "eval")
    events = [event for name in sorted(os.listdir(measured)) for event in tf.train.summary_iterator(os.path.join(measured, name))]
    metrics = {value.tag: value.simple_value for event in events if event.step == 8 for value in event.summary.value}
    return {"last": os.path.basename(path), "checkpoints": sorted(n for n in os.listdir(folder) if n.endswith(".index")),
            "values": {name: numbers(tf.train.load_variable(path, name).reshape(-1)) for name, _ in tf.train.list_variables(path)},
            "metrics": {name: float(metrics[name]) for name in ("mae", "loss")}}


# A process has one case: 1.15 counts keys of collective operations by process.
CASES = {"facts": facts, "estimator": estimator,
         **{name: lambda tf, server, folder, name=name: trained(tf, server, name) for name in OPTIMIZERS}}
IN_STEP = [("sgd", 2), ("momentum", 3), ("adagrad", 3), ("adam", 2), ("facts", 2), ("facts", 3)]  # case, workers
TASKS = [("chief", 0), ("worker", 0), ("evaluator", 0)]


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def started(command, arguments, tasks, ports):
    """The tasks as processes: each knows the cluster and who it is."""
    cluster = {}
    for (job, _), port in zip(tasks, ports):
        cluster.setdefault(job, []).append(f"127.0.0.1:{port}")
    return [subprocess.Popen([*command, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={
        **os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})}) for job, index in tasks]


def said(processes, seconds=240):
    """What each process found."""
    try:
        found = []
        for process in processes:
            out, errors = process.communicate(timeout=seconds)
            assert process.returncode == 0, f"{process.args} ended with {process.returncode}:\n{errors[-3000:]}"
            found.append(json.loads(out.splitlines()[-1]))
        return found
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def workers(count):
    return [("worker", i) for i in range(count)]


def recorded():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "multi_worker_recorded.json"), encoding="utf-8") as f:
        return json.load(f)


def run(tf, case, folder):
    """This worker's part of a case. Those with a loop of their own bring a server; an Estimator starts its own."""
    told, server = json.loads(os.environ.get("TF_CONFIG") or "{}"), None
    if told and case != "estimator":
        server = tf.distribute.Server(tf.train.ClusterSpec(told["cluster"]), job_name=told["task"]["type"], task_index=told["task"]["index"],
                                      config=config_of(tf, strategy_of(tf)))
    print(json.dumps(CASES[case](tf, server, folder)), flush=True)


def tensorflow():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    tf.compat.v1.logging.set_verbosity("ERROR")
    return tf


if __name__ == "__main__" and len(sys.argv) > 1:
    run(tensorflow(), sys.argv[1], sys.argv[2])
elif __name__ == "__main__":
    import tempfile
    python = [sys.executable, "-I"]
    record = {f"{name} {count}": said(started(python, [__file__, name, ""], workers(count), free_ports(count))) for name, count in IN_STEP}
    with tempfile.TemporaryDirectory() as where:
        record["estimator"] = said(started(python, [__file__, "estimator", where], TASKS, free_ports(len(TASKS))))
        record["left"] = left_in(tensorflow(), where)
        record["folders"] = sorted(n for n in os.listdir(where) if n.startswith("tmp"))
    print("{\n" + ",\n".join(json.dumps(name) + ": " + json.dumps(record[name], sort_keys=True) for name in sorted(record)) + "\n}")
