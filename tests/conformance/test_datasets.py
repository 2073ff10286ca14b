# SPDX-License-Identifier: Apache-2.0
"""The same pipelines, made with tf.data of each: what they give, in which order, twice from the beginning."""
import numpy as np
import pytest
from both import tf

import thalweg as tw


def _files(folder):
    (folder / "a.txt").write_bytes(b"one\ntwo\r\n\nlast")
    (folder / "b.txt").write_bytes(b"b1\nb2\n")
    (folder / "f.bin").write_bytes(b"HHabcdefghF")
    with tf.python_io.TFRecordWriter(str(folder / "r.tfrecord")) as writer:
        for i in range(5):
            writer.write(b"record %d" % i)


def _yielded():
    for i in range(4):
        yield i, [float(i)] * i


def _times(dataset, n):
    return lambda x: dataset.from_tensors(x).repeat(n)


# Name -> a dataset of module t (its Dataset is d, its data.experimental e), with files in folder f.
PIPELINES = {
    "shuffle": lambda t, d, e, f: d.range(10).shuffle(4, seed=7),
    "shuffle_more": lambda t, d, e, f: d.range(1000).shuffle(100, seed=1),
    "shuffle_repeat": lambda t, d, e, f: d.range(6).shuffle(4, seed=7).repeat(3),
    "repeat_shuffle": lambda t, d, e, f: d.range(6).repeat(2).shuffle(100, seed=3),
    "shuffle_once": lambda t, d, e, f: d.range(6).shuffle(4, seed=7, reshuffle_each_iteration=False).repeat(3),
    "shuffle_and_repeat": lambda t, d, e, f: d.range(6).apply(e.shuffle_and_repeat(4, count=3, seed=9)),
    "batch": lambda t, d, e, f: d.range(7).batch(3),
    "batch_drop": lambda t, d, e, f: d.range(7).batch(3, drop_remainder=True),
    "padded": lambda t, d, e, f: d.range(1, 6).map(lambda x: t.fill([x], x)).padded_batch(2, [None]),
    "padded_to": lambda t, d, e, f: d.range(1, 6).map(lambda x: (t.fill([x], x), t.as_string(x))).padded_batch(
        2, ([6], []), (t.constant(-1, t.int64), "?")),
    "padded_too_small": lambda t, d, e, f: d.range(1, 6).map(lambda x: t.fill([x], x)).padded_batch(2, [3]),
    "window": lambda t, d, e, f: d.range(10).window(3, shift=2, stride=2).flat_map(lambda w: w.batch(3)),
    "window_apart": lambda t, d, e, f: d.range(10).window(2, shift=3, drop_remainder=True).flat_map(lambda w: w.batch(3)),
    "interleave": lambda t, d, e, f: d.range(5).interleave(_times(d, 4), cycle_length=3, block_length=2),
    "interleave_parallel": lambda t, d, e, f: d.range(5).interleave(_times(d, 4), cycle_length=3, block_length=2, num_parallel_calls=2),
    "parallel_interleave": lambda t, d, e, f: d.range(5).apply(e.parallel_interleave(_times(d, 4), cycle_length=2, block_length=1)),
    "flat_map": lambda t, d, e, f: d.range(4).flat_map(d.range),
    "filter": lambda t, d, e, f: d.range(10).filter(lambda x: t.equal(x % 3, 0)),
    "zip": lambda t, d, e, f: d.zip((d.range(5), {"a": d.range(3, 9), "b": d.range(10).batch(2)})),
    "concatenate": lambda t, d, e, f: d.range(3).concatenate(d.range(7, 9)),
    "shard": lambda t, d, e, f: d.range(10).shard(3, 1),
    "skip_take": lambda t, d, e, f: d.range(10).skip(2).take(5),
    "take_nothing": lambda t, d, e, f: d.range(3).take(0).concatenate(d.range(2).skip(-1)),
    "range_down": lambda t, d, e, f: d.range(10, 0, -3),
    "scan": lambda t, d, e, f: d.range(6).apply(e.scan(np.int64(1), lambda s, x: (s + x, s * x))),
    "take_while": lambda t, d, e, f: d.range(10).apply(e.take_while(lambda x: x < 4)),
    "map_and_batch": lambda t, d, e, f: d.range(10).apply(e.map_and_batch(lambda x: x * 2, 4)),
    "map_parallel": lambda t, d, e, f: d.range(20).map(lambda x: x * 3, num_parallel_calls=4),
    "unbatch": lambda t, d, e, f: d.range(6).batch(4).apply(e.unbatch()),
    "enumerate": lambda t, d, e, f: d.from_tensor_slices(["a", "b"]).apply(e.enumerate_dataset(5)),
    "lines": lambda t, d, e, f: t.data.TextLineDataset([f"{f}/a.txt", f"{f}/b.txt"]),
    "lines_in_turn": lambda t, d, e, f: t.data.TextLineDataset([f"{f}/a.txt", f"{f}/b.txt"], num_parallel_reads=2),
    "records": lambda t, d, e, f: t.data.TFRecordDataset(f"{f}/r.tfrecord"),
    "pieces": lambda t, d, e, f: t.data.FixedLengthRecordDataset(f"{f}/f.bin", 2, header_bytes=2, footer_bytes=1),
    "pieces_uneven": lambda t, d, e, f: t.data.FixedLengthRecordDataset(f"{f}/f.bin", 3),
    "no_file": lambda t, d, e, f: t.data.TextLineDataset(f"{f}/nope.txt"),
    "files": lambda t, d, e, f: d.list_files(f"{f}/*.txt", shuffle=False),
    "files_shuffled": lambda t, d, e, f: d.list_files(f"{f}/*", seed=4),
    "generator": lambda t, d, e, f: d.from_generator(_yielded, (t.int64, t.float32), ([], [None])),
    "cache": lambda t, d, e, f: d.range(4).cache().repeat(2),
    "sparse": lambda t, d, e, f: d.from_tensor_slices(t.SparseTensor([[0, 0], [1, 2], [3, 1]], [1, 2, 3], [4, 3])).batch(2),
    "random": lambda t, d, e, f: e.RandomDataset(seed=3).take(6),
    "counter": lambda t, d, e, f: e.Counter(3, 2).take(4),
    "dictionary": lambda t, d, e, f: d.from_tensor_slices({"x": [1, 2, 3], "y": [[1., 2.], [3., 4.], [5., 6.]]}).map(
        lambda r: {"z": t.cast(r["x"], t.float32) * r["y"]}),
    "errors_ignored": lambda t, d, e, f: d.range(5).map(lambda x: t.check_numerics(1.0 / t.cast(x - 2, t.float32), "bad")).apply(
        e.ignore_errors()),
    "uneven_batch": lambda t, d, e, f: d.range(3).map(lambda x: t.fill([x], x)).batch(2),
    "no_repetition": lambda t, d, e, f: d.range(3).repeat(0),
}


