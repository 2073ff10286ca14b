# SPDX-License-Identifier: Apache-2.0
"""What tw.data.experimental makes of datasets by key, by chance and of CSV files; what it refuses."""
import collections
import gzip
import zlib

import numpy as np
import pytest
from dataset_elements import elements

import thalweg as tf

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def test_groups_come_when_they_are_whole_and_the_rest_by_key():
    groups = Dataset.range(12).apply(experimental.group_by_window(lambda x: x % 5, lambda key, group: group.batch(10), 2))
    assert groups.output_shapes.as_list() == [None]
    assert [g.tolist() for g in elements(groups)] == [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9], [10], [11]]


def test_a_function_of_groups_reads_what_is_outside():
    factor = tf.constant(10, tf.int64)
    groups = Dataset.range(4).apply(experimental.group_by_window(
        lambda x: x % tf.cast(factor / 5, tf.int64), lambda key, group: group.map(lambda x: (key, x * factor)), 2))
    assert elements(groups) == [(0, 0), (0, 20), (1, 10), (1, 30)]


def test_a_reducer_gives_an_element_for_each_key():
    mean = experimental.Reducer(lambda key: (np.int64(0), np.int64(0)), lambda state, x: (state[0] + x, state[1] + 1),
                                lambda total, count: {"mean": total / count, "count": count})
    given = elements(Dataset.range(10).apply(experimental.group_by_reducer(lambda x: x % 2, mean)))
    assert given == [{"mean": 4.0, "count": 5}, {"mean": 5.0, "count": 5}]


def test_the_shape_of_a_state_may_grow():
    collect = experimental.Reducer(lambda key: np.zeros([0], np.int64), lambda state, x: tf.concat([state, [x]], 0), lambda s: s)
    dataset = Dataset.range(5).apply(experimental.group_by_reducer(lambda x: x % 2, collect))
    assert dataset.output_shapes.as_list() == [None]
    assert [g.tolist() for g in elements(dataset)] == [[0, 2, 4], [1, 3]]


def test_sequences_of_similar_length_are_batched():
    sentences = Dataset.range(1, 8).map(lambda n: tf.fill([n], n))
    batches = sentences.apply(experimental.bucket_by_sequence_length(tf.size, [4], [3, 2]))
    assert [b.shape for b in elements(batches)] == [(3, 3), (2, 5), (2, 7)]
    batches = sentences.apply(experimental.bucket_by_sequence_length(tf.size, [4, 8], [3, 2, 2], pad_to_bucket_boundary=True))
    assert [b.shape for b in elements(batches)] == [(3, 3), (2, 7), (2, 7)]
    too_long = sentences.apply(experimental.bucket_by_sequence_length(tf.size, [4, 7], [3, 2, 2], pad_to_bucket_boundary=True))
    with pytest.raises(tf.errors.InvalidArgumentError, match="elements must have length < max"):
        elements(too_long)


def test_states_may_grow_from_element_to_element():
    def longer(state, x):
        return tf.concat([state, [x * (state.shape[0].value or -1)]], 0)
    start, numbers = np.zeros([1], np.int64), Dataset.range(1, 4)
    grown = numbers.apply(experimental.scan(start, lambda state, x: (longer(state, x), state)))
    assert grown.output_shapes.as_list() == [None]
    assert [g.tolist() for g in elements(grown)] == [[0], [0, -1], [0, -1, -2]]
    with tf.Session() as session:
        assert session.run(numbers.reduce(start, longer)).tolist() == [0, -1, -2, -3]


def test_what_functions_give_is_checked_when_the_graph_is_made():
    numbers = Dataset.range(3)
    with pytest.raises(ValueError, match="Either the `window_size`"):
        experimental.group_by_window(lambda x: x, lambda k, w: w)
    with pytest.raises(ValueError, match="`key_func` must return a single `tf.int64` scalar"):
        numbers.apply(experimental.group_by_window(lambda x: tf.reshape(x, [1]), lambda k, w: w, 2))
    with pytest.raises(TypeError, match="`reduce_func` must return a single `tf.data.Dataset`"):
        numbers.apply(experimental.group_by_window(lambda x: x, lambda k, w: k, 2))
    with pytest.raises(TypeError, match="output types of `reducer.reduce_func`"):
        numbers.apply(experimental.group_by_reducer(lambda x: x, experimental.Reducer(lambda k: 1.5, lambda s, x: x, lambda s: s)))
    with pytest.raises(ValueError, match="bucket_batch_sizes"):
        experimental.bucket_by_sequence_length(tf.size, [4], [1])
    with pytest.raises(TypeError, match="does not support type"):
        Dataset.from_tensors(1.0).apply(experimental.unique())
    with pytest.raises(TypeError, match="choice_dataset"):
        experimental.choose_from_datasets([numbers], Dataset.from_tensors(1))
    with pytest.raises(TypeError, match="compatible element specs"):
        experimental.choose_from_datasets([numbers, Dataset.from_tensors(1.0)], numbers)
    with pytest.raises(ValueError, match="`weights` should have the same length"):
        experimental.sample_from_datasets([numbers, numbers], [1.0])


def test_unique_elements():
    assert elements(Dataset.from_tensor_slices(["a", "b", "a"]).apply(experimental.unique())) == [b"a", b"b"]


