# SPDX-License-Identifier: Apache-2.0
"""Session.run: structures, feeds, errors, threads, interrupts."""
import collections
import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref

import ml_dtypes
import numpy as np
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import free_ports


def test_fetch_structures_come_back_as_they_were():
    a, b = tw.constant(1.0), tw.constant([1, 2])
    Pair = collections.namedtuple("Pair", "x y")
    with tw.Session() as sess:
        got = sess.run({"l": [a, (b, a)], "p": Pair(a, {"z": b}), "o": a.op, "n": "Const:0", "e": []})
    assert list(got) == ["l", "p", "o", "n", "e"]
    assert type(got["p"]) is Pair and got["p"].x == 1.0 and got["o"] is None and got["n"] == 1.0 and got["e"] == []
    np.testing.assert_array_equal(got["l"][1][0], [1, 2])
    assert type(got["l"][1]) is tuple


def test_a_scalar_is_a_numpy_scalar_and_text_is_bytes(run):
    assert type(run(tw.constant(1.5))) is np.float32
    assert run(tw.constant("grüße")) == "grüße".encode()
    assert run(tw.constant(["a", b"b"])).tolist() == [b"a", b"b"]


def test_a_tensor_fetched_twice_is_one_array(run):
    a = tw.constant(np.arange(1000.0))
    first, second = run([a, a])
    assert first is second


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
                                   "uint32", "uint64", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("size", [0, 3, 5000])
def test_arrays_go_in_and_out_unchanged(run, dtype, size):
    value = (np.arange(size) % 2).astype(dtype).reshape(1, size)
    x = tw.placeholder(dtype, [1, None])
    got = run(tw.identity(x), {x: value})
    assert got.dtype == value.dtype
    np.testing.assert_array_equal(got, value)


def test_bfloat16_is_that_of_ml_dtypes(run):
    x = tw.placeholder(tw.bfloat16, [None])
    for size in (3, 3000):
        array = np.arange(size).astype(ml_dtypes.bfloat16)
        out = run(x + 1, {x: array})
        assert out.dtype == ml_dtypes.bfloat16 and (out == array + ml_dtypes.bfloat16(1)).all()
    assert run(x[0], {x: [1.5]}) == 1.5  # converted, not its bits
    assert tw.constant(array).dtype == tw.bfloat16 == tw.as_dtype(tw.bfloat16.as_numpy_dtype)


def test_feeds_that_need_conversion(run):
    x = tw.placeholder(tw.float32, [None])
    for value in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), np.arange(1.0, 7.0)[::2] * 0.5 + 0.5,
                  np.array([1, 2, 3], ">f4")):
        np.testing.assert_array_equal(run(x, {x: value}), np.asarray(value, np.float32))
    y = tw.placeholder(tw.string, [2])
    assert run(y, {y: ["a", "b"]}).tolist() == [b"a", b"b"]
    assert run(y, {y: np.array([b"a", b"bc"])}).tolist() == [b"a", b"bc"]
    z = tw.placeholder(tw.int32)
    assert run(z, {z: np.float64(3.0)}) == 3


@pytest.mark.parametrize("value", [1.5, [1, 2.5], np.array([0.5]), 2**40])
def test_a_feed_that_would_lose_its_value_is_refused(run, value):
    x = tw.placeholder(tw.int32)
    with pytest.raises(TypeError, match="fed to Tensor 'Placeholder:0', which has type int32"):
        run(x, {x: value})


@pytest.mark.parametrize("value, dtype, words", [
    (np.array([[1, 2], [3, 2**40]]), tw.int32, "Expected int32, got values of type int64, of which 1099511627776 cannot be a value of type int32"),
    ([1, 2.5], tw.int32, "Expected int32, got values of type float64, of which 2.5 cannot"),
    (np.array([0, 1, 2], np.uint8), tw.bool, "Expected bool, got values of type uint8, of which 2 cannot"),
    (2**40, tw.int32, "Type of feed value 1099511627776 with type <class 'int'> is not compatible with Tensor type <class 'numpy.int32'>"),
    (np.array([1, 2j]), tw.float32, "Expected float32, got values of type complex128, of which 2j cannot")])
def test_a_refused_feed_names_types_and_the_value(run, value, dtype, words):
    x = tw.placeholder(dtype, name="labels")
    with pytest.raises(TypeError) as refused:
        run(x, {x: value})
    assert str(refused.value).startswith(words)
    assert str(refused.value).endswith(f"(fed to Tensor 'labels:0', which has type {dtype.name})")