def _flat(t, value):
    """Components as arrays, whatever the structure."""
    if isinstance(value, (t.SparseTensorValue,)):
        return [np.asarray(part) for part in value]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _flat(t, value[key])]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _flat(t, part)]
    return [np.asarray(value)]


def _given(t, make, folder):
    with t.Graph().as_default():
        t.set_random_seed(11)
        dataset = make(t, t.data.Dataset, t.data.experimental, folder)
        iterator = t.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        given = []
        with t.Session() as session:
            for _ in range(2):
                session.run(iterator.initializer)
                try:
                    while True:
                        given.append(_flat(t, session.run(following)))
                except t.errors.OpError as error:
                    given.append(type(error).__name__)
        return given


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_pipelines_give_the_same(name, tmp_path):
    _files(tmp_path)
    theirs, ours = (_given(t, PIPELINES[name], tmp_path) for t in (tf, tw))
    assert len(ours) == len(theirs), f"theirs {theirs}; ours {ours}"
    for mine, its in zip(ours, theirs):
        if isinstance(its, str):
            assert mine == its
            continue
        assert len(mine) == len(its)
        for a, b in zip(mine, its):
            assert a.dtype == b.dtype and a.shape == b.shape, f"theirs {b!r}, ours {a!r}"
            np.testing.assert_array_equal(a, b)