def test_elements_of_several_datasets():
    datasets = [Dataset.from_tensors(x).repeat() for x in ("a", "b")]
    chosen = experimental.choose_from_datasets(datasets, Dataset.range(4).map(lambda x: x % 2))
    assert elements(chosen) == [b"a", b"b", b"a", b"b"]
    drawn = collections.Counter(elements(experimental.sample_from_datasets(datasets, [0.8, 0.2], seed=1).take(500)))
    assert 350 < drawn[b"a"] < 450


@pytest.mark.parametrize("known", [True, False])
def test_resampling_changes_the_proportions(known):
    classes = Dataset.from_tensor_slices(np.array([0, 0, 0, 1], np.int64)).repeat()
    initial = [0.75, 0.25] if known else None
    given = elements(classes.apply(experimental.rejection_resample(lambda x: x, [0.5, 0.5], initial, seed=4)).take(1000))
    assert all(which == element for which, element in given)
    assert 0.45 < np.mean([which for which, _ in given]) < 0.55
    four = classes.take(4)
    assert len(elements(four.apply(experimental.rejection_resample(lambda x: x, [0.75, 0.25], [0.75, 0.25])))) == 4
    assert {w for w, _ in elements(four.repeat(9).rejection_resample(lambda x: x, [0.0, 1.0], [0.75, 0.25]))} == {1}


def test_batches_that_are_sparse():
    batches = Dataset.range(3).map(lambda x: tf.fill([x], x)).apply(experimental.dense_to_sparse_batch(3, [4]))
    assert batches.output_classes is tf.SparseTensor
    (batch,) = elements(batches)
    assert batch.indices.tolist() == [[1, 0], [2, 0], [2, 1]] and batch.values.tolist() == [1, 2, 2]
    assert batch.dense_shape.tolist() == [3, 4]
    with pytest.raises(TypeError, match="single component"):
        Dataset.zip((batches, batches)).apply(experimental.dense_to_sparse_batch(3, [4]))


def test_rows_of_a_sparse_tensor():
    rows = Dataset.from_sparse_tensor_slices(tf.SparseTensor([[0, 0], [2, 1]], [1, 2], [3, 4]))
    given = [tuple(part.tolist() for part in row) for row in elements(rows)]
    assert given == [([[0]], [1], [4]), ([], [], [4]), ([[1]], [2], [4])]


def test_csv_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('name,size\n"a, b",1\nc,\n')
    read = experimental.CsvDataset(str(path), [tf.string, [7]], header=True)
    assert elements(read) == [(b"a, b", 1), (b"c", 7)]
    batches = experimental.make_csv_dataset(str(path), 2, label_name="size", num_epochs=1, shuffle=False)
    (features, labels), = elements(batches)
    assert features["name"].tolist() == [b"a, b", b"c"] and labels.tolist() == [1, 0]


def test_csv_files_that_are_compressed(tmp_path):
    text = b'name,size\n"a, b",1\nc,\n'
    zipped, deflated = tmp_path / "a.gz", tmp_path / "a.zlib"
    zipped.write_bytes(gzip.compress(text))
    deflated.write_bytes(zlib.compress(text))
    for path, kind in ((zipped, "GZIP"), (deflated, "ZLIB")):
        assert elements(experimental.CsvDataset(str(path), [tf.string, [7]], kind, header=True)) == [(b"a, b", 1), (b"c", 7)]
    (batch,) = elements(experimental.make_csv_dataset(str(zipped), 2, num_epochs=1, shuffle=False, compression_type="GZIP"))
    assert batch["name"].tolist() == [b"a, b", b"c"] and batch["size"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="ZLIB cannot be looked at for their columns: give `column_names`"):
        experimental.make_csv_dataset(str(deflated), 2, compression_type="ZLIB")
    (batch,) = elements(experimental.make_csv_dataset(str(deflated), 2, ["name", "size"], ["", 0], num_epochs=1, shuffle=False,
                                                      compression_type="ZLIB"))
    assert batch["name"].tolist() == [b"a, b", b"c"] and batch["size"].tolist() == [1, 0]


def test_csv_shuffled_without_end(tmp_path):
    (tmp_path / "a.csv").write_text("x\n" + "\n".join(map(str, range(20))))
    batches = experimental.make_csv_dataset(str(tmp_path / "*.csv"), 5, shuffle_seed=3)
    assert batches.output_shapes["x"].as_list() == [5]
    following = batches.make_one_shot_iterator().get_next()["x"]
    with tf.Session() as session:
        epoch = np.concatenate([session.run(following) for _ in range(4)])
        assert epoch.tolist() != sorted(epoch) and len(session.run(following)) == 5


def test_csv_files_are_looked_at_first(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    for message, arguments in (("No files match", {"file_pattern": str(tmp_path / "none*")}), ("`label_name`", {"label_name": "q"}),
                               ("Column q", {"select_columns": ["q"]}), ("duplicate column names", {"column_names": ["a", "a"]}),
                               ("must be as many", {"column_defaults": [1]}), ("has 2 number of fields", {"column_names": ["a"]})):
        with pytest.raises(ValueError, match=message):
            experimental.make_csv_dataset(**{"file_pattern": str(path), "batch_size": 1, **arguments})
    with pytest.raises(TypeError, match="record_defaults"):
        experimental.CsvDataset(str(path), [tf.bool])
    with pytest.raises(ValueError, match="length-0 or length-1"):
        experimental.CsvDataset(str(path), [[1, 2]])
