# SPDX-License-Identifier: Apache-2.0
"""The same pipelines, made with tf.data of each: what they give, in which order, twice from the beginning."""
import sqlite3

import numpy as np
import pytest
from both import tf

import thalweg as tw


def _files(folder):
    (folder / "a.txt").write_bytes(b"one\ntwo\r\n\nlast")
    (folder / "b.txt").write_bytes(b"b1\nb2\n")
    (folder / "t.csv").write_bytes(b'a,b,c\r\n1,x,2.5\r\n2,"y,""z",3.5\r\n,"w\n",1e400\r\n 4 ,,.5')
    (folder / "s.csv").write_bytes(b"a;b;c;d\n1;2;NA;4\n5;6;7;8\n")
    (folder / "w.csv").write_bytes(b"1,2\n3\n4,5\n")
    (folder / "f.bin").write_bytes(b"HHabcdefghF")
    with sqlite3.connect(str(folder / "a.db")) as database:
        database.execute("CREATE TABLE t (i INTEGER, s TEXT, f REAL, b INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(3, "three", 0.5, 1), (-1, "", 1e300, 0), (None, None, None, None)])
    with tf.python_io.TFRecordWriter(str(folder / "r.tfrecord")) as writer:
        for i in range(5):
            writer.write(b"record %d" % i)


def _yielded():
    for i in range(4):
        yield i, [float(i)] * i


def _times(dataset, n):
    return lambda x: dataset.from_tensors(x).repeat(n)


def _growing(t, d):
    return d.range(1, 12).map(lambda x: t.fill([x], x))


def _three(d):
    return [d.range(4), d.range(10, 13), d.range(20, 22)]


def _raw(t, op, spec, **arguments):
    """A dataset of one component that an operation makes which tf.data has no method for."""
    said = {"output_types": [spec.dtype], "output_shapes": [spec.shape]}
    return t.data.experimental.from_variant(getattr(t.raw_ops, op)(**arguments, **said), spec)


def _raw_text(t, folder, op):
    said = t.raw_ops.MatchingFilesDataset(patterns=[str(folder / "*.txt"), str(folder / "[as].*")])
    return t.data.experimental.from_variant(said, t.TensorSpec([], t.string))


def _number(t, *shape):
    return t.TensorSpec(shape, t.int64)


def _of(t, d, n=30):
    return t.data.experimental.to_variant(d.range(n))


# As PIPELINES: elements by key, by chance, of several datasets.
GROUPS = {
    "rebatch": lambda t, d, e, f: d.range(10).batch(4).rebatch(3),
    "rebatch_drop": lambda t, d, e, f: d.range(10).map(lambda x: (x, t.fill([2], x))).batch(4).rebatch(3, drop_remainder=True),
    "rebatch_sizes": lambda t, d, e, f: d.range(10).batch(4).rebatch([2, 1]),
    "rebatch_rest": lambda t, d, e, f: d.range(3).batch(2).rebatch(7),
    "rebatch_ragged": lambda t, d, e, f: d.range(1, 4).map(lambda x: t.fill([2, x], x)).rebatch(3),
    "matching_files": lambda t, d, e, f: _raw_text(t, f, "MatchingFilesDataset").map(lambda x: t.strings.substr(x, -5, 5)),
    "windows": lambda t, d, e, f: d.range(12).apply(e.group_by_window(lambda x: x % 5, lambda k, w: w.batch(10), 2)),
    "windows_sized": lambda t, d, e, f: d.range(12).apply(
        e.group_by_window(lambda x: -(x % 5), lambda k, w: w.batch(2).map(lambda b: (k, b)), window_size_func=lambda k: 1 - k)),
    "windows_of_none": lambda t, d, e, f: d.range(4).apply(
        e.group_by_window(lambda x: x % 2, lambda k, w: w.batch(9), window_size_func=lambda k: k)),
    "reducer": lambda t, d, e, f: d.range(10).apply(e.group_by_reducer(lambda x: -(x % 3), e.Reducer(
        lambda k: (np.int64(0), k), lambda s, x: (s[0] + x, s[1] * 2), lambda a, b: {"a": a, "b": b}))),
    "buckets": lambda t, d, e, f: _growing(t, d).apply(e.bucket_by_sequence_length(t.size, [4, 8], [2, 3, 2])),
    "buckets_to_boundary": lambda t, d, e, f: _growing(t, d).apply(
        e.bucket_by_sequence_length(t.size, [4, 8, 14], [2, 2, 2, 1], pad_to_bucket_boundary=True)),
    "buckets_dropped": lambda t, d, e, f: _growing(t, d).apply(
        e.bucket_by_sequence_length(t.size, [4, 8], [2, 3, 2], drop_remainder=True, padding_values=np.int64(-1))),
    "buckets_unpadded": lambda t, d, e, f: d.range(5).map(lambda x: t.fill([2], x)).apply(
        e.bucket_by_sequence_length(t.size, [4], [2, 3], no_padding=True)),
    "unique": lambda t, d, e, f: d.from_tensor_slices([3, 1, 3, 2, 1]).apply(e.unique()),
    "unique_texts": lambda t, d, e, f: d.from_tensor_slices([["a", ""], ["", "a"], ["a", ""]]).apply(e.unique()),
    "choose": lambda t, d, e, f: e.choose_from_datasets(
        _three(d), d.from_tensor_slices(np.array([0, 1, 2, 2, 2, 0, 1, 1, 1, 0, 0], np.int64))),
    "choose_until": lambda t, d, e, f: e.choose_from_datasets(
        _three(d), d.from_tensor_slices(np.array([0, 1, 2, 2, 2, 0, 1], np.int64)), stop_on_empty_dataset=True),
    "choose_no_dataset": lambda t, d, e, f: e.choose_from_datasets(_three(d), d.range(2, 7)),
    "sample": lambda t, d, e, f: e.sample_from_datasets(_three(d), seed=5),
    "sample_weighted": lambda t, d, e, f: e.sample_from_datasets(_three(d), [0.5, 0.2, 0.3], seed=6),
    "sample_until": lambda t, d, e, f: e.sample_from_datasets(_three(d), [0.5, 0.2, 0.3], seed=6, stop_on_empty_dataset=True),
    "sample_weights": lambda t, d, e, f: e.sample_from_datasets(_three(d), d.from_tensors([0.5, 0.2, 0.3]).repeat(), seed=5),
    "sampling": lambda t, d, e, f: _raw(t, "SamplingDataset", _number(t), input_dataset=_of(t, d), rate=0.4, seed=3, seed2=4),
    "resample": lambda t, d, e, f: d.from_tensor_slices(np.array([0, 0, 0, 1, 2], np.int64)).repeat().apply(
        e.rejection_resample(lambda x: x, [0.4, 0.4, 0.2], [0.6, 0.2, 0.2], seed=4)).take(150),
    "resample_estimated": lambda t, d, e, f: d.from_tensor_slices(np.array([0, 0, 0, 1], np.int64)).repeat().apply(
        e.rejection_resample(lambda x: x, [0.5, 0.5], seed=4)).take(150),
    "resample_without_one": lambda t, d, e, f: d.from_tensor_slices(np.array([0, 0, 0, 1], np.int64)).repeat(20).apply(
        e.rejection_resample(lambda x: x, [1.0, 0.0], [0.75, 0.25], seed=4)),
    "open_cycle": lambda t, d, e, f: d.range(12).interleave(_times(d, 3), cycle_length=-1, block_length=1),
    "asserted": lambda t, d, e, f: d.range(3).apply(e.assert_cardinality(3)),
    "asserted_less": lambda t, d, e, f: d.range(3).apply(e.assert_cardinality(2)),
    "asserted_more": lambda t, d, e, f: d.range(3).apply(e.assert_cardinality(4)),
    "list": lambda t, d, e, f: _raw(t, "ListDataset", _number(t), tensors=[np.int64(3), np.int64(4)]),
    "parallel_batch": lambda t, d, e, f: _raw(t, "ParallelBatchDataset", _number(t, None), input_dataset=_of(t, d, 7), batch_size=3,
                                              num_parallel_calls=2, drop_remainder=True),
    "sparse_batches": lambda t, d, e, f: _growing(t, d).apply(e.dense_to_sparse_batch(4, [20])),
    "sparse_batches_open": lambda t, d, e, f: d.range(6).map(lambda x: t.fill([x, 2], t.as_string(x))).apply(
        e.dense_to_sparse_batch(4, [None, 3])),
    "sparse_batches_too_small": lambda t, d, e, f: _growing(t, d).apply(e.dense_to_sparse_batch(4, [7])),
    "sparse_batches_of_rank_2": lambda t, d, e, f: _growing(t, d).apply(e.dense_to_sparse_batch(4, [20, 20])),
    "sparse_slices": lambda t, d, e, f: d.from_sparse_tensor_slices(
        t.SparseTensor([[0, 0], [1, 2], [3, 1]], [1, 2, 3], [4, 3])),
}

# As PIPELINES: records of CSV files.
RECORDS = {
    "csv": lambda t, d, e, f: e.CsvDataset(f"{f}/t.csv", [[0], "none", [0.5]], header=True),
    "sql": lambda t, d, e, f: e.SqlDataset("sqlite", f"{f}/a.db", "SELECT i, s, f, b FROM t", (t.int32, t.string, t.float64, t.bool)),
    "sql_nothing": lambda t, d, e, f: e.SqlDataset("sqlite", f"{f}/a.db", "SELECT i FROM t WHERE i > 9", (t.int64,)),
    "sql_columns": lambda t, d, e, f: e.SqlDataset("sqlite", f"{f}/a.db", "SELECT i, s FROM t", (t.int64,)),
    "csv_typed": lambda t, d, e, f: e.CsvDataset([f"{f}/t.csv"] * 2, [t.int64, t.string, t.float64], header=True),
    "csv_header": lambda t, d, e, f: e.CsvDataset(f"{f}/t.csv", [t.int32, t.string, t.float32]),
    "csv_columns": lambda t, d, e, f: e.CsvDataset(f"{f}/s.csv", [t.int32, [7]], header=True, field_delim=";", na_value="NA",
                                                   select_cols=[1, 2]),
    "csv_unquoted": lambda t, d, e, f: e.CsvDataset(f"{f}/t.csv", [""] * 4, use_quote_delim=False).apply(e.ignore_errors()),
    "csv_short": lambda t, d, e, f: e.CsvDataset(f"{f}/w.csv", [t.int32, t.int32]),
    "csv_errors_ignored": lambda t, d, e, f: e.CsvDataset(f"{f}/w.csv", [t.int32, t.int32]).apply(e.ignore_errors()),
    "csv_no_file": lambda t, d, e, f: e.CsvDataset(f"{f}/nope.csv", [t.int32]),
    "make_csv": lambda t, d, e, f: e.make_csv_dataset(f"{f}/t.csv", 2, num_epochs=1, shuffle=False),
    "make_csv_label": lambda t, d, e, f: e.make_csv_dataset(f"{f}/t.csv", 3, label_name="b", num_epochs=2, shuffle=False),
    "make_csv_columns": lambda t, d, e, f: e.make_csv_dataset(
        f"{f}/s.csv", 2, select_columns=["d", "b"], field_delim=";", num_epochs=1, shuffle=False),
    "make_csv_defaults": lambda t, d, e, f: e.make_csv_dataset(
        f"{f}/w.csv", 2, column_names=["x", "y"], column_defaults=[t.int32, [0.5]], header=False, num_epochs=1, shuffle=False,
        ignore_errors=True),
}


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

PIPELINES.update(GROUPS)
PIPELINES.update(RECORDS)


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


# Name -> a dataset whose cardinality both know, or not.
CARDINALITIES = {
    "window": lambda t, d, e: d.range(10).window(3, shift=2, stride=2),
    "window_drop": lambda t, d, e: d.range(10).window(3, shift=2, stride=2, drop_remainder=True),
    "window_none": lambda t, d, e: d.range(3).window(3, shift=2, stride=2, drop_remainder=True),
    "window_endless": lambda t, d, e: d.range(10).repeat().window(3),
    "filter_repeat": lambda t, d, e: d.range(10).filter(lambda x: x < 3).repeat(),
    "filter_repeat_none": lambda t, d, e: d.range(10).filter(lambda x: x < 3).repeat(0),
    "filter_repeat_some": lambda t, d, e: d.range(10).filter(lambda x: x < 3).repeat(3),
    "filter_take": lambda t, d, e: d.range(10).filter(lambda x: x < 3).take(2),
    "skip_all": lambda t, d, e: d.range(10).skip(-1),
    "skip_endless": lambda t, d, e: d.range(10).repeat().skip(-1),
    "nothing_repeated": lambda t, d, e: d.range(0).repeat(),
    "counter": lambda t, d, e: e.Counter(),
    "zip": lambda t, d, e: d.zip((d.range(3), d.range(5).repeat())),
    "zip_unknown": lambda t, d, e: d.zip((d.range(3), d.range(5).filter(lambda x: x < 3))),
    "concatenate": lambda t, d, e: d.range(3).filter(lambda x: x < 2).concatenate(d.range(5).repeat()),
    "take_while": lambda t, d, e: d.range(10).apply(e.take_while(lambda x: x < 3)),
    "asserted": lambda t, d, e: d.range(10).filter(lambda x: x < 3).apply(e.assert_cardinality(3)),
    "unbatch": lambda t, d, e: d.range(10).batch(3).apply(e.unbatch()),
    "scan": lambda t, d, e: d.range(10).apply(e.scan(np.int64(0), lambda s, x: (s, x))),
    "shuffle": lambda t, d, e: d.range(10).apply(e.shuffle_and_repeat(3, count=2)),
    "padded": lambda t, d, e: d.range(10).padded_batch(3, []),
}


@pytest.mark.parametrize("name", sorted(CARDINALITIES))
def test_cardinalities_are_the_same(name):
    said = []
    for t in (tf, tw):
        with t.Graph().as_default(), t.Session() as session:
            said.append(session.run(t.data.experimental.cardinality(CARDINALITIES[name](t, t.data.Dataset, t.data.experimental))))
    assert said[0] == said[1]


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


def _saved(t, path):
    """What comes after an iterator was saved in its middle beside a variable, and again after it was restored."""
    with t.Graph().as_default():
        iterator = t.data.make_initializable_iterator(t.data.Dataset.range(12).shuffle(5, seed=3).batch(2))
        following, v = iterator.get_next(), t.get_variable("v", initializer=[1.0, 2.0])
        saver = t.train.Saver([v, t.data.experimental.make_saveable_from_iterator(iterator)])
        with t.Session() as session:
            session.run([iterator.initializer, t.global_variables_initializer()])
            session.run(following)
            saver.save(session, path)
            first = [session.run(following).tolist() for _ in range(3)]
            saver.restore(session, path)
            return first, [session.run(following).tolist() for _ in range(3)]


def test_checkpoints_of_iterators_are_whole_for_the_other(tmp_path):
    theirs, ours = _saved(tf, str(tmp_path / "theirs")), _saved(tw, str(tmp_path / "ours"))
    assert theirs == ours and ours[0] == ours[1]
    for reader, path in ((tf, "ours"), (tw, "theirs")):
        listed = dict(reader.train.list_variables(str(tmp_path / path)))
        assert len(listed) == 2 and listed["v"] == [2]
        assert reader.train.load_variable(str(tmp_path / path), "v").tolist() == [1.0, 2.0]


def _all_of(t, dataset):
    given = []
    with t.Session() as session:
        following = t.data.make_one_shot_iterator(dataset).get_next()
        while True:
            try:
                given.append(session.run(following))
            except t.errors.OutOfRangeError:
                return given


@pytest.mark.parametrize("writer,reader", [(tf, tw), (tw, tf)])
def test_caches_in_files_are_read_by_the_other(writer, reader, tmp_path):
    def given(t, n):
        with t.Graph().as_default():
            cached = t.data.Dataset.range(n).map(lambda x: (x * x, t.as_string(x))).cache(str(tmp_path / "cache"))
            return _all_of(t, cached)
    assert given(writer, 12) == given(reader, 3) == [(x * x, b"%d" % x) for x in range(12)]


def _save(t, folder, shards):
    """Squares, their names and a dictionary, saved by each as it saves."""
    with t.Graph().as_default() as graph, t.Session() as session:
        dataset = t.data.Dataset.range(9).map(lambda x: (x * x, {"name": t.as_string(x), "row": t.fill([2], x)}))
        saved = dataset.save(folder, shard_func=(lambda x, _: x % 3) if shards else None)
        session.run(saved or next(op for op in graph.get_operations() if op.type == "SaveDataset"))


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize("writer,reader", [(tf, tw), (tw, tf), (tw, tw)])
def test_saved_datasets_are_loaded_by_the_other(writer, reader, shards, tmp_path):
    folder = str(tmp_path / "saved")
    _save(writer, folder, shards)
    spec = (reader.TensorSpec([], reader.int64),
            {"name": reader.TensorSpec([], reader.string), "row": reader.TensorSpec([2], reader.int64)})
    with reader.Graph().as_default():
        loaded = reader.data.Dataset.load(folder)
        assert loaded.element_spec == spec
        given = [(int(x), more["name"], more["row"].tolist()) for x, more in _all_of(reader, loaded)]
    expected = [(x * x, b"%d" % x, [x, x]) for x in range(9)]
    assert (sorted(given) if shards else given) == sorted(expected)
    with reader.Graph().as_default():
        by_shard = reader.data.Dataset.load(folder, spec, reader_func=lambda datasets: datasets.flat_map(lambda shard: shard))
        assert [int(x) for x, _ in _all_of(reader, by_shard)] == [
            x * x for x in sorted(range(9), key=lambda x: (x * x % 3 if shards else 0, x))]


@pytest.mark.parametrize("writer,reader", [(tf, tw), (tw, tf)])
def test_what_one_saves_compressed_the_other_loads(writer, reader, tmp_path):
    folder = str(tmp_path / "z")
    with writer.Graph().as_default() as graph, writer.Session() as session:
        saved = writer.data.Dataset.range(300).save(folder, compression="GZIP")
        session.run(saved or next(op for op in graph.get_operations() if op.type == "SaveDataset"))
    with reader.Graph().as_default():
        assert [int(x) for x in _all_of(reader, reader.data.Dataset.load(folder, compression="GZIP"))] == list(range(300))


def _snapshots(t, folder, **options):
    """What passes over a snapshot give, and how often the function was called for that."""
    calls = []

    def count(x):
        calls.append(int(x))
        return x
    with t.Graph().as_default():
        counted = t.data.Dataset.range(6).map(lambda x: t.ensure_shape(t.py_func(count, [x], t.int64), []))
        kept = counted.snapshot(folder, **options)
        given = [[int(x) for x in _all_of(t, dataset)] for dataset in (kept.take(3), kept.repeat(2), kept.map(lambda x: x * 10))]
        return given, len(calls)


@pytest.mark.parametrize("options", [
    {}, {"compression": "GZIP"}, {"compression": None}, {"shard_func": lambda x: x % 2, "reader_func": lambda d: d.flat_map(lambda s: s)}])
def test_the_first_whole_pass_over_a_snapshot_writes_it(options, tmp_path):
    theirs, their_calls = _snapshots(tf, str(tmp_path / "theirs"), **options)
    ours, our_calls = _snapshots(tw, str(tmp_path / "ours"), **options)
    assert ours == theirs and our_calls <= their_calls
    assert our_calls == 3 + 6  # what was not taken to its end counts as nothing


def test_devices_are_dealt_the_same():
    from tensorflow.python.data.ops.multi_device_iterator_ops import MultiDeviceIterator
    given = []
    for t, of in ((tf, MultiDeviceIterator), (tw, tw.data.experimental.MultiDeviceIterator)):
        with t.Graph().as_default():
            towers = of(t.data.Dataset.range(11).batch(2), ["/cpu:1", "/cpu:2"], max_buffer_size=2)
            nexts = towers.get_next()
            with t.Session(config=t.ConfigProto(device_count={"CPU": 3})) as session:
                given.append([])
                for _ in range(2):
                    session.run(towers.initializer)
                    given[-1] += [[part.tolist() for part in session.run(nexts)] for _ in range(3)]
                    for following in nexts:
                        with pytest.raises(t.errors.OutOfRangeError):
                            session.run(following)
    assert given[0] == given[1]
