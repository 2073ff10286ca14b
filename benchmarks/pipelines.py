# SPDX-License-Identifier: Apache-2.0
"""Input pipelines: pipelines.py data_WHAT [--variant tensorflow]

    data_records         records of a TFRecord file with their checksums, in batches of 1,024; a step is 20 batches
    data_parse           Examples of 1 KB in batches of 128, parsed; a step is 100 batches
    data_parse_queue     the same by TensorFlow 1's input nodes: a record at a time into a queue, 128 out of it; the variant `data`
                         is data_parse, to be measured in turn with it
    data_parse_upto      the same with read_up_to
    data_lines           lines of 8 numbers, split, to floats, in batches of 256; a step is 40 batches
    data_jpeg            files of 500 x 375 pixels: decoded, a window of 280 x 300 by chance, to 224 x 224, mirrored by chance; a
                         step is a batch of 32
    data_jpeg_crop       the same where nothing but the window is decoded (decode_and_crop_jpeg)
    data_shuffle         a million numbers through a buffer of a million, in batches of 1,000; a step is all of them
    data_stages          10,000 numbers through 15 stages, maps, filters and takes in turn; a step is all of them
    data_events          `thalweg events ls` of a file of 100 MB, with all checksums

Files are made once, by a generator with a seed, in a folder of the system's temporary one.
"""
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peers"))
import common

a = common.options()
import numpy as np

is_tensorflow = a.variant == "tensorflow"
if is_tensorflow:
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
else:
    import thalweg as tf

RECORDS, LINES, PICTURES, NUMBERS, STAGED = 200_000, 200_000, 64, 1_000_000, 10_000
FEATURES = {"image": tf.FixedLenFeature([], tf.string), "floats": tf.FixedLenFeature([16], tf.float32),
            "label": tf.FixedLenFeature([], tf.int64)}


def session():
    return tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=a.threads, inter_op_parallelism_threads=a.threads))


def report(step, warm=1, **more):
    common.emit(a, "tensorflow" if is_tensorflow else "thalweg", tf.__version__, common.measure(step, a.seconds, warm), **more)


def made(name, make):
    """The file of that name, which `make` writes where it is not there."""
    folder = os.path.join(tempfile.gettempdir(), "pipelines-1-%d" % os.getuid())
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        new = "%s.%d" % (path, os.getpid())
        make(new, np.random.RandomState(0))
        os.replace(new, path)
    return path


# --- files ---

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, data):
    """A field of bytes of a message."""
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def example(**features):
    return field(1, b"".join(field(1, field(1, key.encode()) + field(2, value)) for key, value in features.items()))


def write_records(path, rng):
    with tf.python_io.TFRecordWriter(path) as w:
        for i in range(RECORDS):
            w.write(example(image=field(1, field(1, rng.bytes(900))), floats=field(2, field(1, struct.pack("<16f", *rng.rand(16)))),
                            label=field(3, field(1, varint(i)))))


def write_lines(path, rng):
    with open(path, "w") as f:
        for row in rng.rand(LINES, 8):
            f.write(",".join("%.5f" % x for x in row) + "\n")


def write_pictures(path, rng):
    """Pictures of gentle slopes and some noise, JPEG of quality 90, in a TFRecord file."""
    y, x = np.mgrid[0:375, 0:500]
    pixels = tf.placeholder(tf.uint8, [375, 500, 3])
    encoded = tf.image.encode_jpeg(pixels, quality=90)
    with tf.Session() as s, tf.python_io.TFRecordWriter(path) as w:
        for i in range(PICTURES):
            slopes = [127 + 100 * np.sin(y / (7 + c + i % 5)) * np.cos(x / (9 - c + i % 7)) + rng.randn(375, 500) * 12 for c in range(3)]
            w.write(s.run(encoded, {pixels: np.clip(np.stack(slopes, -1), 0, 255).astype(np.uint8)}))


def write_events(path, rng):
    """Scalars of 20 tags and, now and then, a histogram of 1 KB."""
    with tf.python_io.TFRecordWriter(path) as w:
        size = step = 0
        while size < 100_000_000:
            step += 1
            values = [field(1, field(1, b"train/layer_%d/loss" % i) + b"\x15" + struct.pack("<f", x)) for i, x in enumerate(rng.rand(20))]
            if step % 50 == 0:
                values.append(field(1, field(1, b"train/weights") + field(5, field(6, rng.rand(64).tobytes()) + field(7, rng.rand(64).tobytes()))))
            for value in values:
                event = b"\x09" + struct.pack("<d", 1.6e9 + step) + b"\x10" + varint(step) + field(5, value)
                w.write(event)
                size += 16 + len(event)


