# SPDX-License-Identifier: Apache-2.0
"""tw.compat.v2.summary and tw.contrib.summary: what their operations write, and when. Names, tags and errors are TensorFlow 1.15's."""
import glob
import os

import numpy as np
import pytest
import thalweg as tw

new, old = tw.compat.v2.summary, tw.contrib.summary


@pytest.fixture
def written(tmp_path):
    """Opens the graph's writers, runs what is recorded in all of `runs`, closes; gives (step, value) of each."""
    def write(writer, *runs):
        with tw.Session() as sess:
            sess.run([writer.init(), tw.global_variables_initializer()])
            for each in runs or [tw.summary.all_v2_summary_ops()]:
                sess.run(each)
            sess.run(writer.close())
        (path,) = glob.glob(os.path.join(str(tmp_path), "*"))
        return sorted(((e.step, v) for e in tw.train.summary_iterator(path) for v in e.summary.value), key=lambda row: (row[0], row[1].tag))
    return write


def test_tags_are_names_as_they_were_given(tmp_path, written):
    writer = new.create_file_writer(str(tmp_path))
    with writer.as_default(), tw.name_scope("model"):
        made = new.scalar("my loss", 0.5, step=3)
        assert made.name.startswith("model/myloss/write_summary/") and made.dtype is tw.bool
        new.scalar("?", 1, step=3)
    assert tw.summary.all_v2_summary_ops()[0] is made
    found = written(writer)
    assert [(step, v.tag, tw.make_ndarray(v.tensor).tolist()) for step, v in found] == [(3, "model/?", 1), (3, "model/my loss", 0.5)]
    assert found[0][1].metadata.plugin_data.plugin_name == "scalars"


def test_names_of_operations_are_those_of_the_release(tmp_path):
    writer = new.create_file_writer(str(tmp_path), name="events")
    assert writer.init().name == "events/CreateSummaryFileWriter"
    assert writer.resource.op.node_def.attr["shared_name"].s == b"events"
    other = old.create_file_writer(str(tmp_path))
    assert other.resource.op.node_def.attr["shared_name"].s == b"logdir:" + str(tmp_path).encode()
    with other.as_default(), old.always_record_summaries():
        made = old.scalar("loss", 0.5, family="all")
    assert made.name == "all/loss/Const:0"
    assert tw.get_default_graph().get_operation_by_name("all/loss").type == "WriteScalarSummary"
    assert old.summary_writer_initializer_op() == [writer.init(), other.init()]


def test_step(tmp_path, written):
    writer = new.create_file_writer(str(tmp_path))
    with pytest.raises(ValueError, match="No step set via 'step' argument or tf.summary.experimental.set_step"), writer.as_default():
        new.scalar("a", 1.0)
    with writer.as_default(step=5):
        assert new.experimental.get_step() == 5
        new.scalar("a", 1.0)
        new.scalar("b", 1.0, step=tw.Variable(6, dtype=tw.int64))
        new.scalar("c", 1.0, step=tw.constant(7))
        new.experimental.set_step(8)
        new.scalar("d", 1.0)
    assert new.experimental.get_step() is None
    assert [(step, v.tag) for step, v in written(writer)] == [(5, "a"), (6, "b"), (7, "c"), (8, "d")]


def test_record_if(tmp_path, written):
    writer, asked = new.create_file_writer(str(tmp_path)), []
    number = tw.get_variable("number", [], tw.int64, tw.zeros_initializer())
    with writer.as_default():
        with new.record_if(False):
            assert new.should_record_summaries() is False
            new.scalar("never", 1.0, step=0)
            with new.record_if(True):
                new.scalar("inner", 1.0, step=0)
        with new.record_if(lambda: asked.append(1) or tw.equal(number % 2, 1)):
            some = new.scalar("odd", 1.0, step=number)
            new.write("made where it is wanted", lambda: tw.constant([2.0]), step=number)
    assert len(asked) == 2
    everything, up = tw.summary.all_v2_summary_ops(), number.assign_add(1)
    assert some in everything
    found = written(writer, everything, up, everything)  # a condition is looked at in every step
    assert [(step, v.tag) for step, v in found if v.tag != "inner"] == [(1, "made where it is wanted"), (1, "odd")]
    assert [v.tag for _, v in found].count("inner") == 2


