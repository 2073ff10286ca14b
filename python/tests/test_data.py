# SPDX-License-Identifier: Apache-2.0
"""Input pipelines: what datasets give, how iterators begin, end, wait, are saved, and what goes wrong in them."""
import gzip
import re
import threading
import zlib

import deadlines
import numpy as np
import pytest
from dataset_elements import drained, elements

import thalweg as tf

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def first_of(session, dataset):
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    session.run(iterator.initializer)
    return session.run(following)


def test_a_training_loop_reads_its_data():
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(-1, 1)
    dataset = Dataset.from_tensor_slices((x, 3 * x + 2)).shuffle(64, seed=1).repeat().batch(16).prefetch(2)
    inputs, labels = dataset.make_one_shot_iterator().get_next()
    assert inputs.shape.as_list() == [None, 1]
    w, b = tf.Variable(tf.zeros([1, 1])), tf.Variable(tf.zeros([1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(inputs, w) + b - labels))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            session.run(train)
        assert np.allclose(session.run(w), 3, atol=1e-3) and np.allclose(session.run(b), 2, atol=1e-3)


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_threads_change_nothing(threads):
    dataset = (Dataset.range(40).map(lambda x: x * x, num_parallel_calls=4).filter(lambda x: tf.not_equal(x % 3, 1))
               .interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=3, num_parallel_calls=2).batch(5).prefetch(3))
    config = tf.ConfigProto(inter_op_parallelism_threads=threads or 1, intra_op_parallelism_threads=threads or 1)
    given = np.concatenate(elements(dataset, tf.Session(config=config)))
    wanted = [x * x for x in range(40) if x * x % 3 != 1]
    assert sorted(given) == sorted(wanted * 2)
    assert given.tolist() == np.concatenate(elements(dataset)).tolist()


def test_structures_of_elements():
    dataset = Dataset.from_tensor_slices({"a": [1, 2], "b": (np.float32([[1, 2], [3, 4]]), ["x", "y"])})
    assert dataset.output_types == {"a": tf.int32, "b": (tf.float32, tf.string)}
    assert dataset.output_shapes["b"][0].as_list() == [2]
    first, second = elements(dataset)
    assert first["a"] == 1 and first["b"][1] == b"x" and second["b"][0].tolist() == [3, 4]
    mapped = dataset.map(lambda element: (element["a"] * 2, {"c": element["b"][1]}))
    assert elements(mapped)[1] == (4, {"c": b"y"})
    zipped = Dataset.zip((dataset, Dataset.range(5)))
    assert [n for _, n in elements(zipped)] == [0, 1]


def test_sparse_elements():
    sparse = tf.SparseTensor([[0, 0], [1, 2], [3, 1]], [1, 2, 3], [4, 3])
    rows = elements(Dataset.from_tensor_slices(sparse))
    assert [r.values.tolist() for r in rows] == [[1], [2], [], [3]]
    batches = elements(Dataset.from_tensor_slices(sparse).batch(3))
    assert batches[0].dense_shape.tolist() == [3, 3] and batches[0].indices.tolist() == [[0, 0], [1, 2]]


def test_functions_read_what_is_outside():
    v = tf.Variable(10, dtype=tf.int64, use_resource=True)
    fed = tf.placeholder(tf.int64, [])
    dataset = Dataset.range(3).map(lambda x: x + v + fed)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(iterator.initializer, {fed: 100})
        assert drained(session, following) == [110, 111, 112]
        session.run(v.assign(20))
        session.run(iterator.initializer, {fed: 0})
        assert drained(session, following) == [20, 21, 22]
    with pytest.raises(ValueError, match="Cannot capture a (placeholder|stateful node)"):
        dataset.make_one_shot_iterator()


def test_an_iterator_for_several_datasets():
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    following = iterator.get_next()
    small, large = iterator.make_initializer(Dataset.range(2)), iterator.make_initializer(Dataset.range(10, 13))
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(Dataset.from_tensor_slices([1.0]))
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(following)
        session.run(small)
        assert drained(session, following) == [0, 1]
        session.run(large)
        assert drained(session, following) == [10, 11, 12]


