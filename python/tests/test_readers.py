# SPDX-License-Identifier: Apache-2.0
"""Readers of files in the input pipelines of 1.15: names from a queue, records out, threads that fill it."""
import os

import pytest
import thalweg as tw


@pytest.fixture
def files(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)
    return write


def all_of(tensors):
    """What successive steps give until the input ends."""
    found = []
    with tw.Session() as session:
        session.run([tw.global_variables_initializer(), tw.local_variables_initializer()])
        coordinator = tw.train.Coordinator()
        threads = tw.train.start_queue_runners(session, coordinator)
        with pytest.raises(tw.errors.OutOfRangeError):
            while True:
                found.append(session.run(tensors))
        coordinator.request_stop()
        coordinator.join(threads)
    return found


def test_lines_of_all_files_once(files):
    names = [files("a.csv", b"head\n1,x\n2,y\n"), files("b.csv", b"head\n3,z\n")]
    with tw.Graph().as_default():
        queue = tw.train.string_input_producer(names, num_epochs=1, shuffle=False)
        reader = tw.TextLineReader(skip_header_lines=1)
        key, line = reader.read(queue)
        number, letter = tw.decode_csv(line, [[0], [""]])
        found = all_of([key, number, letter])
    assert [f[1] for f in found] == [1, 2, 3] and [f[2] for f in found] == [b"x", b"y", b"z"]
    assert found[0][0] == names[0].encode() + b":2"


def test_examples_in_shuffled_batches(files, tmp_path):
    path = str(tmp_path / "train.tfrecord")
    with tw.python_io.TFRecordWriter(path) as writer:
        for i in range(24):
            feature = tw.train.Feature(int64_list=tw.train.Int64List(value=[i]))
            writer.write(tw.train.Example(features=tw.train.Features(feature={"n": feature})).SerializeToString())
    with tw.Graph().as_default():
        names = tw.train.match_filenames_once(str(tmp_path / "*.tfrecord"))
        queue = tw.train.string_input_producer(names, num_epochs=2)
        _, record = tw.TFRecordReader().read(queue)
        batch = tw.train.shuffle_batch([record], 8, 30, 10, seed=1)
        numbers = tw.parse_example(batch, {"n": tw.FixedLenFeature([], tw.int64)})["n"]
        found = all_of(numbers)
    assert sorted(n for numbers in found for n in numbers) == sorted(list(range(24)) * 2)


def test_pieces_whole_files_and_counts(files):
    name = files("f", b"HHaaabbbF")
    with tw.Graph().as_default(), tw.Session() as session:
        queue = tw.FIFOQueue(10, tw.string)
        session.run(queue.enqueue_many([[name, name]]))
        pieces = tw.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1)
        keys, values = pieces.read_up_to(queue, 5)
        assert session.run(values).tolist() == [b"aaa", b"bbb"]
        assert session.run([pieces.num_records_produced(), pieces.num_work_units_completed()]) == [2, 1]
        whole = tw.WholeFileReader()
        assert session.run(whole.read(queue)) == (name.encode(), b"HHaaabbbF")
        state = session.run(whole.serialize_state())
        session.run(whole.reset())
        assert session.run(whole.num_records_produced()) == 0
        session.run(whole.restore_state(state))
        assert session.run(whole.num_records_produced()) == 1
        session.run(queue.enqueue("some work"))
        assert session.run(tw.IdentityReader().read(queue)) == (b"some work", b"some work")


def test_damaged_and_absent_files(files):
    with tw.Graph().as_default(), tw.Session() as session:
        queue = tw.FIFOQueue(10, tw.string)
        record = tw.TFRecordReader().read(queue)
        session.run(queue.enqueue(files("junk", b"twelve bytes and more")))
        with pytest.raises(tw.errors.DataLossError, match="junk: corrupted record at 0: the checksum of its length: expected crc32c"):
            session.run(record)
        session.run(queue.enqueue("/no/such/file"))
        with pytest.raises(tw.errors.NotFoundError, match="/no/such/file"):
            session.run(tw.TextLineReader().read(queue))


GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tests", "golden", "lmdb")


def test_pairs_of_databases():
    names = [os.path.join(GOLDEN, name) for name in ("empty.mdb", "small.mdb")]
    with tw.Graph().as_default():
        reader = tw.LMDBReader()
        assert not reader.supports_serialize
        queue = tw.train.string_input_producer(names, num_epochs=1, shuffle=False)
        found = all_of([*reader.read(queue), reader.num_records_produced()])
    assert [pair[:2] for pair in found] == [[b"a", b"one"], [b"b", b"two"], [b"c", b""]]
    assert found[-1][2] in (2, 3)  # the count is read beside the record


def test_several_pairs_at_once_and_a_database_that_is_none(files):
    with tw.Graph().as_default(), tw.Session() as session:
        queue = tw.FIFOQueue(2, tw.string)
        reader = tw.LMDBReader()
        pairs, reset = reader.read_up_to(queue, 2), reader.reset()
        session.run(queue.enqueue(os.path.join(GOLDEN, "small.mdb")))
        assert [list(part) for part in session.run(pairs)] == [[b"a", b"b"], [b"one", b"two"]]
        session.run(reset)
        session.run(queue.enqueue(files("bad.mdb", b"x" * 5000)))
        with pytest.raises(tw.errors.DataLossError, match="bad.mdb: page 0 of an LMDB database"):
            session.run(pairs)
