# SPDX-License-Identifier: Apache-2.0
"""Feature columns whose variables, values and errors TensorFlow 1.15 has recorded in feature_column_recorded.json.

With the real one: python feature_column_cases.py > feature_column_recorded.json
Each case is a function of tensorflow that gives numbers, texts, lists and dictionaries of them.
"""
import json
import os
import sys
import tempfile

import numpy as np


def features(tf):
    """A batch of three rows."""
    return {
        "age": tf.constant([[1.5], [22.0], [45.5]]),
        "size": tf.constant([[1.0, 2.0], [3.0, 4.0], [-5.0, 6.0]]),
        "job": tf.constant([["cook"], ["clerk"], [""]]),
        "flat": tf.constant(["cook", "nurse", "clerk"]),
        "number": tf.constant([[3, 1], [0, -1], [2, 5]], tf.int64),
        "words": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["cook", "nurse", "baker"], [3, 2]),
        "ids": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 0, 2], tf.int64), [3, 2]),
        "weights": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, -1.5], [3, 2]),
    }


def filled(tf, shape, start):
    count = int(np.prod(shape, dtype=int))
    return tf.constant((np.sin(np.arange(count) * 0.7 + start) * 0.8).astype(np.float32).reshape(shape))


def initializer(tf, start=0.3):
    """First values that do not depend on random numbers; partitioned or not."""
    return lambda shape, dtype=None, partition_info=None: filled(tf, [int(d) for d in shape], start)