def test_iterators_by_their_names():
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    train = Dataset.range(3).make_one_shot_iterator()
    test = Dataset.range(100, 102).make_initializable_iterator()
    with tf.Session() as session:
        names = session.run([train.string_handle(), test.string_handle()])
        session.run(test.initializer)
        taken = [session.run(following, {handle: names[which]}) for which in (0, 1, 0, 1)]
        assert taken == [0, 100, 1, 101]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following, {handle: names[1]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
            session.run(following, {handle: b"\x0a\xff"})


def test_all_results_of_a_step_are_of_one_element():
    a, b = Dataset.range(50).map(lambda x: (x, x * 2)).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        for _ in range(50):
            one, two = session.run([a, b])
            assert two == 2 * one


def test_steps_of_several_threads_share_an_iterator():
    following = Dataset.range(2000).map(lambda x: x + 1, num_parallel_calls=2).prefetch(4).make_one_shot_iterator().get_next()
    taken, lock = [], threading.Lock()
    with tf.Session() as session:
        def take():
            try:
                while True:
                    value = session.run(following)
                    with lock:
                        taken.append(value)
            except tf.errors.OutOfRangeError:
                pass
        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(taken) == list(range(1, 2001))


def test_generators():
    ended = []

    def numbers(n):
        try:
            for i in range(int(n)):
                yield i, ["text %d" % i] * i
        finally:
            ended.append(True)
    dataset = Dataset.from_generator(numbers, (tf.int64, tf.string), ([], [None]), args=[3])
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            given = drained(session, following)
            assert [n for n, _ in given] == [0, 1, 2] and given[2][1].tolist() == [b"text 2", b"text 2"]
    assert ended
    wrong = Dataset.from_generator(lambda: iter([[1, 2]]), tf.int64, [])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="element of shape"):
        first_of(session, wrong)


def test_an_error_names_the_function_and_the_line():
    dataset = Dataset.range(5).map(lambda x: tf.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "bad number"))
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(2)] == [-0.5, -1.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)bad number.*CheckNumerics[^\n]*test_data.py.*MapDataset[^\n]*test_data.py"):
            session.run(following)
        assert [session.run(following) for _ in range(2)] == [1.0, 0.5]  # the error was that of one element


def test_an_error_of_a_stage_without_a_function_names_the_line(tmp_path):
    damaged = str(tmp_path / "damaged")
    with open(damaged, "wb") as file:
        file.write(b"x" * 40)
    growing = Dataset.from_generator(lambda: ([0] * n for n in range(3)), tf.int32, [None])
    failing = {
        "TFRecordDataset": lambda: tf.data.TFRecordDataset(damaged),
        "TextLineDataset": lambda: tf.data.TextLineDataset(damaged + "/no"),
        "FixedLengthRecordDatasetV2": lambda: tf.data.FixedLengthRecordDataset(damaged, 7),
        "BatchDatasetV2": lambda: growing.batch(2),
        "PaddedBatchDatasetV2": lambda: growing.padded_batch(2, [0]),
        "TFRecordDataset in a function": lambda: Dataset.from_tensors([damaged]).flat_map(tf.data.TFRecordDataset),
        "DirectedInterleaveDataset": lambda: experimental.choose_from_datasets([growing], Dataset.range(1, 2)),
    }
    for stage, made in failing.items():
        dataset = Dataset.zip((made().repeat().prefetch(2), Dataset.range(9))).shuffle(3).take(5)
        one_shot = dataset.make_one_shot_iterator()
        initializable = dataset.make_initializable_iterator()
        with tf.Session() as session:
            session.run(initializable.initializer)
            for iterator in (one_shot, initializable):
                with pytest.raises(tf.errors.OpError) as raised:
                    drained(session, iterator.get_next())
                said = str(raised.value)
                place = rf"\[\[{stage.split()[0]} '[^\n]*\(created at \S*test_data.py:{made.__code__.co_firstlineno} in "
                assert re.search(place, said), said
                assert len(re.findall(r"\[\[\w*Dataset", said)) == 1, said  # the stages behind pass it on


def test_a_reduction():
    total, count = Dataset.range(1, 11).reduce((np.int64(0), np.int32(0)), lambda s, x: (s[0] + x, s[1] + 1))
    with tf.Session() as session:
        assert session.run([total, count]) == [55, 10]
    with pytest.raises(TypeError, match="must match the initial state"):
        Dataset.range(3).reduce(np.float32(0), lambda s, x: x)
    with tf.Session() as session:
        assert session.run(experimental.get_single_element(Dataset.from_tensors(7))) == 7
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one element"):
            session.run(experimental.get_single_element(Dataset.range(2)))


