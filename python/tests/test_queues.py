# SPDX-License-Identifier: Apache-2.0
"""Queues, queue runners, coordinators and input pipelines; orders and messages are those of TensorFlow 1.15."""
import os
import signal
import threading

import deadlines
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture
def sess():
    with tw.Graph().as_default(), tw.Session() as session:
        yield session


# ---- queues ----
def test_a_fifo_queue_of_two_components(sess):
    q = tw.FIFOQueue(3, [tw.float32, tw.int32], shapes=[[2], []], name="q")
    enqueue, pair, many = q.enqueue([[1.0, 2.0], 3]), q.dequeue(), q.dequeue_many(2)
    assert (enqueue.name, pair[0].name, many[1].name) == ("q_enqueue", "q_Dequeue:0", "q_DequeueMany:1")
    assert q.dequeue_up_to(4)[0].shape.as_list() == [None, 2] and many[0].shape.as_list() == [2, 2]
    for _ in range(3):
        sess.run(enqueue)
    assert sess.run(q.size()) == 3
    got = sess.run(pair)
    np.testing.assert_array_equal(got[0], [1, 2])
    assert got[1] == 3
    np.testing.assert_array_equal(sess.run(many)[1], [3, 3])


def test_components_by_name(sess):
    q = tw.FIFOQueue(9, [tw.int32, tw.float32], [[], [2]], names=["a", "b"])
    sess.run(q.enqueue({"b": [1.0, 2.0], "a": 5}))
    assert sess.run(q.dequeue())["a"] == 5
    with pytest.raises(ValueError, match="You must enqueue a dictionary"):
        q.enqueue([1, [1.0, 2.0]])
    with pytest.raises(ValueError, match="do not match names of Queue"):
        q.enqueue({"a": 1})


def test_words_of_a_closed_queue(sess):
    q = tw.FIFOQueue(3, tw.int32, shapes=[[]], name="q")
    sess.run(q.enqueue(1))
    sess.run(q.close())
    assert sess.run(q.is_closed())
    with pytest.raises(tw.errors.CancelledError, match="Queue 'q' is already closed."):
        sess.run(q.close())
    sess.run(q.close(cancel_pending_enqueues=True))
    with pytest.raises(tw.errors.CancelledError, match="FIFOQueue 'q' is closed."):
        sess.run(q.enqueue(2))
    words = r"FIFOQueue 'q' is closed and has insufficient elements \(requested 2, current size 1\)"
    with pytest.raises(tw.errors.OutOfRangeError, match=words):
        sess.run(q.dequeue_many(2))
    assert sess.run(q.dequeue_up_to(2)).tolist() == [1]


def test_shapes_are_checked(sess):
    q = tw.FIFOQueue(3, [tw.float32], shapes=[[2]])
    x = tw.placeholder(tw.float32)
    with pytest.raises(ValueError):
        q.enqueue([[1.0]])
    with pytest.raises(tw.errors.InvalidArgumentError, match=r"Shape mismatch in tuple component 0. Expected \[2\], got \[1\]"):
        sess.run(q.enqueue([x]), {x: [1.0]})
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        tw.FIFOQueue(3, [tw.float32], shapes=[[None]])
    assert [s.as_list() for s in tw.FIFOQueue(3, [tw.float32], shapes=()).shapes] == [[]]  # one shape, a scalar's
    with pytest.raises(ValueError, match="same length as dtypes"):
        tw.FIFOQueue(3, [tw.float32, tw.int32], shapes=())


def test_a_shuffled_queue_with_a_seed(sess):
    q = tw.RandomShuffleQueue(100, 4, tw.int32, shapes=[[]], seed=7)
    sess.run(q.enqueue_many([list(range(20))]))
    assert sess.run(q.dequeue_many(10)).tolist() == [7, 4, 19, 15, 0, 8, 10, 11, 14, 6]
    assert (sess.run(q.dequeue()), sess.run(q.dequeue())) == (16, 1)


