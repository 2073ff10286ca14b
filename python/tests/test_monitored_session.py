# SPDX-License-Identifier: Apache-2.0
"""Monitored sessions, their hooks and supervisors; what is expected was seen of TensorFlow 1.15."""
import glob
import logging
import os

import numpy as np
import pytest

import thalweg as tw


@pytest.fixture
def step(graph):
    """(global step, an operation that counts it up)."""
    counter = tw.train.get_or_create_global_step()
    return counter, tw.assign_add(counter, 1)


class Recorder(tw.train.SessionRunHook):
    """What is called, in its order."""

    def __init__(self, fetch=None):
        self.calls, self.fetch = [], fetch

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("created")

    def before_run(self, run_context):
        self.calls.append("before")
        return None if self.fetch is None else tw.train.SessionRunArgs(self.fetch)

    def after_run(self, run_context, run_values):
        self.calls.append(("after", run_values.results))

    def end(self, session):
        self.calls.append("end")


def test_hooks_are_called_in_their_order(step):
    hook = Recorder({"two": tw.constant(2)})
    with tw.train.MonitoredSession(hooks=[hook]) as sess:
        assert sess.run(step[1]) == 1
    assert hook.calls == ["begin", "created", "before", ("after", {"two": 2}), "end"]


def test_an_error_ends_without_end(step):
    hook = Recorder()
    with pytest.raises(ZeroDivisionError):
        with tw.train.MonitoredSession(hooks=[hook]):
            raise ZeroDivisionError
    assert hook.calls == ["begin", "created"]


def test_the_end_of_the_data_is_no_error(step):
    hook = Recorder()
    with tw.train.SingularMonitoredSession(hooks=[hook]) as sess:
        raise tw.errors.OutOfRangeError(None, None, "the end")
    assert hook.calls[-1] == "end" and sess.should_stop()
    with pytest.raises(RuntimeError, match="Session is already closed."):
        sess.close()


def test_variables_are_initialized_and_the_graph_is_final(step):
    v = tw.Variable(7.0)
    with tw.train.MonitoredTrainingSession() as sess:
        assert sess.run(v) == 7.0
        with pytest.raises(RuntimeError, match="Graph is finalized"):
            tw.constant(1)
    tw.constant(1)


def test_stopping_at_a_step(step):
    with tw.train.MonitoredSession(hooks=[tw.train.StopAtStepHook(last_step=3)]) as sess:
        values = []
        while not sess.should_stop():
            values.append(int(sess.run(step[1])))
        assert values == [1, 2, 3]
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested."):
            sess.run(step[1])
    with pytest.raises(ValueError, match="One of num_steps or last_step must be specified."):
        tw.train.StopAtStepHook()


def test_a_hook_needs_a_global_step(graph):
    with pytest.raises(RuntimeError, match="Global step should be created to use StopAtStepHook."):
        tw.train.MonitoredSession(hooks=[tw.train.StopAtStepHook(num_steps=1)])


def test_checkpoints_are_written_and_taken_up_again(step, tmp_path):
    w = tw.get_variable("w", initializer=0.0)
    train = tw.group(step[1], w.assign_add(0.5))
    folder = str(tmp_path)
    for last in (5, 8):
        with tw.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=2, log_step_count_steps=2,
                                               hooks=[tw.train.StopAtStepHook(last_step=last)]) as sess:
            while not sess.should_stop():
                sess.run(train)
        assert tw.train.latest_checkpoint(folder) == os.path.join(folder, f"model.ckpt-{last}")
    with tw.train.SingularMonitoredSession(checkpoint_dir=folder) as sess:
        assert sess.run(w) == 4.0 and sess.raw_session().run(step[0]) == 8
    assert os.path.exists(os.path.join(folder, "graph.pbtxt")) and glob.glob(folder + "/events*")


def test_listeners_hear_of_each_save(step, tmp_path):
    heard = []

    class Listener(tw.train.CheckpointSaverListener):
        def begin(self):
            heard.append("begin")

        def before_save(self, session, global_step_value):
            heard.append(("before", int(global_step_value)))

        def after_save(self, session, global_step_value):
            heard.append(("after", int(global_step_value)))
            return global_step_value >= 2

        def end(self, session, global_step_value):
            heard.append(("end", int(global_step_value)))
    scaffold = tw.train.Scaffold()
    saver = tw.train.CheckpointSaverHook(str(tmp_path), save_steps=2, scaffold=scaffold, listeners=[Listener()])
    with tw.train.MonitoredSession(tw.train.ChiefSessionCreator(scaffold), [saver]) as sess:
        while not sess.should_stop():
            sess.run(step[1])
    assert heard == ["begin", ("before", 0), ("after", 0), ("before", 2), ("after", 2), ("end", 2)]


def test_values_are_logged(step, caplog):
    hook = tw.train.LoggingTensorHook({"twice": step[1] * 2}, every_n_iter=2, at_end=True)
    with caplog.at_level(logging.INFO, logger="thalweg"):
        with tw.train.MonitoredSession(hooks=[hook]) as sess:
            for _ in range(3):
                sess.run(step[1])
    assert [r.getMessage().split(" (")[0] for r in caplog.records if "twice" in r.getMessage()] == \
        ["twice = 2", "twice = 6", "twice = 8"]
    with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
        tw.train.LoggingTensorHook(["x"], every_n_iter=1, every_n_secs=1)


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_that_is_no_number(step, fails):
    loss = tw.constant(np.nan) * tw.cast(step[1], tw.float32)
    hook = tw.train.NanTensorHook(loss, fail_on_nan_loss=fails)
    if fails:
        with pytest.raises(tw.train.NanLossDuringTrainingError, match="NaN loss during training."):
            with tw.train.MonitoredSession(hooks=[hook]) as sess:
                sess.run(step[1])
    else:
        with tw.train.MonitoredSession(hooks=[hook]) as sess:
            sess.run(step[1])
            assert sess.should_stop()


