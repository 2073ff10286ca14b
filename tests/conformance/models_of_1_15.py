# SPDX-License-Identifier: Apache-2.0
"""Models that TensorFlow 1.15 writes, and what it answers: models_of_1_15.py DIRECTORY. Each case is MODEL,SIGNATURE,N.npz, with inputs
`in.NAME` and outputs `out.NAME`."""
import os
import shutil
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
OUT = sys.argv[1]


def record(name, inputs, outputs, signature="serving_default", n=0):
    arrays = {"in." + k: np.array(v, object) if isinstance(v, list) else v for k, v in inputs.items()}
    arrays.update({"out." + k: v for k, v in outputs.items()})
    np.savez(os.path.join(OUT, "%s,%s,%d.npz" % (name, signature, n)), **arrays)


def normal(seed):
    return v1.random_normal_initializer(seed=seed)


def example(**features):
    """A serialized Example of texts and floats."""
    made = {}
    for name, value in features.items():
        is_text = bool(value) and isinstance(value[0], bytes)
        made[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=value)) if is_text or name == "words" else \
            tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def tables_and_texts(session):
    examples = v1.placeholder(tf.string, [None], name="examples")
    parsed = tf.io.parse_example(examples, {"words": tf.io.VarLenFeature(tf.string),
                                            "d": tf.io.FixedLenFeature([2], tf.float32, default_value=[1., 2.])})
    vocabulary = os.path.join(OUT, "vocabulary.txt")
    with open(vocabulary, "w") as f:
        f.write("a\nb\nc\n")
    whole = tf.lookup.TextFileInitializer(vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                          tf.lookup.TextFileIndex.LINE_NUMBER)
    words = tf.sparse.to_dense(parsed["words"], default_value="")
    ids = tf.lookup.StaticVocabularyTable(whole, 3).lookup(words)
    rows = tf.nn.embedding_lookup(v1.get_variable("rows", [6, 4], initializer=normal(1)), ids)
    y = tf.concat([tf.reduce_sum(rows, 1), parsed["d"]], 1)
    names = tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1, 2], tf.int64), tf.constant(["zero", "one", "two"]))
    outputs = {"y": y, "ids": ids, "label": tf.lookup.StaticHashTable(names, "?").lookup(tf.argmax(y, 1) % 4),
               "joined": tf.strings.reduce_join(tf.strings.upper(words), 1, separator="-")}
    session.run([v1.global_variables_initializer(), v1.tables_initializer()])
    v1.saved_model.simple_save(session, OUT + "/tables", {"examples": examples}, outputs, legacy_init_op=v1.tables_initializer())
    given = [example(words=[b"a", b"zz", b"b"]), example(words=[], d=[5., 6.]), example(words=[b"\xff\x00x"])]
    record("tables", {"examples": given}, session.run(outputs, {examples: given}))


def keras(session):
    v1.keras.backend.set_session(session)
    layers = tf.keras.layers
    image = tf.keras.Input((8, 8, 3), name="image")
    h = layers.Conv2D(4, 3, padding="same", activation="relu")(image)
    h = layers.SeparableConv2D(5, 3)(layers.MaxPool2D()(layers.BatchNormalization()(h)))
    h = layers.Reshape((2, 10))(h)
    h = layers.GRU(4)(layers.Bidirectional(layers.LSTM(3, return_sequences=True))(h))
    outputs = {"p": layers.Dense(3, activation="softmax", name="p")(h), "q": layers.Dense(1, name="q")(layers.Dropout(0.5)(h))}
    model = tf.keras.Model(image, list(outputs.values()))
    session.run(v1.global_variables_initializer())
    x = np.random.RandomState(0).rand(5, 8, 8, 3).astype(np.float32)
    found = dict(zip(outputs, model.predict(x)))
    v1.saved_model.simple_save(session, OUT + "/keras", {"image": image}, outputs)
    model.save(OUT + "/keras_saved", save_format="tf")
    tf.keras.experimental.export_saved_model(model, OUT + "/keras_exported")
    for name in ("keras", "keras_saved", "keras_exported"):
        record(name, {"image": x}, found)


def frozen(session):
    """With the loops and conditionals of TensorFlow 1."""
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    n = v1.placeholder_with_default(3, [], name="n")
    w = v1.get_variable("w", [3, 3], initializer=normal(2))
    _, y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w))), [0, x],
                         shape_invariants=[tf.TensorShape([]), x.shape])
    z = tf.identity(tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2, lambda: tf.nn.relu(y) - 1), name="z")
    session.run(v1.global_variables_initializer())
    graph = v1.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["z"])
    for name in ("frozen.pb", "frozen.pbtxt"):
        tf.io.write_graph(graph, OUT, name, as_text=name.endswith("txt"))
        for i, given in enumerate(({}, {"n": np.int32(0)}, {"n": np.int32(7)})):
            value = np.random.RandomState(i).randn(4, 3).astype(np.float32)
            feeds = {x: value, **({n: given["n"]} if given else {})}
            record(name, {"x": value, **given}, {"z": session.run(z, feeds)}, n=i)


def meta_graph(session):
    """Beside a checkpoint in shards, a variable in parts."""
    x = v1.placeholder(tf.float32, [None, 6], name="x")
    w = v1.get_variable("w", [6, 4], partitioner=v1.fixed_size_partitioner(3), initializer=normal(2))
    r = v1.get_variable("r", [4], use_resource=True, initializer=normal(3))
    y = tf.add(tf.matmul(x, w), r, name="y")
    session.run(v1.global_variables_initializer())
    v1.train.Saver(sharded=True).save(session, OUT + "/model", global_step=3)
    value = np.random.RandomState(1).randn(4, 6).astype(np.float32)
    record("model-3.meta", {"x": value}, {"y": session.run(y, {x: value})})


def estimator():
    column = tf.feature_column
    columns = [column.numeric_column("a"),
               column.embedding_column(column.categorical_column_with_hash_bucket("c", 10), 3)]
    classifier = tf.estimator.DNNClassifier([4], columns, n_classes=3, label_vocabulary=["u", "v", "w"], model_dir=OUT + "/training")
    data = {"a": [1., 2., 3.], "c": ["x", "y", "z"]}
    classifier.train(lambda: tf.data.Dataset.from_tensor_slices((data, ["u", "v", "w"])).batch(3))
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(column.make_parse_example_spec(columns))
    shutil.move(classifier.export_saved_model(OUT + "/exported", receiver).decode(), OUT + "/estimator")
    given = [example(a=[1.], c=[b"x"]), example(a=[7.], c=[b"q"])]
    with tf.Graph().as_default(), v1.Session() as session:
        for name, signature in v1.saved_model.load(session, ["serve"], OUT + "/estimator").signature_def.items():
            if name == "regression":
                continue
            (only, tensor), = signature.inputs.items()
            found = session.run({k: v.name for k, v in signature.outputs.items()}, {tensor.name: given})
            record("estimator", {only: given}, found, name)


v1.logging.set_verbosity(v1.logging.ERROR)
for write in (tables_and_texts, keras, frozen, meta_graph):
    with tf.Graph().as_default(), v1.Session() as one:
        write(one)
estimator()
