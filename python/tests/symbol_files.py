# SPDX-License-Identifier: Apache-2.0
"""Cases of symbols that are no operations: features, files of records, what a Saver takes, private paths. See symbol_cases.py."""
import importlib
import os
import subprocess
import sys
import tempfile

import numpy as np
from symbol_cases import fails, numbers, shows


def private(tf, path):
    """A module of TensorFlow's own, as the launcher serves it here."""
    if tf.__name__.startswith("tensorflow"):
        return importlib.import_module("tensorflow." + path)
    return importlib.import_module("thalweg.compatibility.stand_ins").module("tensorflow." + path)


@shows("FixedLenFeature")
def FixedLenFeature(tf):  # noqa: N802
    features = [tf.FixedLenFeature([], tf.float32), tf.FixedLenFeature([2], tf.string, ["a", "b"]), tf.VarLenFeature(tf.int64),
                tf.SparseFeature("a", ["b"], tf.int64, [5]), tf.SparseFeature("a", "b", tf.float32, 5, True),
                tf.FixedLenSequenceFeature([3], tf.float32, True), tf.io.FixedLenFeature(shape=3, dtype=tf.int64, default_value=0)]
    return [*map(str, features), int(features[0] == tf.FixedLenFeature([], tf.float32)), len(features[1]),
            fails(tf, lambda: tf.FixedLenFeature([])), fails(tf, lambda: tf.VarLenFeature())]


@shows("python.ops.io_ops.read_file python.ops.io_ops.write_file read_file write_file")
def io_ops(tf):
    files = private(tf, "python.ops.io_ops")
    path = os.path.join(tempfile.mkdtemp(), "new", "file")
    with tf.control_dependencies([files.write_file(path, "some\0text")]):
        read = files.read_file(tf.constant(path))
    return [read, files.read_file(filename=tf.constant(path)).dtype.name,
            fails(tf, lambda: files.read_file(path + "/none")), fails(tf, lambda: files.write_file(["a"], "b")),
            fails(tf, lambda: files.read_file(3))]


@shows("core.protobuf.rewriter_config_pb2.RewriterConfig")
def RewriterConfig(tf):  # noqa: N802
    kind = private(tf, "core.protobuf.rewriter_config_pb2").RewriterConfig
    config = kind(constant_folding=kind.OFF, optimizers=["pruning", "layout"], meta_optimizer_iterations=kind.TWO)
    config.memory_optimization = kind.HEURISTICS
    config.auto_parallel.num_replicas = 3
    wire = config.SerializeToString()
    options = tf.GraphOptions(rewrite_options=config)
    with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
        found = session.run(tf.constant(2.0) * 3)
    return [wire.hex(), int(kind.FromString(wire) == config), options.SerializeToString().hex(), tf.constant(found), int(kind.ON),
            fails(tf, lambda: kind(constant_folding="none"))]


PROGRAM = """import importlib
tf = importlib.import_module("{}")

class Numbers(tf.test.TestCase):
    def test_numbers(self):
        self.assertAllClose([1.0, 2.0], [1.0, {}])

if __name__ == "__main__":
    tf.test.main()
"""


@shows("test.main")
def test__main(tf):
    """How the program of a good and of a failing test ends."""
    found = []
    for value in (2.0, 3.0):
        program = os.path.join(tempfile.mkdtemp(), "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(tf.__name__, value))
        ended = subprocess.run([sys.executable, program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=300,
                               stderr=subprocess.PIPE, check=False)
        text = ended.stderr.decode()
        found += [ended.returncode, int("\nOK" in text), int("FAILED (failures=1" in text)]
    return found


class Doubled:
    """A variable of which a checkpoint holds the double and the sum with 1."""

    @staticmethod
    def of(tf, variable, name):
        kept = private(tf, "python.training.saver").BaseSaverBuilder

        class Kind(kept.SaveableObject):
            """Notes what it is given."""

            def __init__(self):
                super().__init__(variable, [
                    kept.SaveSpec(variable * 2, "", name + "/double"),
                    kept.SaveSpec(lambda: variable + 1, "", name + "/more", dtype=tf.float32, device="/cpu:0")], name)
                self.given = []

            def restore(self, restored_tensors, restored_shapes):
                self.given += [len(restored_tensors), str(restored_shapes and restored_shapes[0])]
                return tf.assign(variable, restored_tensors[0] / 2 + restored_tensors[1] * 0)

        return Kind()


@shows("train.Saver")
def train__Saver___of_saveable_objects(tf):  # noqa: N802
    builder = private(tf, "python.training.saver").BaseSaverBuilder
    v, w = tf.Variable(numbers(3), name="v"), tf.Variable(3.0, name="w")
    two = Doubled.of(tf, v, "two")
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, two)
    folder = tempfile.mkdtemp()
    given = [({}, "a"), ({"var_list": [w, two]}, "b"), ({"var_list": [two], "reshape": True}, "c"), ({"var_list": {"x": w, "y": two}}, "d")]
    savers = [(tf.train.Saver(**arguments), name) for arguments, name in given]
    found = []
    for saver, name in savers:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run([tf.assign(v, v + 1), tf.assign(w, 7.0)])
            path = saver.save(session, os.path.join(folder, name))
            found += [str(tf.train.list_variables(path)), tf.constant(tf.train.load_variable(path, "two/double"))]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.assign(v, np.zeros(3)))
            if name != "a":  # where v stands for itself too, either may come last
                saver.restore(session, path)
            found += [tf.constant(session.run(v)), tf.constant(session.run(w))]
    found += [int(n) if isinstance(n, int) else n for n in two.given]
    found += [fails(tf, lambda: tf.train.Saver([Doubled.of(tf, v, "v"), v])),
              fails(tf, lambda: builder.SaveSpec(lambda: v, "", "n")),
              fails(tf, lambda: tf.train.Saver([builder.SaveableObject(v, [builder.SaveSpec(v, "", "q")], "q")]))]
    spec = builder.SaveSpec(w, "4 2,2", "part")
    return found + [spec.name, spec.slice_spec, spec.dtype.base_dtype.name, two.name, two.specs[0].name]