def test_feeds_of_hooks_and_values_at_the_end(step):
    x = tw.placeholder(tw.float32, [])
    both = [x * 2, step[1]]
    last = tw.train.FinalOpsHook({"step": step[0]})
    with tw.train.MonitoredSession(hooks=[tw.train.FeedFnHook(lambda: {x: 3.0}), last]) as sess:
        assert sess.run(both) == [6.0, 1]
        with pytest.raises(RuntimeError, match="Same tensor is fed by a SessionRunHook and user."):
            sess.run(x, {x: 1.0})
    assert last.final_ops_values == {"step": 1}


def test_summaries_are_written(step, tmp_path):
    tw.summary.scalar("loss", tw.cast(step[0], tw.float32))
    with tw.train.MonitoredTrainingSession(summary_dir=str(tmp_path), save_summaries_steps=1, log_step_count_steps=1) as sess:
        for _ in range(3):
            sess.run(step[1])
    tw.summary.FileWriterCache.clear()
    events = [e for path in glob.glob(str(tmp_path / "events*")) for e in tw.train.summary_iterator(path)]
    tags = [v.tag for e in events for v in e.summary.value]
    assert tags.count("loss") == 3 and "global_step/sec" in tags


def test_queues_are_filled_and_their_errors_come_first(step):
    bad = tw.check_numerics(tw.log(tw.constant(-1.0)), "no number")
    q = tw.FIFOQueue(4, tw.float32, shapes=[[]])
    tw.train.add_queue_runner(tw.train.QueueRunner(q, [q.enqueue(bad)]))
    take = q.dequeue()
    with pytest.raises(tw.errors.InvalidArgumentError, match="no number"):
        with tw.train.MonitoredSession() as sess:
            sess.run(take)


def test_a_pipeline_ends_the_session(step):
    n = tw.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    seen = []
    with tw.train.MonitoredSession() as sess:
        while not sess.should_stop():
            seen.append(int(sess.run(n)))
    assert seen == [0, 1, 2, 3, 4]


def test_a_lost_session_is_made_again(step):
    class Lose(tw.train.SessionRunHook):
        lost = False

        def after_create_session(self, session, coord):
            created.append(1)

        def before_run(self, run_context):
            if not Lose.lost:
                Lose.lost = True
                raise tw.errors.UnavailableError(None, None, "gone")
    created = []
    with tw.train.MonitoredSession(hooks=[Lose()]) as sess:
        assert sess.run(step[1]) == 1
    assert len(created) == 2


def test_a_step_function(step):
    def fn(context):
        first = context.session.run(step[1])
        second = context.run_with_hooks(step[1])
        if second >= 4:
            context.request_stop()
        return first, second
    with tw.train.MonitoredSession() as sess:
        assert sess.run_step_fn(fn) == (1, 2)
        sess.run_step_fn(fn)
        assert sess.should_stop()


def test_what_makes_the_model_ready(graph):
    missing = tw.report_uninitialized_variables([tw.Variable(1.0, name="v")])
    with pytest.raises(RuntimeError, match="Variables not initialized: v"):
        tw.train.MonitoredSession(tw.train.ChiefSessionCreator(tw.train.Scaffold(init_op=tw.no_op())))
    with pytest.raises(tw.errors.DeadlineExceededError, match="Session was not ready after waiting"):
        tw.train.SessionManager(ready_op=missing, recovery_wait_secs=1).wait_for_session("", max_wait_secs=0)


def test_init_fn_and_feeds(graph):
    x = tw.placeholder(tw.float32, [])
    v, w = tw.Variable(x, name="v"), tw.Variable(0.0, name="w")
    seen = []
    scaffold = tw.train.Scaffold(init_feed_dict={x: 4.0}, init_fn=lambda s, sess: seen.append(sess.run(v)))
    with tw.train.MonitoredSession(tw.train.ChiefSessionCreator(scaffold)) as sess:
        assert sess.run([v, w]) == [4.0, 0.0] and seen == [4.0]


def test_a_supervisor(step, tmp_path):
    sv = tw.train.Supervisor(logdir=str(tmp_path), save_model_secs=600)
    with sv.managed_session() as sess:
        while not sv.should_stop():
            if sess.run(step[1]) == 3:
                sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
                sv.request_stop()
    assert tw.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")
    with sv.managed_session() as sess:
        assert tw.train.global_step(sess, step[0]) == 3
    with pytest.raises(ValueError, match="mine"):
        with sv.managed_session():
            raise ValueError("mine")


def test_a_loop_of_steps(step):
    sv = tw.train.Supervisor()
    seen = []

    def train(sess):
        seen.append(int(sess.run(step[1])))
        if len(seen) == 3:
            sv.request_stop()
    tw.train.basic_train_loop(sv, train)
    assert seen == [1, 2, 3]


def test_what_counts_as_a_global_step(graph):
    with pytest.raises(TypeError, match='Existing "global_step" does not have integer type'):
        tw.train.assert_global_step(tw.Variable(1.0))
    assert tw.train.get_global_step() is None
