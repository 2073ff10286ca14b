# SPDX-License-Identifier: Apache-2.0
"""slim's providers of data: records, decoders of Examples, readers in parallel, prefetched batches. What is expected is what TensorFlow 1.15 gives."""
import os
import subprocess
import sys

import numpy as np
import pytest

import thalweg as tf

slim = tf.contrib.slim
decoders = slim.tfexample_decoder
PICTURES = [(np.roll(np.arange(60) * 4, 20 * i).reshape(4, 5, 3)).astype(np.uint8) for i in range(3)]
FEATURES = {
    "image/encoded": tf.FixedLenFeature([], tf.string), "image/format": tf.FixedLenFeature([], tf.string, "png"),
    "several": tf.FixedLenFeature([2], tf.string), "pixels": tf.FixedLenFeature((), tf.string), "raw": tf.FixedLenFeature((), tf.string),
    **{side: tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax", "numbers", "values")},
    "label": tf.FixedLenFeature([1], tf.int64), "words": tf.VarLenFeature(tf.string),
    **{name: tf.VarLenFeature(tf.int64) for name in ("rows", "columns", "indices", "size", "nothing")}}


def feature(value):
    kind = type(value[0])
    if kind is bytes:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
    if kind is float:
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def example(i, files):
    features = {"image/encoded": [files[i]], "image/format": [b"png"], "several": files[:2], "pixels": [PICTURES[i].tobytes()], "raw": [b"raw"],
                "ymin": [.1, .2], "xmin": [.3, .4], "ymax": [.5, .6], "xmax": [.7, .8], "label": [i], "rows": [2], "columns": [3],
                "numbers": [0., 1., 2., 3., 4., 5.], "indices": [0, 3], "values": [1.5, 2.5], "size": [5], "words": [b"a", b"c"]}
    return tf.train.Example(features=tf.train.Features(feature={k: feature(v) for k, v in features.items()})).SerializeToString()


@pytest.fixture
def examples():
    with tf.Graph().as_default(), tf.Session() as session:
        files = [session.run(tf.image.encode_png(p)) for p in PICTURES]
    return [example(i, files) for i in range(3)]


def decoded(handlers, serialized):
    decoder = decoders.TFExampleDecoder(FEATURES, handlers() if callable(handlers) else handlers)
    items = decoder.list_items()
    tensors = decoder.decode(tf.placeholder_with_default(serialized, []), items)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return dict(zip(items, tensors)), dict(zip(items, session.run(tensors)))


def test_pictures(examples):
    d = decoders
    tensors, values = decoded({"image": d.Image(), "gray": d.Image(channels=1), "floats": d.Image(dtype=tf.float32), "raw": d.Image("pixels", "raw", [4, 5, 3]),
                               "several": d.Image("several", repeated=True)}, examples[2])
    assert tensors["image"].shape.as_list() == [None, None, 3] and tensors["gray"].shape.as_list() == [None, None, 1]
    assert tensors["several"].shape.as_list() == [2, None, None, 3] and tensors["raw"].shape.as_list() == [4, 5, 3]
    for item in ("image", "floats", "raw"):
        np.testing.assert_array_equal(values[item], PICTURES[2])
    assert values["floats"].dtype == np.float32
    np.testing.assert_array_equal(values["several"], PICTURES[:2])


def test_numbers(examples):
    d = decoders

    def handlers():
        return {"box": d.BoundingBox(), "label": d.Tensor("label"), "scalar": d.Tensor("label", shape=[]), "reshaped": d.Tensor("numbers", shape=[3, 2]),
                "keyed": d.Tensor("numbers", shape_keys=["rows", "columns"]), "sparse": d.SparseTensor("indices", "values", shape=[5]),
                "dense": d.SparseTensor("indices", "values", shape_key="size", densify=True, default_value=-1),
                "words": d.LookupTensor("words", tf.contrib.lookup.index_table_from_tensor(["a", "b", "c"])),
                "backup": d.BackupHandler(d.Tensor("nothing"), d.Tensor("size")), "first": d.BackupHandler(d.Tensor("rows"), d.Tensor("size")),
                "called": d.ItemHandlerCallback("label", lambda tensors: tensors["label"] * 3)}
    _, values = decoded(handlers, examples[1])
    np.testing.assert_allclose(values["box"], [[.1, .3, .5, .7], [.2, .4, .6, .8]])
    shown = {k: v.tolist() for k, v in values.items() if k not in ("box", "sparse")}
    assert shown == {"label": [1], "scalar": 1, "reshaped": [[0, 1], [2, 3], [4, 5]], "keyed": [[0, 1, 2], [3, 4, 5]], "dense": [1.5, -1, -1, 2.5, -1],
                     "words": [0, 2], "backup": [5], "first": [2], "called": [3]}
    assert values["sparse"].indices.tolist() == [[0], [3]] and values["sparse"].dense_shape.tolist() == [5]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: decoders.BoundingBox(["a"]), "BoundingBox expects 4 keys but got 1"),
    (lambda: decoders.Tensor("a", shape_keys="b", shape=[1]), "Cannot specify both shape_keys and shape"),
    (lambda: decoders.BackupHandler(1, decoders.Tensor("a")), "Primary handler is of type <class 'int'> instead of ItemHandler"),
    (lambda: slim.parallel_reader.get_data_files("/no/such/*"), "No data files found in /no/such"),
    (lambda: slim.data_provider.DataProvider({"a": 1}, 2).get(["b"]), r"Item \[b\] is invalid"),
    (lambda: slim.data_provider.DataProvider({"a": 1}, 2).get("a"), "items must be a list or tuple"),
    (lambda: slim.prefetch_queue.prefetch_queue([tf.placeholder(tf.int32, [None])]), "All shapes must be fully defined")])
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.fixture
def folder(tmp_path, examples):
    for n in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"part-{n}")) as writer:
            for record in examples:
                writer.write(record)
    return tmp_path


