# SPDX-License-Identifier: Apache-2.0
"""Cases of SavedModels, MetaGraphs and checkpoints, written and read again: see symbol_cases.py."""
import functools
import os
import shutil
import tempfile

from symbol_cases import fails, numbers, shows
from symbol_programs import words


def in_folder(symbols):
    """A case of `tf` and an empty folder, which its words call DIR."""
    def keep(function):
        @functools.wraps(function)
        def build(tf):
            folder = tempfile.mkdtemp()
            try:
                return [v.replace(folder, "DIR") if isinstance(v, str) else v for v in function(tf, folder)]
            finally:
                shutil.rmtree(folder)
        return shows(symbols)(build)
    return keep


def net(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", initializer=tf.constant(numbers(3, 2)))
    b = tf.get_variable("b", [2], initializer=tf.constant_initializer(0.5), use_resource=True)
    return x, tf.add(tf.matmul(x, w), b, name="y")


def infos(signature):
    return str(sorted((kind, name, info.name, info.dtype, str(info.tensor_shape).split()) for kind, part in (
        ("in", signature.inputs), ("out", signature.outputs)) for name, info in part.items())) + signature.method_name


@in_folder("")
def saved_model__simple_save(tf, folder):
    path = os.path.join(folder, "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = net(tf)
        session.run(tf.global_variables_initializer())
        wanted = session.run(y, {x: numbers(2, 3)})
        tf.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        again = words(lambda: tf.saved_model.simple_save(session, path, {"x": x}, {"y": y}))
    files = sorted(os.path.relpath(os.path.join(d, f), path) for d, _, fs in os.walk(path) for f in fs)
    found = [again] + files + [int(tf.saved_model.contains_saved_model(path)), int(tf.saved_model.loader.maybe_saved_model_directory(
        folder))]
    for scope in (None, "imported"):
        with tf.Graph().as_default() as g, tf.Session() as session:
            meta = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], path, import_scope=scope)
            signature = meta.signature_def[tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
            prefix = scope + "/" if scope else ""
            value = session.run(prefix + signature.outputs["y"].name, {prefix + signature.inputs["x"].name: numbers(2, 3)})
            found += [infos(signature), int(abs(value - wanted).max() < 1e-6), str(list(meta.meta_info_def.tags)), [
                v.name for v in tf.global_variables()].__repr__(), tf.saved_model.get_tensor_from_tensor_info(
                    signature.inputs["x"], g, scope).name, int(tf.saved_model.is_valid_signature(signature))]
    with tf.Graph().as_default(), tf.Session() as session:
        found += [words(lambda: tf.saved_model.loader.load(session, ["other"], path), "could not")[:50], words(
            lambda: tf.saved_model.loader.load(session, ["serve"], folder))]
    return found


@in_folder("")
def saved_model__Builder(tf, folder):  # noqa: N802
    path, vocabulary = os.path.join(folder, "model"), os.path.join(folder, "words.txt")
    with open(vocabulary, "w") as f:
        f.write("a\nb\n")
    builder = tf.saved_model.builder.SavedModelBuilder(path)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = net(tf)
        table = tf.contrib.lookup.index_table_from_file(vocabulary)
        key = tf.placeholder(tf.string, name="key")
        tf.identity(table.lookup(key), name="number")
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        early = words(lambda: builder.add_meta_graph(["train"]))
        builder.add_meta_graph_and_variables(
            session, ["serve", "cpu"], {"mine": tf.saved_model.predict_signature_def({"x": x}, {"y": y})},
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), main_op=tf.tables_initializer())
        twice = words(lambda: builder.add_meta_graph_and_variables(session, ["x"]))
        bad = fails(tf, lambda: tf.saved_model.Builder(folder))
    with tf.Graph().as_default():
        net(tf)
        builder.add_meta_graph(["train"])
        builder.save()
    os.remove(vocabulary)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, {"cpu", "serve"}, path)
        found = [str(session.run("number:0", {"key:0": ["b", "a", "z"]}).tolist()), str(session.run(
            "y:0", {"x:0": [[1, 2, 3]]}).round(4).tolist())]
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.load(session, ["train"], path)
        found += [str(list(meta.signature_def)), str(session.run("y:0", {"x:0": [[1, 2, 3]]}).round(4).tolist())]
    return found + [early, twice, bad, str(os.listdir(os.path.join(path, "assets")))]