def test_wrong_feeds_say_what_is_wrong(run):
    x = tw.placeholder(tw.float32, [None, 3], name="images")
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(2, 4\) for Tensor 'images:0'.*\(\?, 3\)"):
        run(x, {x: np.ones((2, 4))})
    with pytest.raises(TypeError, match="cannot be a tf.Tensor object"):
        run(x, {x: tw.constant(1.0)})
    with pytest.raises(TypeError, match="no_such"):
        run(x, {"no_such:0": 1})
    with pytest.raises(TypeError, match="feed_dict key"):
        run(x, {1.5: 1})
    with pytest.raises(ValueError, match=r"which is text.*\(fed to Tensor 'images:0', which has type float32\)"):
        run(x, {x: "abc"})
    with pytest.raises(ValueError, match="fed to Tensor 'images:0'"):
        run(x, {x: [[1, 2, 3], [1]]})
    with tw.Session() as sess, pytest.raises(ValueError, match="fed to Tensor 'images:0'"):
        sess.make_callable(x, [x])("abc")
    with pytest.raises(tw.errors.InvalidArgumentError, match="must feed a value for placeholder tensor 'images'"):
        run(x + 1.0)


def test_wrong_fetches_say_what_is_wrong(run):
    with pytest.raises(TypeError, match="Fetch argument None has invalid type"):
        run(None)
    with pytest.raises(TypeError, match="Fetch argument 3"):
        run([3])
    with pytest.raises(ValueError, match="'nothing' refers to an Operation which does not exist"):
        run("nothing")
    with tw.Graph().as_default():
        other = tw.constant(1)
    with pytest.raises(ValueError, match="not an element of this graph"):
        run(other)


def test_any_edge_can_be_fed(run):
    a = tw.constant(4)
    b = a + 1
    assert run(b, {a: 9}) == 10 and run(a, {a: 9}) == 9 and run([a, b], {"Const:0": 1}) == [1, 2]


def test_errors_name_the_operation_and_the_line(run):
    a, b = tw.placeholder(tw.float32, [None, None]), tw.placeholder(tw.float32, [None, None])
    product = tw.matmul(a, b, name="product")
    with pytest.raises(tw.errors.InvalidArgumentError) as caught:
        run(product, {a: np.ones((2, 3)), b: np.ones((4, 5))})
    error = caught.value
    assert error.op == product.op and error.node_def.op == "MatMul" and error.error_code == tw.errors.INVALID_ARGUMENT
    assert os.path.basename(__file__) in error.message and "[2,3]" in error.message and "[4,5]" in error.message


def test_a_fed_array_is_not_copied_and_lives_only_as_long_as_needed():
    class Array(np.ndarray):
        pass
    x = tw.placeholder(tw.float32, [None])
    total = tw.reduce_sum(x)
    with tw.Session() as sess:
        value = np.ones(100000, np.float32).view(Array)
        gone = weakref.ref(value)
        assert sess.run(total, {x: value}) == 100000
        del value
        gc.collect()
        assert gone() is None


def test_results_are_the_users_own():
    """Writing into a result changes neither the fed array, nor a constant, nor a variable."""
    x = tw.placeholder(tw.float32, [None])
    same, constant = tw.identity(x), tw.constant(np.zeros(5000, np.float32))
    variable = tw.Variable(np.zeros(5000, np.float32))
    with tw.Session() as sess:
        sess.run(variable.initializer)
        fed = np.zeros(5000, np.float32)
        for fetch, feed in [(same, {x: fed}), (x, {x: fed}), (constant, {}), (variable, {})]:
            got = sess.run(fetch, feed)
            got += 1
            assert sess.run(fetch, feed).max() == 0
        assert fed.max() == 0


def test_a_variable_does_not_see_later_changes_of_the_array_it_was_assigned_from():
    x = tw.placeholder(tw.float32, [5000])
    variable = tw.Variable(tw.zeros([5000]))
    assign = variable.assign(x)
    with tw.Session() as sess:
        value = np.ones(5000, np.float32)
        sess.run(assign, {x: value})
        value[:] = 7
        assert sess.run(variable).max() == 1


def test_callable(run):
    x, y = tw.placeholder(tw.float32), tw.placeholder(tw.float32)
    with tw.Session() as sess:
        call = sess.make_callable({"sum": x + y}, [x, y])
        assert call(1, 2) == {"sum": 3.0}
        with pytest.raises(ValueError, match="Expected 2 feed values, got 1"):
            call(1)
        with_options = sess.make_callable(x + y, [x, y], accept_options=True)
        metadata = tw.RunMetadata()
        assert with_options(1, 2, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE), run_metadata=metadata) == 3.0
        assert metadata.step_stats.dev_stats