def test_without_a_writer_nothing_is_recorded(run):
    assert not run(new.scalar("a", 1.0)) and tw.summary.all_v2_summary_ops() == []
    with new.create_noop_writer().as_default() as writer:
        assert not run(new.image("a", np.zeros([1, 2, 2, 3], np.float32), step=1))
        assert not run(new.experimental.write_raw_pb(b""))
        assert not run(old.scalar("a", 1.0))
        assert (writer.init(), writer.flush(), writer.close()) == (None, None, None)
    assert isinstance(old.create_file_writer(None), new.SummaryWriter)
    run(new.flush())
    with pytest.raises(ValueError, match="logdir"):
        new.create_file_writer(None)


@pytest.mark.parametrize("values, count, expected", [
    ([1.0, 2.0, 2.0, 6.0], 5, [[1, 2, 1], [2, 3, 2], [3, 4, 0], [4, 5, 0], [5, 6, 1]]), ([3, 3], 3, [[3, 3, 0], [3, 3, 0], [3, 3, 2]]),
    (np.zeros([0, 2], np.float32), 2, [[0, 0, 0], [0, 0, 0]]), ([[True], [False]], 2, [[0, 0.5, 1], [0.5, 1, 1]]), ([1.0, 2.0], 0, np.zeros([0, 3])),
    ([0.1, 0.7], 3, [[0.1, 0.3, 1], [0.3, 0.5, 0], [0.5, 0.7, 1]])])
def test_histogram(tmp_path, written, values, count, expected):
    writer = new.create_file_writer(str(tmp_path))
    with writer.as_default():
        new.histogram("h", tw.constant(values), step=1, buckets=count)
    (_, value), = written(writer)
    found = tw.make_ndarray(value.tensor)
    assert found.dtype == np.float64 and found.shape == (count, 3)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_images_and_sounds(tmp_path, written):
    writer, pixels = new.create_file_writer(str(tmp_path)), np.array([[[[0.0], [0.5], [2.0]]], [[[1.0], [1.0], [1.0]]]], np.float32)
    with writer.as_default():
        new.image("some", pixels, step=1, max_outputs=1, description="x")
        new.image("none", pixels, step=1, max_outputs=0)
        new.audio("sound", np.array([[[0.5], [-1.0]]], np.float32), 8000, step=1)
        with pytest.raises(ValueError, match="Unknown encoding: 'mp3'"):
            new.audio("sound", np.zeros([1, 2, 1], np.float32), 8000, step=1, encoding="mp3")
        with pytest.raises(ValueError, match="rank"):
            new.image("flat", pixels[0], step=1)
    found = {v.tag: (v.metadata, tw.make_ndarray(v.tensor)) for _, v in written(writer)}
    assert found["none"][1].tolist() == [b"3", b"1"] and found["some"][1].tolist()[:2] == [b"3", b"1"]
    with tw.Session() as sess:
        assert sess.run(tw.image.decode_png(found["some"][1][2])).ravel().tolist() == [0, 127, 255]
        assert sess.run(tw.audio.decode_wav(found["sound"][1][0, 0])).sample_rate == 8000
    assert found["some"][0].summary_description == "x" and found["sound"][0].plugin_data.content == b"\x10\x0b"


def test_texts_and_tensors(tmp_path, written):
    writer = new.create_file_writer(str(tmp_path))
    with writer.as_default():
        new.text("words", ["a", "b"], step=1)
        new.write("x", tw.constant([1, 2]), step=1, metadata=b"")
        new.experimental.write_raw_pb(tw.Summary(value=[tw.Summary.Value(tag="y", simple_value=3)]).SerializeToString(), step=1)
        with pytest.raises(TypeError, match="string"):
            new.text("words", tw.constant(1), step=1)
        with pytest.raises(ValueError, match="scalar"):
            new.scalar("vector", [1.0, 2.0], step=1)
    found = {v.tag: v for _, v in written(writer)}
    assert tw.make_ndarray(found["words"].tensor).tolist() == [b"a", b"b"]
    assert tw.make_ndarray(found["x"].tensor).tolist() == [1, 2] and found["y"].simple_value == 3