def test_padding_and_priorities(sess):
    q = tw.PaddingFIFOQueue(10, [tw.int32], [[None]])
    y = tw.placeholder(tw.int32, [None])
    for row in ([1], [1, 2, 3], []):
        sess.run(q.enqueue([y]), {y: row})
    assert sess.run(q.dequeue_many(3)).tolist() == [[1, 0, 0], [1, 2, 3], [0, 0, 0]]
    p = tw.PriorityQueue(10, [tw.string], [[]])
    sess.run(p.enqueue_many(([3, 1, 2, 1], ["a", "b", "c", "d"])))
    assert sess.run(p.dequeue_many(3))[1].tolist() == [b"b", b"d", b"c"]


def test_a_deadline_says_who_waits_for_what(sess):
    q = tw.FIFOQueue(3, tw.int32, shapes=[[]], name="empty")
    taken = q.dequeue()
    deadlines.says(r"'empty_Dequeue' for queue 'empty' \(FIFOQueue, 0 of 3", lambda options: sess.run(taken, options=options))
    sess.run(q.enqueue_many([[1, 2]]))
    with pytest.raises(tw.errors.DeadlineExceededError):
        sess.run(q.dequeue_many(3), options=tw.RunOptions(timeout_in_ms=300))
    assert sess.run(q.dequeue_many(2)).tolist() == [1, 2]


def test_a_coordinator_does_not_wait_for_threads_that_never_began():
    coordinator = tw.train.Coordinator()
    coordinator.register_thread(threading.Thread(target=lambda: None))
    coordinator.request_stop()
    coordinator.join(stop_grace_period_secs=0.1)
    assert coordinator.joined


def test_ctrl_c_ends_a_dequeue_that_waits(sess, interruptible):
    q = tw.FIFOQueue(3, tw.int32, shapes=[[]])
    begun = threading.Event()
    with tw.control_dependencies([tw.py_func(begun.set, [], [])]):
        taken = q.dequeue()

    def interrupt():
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sess.run(taken)
    thread.join()
    sess.run(q.enqueue(4))
    assert sess.run(q.dequeue()) == 4


def test_closing_the_session_ends_what_waits():
    with tw.Graph().as_default():
        q = tw.FIFOQueue(3, tw.int32, shapes=[[]])
        begun = threading.Event()
        with tw.control_dependencies([tw.py_func(begun.set, [], [])]):
            take = q.dequeue()
        session, errors = tw.Session(), []

        def wait():
            try:
                session.run(take)
            except tw.errors.OpError as error:
                errors.append(error)
        thread = threading.Thread(target=wait)
        thread.start()
        assert begun.wait(60)
        session.close()
        thread.join(60)
        assert not thread.is_alive() and len(errors) == 1


def test_a_queue_in_a_loop(sess):
    q = tw.FIFOQueue(8, tw.int32, shapes=[[]])

    def body(i, total):
        with tw.control_dependencies([q.enqueue(i)]):
            return i + 1, total + q.dequeue()
    total = tw.while_loop(lambda i, _: i < 1000, body, [0, 0], parallel_iterations=1)[1]
    assert sess.run(total) == 499500


# ---- accumulators ----
def test_the_mean_of_gradients(sess):
    x = tw.placeholder(tw.float32, [2])
    acc = tw.ConditionalAccumulator(tw.float32, shape=[2])
    put, take = acc.apply_grad(x), acc.take_grad(3)
    assert take.shape.as_list() == [2]
    for value in ([1, 2], [3, 4], [5, 9]):
        sess.run(put, {x: value})
    assert sess.run(acc.num_accumulated()) == 3
    assert sess.run(take).tolist() == [3, 5]
    sess.run(put, {x: [1, 1]})
    assert sess.run(acc.num_accumulated()) == 0, "the gradient was of an older step"
    sess.run(acc.set_global_step(0))
    sess.run(put, {x: [1, 1]})
    assert sess.run(acc.num_accumulated()) == 1


def test_the_sum_of_rows(sess):
    acc = tw.SparseConditionalAccumulator(tw.float32, shape=[4, 2], reduction_type="SUM")
    sess.run(acc.apply_grad([0, 2], [[1.0, 1], [2, 2]], [4, 2]))
    sess.run(acc.apply_indexed_slices_grad(tw.IndexedSlices(tw.constant([[4.0, 4], [8, 8]]), tw.constant([2, 3], tw.int64))))
    got = sess.run(acc.take_indexed_slices_grad(2))
    assert got.indices.tolist() == [0, 2, 3] and got.values.tolist() == [[1, 1], [6, 6], [8, 8]]
    assert got.dense_shape.tolist() == [4, 2]