def test_partial_run():
    a, b, c = (tw.placeholder(tw.float32, []) for _ in range(3))
    r1 = a + b
    r2 = r1 * c
    with tw.Session() as sess:
        handle = sess.partial_run_setup([r1, r2], [a, b, c])
        assert sess.partial_run(handle, r1, {a: 1, b: 2}) == 3
        assert sess.partial_run(handle, r2, {c: 17}) == 51


def test_run_metadata_and_options():
    a = tw.constant(np.ones((10, 10), np.float32))
    x = tw.placeholder(tw.float32)
    metadata = tw.RunMetadata()
    with tw.Session() as sess:
        sess.run(tw.matmul(a, x), {x: np.ones((10, 10))}, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE),
                 run_metadata=metadata)
    names = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert any("MatMul" in n for n in names), names


def endless():
    """(a loop without end, the variable that counts its turns)"""
    turns = tw.Variable(0)

    def count(i):
        with tw.control_dependencies([tw.assign_add(turns, 1)]):
            return tw.identity(i)
    return tw.while_loop(lambda i: i < 1, count, [tw.constant(0)]), turns


def await_turn(session, turns):
    """Until a loop turns that another thread has begun or is about to."""
    first, last = session.run(turns), time.monotonic() + 60
    while session.run(turns) == first:
        assert time.monotonic() < last, "the loop does not turn"


def interrupter(session, turns):
    """A thread that has begun: Ctrl-C once the loop turns."""
    def interrupt():
        await_turn(session, turns)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread


def test_a_timeout_ends_a_step_and_the_session_goes_on():
    forever, turns = endless()
    with tw.Session() as sess:
        sess.run(turns.initializer)
        with pytest.raises(tw.errors.DeadlineExceededError):
            sess.run(forever, options=tw.RunOptions(timeout_in_ms=100))
        assert sess.run(tw.constant(3)) == 3


def test_ctrl_c_cancels_the_step_and_keeps_the_session(interruptible):
    forever, turns = endless()
    with tw.Session() as sess:
        sess.run(turns.initializer)
        for _ in range(2):
            thread = interrupter(sess, turns)
            with pytest.raises(KeyboardInterrupt):
                sess.run(forever, options=tw.RunOptions(timeout_in_ms=120000))
            thread.join()
            assert sess.run(tw.constant(3)) == 3


