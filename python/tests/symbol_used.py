# SPDX-License-Identifier: Apache-2.0
"""Cases of symbols that few programs use: clusters, estimators, TPUs' settings, old decoders. See symbol_cases.py."""
import os
import tempfile

import numpy as np
from symbol_cases import CASES, fails, numbers, shows


def kept(tf, values):
    """Arrays as a case gives them."""
    return [tf.constant(v) for v in values]


def plain(value):
    """A text of a value that is the same in every release."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {plain(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(plain(v) for v in value) + "]"
    return value.name if hasattr(value, "as_numpy_dtype") else str(value)


@shows("train.ClusterSpec")
def train__ClusterSpec(tf):  # noqa: N802
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "c:3"}})
    return [plain(spec.as_dict()), plain(spec.jobs), spec.num_tasks("worker"), plain(spec.task_indices("ps")),
            spec.task_address("ps", 3), plain(spec.job_tasks("worker")), int(bool(spec)), int(bool(tf.train.ClusterSpec({}))),
            int(spec == tf.train.ClusterSpec(spec.as_cluster_def())), int(spec == tf.train.ClusterSpec({"ps": ["c:3"]})),
            plain(spec.job_tasks("ps")), fails(tf, lambda: spec.task_address("ps", 0)), fails(tf, lambda: spec.num_tasks("none")),
            fails(tf, lambda: tf.train.ClusterSpec({"a": 3})), fails(tf, lambda: tf.train.ClusterSpec([1]))]


@shows("quantization.quantize quantization.dequantize quantization.quantize_and_dequantize quantization.quantized_concat quantize_v2")
def quantization(tf):
    x = tf.constant(numbers(3, 4))
    made, low, high = tf.quantization.quantize(x, -1.0, 0.5, tf.quint8)
    joined = tf.quantization.quantized_concat(0, [made, made], [low, low], [high, high])
    scaled = tf.quantize_v2(x, -1.0, 1.0, tf.qint8, mode="SCALED", round_mode="HALF_TO_EVEN")
    return [tf.bitcast(made, tf.uint8), low, high, tf.quantization.dequantize(made, low, high), tf.bitcast(joined[0], tf.uint8),
            *joined[1:], tf.bitcast(scaled[0], tf.int8), *scaled[1:],
            tf.quantization.quantize_and_dequantize(x, -0.7, 0.6, range_given=True),
            tf.quantization.quantize_and_dequantize(x, 0.0, 0.0, num_bits=4, signed_input=False)]


@shows("train.Server")
def train__Server(tf):  # noqa: N802
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as session:
        found = session.run(tf.constant([1.0, 2.0]) * 2)
    text = server.server_def
    return [tf.constant(found), server.target.partition(":")[0], int(text.task_index), text.protocol,
            fails(tf, lambda: tf.train.Server({"a": ["localhost:0"], "b": ["localhost:0"]}))]


@shows("train.Optimizer")
def train__Optimizer(tf):  # noqa: N802
    class Half(tf.train.Optimizer):
        """Takes half of the gradient and remembers it."""

        def __init__(self):
            super(Half, self).__init__(True, "Half")

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "seen", self._name)

        def _prepare(self):
            self._half = tf.constant(0.5)

        def _apply_dense(self, grad, var):
            seen = self.get_slot(var, "seen").assign_add(grad)
            return var.assign_sub(self._half * seen)

        def _apply_sparse(self, grad, var):
            return tf.scatter_sub(var, grad.indices, self._half * grad.values)

    optimizer = Half()
    x, rows = tf.Variable(numbers(3), name="x"), tf.Variable(numbers(4, 2), name="rows")
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(tf.square(x)) + tf.reduce_sum(tf.square(tf.gather(rows, [1, 1, 2])))
    pairs = optimizer.compute_gradients(loss)
    train = optimizer.apply_gradients(pairs, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        found = session.run([x, rows, step, optimizer.get_slot(x, "seen")])
    return [*kept(tf, found), plain(optimizer.get_slot_names()), optimizer.get_name(), train.name,
            *[v.name for _, v in pairs], type(pairs[1][0]).__name__, plain(sorted(v.name for v in optimizer.variables())),
            fails(tf, lambda: optimizer.apply_gradients([])), fails(tf, lambda: optimizer.minimize(loss, var_list=[])),
            fails(tf, lambda: tf.train.Optimizer(False, ""))]


@shows("contrib.legacy_seq2seq.rnn_decoder contrib.legacy_seq2seq.sequence_loss_by_example")
def legacy_decoder(tf):
    m = tf.contrib.legacy_seq2seq
    inputs = [tf.constant(numbers(2, 3, start=i)) for i in range(3)]
    weights = tf.constant_initializer(0.2)
    with tf.variable_scope("plain", initializer=weights):
        outputs, state = m.rnn_decoder(inputs, tf.constant(numbers(2, 4)), tf.nn.rnn_cell.GRUCell(4))
    with tf.variable_scope("fed", initializer=weights):
        fed, last = m.rnn_decoder(inputs, tf.constant(numbers(2, 3)), tf.nn.rnn_cell.GRUCell(3),
                                  loop_function=lambda previous, i: previous * i)
    targets = [tf.constant([i, 2 - i]) for i in range(3)]
    parts = [tf.constant([1.0, 0.5]), tf.constant([0.0, 1.0]), tf.constant([2.0, 1.0])]
    return [*outputs, state, *fed, last, m.sequence_loss_by_example(fed, targets, parts),
            m.sequence_loss_by_example(fed, targets, parts, average_across_timesteps=False),
            m.sequence_loss_by_example(fed, targets, parts, softmax_loss_function=lambda labels, logits: tf.reduce_sum(
                logits, 1) * tf.cast(labels, tf.float32)),
            fails(tf, lambda: m.sequence_loss_by_example(fed, targets[1:], parts))]


@shows("contrib.seq2seq.AttentionWrapperState")
def contrib__seq2seq__AttentionWrapperState(tf):  # noqa: N802
    m = tf.contrib.seq2seq
    state = m.AttentionWrapperState(cell_state=tf.constant(numbers(2, 3)), attention=tf.constant(numbers(2, 4)), time=tf.constant(0),
                                    alignments=tf.constant(numbers(2, 5)), alignment_history=(), attention_state=())
    other = state.clone(attention=tf.constant(numbers(2, 4, start=1)))
    return [plain(state._fields), other.attention, other.cell_state, other.time,
            fails(tf, lambda: state.clone(none=3) and None), fails(tf, lambda: m.AttentionWrapperState(1) and None)]


@shows("contrib.seq2seq.SampleEmbeddingHelper")
def contrib__seq2seq__SampleEmbeddingHelper(tf):  # noqa: N802
    table = tf.constant(numbers(5, 3))
    sure = np.full([2, 5], -1e9, np.float32)
    sure[0, 3] = sure[1, 1] = 0  # one word only has a chance
    helper = tf.contrib.seq2seq.SampleEmbeddingHelper(table, tf.constant([1, 2]), 1)
    finished, first = helper.initialize()
    words = helper.sample(tf.constant(0), tf.constant(sure), ())
    ended, following, _ = helper.next_inputs(tf.constant(0), tf.constant(sure), (), words)
    seeded = tf.contrib.seq2seq.SampleEmbeddingHelper(table, tf.constant([1, 2]), 1, softmax_temperature=0.5, seed=7)
    return [helper.batch_size, plain(helper.sample_ids_shape.as_list()), helper.sample_ids_dtype.name, finished, first, words,
            ended, following, seeded.sample(tf.constant(0), tf.constant(numbers(2, 5)), ()),
            fails(tf, lambda: tf.contrib.seq2seq.SampleEmbeddingHelper(table, tf.constant([[1]]), 1) and None)]


@shows("contrib.learn.preprocessing.VocabularyProcessor")
def contrib__learn__preprocessing__VocabularyProcessor(tf):  # noqa: N802
    texts = ["A cat sat, on the mat", "the cat's hat", "", "THE the a 3.5 isn't"]
    kind = tf.contrib.learn.preprocessing.VocabularyProcessor
    words = kind(4)
    found = np.array(list(words.fit_transform(texts)))
    rare = kind(5, min_frequency=1).fit(texts)
    path = os.path.join(tempfile.mkdtemp(), "words")
    words.save(path)
    again = kind.restore(path)
    return [tf.constant(found), str(found.dtype), len(words.vocabulary_), tf.constant(np.array(list(rare.transform(["the cat sat on a dog"])))),
            "|".join(words.reverse(found[:2])), tf.constant(np.array(list(again.transform(["hat mat other"])))),
            tf.constant(np.array(list(kind(3, tokenizer_fn=lambda rows: (r.split("-") for r in rows)).fit_transform(["a-b-a"]))))]


@shows("contrib.tensorboard.plugins.projector.ProjectorConfig contrib.tensorboard.plugins.projector.visualize_embeddings")
def projector(tf):
    m = tf.contrib.tensorboard.plugins.projector
    config = m.ProjectorConfig()
    added = config.embeddings.add()
    added.tensor_name, added.metadata_path = "table:0", "words.tsv"
    added.sprite.image_path = "faces.png"
    added.sprite.single_image_dim.extend([20, 30])
    config.model_checkpoint_path = "model-3"
    folder = tempfile.mkdtemp()
    writer = tf.summary.FileWriter(folder)
    m.visualize_embeddings(writer, config)
    with open(os.path.join(folder, "projector_config.pbtxt")) as f:
        text = f.read()
    return [text, fails(tf, lambda: m.visualize_embeddings(None, config))]


@shows("contrib.tpu.TPUConfig contrib.tpu.RunConfig contrib.tpu.InputPipelineConfig contrib.tpu.CrossShardOptimizer "
       "contrib.tpu.TPUEstimator contrib.tpu.TPUEstimatorSpec")
def without_tpus(tf):
    m = tf.contrib.tpu
    config = m.RunConfig(model_dir=tempfile.mkdtemp(), save_checkpoints_steps=7, tpu_config=m.TPUConfig(iterations_per_loop=3))

    def model_fn(features, labels, mode, params):
        weight = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
        made = tf.matmul(features, weight)
        loss = tf.reduce_mean(tf.square(made - labels))
        optimizer = m.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"])) if params["use_tpu"] else \
            tf.train.GradientDescentOptimizer(params["rate"])
        train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
        return m.TPUEstimatorSpec(mode, loss=loss, train_op=train, predictions={"made": made},
                                  eval_metrics=(lambda y: {"mean": tf.metrics.mean(y)}, [made]))

    def input_fn(params):
        return tf.constant(numbers(params["batch_size"], 2)), tf.constant(numbers(params["batch_size"], 1, start=2))
    made = m.TPUEstimator(model_fn, config=config, params={"rate": 0.1}, use_tpu=False, train_batch_size=4, eval_batch_size=2,
                          predict_batch_size=2)
    made.train(input_fn, max_steps=5)
    result = made.evaluate(input_fn, steps=2)
    kinds = m.InputPipelineConfig
    return [*kept(tf, [made.get_variable_value("w"), result["loss"], result["mean"]]), int(result["global_step"]),
            plain(config.tpu_config._asdict()), plain([kinds.PER_SHARD_V1, kinds.PER_HOST_V1, kinds.PER_HOST_V2, kinds.BROADCAST]),
            int(config.save_checkpoints_steps), fails(tf, lambda: m.TPUConfig(iterations_per_loop=0) and None),
            fails(tf, lambda: m.CrossShardOptimizer(tf.train.GradientDescentOptimizer(1.0), reduction="none") and None)]


@shows("estimator.Estimator estimator.EstimatorSpec estimator.inputs.numpy_input_fn")
def estimators(tf):
    x, y = numbers(6, 2), numbers(6, 1, start=2)

    def model_fn(features, labels, mode, params):
        made = tf.layers.dense(features["x"], 1, kernel_initializer=tf.constant_initializer(params["start"]), name="d")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"made": made})
        loss = tf.losses.mean_squared_error(labels, made)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train,
                                          eval_metric_ops={"mean": tf.metrics.mean(made)})
    model = tf.estimator.Estimator(model_fn, model_dir=tempfile.mkdtemp(), params={"start": 0.5})
    feed = tf.estimator.inputs.numpy_input_fn
    model.train(feed({"x": x}, y, batch_size=3, num_epochs=None, shuffle=False), steps=4)
    model.train(feed({"x": x}, y, batch_size=3, num_epochs=2, shuffle=False), max_steps=6)
    result = model.evaluate(feed({"x": x}, y, batch_size=4, num_epochs=1, shuffle=False))
    predicted = [p["made"] for p in model.predict(feed({"x": x}, batch_size=4, num_epochs=1, shuffle=False))]
    return [plain(sorted(model.get_variable_names())), *kept(tf, [
        model.get_variable_value("d/kernel"), np.array(predicted), result["loss"], result["mean"]]), int(result["global_step"]),
            os.path.basename(model.latest_checkpoint()), plain(model.params),
            fails(tf, lambda: feed({"x": x}, y[:3], shuffle=False)() and None), fails(tf, lambda: feed({}, y, shuffle=False)() and None),
            fails(tf, lambda: feed({"x": x}, y)() and None),
            fails(tf, lambda: tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.TRAIN) and None),
            fails(tf, lambda: tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.EVAL, predictions={}) and None)]


@shows("contrib.cudnn_rnn.CudnnLSTM")
def contrib__cudnn_rnn__CudnnLSTM(tf):  # noqa: N802
    m = tf.contrib.cudnn_rnn
    layer = m.CudnnLSTM(2, 3, direction="bidirectional", name="net")
    cell = m.CudnnCompatibleLSTMCell(3)
    with tf.variable_scope("one", initializer=tf.constant_initializer(0.2)):
        outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(numbers(2, 4, 3)), dtype=tf.float32)
    return [layer.num_layers, layer.num_units, layer.num_dirs, layer.rnn_mode, layer.direction, layer.input_mode, outputs, *state,
            plain([list(s) for s in layer.state_shape(5)]), plain(sorted(v.name for v in tf.global_variables())),
            fails(tf, lambda: m.CudnnLSTM(1, 2, direction="up") and None)]


POINTS = np.concatenate([numbers(20, 2, start=i) * 0.5 + c for i, c in enumerate(([1, 1], [8, 1], [1, 9]))]).astype(np.float32)


def clusters(tf, steps=4, split=False, count=3, **arguments):
    """What a few steps make of the centers."""
    points = [tf.constant(POINTS[:25]), tf.constant(POINTS[25:])] if split else tf.constant(POINTS)
    scores, nearest, distances, initialized, init, train = tf.contrib.factorization.KMeans(points, count, **arguments).training_graph()
    names = plain([(v.name, plain(v.shape), v.dtype.base_dtype.name) for v in tf.global_variables()])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(initialized)]
        for _ in range(10):
            if session.run(initialized):
                break
            session.run(init)
        center = tf.global_variables()[0]
        found += [session.run(initialized), session.run(center)]
        for _ in range(steps):
            found.append(session.run([*scores, *nearest, *distances, train])[-2] * np.float32(0.01))  # sums of large numbers
            found.append(session.run(center))
        found += session.run([*(s * 0.01 for s in scores), *nearest, *(d * 0.01 for d in distances)])
    return [*kept(tf, found), names, plain([len(scores), len(nearest), len(distances)]), len(tf.trainable_variables()),
            plain([t.dtype for t in (scores[0], nearest[0], distances[0])])]


def clustering(name, **arguments):
    def build(tf):
        given = {k: v(tf) if k == "initial_clusters" and not isinstance(v, str) else v for k, v in arguments.items()}
        return clusters(tf, **given)
    CASES["contrib__factorization__KMeans___" + name] = build


def first_points(tf):
    return tf.constant(POINTS[[0, 1, 30]])


clustering("given", initial_clusters=first_points)
clustering("random")
clustering("random_in_two_parts", split=True, random_seed=5)
clustering("plus_plus", initial_clusters="kmeans_plus_plus")
clustering("plus_plus_in_two_parts", initial_clusters="kmeans_plus_plus", split=True, count=5, random_seed=3)
clustering("chosen", initial_clusters=lambda tf: lambda points, number: points[0][:3], split=True)
clustering("cosine", initial_clusters=first_points, distance_metric="cosine")
clustering("cosine_plus_plus", initial_clusters="kmeans_plus_plus", distance_metric="cosine")
clustering("chains", initial_clusters="kmc2")


@shows("contrib.factorization.KMeans")
def contrib__factorization__KMeans___refused(tf):  # noqa: N802
    def tried(**arguments):
        return fails(tf, lambda: clusters(tf, 1, **arguments) and None)
    return [tried(initial_clusters="none"), tried(distance_metric="none"), tried(count=100), tried(count=0),
            tried(initial_clusters=7), tried(use_mini_batch=True, mini_batch_steps_per_iteration=0)]
