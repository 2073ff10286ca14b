# SPDX-License-Identifier: Apache-2.0
"""tw.summary: what the operations hold, and event files as their readers find them."""
import glob
import os

import numpy as np
import pytest
import thalweg as tw
from thalweg.files import records


def events(folder):
    """All events of the only file in a folder."""
    (path,) = glob.glob(os.path.join(folder, "events.out.tfevents.*"))
    return list(tw.train.summary_iterator(path))


def test_framing_of_known_bytes():
    # The check value of CRC-32C, with the mask of such files, and the little-endian length.
    plain = 0xE3069283
    masked = ((plain >> 15 | plain << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
    framed = records.frame(b"123456789")
    assert framed[:8] == (9).to_bytes(8, "little") and framed[12:] == b"123456789" + masked.to_bytes(4, "little")


def test_damaged_record(tmp_path):
    path = tmp_path / "r"
    one, two = (records.frame(tw.Event(step=step).SerializeToString()) for step in (1, 2))
    path.write_bytes(one + two[:-1] + bytes([two[-1] ^ 1]))
    found = tw.train.summary_iterator(str(path))
    assert next(found).step == 1
    with pytest.raises(tw.errors.DataLossError, match=f"corrupted record at {len(one) + 12}"):
        next(found)
    path.write_bytes(one + two[:-1])
    found = tw.train.summary_iterator(str(path))
    assert next(found).step == 1
    with pytest.raises(tw.errors.DataLossError, match=f"truncated record at {len(one)}"):
        next(found)
    path.write_bytes(one + two[:11])  # an end within a record's head counts as the end of the file
    assert [e.step for e in tw.train.summary_iterator(str(path))] == [1]
    for bit in range(8 * len(one)):  # whatever is damaged is found
        damaged = bytearray(one)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(tw.errors.DataLossError):
            list(tw.train.summary_iterator(str(path)))


def test_tags_are_scopes(run):
    with tw.name_scope("model"):
        first = tw.summary.scalar("my loss", 1.5)
        second = tw.summary.scalar("my loss", 2.5)
        third = tw.summary.scalar("loss", 3.5, family="all")
    assert [tw.Summary.FromString(run(s)).value[0].tag for s in (first, second, third)] == \
        ["model/my_loss", "model/my_loss_1", "all/model/all/loss"]
    assert tw.get_collection(tw.GraphKeys.SUMMARIES) == [first, second, third]


def test_merge_all_has_all_and_none_without(run):
    assert tw.summary.merge_all() is None
    tw.summary.scalar("a", 1)
    tw.summary.histogram("h", [1.0, 2.0, 4.0])
    tw.summary.image("i", np.zeros([1, 2, 2, 3], np.float32))
    tw.summary.audio("s", np.zeros([1, 4], np.float32), 8000)
    tw.summary.text("t", tw.constant("hello"))
    found = tw.Summary.FromString(run(tw.summary.merge_all())).value
    assert [v.tag for v in found] == ["a", "h", "i/image/0", "s/audio/0", "t"]
    assert found[1].histo.num == 3 and found[1].histo.sum == 7
    assert found[4].metadata.plugin_data.plugin_name == "text"
    assert tw.make_ndarray(found[4].tensor) == b"hello"


def test_writer(tmp_path, run):
    step = tw.summary.scalar("a", 1.5)
    with tw.summary.FileWriter(str(tmp_path), tw.get_default_graph()) as writer:
        assert writer.get_logdir() == str(tmp_path)
        value = run(step)
        writer.add_summary(value, 1)
        writer.add_summary(tw.Summary(value=[tw.Summary.Value(tag="b", simple_value=2)]), np.int64(2))
        writer.add_session_log(tw.SessionLog(status=1), 3)
    found = events(tmp_path)
    assert [e.WhichOneof("what") for e in found] == \
        ["file_version", "graph_def", "meta_graph_def", "summary", "summary", "session_log"]
    assert found[0].file_version == "brain.Event:2"
    assert [e.step for e in found[3:]] == [1, 2, 3]
    assert found[3].summary.value[0].simple_value == 1.5
    assert "ScalarSummary" in [n.op for n in tw.GraphDef.FromString(found[1].graph_def).node]
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(value, 4)


def test_writer_reopens_with_a_new_file(tmp_path):
    writer = tw.summary.FileWriter(str(tmp_path))
    writer.close()
    writer.reopen()
    writer.close()
    assert len(os.listdir(tmp_path)) == 2


def test_writer_flushes_when_it_holds_enough(tmp_path):
    writer = tw.summary.FileWriter(str(tmp_path), max_queue=2)
    writer.add_summary(tw.Summary(), 1)
    assert len(events(tmp_path)) == 1
    writer.add_summary(tw.Summary(), 2)
    assert len(events(tmp_path)) == 3


def test_writer_cache(tmp_path):
    cache = tw.summary.FileWriterCache
    assert cache.get(str(tmp_path)) is cache.get(str(tmp_path))
    cache.clear()


def test_bad_input(run, tmp_path):
    with pytest.raises(tw.errors.InvalidArgumentError, match="Nan in summary histogram"):
        run(tw.summary.histogram("h", tw.constant([float("nan")])))
    with pytest.raises(tw.errors.InvalidArgumentError, match=r"^Tensor must be 4-D with last dim 1, 3, or 4, not \[2,2\]"):
        run(tw.summary.image("i", tw.zeros([2, 2])))
    with pytest.raises(tw.errors.InvalidArgumentError, match=r"^tags and values are not the same shape: \[\] != \[2\] \(tag 's'\)"):
        run(tw.summary.scalar("s", tw.zeros([2])))
    with pytest.raises(TypeError, match="GraphDef"):
        tw.summary.FileWriter(str(tmp_path)).add_graph("graph")


@pytest.mark.parametrize("value, kind", [("a", object), (1.5, np.float32), (True, np.bool_), (["a"], object), ([[1]], np.int32)])
def test_make_ndarray_gives_arrays(value, kind):
    made = tw.make_ndarray(tw.make_tensor_proto(value))
    assert isinstance(made, np.ndarray) and made.dtype == kind and made.shape == np.shape(value)