def dataset(folder, **more):
    decoder = decoders.TFExampleDecoder({"label": tf.FixedLenFeature([], tf.int64)}, {"label": decoders.Tensor("label")})
    return slim.dataset.Dataset(str(folder / "part-*"), tf.TFRecordReader, decoder, 6, {"label": "a digit"}, **more)


def test_a_provider_gives_each_record_and_its_key(folder):
    provider = slim.dataset_data_provider.DatasetDataProvider(dataset(folder), shuffle=False, num_epochs=1)
    assert provider.list_items() == ["label", "record_key"] and provider.num_samples() == 6
    label, key = provider.get(["label", "record_key"])
    found = []
    with tf.train.MonitoredSession() as session, pytest.raises(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run([label, key]))
    assert [int(n) for n, _ in found] == [0, 1, 2] * 2
    assert [os.path.basename(k).split(b":")[0] for _, k in found] == [b"part-0"] * 3 + [b"part-1"] * 3 and found[0][1].endswith(b"part-0:0")
    assert sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)) == ["parallel_read/filenames/fraction_of_32_full",
                                                                                  "parallel_read/fraction_of_256_full"]
    with pytest.raises(ValueError, match="The item name used for `record_key`"):
        slim.dataset_data_provider.DatasetDataProvider(dataset(folder), record_key="label")


def test_batches_are_prefetched(folder):
    provider = slim.dataset_data_provider.DatasetDataProvider(dataset(folder, num_classes=3), num_readers=2, common_queue_capacity=20, common_queue_min=3)
    labels = tf.train.batch(provider.get(["label"]), 4)
    queue = slim.prefetch_queue.prefetch_queue({"labels": labels, "double": labels * 2}, capacity=3, num_threads=2)
    assert queue.names == ["double", "labels"] and queue.name == "prefetch_queue/fifo_queue"
    batch = queue.dequeue()
    with tf.train.MonitoredSession() as session:
        for _ in range(5):
            got = session.run(batch)
            assert set(got["labels"]) <= {0, 1, 2} and (got["double"] == 2 * got["labels"]).all()
    padded = slim.prefetch_queue.prefetch_queue([tf.placeholder(tf.int32, [None])], dynamic_pad=True, name="mine")
    assert padded.name == "mine/padding_fifo_queue"


def test_a_single_pass(folder):
    key, _ = slim.parallel_reader.single_pass_read(str(folder / "part-1"), tf.TFRecordReader)
    with tf.train.MonitoredSession() as session:
        for _ in range(3):
            assert b"part-1:" in session.run(key)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(key)


PROGRAM = """
import sys
import tensorflow as tf
from tensorflow.contrib.slim.python.slim.data import dataset, dataset_data_provider, parallel_reader, prefetch_queue, tfexample_decoder
slim = tf.contrib.slim

def get_split(folder):
    keys_to_features = {"image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
                        "image/format": tf.FixedLenFeature((), tf.string, default_value="png"),
                        "label": tf.FixedLenFeature([1], tf.int64, default_value=tf.zeros([1], dtype=tf.int64))}
    items_to_handlers = {"image": slim.tfexample_decoder.Image(shape=[4, 5, 3], channels=3), "label": slim.tfexample_decoder.Tensor("label", shape=[])}
    decoder = slim.tfexample_decoder.TFExampleDecoder(keys_to_features, items_to_handlers)
    return slim.dataset.Dataset(data_sources=folder + "/part-*", reader=tf.TFRecordReader, decoder=decoder, num_samples=6,
                                items_to_descriptions={"image": "a picture", "label": "its kind"}, num_classes=3)

split = get_split(sys.argv[1])
provider = slim.dataset_data_provider.DatasetDataProvider(split, num_readers=2, common_queue_capacity=40, common_queue_min=6)
image, label = provider.get(["image", "label"])
images, labels = tf.train.batch([tf.to_float(image) / 255, label], batch_size=6)
labels = slim.one_hot_encoding(labels, split.num_classes)
images, labels = slim.prefetch_queue.prefetch_queue([images, labels], capacity=4).dequeue()
with slim.arg_scope([slim.fully_connected], weights_initializer=tf.zeros_initializer()):
    logits = slim.fully_connected(slim.flatten(images), split.num_classes, activation_fn=None)
loss = tf.losses.softmax_cross_entropy(labels, logits)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.train.MonitoredSession() as session:
    losses = [session.run([loss, train])[0] for _ in range(100)]
assert abs(losses[0] - 1.0986) < 1e-4 and max(losses[-10:]) < 0.5, losses
print("trained", images.shape, labels.shape)
"""


def test_a_program_of_slims_time_trains(folder):
    ran = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", "-c", PROGRAM, str(folder)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.splitlines()[-1] == "trained (6, 4, 5, 3) (6, 3)"