def values(tf, fetches):
    """What tensors are in a session, after each variable has got numbers."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for i, v in enumerate(tf.trainable_variables()):
            session.run(v.assign(filled(tf, v.shape.as_list(), i + 1)))
        return session.run(fetches)


def variables(tf):
    return [[v.op.name, v.shape.as_list()] for v in tf.global_variables()]


def collections(tf):
    names = [tf.GraphKeys.MODEL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES, "mine"]
    return [sorted(v.op.name for v in tf.get_collection(name)) for name in names]


def attributes(tf, column):
    """What programs look at."""
    c = column
    found = [c.name, type(c).__name__, {k: repr(v) for k, v in c.parse_example_spec.items()}]
    for name in ("key", "shape", "dtype", "num_buckets", "variable_shape", "dimension", "hash_bucket_size", "boundaries", "default_value",
                 "num_oov_buckets", "combiner", "vocabulary_list", "hash_key", "number_buckets", "vocabulary_size"):
        value = getattr(c, name, "none of this")
        found.append([name, repr(value) if not hasattr(value, "as_list") else value.as_list()])
    return found + [[n for n in getattr(c, "_fields", ())]]


def job_list(tf, **arguments):
    return tf.feature_column.categorical_column_with_vocabulary_list("job", ["cook", "clerk"], **arguments)


def columns(tf):
    """Each kind of column, by a name for its cases."""
    fc = tf.feature_column
    age, size = fc.numeric_column("age"), fc.numeric_column("size", shape=2)
    decades = fc.bucketized_column(age, [10, 20, 30])
    words = fc.categorical_column_with_hash_bucket("words", 7)
    ids = fc.categorical_column_with_identity("ids", 4)
    made = {
        "numeric": age, "numeric_of_two": size,
        "numeric_normalized": fc.numeric_column("age", normalizer_fn=lambda x: (x - 20.0) / 10.0),
        "bucketized": decades, "bucketized_of_two": fc.bucketized_column(size, [0.0, 3.0]),
        "identity": ids, "identity_with_default": fc.categorical_column_with_identity("number", 4, default_value=1),
        "list": job_list(tf), "list_with_default": job_list(tf, default_value=1), "list_with_spare": job_list(tf, num_oov_buckets=3),
        "list_of_numbers": fc.categorical_column_with_vocabulary_list("number", [5, 3, 0]),
        "hash": words, "hash_of_dense": fc.categorical_column_with_hash_bucket("flat", 5),
        "hash_of_numbers": fc.categorical_column_with_hash_bucket("number", 6, dtype=tf.int64),
        "crossed": fc.crossed_column(["flat", "job"], 11), "crossed_columns": fc.crossed_column([decades, "words", job_list(tf)], 13),
        "crossed_numbers": fc.crossed_column(["job", ids, fc.crossed_column(["flat", decades], 3)], 9, hash_key=5),
        "weighted": fc.weighted_categorical_column(words, "weights"), "weighted_ids": fc.weighted_categorical_column(ids, "weights"),
        "embedding": fc.embedding_column(words, 3), "embedding_sqrtn": fc.embedding_column(ids, 2, combiner="sqrtn"),
        "embedding_sum": fc.embedding_column(words, 2, combiner="sum", max_norm=0.9),
        "embedding_weighted": fc.embedding_column(fc.weighted_categorical_column(words, "weights"), 2),
        "embedding_fixed": fc.embedding_column(words, 3, trainable=False, initializer=initializer(tf)),
        "indicator": fc.indicator_column(ids), "indicator_of_list": fc.indicator_column(job_list(tf)),
        "indicator_weighted": fc.indicator_column(fc.weighted_categorical_column(ids, "weights")),
    }
    return made


def attributes_of_columns(tf):
    return {name: attributes(tf, column) for name, column in columns(tf).items()}


def internals(tf):
    """What has made features, and the bases of columns of categories and of dense ones."""
    if tf.__name__ == "thalweg":
        from thalweg.feature_column import column
        return column._LazyBuilder, column.CategoricalColumn, column.DenseColumn
    from tensorflow.python.feature_column import feature_column, feature_column_v2
    return feature_column._LazyBuilder, feature_column_v2.CategoricalColumn, feature_column_v2.DenseColumn


def numbers_of_categories(tf):
    """What a column makes of the features, as sparse tensors."""
    builder, categorical, _ = internals(tf)
    found = {}
    for name, column in columns(tf).items():
        if not isinstance(column, categorical):
            continue
        pair = column._get_sparse_tensors(builder(features(tf)))
        fetches = [pair.id_tensor] if pair.weight_tensor is None else [pair.id_tensor, pair.weight_tensor]
        found[name] = [[r.indices, r.values, r.dense_shape] for r in values(tf, fetches)]
    return found


def _dense(tf):
    return {n: c for n, c in columns(tf).items() if isinstance(c, internals(tf)[2])}


def layers_of_one_column(tf):
    found = {}
    for name in _dense(tf):
        with tf.Graph().as_default():
            layer = tf.feature_column.input_layer(features(tf), [columns(tf)[name]])
            found[name] = [layer.shape.as_list(), variables(tf), collections(tf), values(tf, layer)]
    return found


def layer_of_many_columns(tf):
    chosen = columns(tf)
    to_vars, to_outputs = {}, {}
    layer = tf.feature_column.input_layer(
        features(tf), [chosen[n] for n in ("numeric_of_two", "embedding", "indicator", "bucketized", "embedding_sqrtn")],
        weight_collections=["mine"], cols_to_vars=to_vars, cols_to_output_tensors=to_outputs)
    return [variables(tf), collections(tf), values(tf, layer),
            sorted([c.name, [v.op.name for v in vs]] for c, vs in to_vars.items()),
            sorted([c.name, t.shape.as_list()] for c, t in to_outputs.items())]


def layers_in_scopes(tf):
    """The same columns twice, in partitions, and again with the same variables."""
    column = columns(tf)["embedding"]
    with tf.variable_scope("outer", partitioner=tf.fixed_size_partitioner(2)):
        first = tf.feature_column.input_layer(features(tf), [column])
        second = tf.feature_column.input_layer(features(tf), [column])
    with tf.variable_scope("outer", partitioner=tf.fixed_size_partitioner(2), reuse=True):
        third = tf.feature_column.input_layer(features(tf), [column])
    return [variables(tf), values(tf, [first, second, third])]


def linear_models_of_one_column(tf):
    found = {}
    for name in sorted(columns(tf)):
        if name.startswith(("embedding", "indicator")):
            continue
        with tf.Graph().as_default():
            model = tf.feature_column.linear_model(features(tf), [columns(tf)[name]])
            found[name] = [model.shape.as_list()[1:], variables(tf), collections(tf), values(tf, model)]
    return found


def linear_model_of_many_columns(tf):
    chosen, to_vars = columns(tf), {}
    model = tf.feature_column.linear_model(
        features(tf), [chosen[n] for n in ("words" if n == "w" else n for n in ("numeric", "bucketized", "weighted", "crossed", "indicator"))],
        units=2, sparse_combiner="mean", weight_collections=["mine"], cols_to_vars=to_vars)
    return [variables(tf), collections(tf), values(tf, model),
            sorted([c if c == "bias" else c.name, [v.op.name for v in vs]] for c, vs in to_vars.items())]


def linear_model_fixed_in_parts(tf):
    with tf.variable_scope("outer", partitioner=tf.fixed_size_partitioner(2)):
        tf.feature_column.linear_model(features(tf), [columns(tf)["hash"]], trainable=False)
    return [variables(tf), collections(tf)]


def shared(tf):
    fc = tf.feature_column
    both = [fc.categorical_column_with_hash_bucket(key, 5) for key in ("flat", "words")]
    made = fc.shared_embedding_columns(both, 3, initializer=initializer(tf))
    layer = fc.input_layer(features(tf), made)
    return [[c.name for c in made], type(made[0]).__name__, variables(tf), collections(tf), values(tf, layer),
            {k: repr(v) for k, v in fc.make_parse_example_spec(made).items()}]


def shared_by_name(tf):
    fc = tf.feature_column
    both = [fc.categorical_column_with_identity(key, 6, default_value=0) for key in ("number", "ids")]
    made = fc.shared_embedding_columns(both, 2, combiner="sum", shared_embedding_collection_name="all", trainable=False)
    layer = fc.input_layer(features(tf), made)
    return [[c.name for c in made], layer.shape.as_list(), variables(tf), collections(tf)]


def vocabulary_file(tf):
    fc, folder = tf.feature_column, tempfile.mkdtemp()
    path = os.path.join(folder, "jobs.txt")
    with open(path, "w") as f:
        f.write("cook\nclerk\nnurse\n")
    found = []
    for arguments in ({}, {"vocabulary_size": 2}, {"num_oov_buckets": 2}, {"default_value": 0}, {"vocabulary_size": 1, "num_oov_buckets": 4}):
        with tf.Graph().as_default():
            column = fc.categorical_column_with_vocabulary_file("words", path, **arguments)
            layer = fc.input_layer(features(tf), [fc.indicator_column(column)])
            assets = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
            found.append([column.vocabulary_size, column.num_buckets, values(tf, layer), len(assets)])
    return found


def from_checkpoint(tf):
    """An embedding that begins as a checkpoint has it."""
    fc, folder = tf.feature_column, tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as session:
        kept = tf.get_variable("table", initializer=filled(tf, [7, 3], 2))
        session.run(kept.initializer)
        path = tf.train.Saver([kept]).save(session, os.path.join(folder, "model"))
    words = fc.categorical_column_with_hash_bucket("words", 7)
    layer = fc.input_layer(features(tf), [fc.embedding_column(words, 3, ckpt_to_load_from=path, tensor_name_in_ckpt="table")])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(layer)


def parse_spec(tf):
    fc, chosen = tf.feature_column, columns(tf)
    sequences = [fc.embedding_column(fc.sequence_categorical_column_with_hash_bucket("s", 4), 2)]
    spec = fc.make_parse_example_spec([c for n, c in chosen.items() if n not in ("list_of_numbers", "hash_of_numbers",
                                                                              "identity_with_default")] + sequences)
    return {k: repr(v) for k, v in spec.items()}


def parsed_examples(tf):
    """From serialized examples through the specification of the columns to a layer."""
    fc, f = tf.feature_column, tf.train
    chosen = [fc.numeric_column("age", default_value=7.0), fc.indicator_column(job_list(tf))]

    def example(**rows):
        return f.Example(features=f.Features(feature=rows)).SerializeToString()
    examples = [example(age=f.Feature(float_list=f.FloatList(value=[3.0])), job=f.Feature(bytes_list=f.BytesList(value=[b"clerk"]))),
                example(job=f.Feature(bytes_list=f.BytesList(value=[b"cook", b"clerk"])))]
    return values(tf, fc.input_layer(tf.parse_example(examples, fc.make_parse_example_spec(chosen)), chosen))


def _sequence_features(tf):
    return {"s": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 3]),
            "i": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([2, 0, 1], tf.int64), [2, 3]),
            "t": tf.SparseTensor([[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 6])}


def sequences(tf):
    """Columns of sequences: names, and what the layer of them gives."""
    fc = tf.feature_column
    strings = fc.sequence_categorical_column_with_hash_bucket("s", 4)
    numbers = fc.sequence_categorical_column_with_identity("i", 3)
    listed = fc.sequence_categorical_column_with_vocabulary_list("s", ["a", "b"], num_oov_buckets=1)
    chosen = [fc.embedding_column(strings, 2), fc.indicator_column(numbers), tf.contrib.feature_column.sequence_numeric_column("t", shape=(2,)),
              fc.indicator_column(listed), fc.sequence_numeric_column("t", shape=(2,))]
    layer, lengths = tf.contrib.feature_column.sequence_input_layer(_sequence_features(tf), chosen[:3])
    return [[c.name for c in chosen], [type(c).__name__ for c in (strings, chosen[4])], variables(tf), values(tf, [layer, lengths]),
            repr(chosen[4].parse_example_spec), repr(strings.parse_example_spec)]


# ---- errors ----
def raised(function):
    try:
        found = function()
    except Exception as error:
        return [type(error).__name__, str(error).replace("(", " ").split(". ")[0].split("<")[0].split(":")[0][:40]]
    return ["fine", repr(found)]


def mistakes(tf):
    fc = tf.feature_column
    age, words = fc.numeric_column("age"), fc.categorical_column_with_hash_bucket("words", 7)
    decades = fc.bucketized_column(age, [10, 20])
    given = features(tf)
    tries = [
        lambda: fc.numeric_column(5), lambda: fc.numeric_column("a", shape=(0,)), lambda: fc.numeric_column("a", shape=(1.5,)),
        lambda: fc.numeric_column("a", default_value="x"), lambda: fc.numeric_column("a", dtype=tf.string),
        lambda: fc.numeric_column("a", shape=(2,), default_value=[1.0]), lambda: fc.numeric_column("a", normalizer_fn="x"),
        lambda: fc.numeric_column("a", default_value=1.5, dtype=tf.int32),
        lambda: fc.bucketized_column("age", [1]), lambda: fc.bucketized_column(words, [1]),
        lambda: fc.bucketized_column(fc.numeric_column("a", shape=(2, 2)), [1]), lambda: fc.bucketized_column(age, [2, 1]),
        lambda: fc.bucketized_column(age, []), lambda: fc.bucketized_column(age, 5),
        lambda: fc.categorical_column_with_hash_bucket("a", None), lambda: fc.categorical_column_with_hash_bucket("a", 0),
        lambda: fc.categorical_column_with_hash_bucket("a", 5, tf.float32), lambda: fc.categorical_column_with_hash_bucket(3, 5),
        lambda: fc.categorical_column_with_identity("a", 0), lambda: fc.categorical_column_with_identity("a", 3, 3),
        lambda: fc.categorical_column_with_vocabulary_list("a", []), lambda: fc.categorical_column_with_vocabulary_list("a", ["x", "x"]),
        lambda: fc.categorical_column_with_vocabulary_list("a", ["x"], num_oov_buckets=-1),
        lambda: fc.categorical_column_with_vocabulary_list("a", ["x"], num_oov_buckets=1, default_value=0),
        lambda: fc.categorical_column_with_vocabulary_list("a", ["x"], dtype=tf.int64),
        lambda: fc.categorical_column_with_vocabulary_list("a", [1.5]),
        lambda: fc.categorical_column_with_vocabulary_file("a", ""),
        lambda: fc.categorical_column_with_vocabulary_file("a", "f", vocabulary_size=0),
        lambda: fc.categorical_column_with_vocabulary_file("a", "f", vocabulary_size=1, num_oov_buckets=-1),
        lambda: fc.categorical_column_with_vocabulary_file("a", "f", vocabulary_size=1, num_oov_buckets=1, default_value=0),
        lambda: fc.crossed_column(["a"], 5), lambda: fc.crossed_column([], 5), lambda: fc.crossed_column(["a", "b"], 0),
        lambda: fc.crossed_column(["a", age], 5), lambda: fc.crossed_column(["a", words], 5), lambda: fc.crossed_column(["a", 5], 5),
        lambda: fc.embedding_column(words, 0), lambda: fc.embedding_column(words, None), lambda: fc.embedding_column(words, 3, ckpt_to_load_from="x"),
        lambda: fc.embedding_column(words, 3, initializer="x"),
        lambda: fc.weighted_categorical_column(words, 3), lambda: fc.weighted_categorical_column(words, "w", tf.string),
        lambda: fc.shared_embedding_columns([words, decades], 3),
        lambda: fc.shared_embedding_columns([words, fc.categorical_column_with_hash_bucket("b", 8)], 3),
        lambda: fc.input_layer(given, []), lambda: fc.input_layer(given, [words]), lambda: fc.input_layer(given, ["age"]),
        lambda: fc.input_layer(given, {"a": age}), lambda: fc.input_layer(given, [age, fc.numeric_column("age")]),
        lambda: fc.input_layer({}, [age]), lambda: fc.input_layer({"age": tf.constant(1.0)}, [age]),
        lambda: fc.input_layer({"age": given["weights"]}, [age]),
        lambda: fc.input_layer({"age": tf.constant([1.0, 2.0]), "size": tf.constant([1.0])}, [age, fc.numeric_column("size")]),
        lambda: fc.linear_model(given, []), lambda: fc.linear_model(given, [fc.embedding_column(words, 3)]),
        lambda: fc.linear_model(given, ["a"]), lambda: fc.make_parse_example_spec(["a"]),
        lambda: fc.make_parse_example_spec([fc.numeric_column("a"), fc.categorical_column_with_hash_bucket("a", 3)]),
        lambda: fc.input_layer({"words": tf.constant([["a"]])}, [fc.indicator_column(fc.categorical_column_with_hash_bucket("words", 5, tf.int64))]),
        lambda: fc.input_layer({"n": tf.constant([["a"]])}, [fc.indicator_column(fc.categorical_column_with_identity("n", 5))]),
        lambda: fc.input_layer(given, [fc.embedding_column(fc.sequence_categorical_column_with_hash_bucket("words", 4), 2)]),
        lambda: fc.sequence_numeric_column("a", shape=(0,)), lambda: fc.sequence_numeric_column("a", dtype=tf.string),
    ]
    return [raised(attempt) for attempt in tries]


def mistakes_of_runs(tf):
    """What a step says."""
    fc, found = tf.feature_column, []
    for number in (-1, 4):
        with tf.Graph().as_default():
            column = fc.indicator_column(fc.categorical_column_with_identity("n", 4))
            try:
                layer = fc.input_layer({"n": tf.SparseTensor([[0, 0]], tf.constant([number], tf.int64), [1, 1])}, [column])
                found.append(["fine", values(tf, layer)])
            except Exception as error:
                found.append([type(error).__name__])
    return found


CASES = [attributes_of_columns, numbers_of_categories, layers_of_one_column, layer_of_many_columns, layers_in_scopes,
         linear_models_of_one_column, linear_model_of_many_columns, linear_model_fixed_in_parts, shared, shared_by_name, vocabulary_file,
         from_checkpoint, parse_spec, parsed_examples, sequences, mistakes, mistakes_of_runs]


def plain(value):
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (np.ndarray, np.generic)):
        if np.asarray(value).dtype.kind == "f":
            return np.round(np.asarray(value, np.float64), 6).tolist()
        return plain(value.tolist())
    return value


def results(tf, case):
    with tf.Graph().as_default():
        return plain(case(tf))


if __name__ == "__main__":
    import tensorflow
    tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
    rows = []
    for chosen in CASES:
        try:
            found = results(tensorflow, chosen)
        except Exception as error:
            sys.stderr.write("%s: %r\n" % (chosen.__name__, error))
            continue
        rows.append(json.dumps(chosen.__name__) + ": " + json.dumps(found, separators=(",", ":"), sort_keys=True))
    print("{\n" + ",\n".join(rows) + "\n}")