@in_folder("")
def saved_model__predict_signature_def(tf, folder):
    x, y, s = tf.placeholder(tf.float32, [None, 2], name="x"), tf.constant(1.0, name="y"), tf.placeholder(tf.string, name="s")
    sparse = tf.SparseTensor(tf.constant([[0, 1]], tf.int64), tf.constant([1.0]), tf.constant([2, 3], tf.int64))
    sm = tf.saved_model
    made = [sm.predict_signature_def({"a": x}, {"b": y}), sm.regression_signature_def(s, x),
            sm.classification_signature_def(s, None, x), sm.classification_signature_def(s, s, x), sm.build_signature_def(
                {"a": sm.build_tensor_info(x)}, {}, "other")]
    info = sm.utils.build_tensor_info(sparse)
    return [infos(m) for m in made] + [int(sm.is_valid_signature(m)) for m in made] + [
        info.coo_sparse.values_tensor_name, info.WhichOneof("encoding"), int(info.dtype),
        words(lambda: sm.predict_signature_def({}, {"b": y})), words(lambda: sm.predict_signature_def({"a": x}, None)),
        words(lambda: sm.regression_signature_def(None, x)), fails(tf, lambda: sm.regression_signature_def(x, x)),
        fails(tf, lambda: sm.regression_signature_def(s, s)), fails(tf, lambda: sm.regression_signature_def(s, None)),
        words(lambda: sm.classification_signature_def(s, None, None)), fails(tf, lambda: sm.classification_signature_def(s, x, x)),
        sm.main_op.main_op().type]


@in_folder("train.latest_checkpoint train.get_checkpoint_state train.export_meta_graph train.import_meta_graph train.NewCheckpointReader "
           "train.list_variables train.init_from_checkpoint contrib.framework.list_variables contrib.framework.load_checkpoint "
           "io.write_graph train.Saver train.global_step core.framework.variable_pb2.VariableDef")
def train__Saver(tf, folder):  # noqa: N802
    path = os.path.join(folder, "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = net(tf)
        step = tf.train.get_or_create_global_step()
        tf.add_to_collection("outputs", y)
        saver = tf.train.Saver(max_to_keep=2)
        session.run(tf.global_variables_initializer())
        found = [saver.save(session, path, global_step=i) for i in (1, 2, 3)]
        found += [str(saver.last_checkpoints), str(tf.train.latest_checkpoint(folder)), int(tf.train.global_step(session, step))]
        state = tf.train.get_checkpoint_state(folder)
        found += [state.model_checkpoint_path, str(list(state.all_model_checkpoint_paths)), str(tf.train.get_checkpoint_state(
            folder, "none")), str(tf.train.latest_checkpoint(os.path.join(folder, "none")))]
        found += [str(sorted(f for f in os.listdir(folder)))]
        found += [words(lambda: saver.restore(session, None)), words(lambda: saver.restore(session, path + "-9")), words(
            lambda: saver.save(session, os.path.join(folder, "no", "model")), "doesn't")[:10], words(
                lambda: tf.train.Saver({"a": 3}))[:9], words(lambda: tf.train.Saver([y]))[:9]]
        meta = tf.train.export_meta_graph(os.path.join(folder, "graph.meta"))
        found += [str(sorted(meta.collection_def))]
        tf.io.write_graph(session.graph, folder, "graph.pbtxt")
        found += [str(os.path.exists(os.path.join(folder, "graph.pbtxt")))]
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + "-3.meta")
        saver.restore(session, path + "-3")
        found += [str(session.run(tf.get_collection("outputs")[0], {"x:0": numbers(1, 3)}).round(4).tolist()), words(
            lambda: tf.train.import_meta_graph(os.path.join(folder, "nothing")))]
    reader = tf.train.NewCheckpointReader(path + "-3")
    found += [str(sorted(reader.get_variable_to_shape_map().items())), str(reader.get_tensor("b").tolist()), int(reader.has_tensor(
        "c")), str(sorted(tf.train.list_variables(folder))), str(sorted(tf.contrib.framework.list_variables(folder))), str(
            tf.contrib.framework.load_checkpoint(path + "-3").get_tensor("b").tolist()), str(tf.train.load_variable(
                folder, "b").tolist()), int(tf.train.checkpoint_exists(path + "-3")), fails(
                    tf, lambda: tf.train.NewCheckpointReader(path + "-9")), fails(tf, lambda: reader.get_tensor("nothing"))]
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("other"):
            mine = tf.get_variable("b", [2])
            wrong = tf.get_variable("w", [5, 5])
        tf.train.init_from_checkpoint(folder, {"b": "other/b"})
        session.run(tf.global_variables_initializer())
        found += [str(session.run(mine).tolist()), fails(tf, lambda: tf.train.init_from_checkpoint(folder, {"w": wrong})), fails(
            tf, lambda: tf.train.init_from_checkpoint(folder, {"nothing": mine}))]
    with tf.Graph().as_default():
        found += [words(lambda: tf.train.Saver())]
    return found