@shows("train.Saver")
def train__Saver___of_slices(tf):  # noqa: N802
    """Two halves that are one tensor of the checkpoint."""
    kept = private(tf, "python.training.saver").BaseSaverBuilder
    halves = [tf.Variable(numbers(2), name="first"), tf.Variable(numbers(2, start=2), name="second")]

    class Half(kept.SaveableObject):
        """Two of the four numbers."""

        def __init__(self, number):
            super().__init__(halves[number], [kept.SaveSpec(halves[number], f"4 {2 * number},2", "whole")], f"half{number}")

        def restore(self, restored_tensors, restored_shapes):
            return tf.assign(self.op, restored_tensors[0])

    saver = tf.train.Saver([Half(0), Half(1)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, os.path.join(tempfile.mkdtemp(), "m"))
        session.run([tf.assign(h, [0, 0]) for h in halves])
        saver.restore(session, path)
        found = session.run(halves)
    return [tf.constant(tf.train.load_variable(path, "whole")), *map(tf.constant, found)]


@shows("python_io.TFRecordWriter python_io.tf_record_iterator python_io.TFRecordOptions python_io.TFRecordCompressionType")
def python_io(tf):
    """Records that are written, read, damaged and cut off."""
    io, folder = tf.python_io, tempfile.mkdtemp()
    kinds = [None, io.TFRecordOptions(io.TFRecordCompressionType.GZIP), io.TFRecordOptions("ZLIB", compression_level=9), "GZIP", ""]
    given, found = [b"", b"first", bytes(range(256)) * 40], []
    for number, kind in enumerate(kinds):
        path = os.path.join(folder, str(number))
        with io.TFRecordWriter(path, kind) as writer:
            for record in given:
                writer.write(record)
            writer.flush()
        found += [int(list(io.tf_record_iterator(path, kind)) == given), io.TFRecordOptions.get_compression_type_string(kind),
                  ",".join(str(len(r)) for r in tf.io.tf_record_iterator(path=path, options=kind))]
    plain = os.path.join(folder, "0")
    with open(plain, "rb") as file:
        data = file.read()
    found.append(data[:60].hex())
    for damaged in (data[:-1], data[:20], data[:16], data[:8] + b"X" + data[9:], data[:30] + b"X" + data[31:], b"", data + data):
        with open(plain, "wb") as file:
            file.write(damaged)
        kept = []
        try:
            kept.extend(len(r) for r in io.tf_record_iterator(plain))
        except tf.errors.OpError as error:
            kept.append(type(error).__name__ + " " + error.message.split(":")[0])  # what was found stands behind it
        found.append(str(kept))
    closed = io.TFRecordWriter(plain)
    closed.close()
    closed.close()
    return found + [fails(tf, lambda: closed.write(b"late")), fails(tf, closed.flush), fails(tf, lambda: io.TFRecordOptions("BZ")),
                    fails(tf, lambda: io.TFRecordWriter(folder + "/none/x")), fails(tf, lambda: io.TFRecordWriter(plain).write("text")),
                    fails(tf, lambda: list(io.tf_record_iterator(folder + "/none"))),
                    fails(tf, lambda: list(io.tf_record_iterator(plain, "BZ"))), str(io.TFRecordOptions.compression_type_map)]