# --- rows ---

def next_of(dataset):
    return tf.data.make_one_shot_iterator(dataset).get_next()


def runs(fetch, times):
    """A step that runs the fetch so often."""
    s = session()
    tf.train.start_queue_runners(s)

    def step():
        for _ in range(times):
            s.run(fetch)
    return step


def data_records():
    path = made("records", write_records)
    rows = next_of(tf.data.TFRecordDataset([path]).repeat().batch(1024))
    report(runs(rows.op, 20), nodes=20 * 1024, bytes_=20 * 1024 * os.path.getsize(path) // RECORDS)


def report_parsed(rows):
    report(runs(list(tf.parse_example(rows, FEATURES).values())[0].op, 100), nodes=100 * 128)


def data_parse():
    d = tf.data.TFRecordDataset([made("records", write_records)]).repeat().batch(128)
    d = d.map(lambda rows: tf.parse_example(rows, FEATURES), num_parallel_calls=a.threads).prefetch(2)
    report(runs(list(next_of(d).values())[0].op, 100), nodes=100 * 128)


def input_nodes():
    return tf.TFRecordReader(), tf.train.string_input_producer([made("records", write_records)])


def data_parse_queue():
    if a.variant == "data":
        return data_parse()
    reader, names = input_nodes()
    report_parsed(tf.train.batch([reader.read(names)[1]], 128, num_threads=a.threads, capacity=16 * 128))


def data_parse_upto():
    reader, names = input_nodes()
    report_parsed(reader.read_up_to(names, 128)[1])


def data_lines():
    def numbers(line):
        return tf.string_to_number(tf.string_split([line], ",").values)
    path = made("lines", write_lines)
    d = tf.data.TextLineDataset([path]).repeat().map(numbers, num_parallel_calls=a.threads).batch(256).prefetch(2)
    report(runs(next_of(d).op, 40), nodes=40 * 256, bytes_=40 * 256 * os.path.getsize(path) // LINES)


def pictures(batch, crop=False):
    def picture(file):
        if crop:
            place = [tf.random_uniform([], 0, 96, tf.int32), tf.random_uniform([], 0, 201, tf.int32), 280, 300]
            window = tf.image.decode_and_crop_jpeg(file, tf.stack(place), channels=3)
        else:
            window = tf.random_crop(tf.image.decode_jpeg(file, channels=3), [280, 300, 3])
        window = tf.squeeze(tf.image.resize_bilinear(tf.expand_dims(window, 0), [224, 224]), 0)
        return tf.image.random_flip_left_right(window)
    d = tf.data.TFRecordDataset([made("pictures", write_pictures)]).repeat()
    return next_of(d.map(picture, num_parallel_calls=a.threads).batch(batch, drop_remainder=True).prefetch(2))


def data_jpeg(crop=False):
    report(runs(pictures(32, crop).op, 1), nodes=32)


def passes(d, elements):
    """A step is a whole pass over the dataset, by an iterator that begins anew."""
    iterator = tf.data.make_initializable_iterator(d)
    begin, fetch, s = iterator.initializer, iterator.get_next().op, session()

    def step():
        s.run(begin)
        for _ in range(elements):
            s.run(fetch)
    return step


def data_shuffle():
    report(passes(tf.data.Dataset.range(NUMBERS).shuffle(NUMBERS, seed=1).batch(1000), NUMBERS // 1000), nodes=NUMBERS)


def data_stages():
    d = tf.data.Dataset.range(STAGED)
    for _ in range(5):
        d = d.map(lambda x: x + 1).filter(lambda x: x >= 0).take(STAGED)
    report(passes(d.batch(STAGED), 1), nodes=15 * STAGED)


def data_events():
    path = made("events.tfevents", write_events)
    command = [os.path.join(os.path.dirname(HERE), "build/release/bin/thalweg"), "events", "ls", path]
    report(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), bytes_=os.path.getsize(path))


ROWS = [data_records, data_parse, data_parse_queue, data_parse_upto, data_lines, data_jpeg, data_shuffle, data_stages, data_events]

if __name__ == "__main__":
    dict({f.__name__: f for f in ROWS}, data_jpeg_crop=lambda: data_jpeg(True))[a.workload]()
    os._exit(0)  # queue runners wait for ever