def test_an_optional_at_the_end():
    iterator = Dataset.range(1).make_initializable_iterator()
    optional = experimental.get_next_as_optional(iterator)
    has, value = optional.has_value(), optional.get_value()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run([has, value]) == [True, 0]
        assert not session.run(has)


def test_what_waits_for_another_step_holds_no_thread():
    queue = tf.FIFOQueue(10, [tf.int64], [[]])
    fed = tf.placeholder(tf.int64, [])
    put = queue.enqueue(fed)
    dataset = Dataset.range(3).map(lambda x: x + queue.dequeue(), num_parallel_calls=3)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    with tf.Session(config=config) as session:
        session.run(iterator.initializer)
        taken = []
        reader = threading.Thread(target=lambda: taken.extend(session.run(following) for _ in range(3)))
        reader.start()
        for value in (10, 10, 10):
            session.run(put, {fed: value})
        reader.join()
        assert taken == [10, 11, 12]


def test_a_deadline_ends_a_step_that_waits_for_an_element():
    queue = tf.FIFOQueue(1, [tf.int64], [[]])
    iterator = Dataset.range(3).map(lambda x: x + queue.dequeue()).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        deadlines.says("IteratorGetNext", lambda options: session.run(following, options=options))
        session.run(queue.enqueue(np.int64(5)))
        assert session.run(following) == 5


def test_a_session_closes_while_elements_are_made():
    dataset = Dataset.range(10**9).map(lambda x: x * 2, num_parallel_calls=4).shuffle(100).batch(10).prefetch(100)
    following = dataset.make_one_shot_iterator().get_next()
    for _ in range(5):
        with tf.Session() as session:
            session.run(following)


def test_the_place_of_an_iterator_in_a_checkpoint(tmp_path):
    dataset = Dataset.range(20).shuffle(8, seed=3).map(lambda x: x * x, num_parallel_calls=2).batch(3).prefetch(2)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    state = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    serialized = tf.placeholder(tf.variant, [])
    with tf.Session() as session:
        session.run(iterator.initializer)
        before = [session.run(following).tolist() for _ in range(2)]
        kept = session.run(state)
        rest = [b.tolist() for b in drained(session, following)]
        restore = tf.raw_ops.DeserializeIterator(resource_handle=iterator._iterator_resource, serialized=serialized)
        session.run(restore, {serialized: kept})
        assert [b.tolist() for b in drained(session, following)] == rest
    assert sorted(sum(before + rest, [])) == [x * x for x in range(20)]


def test_files(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1\n2\r\n3")
    (tmp_path / "b.txt").write_bytes(b"4\n")
    names = [str(tmp_path / n) for n in ("a.txt", "b.txt")]
    assert elements(tf.data.TextLineDataset(names)) == [b"1", b"2", b"3", b"4"]
    assert elements(tf.data.TextLineDataset(Dataset.from_tensor_slices(names)).skip(1)) == [b"2", b"3", b"4"]
    assert elements(Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)) == [n.encode() for n in names]
    numbers = tf.data.TextLineDataset(names).map(lambda line: tf.string_to_number(line, tf.int32)).batch(4)
    assert elements(numbers)[0].tolist() == [1, 2, 3, 4]
    with tf.python_io.TFRecordWriter(str(tmp_path / "r")) as writer:
        for i in range(3):
            writer.write(b"record %d" % i)
    assert elements(tf.data.TFRecordDataset(str(tmp_path / "r"))) == [b"record 0", b"record 1", b"record 2"]
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        first_of(session, tf.data.TextLineDataset(str(tmp_path / "nowhere")))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
        first_of(session, Dataset.list_files(str(tmp_path / "*.none")))