@pytest.fixture(name="serving")
def server_process():
    """The address of a server in a process of its own."""
    cluster = json.dumps({"worker": [f"127.0.0.1:{free_ports(1)[0]}"]})
    with subprocess.Popen([sys.executable, "-m", "thalweg", "serve", "--cluster", cluster, "--job", "worker", "--task", "0"],
                          stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().split()[-1]
        server.kill()


def test_ctrl_c_cancels_the_step_of_a_server_and_keeps_the_session(interruptible, serving):
    (forever, turns), waits = endless(), tw.FIFOQueue(1, [tw.int32]).dequeue()
    with tw.Session(serving) as sess, tw.Session(serving) as other:
        sess.run(turns.initializer)
        for _ in range(2):
            thread = interrupter(other, turns)
            with pytest.raises(KeyboardInterrupt):
                sess.run([forever, waits], options=tw.RunOptions(timeout_in_ms=120000))
            thread.join()
            deadline = time.monotonic() + 60
            seen = collections.deque(maxlen=100)  # until it stands still: two reads in a row may also fall into one turn
            while len(seen) < 100 or seen[0] != seen[-1]:
                assert time.monotonic() < deadline, "the step goes on"
                seen.append(other.run(turns))
            assert sess.run(tw.constant(3)) == 3


def test_close_ends_a_step_of_another_thread():
    forever, turns = endless()
    sess = tw.Session()
    sess.run(tw.global_variables_initializer())
    outcome = []

    def go():
        try:
            sess.run(forever)
        except tw.errors.CancelledError as error:
            outcome.append(error)
    thread = threading.Thread(target=go)
    thread.start()
    await_turn(sess, turns)
    sess.close()
    thread.join(60)
    assert not thread.is_alive()
    assert len(outcome) == 1
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(forever)


def test_threads_share_a_session():
    x = tw.placeholder(tw.float32, [None])
    y = tw.reduce_sum(x * 2.0)
    wrong = []
    with tw.Session() as sess:
        def go(k):
            for i in range(200):
                if sess.run(y, {x: np.full(300, k + i, np.float32)}) != 600 * (k + i):
                    wrong.append((k, i))
        threads = [threading.Thread(target=go, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_default_sessions():
    a = tw.constant(2)
    with pytest.raises(ValueError, match="No default session is registered"):
        a.eval()
    with tw.Session().as_default() as sess:
        assert a.eval() == 2 and tw.get_default_session() is sess
    interactive = tw.InteractiveSession()
    assert (a + 1).eval() == 3
    interactive.close()
    assert tw.get_default_session() is None


def test_a_local_session_opens_no_socket():
    """In one process no service takes part (papers B5.4b)."""
    def sockets():
        links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        return {os.readlink(link) for link in links if os.path.islink(link) and os.readlink(link).startswith("socket:")}
    before = sockets()
    with tw.device("/cpu:1"):
        far = tw.constant(2.0) * 3.0
    with tw.Session(config=tw.ConfigProto(device_count={"CPU": 2})) as sess:
        assert sess.run(far + 1.0) == 7.0
        assert sockets() == before


def test_a_target_is_the_address_of_a_server():
    with pytest.raises(tw.errors.InvalidArgumentError, match="grpc://"):
        tw.Session("elsewhere:2222")


def test_two_virtual_devices():
    with tw.device("/cpu:1"):
        a = tw.placeholder(tw.float32)
        b = a + 1.0
    assert "CPU:1" in b.op.device
    with tw.device("/cpu:0"):
        c = b * 2.0
    with tw.Session(config=tw.ConfigProto(device_count={"CPU": 2})) as sess:
        assert len(sess.list_devices()) == 2
        assert sess.run(c, {a: 1}) == 4.0
        assert "CPU:1" in sess.explain_placement(b.op.name)


@pytest.mark.parametrize("word", ["+place_by_cost", "+place_by_search"])
def test_placement_by_cost_says_what_each_device_would_take(word):
    x = tw.placeholder(tw.float32, [8, 8])
    y = tw.matmul(x, x)
    config = tw.ConfigProto(device_count={"CPU": 2})
    config.graph_options.rewrite_options.optimizers.append(word)
    with tw.Session(config=config) as sess:
        assert sess.run(y, {x: np.eye(8)}).tolist() == np.eye(8).tolist()
        lines = sess.explain_placement(y.op.name).splitlines()
    costs = [line for line in lines if "the node itself" in line]
    assert [re.search(r"CPU:\d", line)[0] for line in costs] == ["CPU:0", "CPU:1"]
    assert "(chosen)" in costs[0] and "from 1024 operations" in costs[0]


def test_20000_runs_leave_nothing_behind():
    x = tw.placeholder(tw.float32, [None])
    y = [x + 1.0, tw.reduce_sum(x)]
    small, large = np.ones(4, np.float32), np.ones(4000, np.float32)

    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096
    with tw.Session() as sess:
        for i in range(2000):
            sess.run(y, {x: large if i % 10 == 0 else small})
        gc.collect()
        before, threads = resident(), threading.active_count()
        descriptors = len(os.listdir("/proc/self/fd"))
        for i in range(20000):
            sess.run(y, {x: large if i % 10 == 0 else small})
        gc.collect()
        assert resident() - before < 4e6
        # Threads of gRPC, which tests before this one have begun, open some of their own meanwhile; a leak would be thousands.
        assert threading.active_count() == threads and len(os.listdir("/proc/self/fd")) <= descriptors + 10
        assert sess._num_prepared == 1


def test_a_session_forgets_old_requests():
    a = tw.constant(np.arange(600.0))
    parts = [a[i] for i in range(600)]
    with tw.Session() as sess:
        for i, part in enumerate(parts):
            assert sess.run(part) == i
        assert sess._num_prepared <= 256
        assert sess.run(parts[0]) == 0


def test_strings_keep_the_zero_bytes_that_they_end_with():
    texts = [b"a\0", b"\0", b"b"]
    fed = tw.placeholder(tw.string, [None])
    with tw.Session() as session:
        assert session.run(fed, {fed: texts}).tolist() == texts
        assert session.run(tw.constant(texts)).tolist() == texts
        assert session.run(tw.constant([["a\0", "b"]], tw.string, [2])).tolist() == texts[::2]
        assert session.run(tw.py_func(lambda: (texts, texts[0]), [], [tw.string, tw.string]))[0].tolist() == texts
    assert list(tw.make_tensor_proto(texts).string_val) == texts