def test_rows_are_of_no_scalar(sess):
    acc = tw.SparseConditionalAccumulator(tw.float32, shape=())  # as if it had none
    sess.run(acc.apply_grad([0, 2], [[1.0, 2], [3, 4]], [3, 2]))
    got = sess.run(acc.take_grad(1))
    assert got.values.tolist() == [[1, 2], [3, 4]] and got.shape.tolist() == [3, 2]


# ---- coordinators and runners ----
def test_the_first_error_is_raised_by_join():
    coord = tw.train.Coordinator()

    def fail(text):
        with coord.stop_on_exception():
            raise ValueError(text)
    first = threading.Thread(target=fail, args=("first",))
    first.start()
    first.join()
    second = threading.Thread(target=fail, args=("second",))
    second.start()
    with pytest.raises(ValueError, match="first"):
        coord.join([first, second])
    assert coord.joined and coord.should_stop()


def test_a_clean_stop_raises_nothing():
    coord = tw.train.Coordinator()
    coord.request_stop(tw.errors.OutOfRangeError(None, None, "the end"))
    coord.join([])
    coord.clear_stop()
    assert not coord.should_stop() and not coord.wait_for_stop(0)


def test_threads_that_do_not_stop_are_named():
    coord, go = tw.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=go.wait, name="stuck")
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running: stuck"):
        coord.join([thread], stop_grace_period_secs=0)
    go.set()
    thread.join()


def test_a_thread_that_is_about_to_begin_is_waited_for():
    ended = []
    thread = threading.Thread(target=lambda: ended.append(1))

    class Coordinator(tw.train.Coordinator):
        def wait_for_stop(self, timeout=None):
            if thread.ident is None:
                thread.start()
            return super().wait_for_stop(timeout)
    Coordinator().join([thread])
    assert ended and not thread.is_alive()


def test_a_looper_calls_until_the_stop():
    coord, calls = tw.train.Coordinator(), []

    def call():
        calls.append(1)
        if len(calls) == 3:
            coord.request_stop()
    looper = tw.train.LooperThread.loop(coord, 0.001, call)
    coord.join([looper])
    assert len(calls) == 3


def test_a_runner_fills_and_closes(sess):
    q = tw.FIFOQueue(10, tw.int64, shapes=[[]])
    count = tw.train.limit_epochs(tw.constant(5, tw.int64), num_epochs=4)
    runner = tw.train.QueueRunner(q, [q.enqueue(count)] * 2)
    sess.run(tw.local_variables_initializer())
    coord = tw.train.Coordinator()
    threads = runner.create_threads(sess, coord=coord)
    assert runner.create_threads(sess, coord=coord) == []
    for thread in threads:
        thread.start()
    assert sess.run(q.dequeue_up_to(9)).tolist() == [5, 5, 5, 5]
    coord.request_stop()
    coord.join(threads)
    with pytest.raises(tw.errors.OutOfRangeError):
        sess.run(q.dequeue())


def test_a_callable_runs_again_and_again_without_python(sess):
    q = tw.FIFOQueue(10, tw.int32, shapes=[[]])
    enqueue = sess.make_callable(q.enqueue(1))
    enqueue._repeat(0.0)
    assert sess.run(q.size()) == 1
    sess.run(q.close())
    with pytest.raises(tw.errors.CancelledError):
        enqueue._repeat(60.0)
    with pytest.raises(ValueError, match="fetches nothing"):
        sess.make_callable(q.size())._repeat(0.0)


def test_a_runner_gives_its_error_to_the_coordinator(sess):
    q = tw.FIFOQueue(10, tw.float32, shapes=[[]])
    bad = tw.check_numerics(tw.log(tw.constant(-1.0)), "no number")
    tw.train.add_queue_runner(tw.train.QueueRunner(q, [q.enqueue(bad)]))
    coord = tw.train.Coordinator()
    threads = tw.train.start_queue_runners(sess, coord)
    with pytest.raises(tw.errors.InvalidArgumentError, match="no number"):
        coord.join(threads)