def test_contrib_records_where_it_is_asked_to(tmp_path, written):
    writer, step = old.create_file_writer(str(tmp_path)), tw.train.create_global_step()
    with writer.as_default():
        assert old.should_record_summaries() is False
        silent = old.scalar("unasked", 1.0)
        with old.record_summaries_every_n_global_steps(2):
            old.scalar("a", tw.cast(step, tw.float32))
            old.histogram("h", [1.0, 2.0])
            old.image("i", np.zeros([1, 1, 1, 3], np.float32))
            old.audio("s", np.zeros([1, 4, 1], np.float32), 8000, max_outputs=1)
            old.generic("g", tw.constant([1, 2]))
        with old.never_record_summaries():
            old.scalar("never", 1.0, step=9)
        old.import_event(tw.Event(step=4, summary=tw.Summary(value=[tw.Summary.Value(tag="e", simple_value=1)])).SerializeToString())
    everything, up = old.all_summary_ops(), step.assign_add(1)
    assert silent in everything
    found = written(writer, everything, up, everything, up, everything)
    assert [(at, v.tag, v.WhichOneof("value")) for at, v in found] == [
        (at, *row) for at in (0, 2) for row in (("a", "simple_value"), ("g", "tensor"), ("h", "histo"), ("i/image/0", "image"), ("s/audio", "audio"))]
    assert [v.simple_value for _, v in found if v.tag == "a"] == [0, 2]


def test_initialize_opens_the_writers_and_writes_the_graph(tmp_path):
    with pytest.raises(RuntimeError, match="No default tf.contrib.summary.SummaryWriter found"):
        tw.summary.initialize()
    writer = old.create_file_writer(str(tmp_path))
    with writer.as_default():
        with pytest.raises(ValueError, match="session"):
            tw.summary.initialize()
        with pytest.raises(TypeError, match=r"graph\(\) needs a tf.Tensor"):
            old.graph(tw.get_default_graph())
        told = old.graph(tw.constant(tw.GraphDef().SerializeToString()), step=7)
        with tw.Session() as sess:
            tw.summary.initialize(tw.get_default_graph())
            sess.run(told)
            sess.run(writer.flush())
    events = [e for e in tw.train.summary_iterator(glob.glob(str(tmp_path / "*"))[0]) if e.WhichOneof("what") == "graph_def"]
    assert [e.step for e in events] == [0, 7]
    assert "CreateSummaryFileWriter" in [n.op for n in tw.GraphDef.FromString(events[0].graph_def).node]


def test_what_cannot_be_written_ends_the_step(tmp_path):
    writer = new.create_file_writer("/proc/nowhere")
    with writer.as_default():
        made = new.scalar("a", 1.0, step=0)
    database = old.create_db_writer(str(tmp_path / "db"))
    with tw.Session() as sess:
        with pytest.raises(tw.errors.OpError, match="/proc/nowhere"):
            sess.run(writer.init())
        with pytest.raises(tw.errors.NotFoundError, match="create_file_writer"):
            sess.run(made)
        with pytest.raises(tw.errors.UnimplementedError, match="nothing reads the database"):
            sess.run(database.init())


def test_traces_are_of_eager_execution(caplog):
    new.trace_on()
    new.trace_export("x", step=1)
    new.trace_off()
    assert caplog.text.count("eager") == 2  # tracing and exporting; ending what has not begun is nothing


def test_inner_modules_have_the_functions():
    import subprocess
    import sys
    program = ("import thalweg.as_tensorflow\nfrom tensorflow.python.ops import summary_ops_v2 as s\nimport tensorflow as tf\n"
               "assert s.always_record_summaries is tf.contrib.summary.always_record_summaries\n"
               "from tensorflow.contrib import summary\nprint(s.create_noop_writer().init(), 'scalar' in dir(summary), tf.compat.v2.summary.scalar)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("None True <function scalar"), done.stderr