def test_compressed_files(tmp_path):
    path = str(tmp_path / "file")
    records = [b"record %d" % i * 1000 for i in range(300)]
    for name, kind in (("GZIP", tf.python_io.TFRecordCompressionType.GZIP), ("ZLIB", tf.python_io.TFRecordCompressionType.ZLIB)):
        with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(kind)) as writer:
            for record in records:
                writer.write(record)
        assert elements(tf.data.TFRecordDataset(path, name, buffer_size=5000)) == records
    # Files of gzip may follow each other; the end of a line need not be the end of one.
    (tmp_path / "file").write_bytes(gzip.compress(b"1\r\n2") + gzip.compress(b"2\n\n3"))
    assert elements(tf.data.TextLineDataset([path, path], "GZIP")) == [b"1", b"22", b"", b"3"] * 2
    # As in TensorFlow, what is left over at the end of a compressed file is seen only there.
    (tmp_path / "file").write_bytes(zlib.compress(b"HHaaabbbF" + b"x"))
    following = tf.data.FixedLengthRecordDataset(path, 3, 2, 1, compression_type="ZLIB").make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(2)] == [b"aaa", b"bbb"]
        with pytest.raises(tf.errors.DataLossError, match="has body length 7 bytes, which is not an exact multiple"):
            session.run(following)
    (tmp_path / "file").write_bytes(b"no gzip")
    with tf.Session() as session, pytest.raises(tf.errors.DataLossError, match="file: byte 2: not what gzip has compressed"):
        first_of(session, tf.data.TextLineDataset(path, "GZIP"))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression_type: LZ4"):
        first_of(session, tf.data.TextLineDataset(path, "LZ4"))


def test_a_dataset_on_a_server_stays_there():
    server = tf.train.Server.create_local_server()
    dataset = Dataset.range(6).map(lambda x: x + 1).batch(2)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session(server.target) as session:
        session.run(iterator.initializer)
        assert [b.tolist() for b in drained(session, following)] == [[1, 2], [3, 4], [5, 6]]


def test_wrong_arguments_are_refused_when_the_graph_is_made():
    with pytest.raises(ValueError, match="num_shards must be >= 1"):
        Dataset.range(3).shard(0, 0)
    with pytest.raises(ValueError, match="must be convertible to a scalar boolean tensor"):
        Dataset.range(3).filter(lambda x: x)
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        Dataset.range(3).flat_map(lambda x: x)
    with pytest.raises(TypeError, match="different types"):
        Dataset.range(3).concatenate(Dataset.from_tensor_slices([1.0]))
    with pytest.raises(RuntimeError, match="session.run"):
        iter(Dataset.range(3))
    with pytest.raises(TypeError, match="must be callable"):
        Dataset.from_generator(3, tf.int64)


def test_a_list_that_a_function_returns_is_a_tuple():
    dataset = tf.data.Dataset.from_tensor_slices(["1,a", "2,b"]).map(lambda line: tf.decode_csv(line, [[0], [""]]))
    assert dataset.output_types == (tf.int32, tf.string)
    assert elements(dataset) == [(1, b"a"), (2, b"b")]


def test_elements_that_are_not_as_the_graph_says_are_refused():
    said = tf.raw_ops.ZipDataset(input_datasets=[Dataset.range(1 << 44, (1 << 44) + 3)._variant], output_types=[tf.string],
                                 output_shapes=[[]])
    texts = experimental.from_variant(said, tf.data.Dataset.from_tensors("").element_spec)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="must be string, got int64"):
        first_of(session, texts.map(lambda x: tf.string_join([x, x])))


def test_a_save_that_is_cancelled_stops_nothing():
    queue = tf.FIFOQueue(10, [tf.int64], [[]])
    iterator = Dataset.range(3).map(lambda x: x + queue.dequeue()).prefetch(2).make_initializable_iterator()
    following = iterator.get_next()
    state = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    with tf.Session() as session:
        session.run(iterator.initializer)
        try:
            session.run(state, options=tf.RunOptions(timeout_in_ms=50))
        except tf.errors.DeadlineExceededError:
            pass
        session.run(queue.enqueue_many([np.full(3, 10, np.int64)]))
        assert [session.run(following) for _ in range(3)] == [10, 11, 12]


def test_a_new_beginning_tells_who_waits():
    queue = tf.FIFOQueue(1, [tf.int64], [[]])
    iterator = Dataset.range(3).map(lambda x: x + queue.dequeue()).prefetch(2).make_initializable_iterator()
    following = iterator.get_next()
    told = []
    with tf.Session() as session:
        session.run(iterator.initializer)

        def wait():
            try:
                session.run(following)
            except tf.errors.OpError as error:
                told.append(type(error).__name__)
        waits = threading.Thread(target=wait)
        waits.start()
        while waits.is_alive():
            session.run(iterator.initializer)
            waits.join(0.01)
    assert told == ["CancelledError"]