def test_runners_as_messages(sess):
    q = tw.FIFOQueue(10, tw.int32, shapes=[[]], name="q")
    made = tw.train.QueueRunner(q, [q.enqueue(1)])
    proto = made.to_proto()
    again = tw.train.QueueRunner.from_proto(proto)
    assert again.name == "q" and again.enqueue_ops == made.enqueue_ops
    assert again.queue_closed_exception_types == (tw.errors.OutOfRangeError,)


def test_a_runner_needs_a_session(sess):
    with pytest.raises(TypeError, match="sess must be a `tf.Session` object"):
        tw.train.start_queue_runners(sess="no session")


# ---- pipelines ----
def _all(sess, fetch):
    """What a pipeline gives until its end."""
    sess.run(tw.group(tw.global_variables_initializer(), tw.local_variables_initializer()))
    coord = tw.train.Coordinator()
    threads = tw.train.start_queue_runners(sess, coord)
    got = []
    try:
        while True:
            got.append(sess.run(fetch))
    except tw.errors.OutOfRangeError:
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)
    return got


def test_strings_in_epochs(sess):
    q = tw.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    assert q.name == "input_producer"
    assert _all(sess, q.dequeue()) == [b"a", b"b", b"c"] * 2


def test_no_strings():
    with tw.Graph().as_default(), pytest.raises(ValueError, match="requires a non-null input tensor"):
        tw.train.string_input_producer([])


def test_shuffled_numbers_are_all_there(sess):
    got = _all(sess, tw.train.range_input_producer(7, num_epochs=1, seed=1).dequeue())
    assert sorted(got) == list(range(7))


def test_slices_in_batches(sess):
    x, y = tw.train.slice_input_producer([tw.range(5), tw.constant([0.0, 1, 2, 3, 4])], num_epochs=1, shuffle=False)
    xs, ys = tw.train.batch([x, y], 2, allow_smaller_final_batch=True)
    got = _all(sess, [xs, ys])
    assert [g[0].tolist() for g in got] == [[0, 1], [2, 3], [4]]
    assert got[2][1].tolist() == [4.0]


def test_batches_as_dictionaries_of_padded_rows(sess):
    n = tw.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    out = tw.train.batch({"n": n, "row": tw.range(n)}, 4, dynamic_pad=True)
    assert sorted(out) == ["n", "row"] and out["row"].shape.as_list() == [4, None]
    got = _all(sess, out)[0]
    assert got["row"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]


def test_what_is_not_kept_is_left_out(sess):
    n = tw.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
    even = tw.train.maybe_batch([n], tw.equal(n % 2, 0), 4)
    assert _all(sess, even)[0].tolist() == [0, 2, 4, 6]


def test_rows_that_are_kept(sess):
    rows = tw.constant([1, 2, 3, 4])
    rows = tw.train.limit_epochs(rows, 1)
    kept = tw.train.maybe_batch([rows], tw.constant([True, False, True, False]), 2, enqueue_many=True)
    assert _all(sess, kept)[0].tolist() == [1, 3]


def test_shuffled_batches(sess):
    n = tw.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
    got = _all(sess, tw.train.shuffle_batch([n], 5, capacity=12, min_after_dequeue=6, seed=3))
    values = [v for batch in got for v in batch.tolist()]
    assert sorted(values) == list(range(20)) and values != list(range(20))


def test_batches_of_several_sources(sess):
    sources = [[tw.train.limit_epochs(tw.constant(v), 3)] for v in (1, 2)]
    got = _all(sess, tw.train.batch_join(sources, 6))
    assert sorted(got[0].tolist()) == [1, 1, 1, 2, 2, 2]


def test_pipeline_nodes_have_the_names_of_tensorflow():
    with tw.Graph().as_default() as g:
        tw.train.shuffle_batch([tw.constant(1)], 4, 20, 5)
        names = {op.name for op in g.get_operations()}
        assert {"shuffle_batch/random_shuffle_queue", "shuffle_batch/random_shuffle_queue_enqueue", "shuffle_batch/Maximum/x",
                "shuffle_batch/fraction_over_5_of_15_full", "shuffle_batch/n", "shuffle_batch"} <= names
        assert [r.name for r in g.get_collection("queue_runners")] == ["shuffle_batch/random_shuffle_queue"]
