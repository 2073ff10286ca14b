# SPDX-License-Identifier: Apache-2.0
"""Functions of Python inside a step: py_func."""
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import thalweg as tw


def _raises(error):
    def function(*args):
        raise error
    return function


def test_values_come_and_go(run):
    double = tw.py_func(lambda x: x * 2, [tw.constant([1.0, 2.0])], tw.float32)
    assert double.op.type == "PyFunc" and double.shape.ndims is None and run(double).tolist() == [2, 4]
    [a, b] = tw.py_func(lambda x, y: (x + y, len(y)), [[1.0, 2.0], [3.0, 4.0]], [tw.float32, tw.int64], stateful=False)
    assert a.op.type == "PyFuncStateless" and run([a, b])[0].tolist() == [4, 6] and run(b) == 2
    assert run(tw.numpy_function(lambda: np.float32(7), [], tw.float32)) == 7


def test_what_a_function_is_given(run):
    seen = []
    inputs = [np.float32(3), "abc", ["x", "yz"], [[1, 2]], True]
    nothing = tw.py_func(lambda *args: seen.extend(args), inputs, [])
    assert isinstance(nothing, tw.Operation) and run(nothing) is None
    assert [type(v) for v in seen] == [np.float32, bytes, np.ndarray, np.ndarray, np.bool_]
    assert seen[1] == b"abc" and seen[2].tolist() == [b"x", b"yz"] and seen[3].dtype == np.int32

    def overwrite(x):
        x[:] = 0
        return x
    kept = tw.constant([1.0, 2.0])
    assert run([tw.py_func(overwrite, [kept], tw.float32), kept])[1].tolist() == [1, 2]


def test_strings(run):
    for value, want in [("üa", "üa".encode()), (b"\0b", b"\0b"), (np.array(["a", "bcd"]), [b"a", b"bcd"]),
                        (np.array([b"a", b"bc"], object), [b"a", b"bc"])]:
        got = run(tw.py_func(lambda value=value: value, [], tw.string))
        assert (got if isinstance(got, bytes) else got.tolist()) == want


@pytest.mark.parametrize("error, kind", [
    (ValueError("bad"), tw.errors.InvalidArgumentError), (TypeError("bad"), tw.errors.InvalidArgumentError),
    (StopIteration("bad"), tw.errors.OutOfRangeError), (MemoryError("bad"), tw.errors.ResourceExhaustedError),
    (NotImplementedError("bad"), tw.errors.UnimplementedError), (KeyError("bad"), tw.errors.UnknownError),
    (SystemExit("bad"), tw.errors.UnknownError)])
def test_errors_become_those_of_the_step(run, error, kind):
    y = tw.py_func(_raises(error), [1.0], tw.float32, name="call")
    with pytest.raises(kind) as caught:
        run(y)
    assert f"{type(error).__name__}: " in str(caught.value) and "test_script_ops.py" in str(caught.value)
    assert caught.value.op.name == y.op.name


@pytest.mark.parametrize("function, types, words", [
    (lambda x: x.astype(np.float64), tw.float32, "0-th value returned by pyfunc_[0-9]+ is double, but expects float"),
    (lambda x: (x, x), tw.float32, "returns 2 values, but expects to see 1 values"),
    (lambda x: None, [tw.float32], "returns 0 values, but expects to see 1 values"),
    (lambda x: 3, [], "returns 1 values, but expects to see 0 values"),
    (lambda x: np.array(["2020"], "M8"), tw.int64, "is datetime64"),
    (lambda x: object(), tw.float32, "Unsupported object type object"),
    (lambda x: object(), tw.string, "(?i)object")])
def test_wrong_results(run, function, types, words):
    with pytest.raises(tw.errors.OpError, match=words):
        run(tw.py_func(function, [[1.0]], types))


def test_refusals():
    with pytest.raises(ValueError, match="Expected func to be callable"):
        tw.py_func(3, [1.0], tw.float32)
    x = tw.constant(1.0)
    assert tw.gradients(tw.py_func(lambda v: v, [x], tw.float32), [x]) == [None]


def test_a_function_may_run_a_session(run):
    other = tw.Graph()
    with other.as_default():
        p = tw.placeholder(tw.float32, [])
        square = p * p
    inner = tw.Session(graph=other)
    assert run(tw.py_func(lambda x: inner.run(square, {p: x}), [3.0], tw.float32)) == 9


def test_many_at_once():
    calls = [tw.py_func(lambda x, i=i: x + np.float32(i), [tw.fill([50], 1.0)], tw.float32) for i in range(40)]
    total = tw.reduce_sum(tw.add_n(calls))
    with tw.Session() as sess:
        found = []
        threads = [threading.Thread(target=lambda: found.extend(sess.run(total) for _ in range(5))) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert found == [50 * (40 + sum(range(40)))] * 20


def test_a_function_lives_as_long_as_its_graph():
    import gc
    import weakref

    class Adder:
        def __call__(self, x):
            return x + np.float32(1)
    graph, adder = tw.Graph(), Adder()
    gone = weakref.ref(adder)
    with graph.as_default():
        y = tw.py_func(adder, [1.0], tw.float32)
    del adder
    gc.collect()
    with tw.Session(graph=graph) as sess:
        assert sess.run(y) == 2
    del graph, y, sess
    gc.collect()
    assert gone() is None


def test_in_a_loop_and_a_function(run):
    end = tw.while_loop(lambda x: x < 100.0, lambda x: [tw.reshape(tw.py_func(lambda v: v * np.float32(3), [x], tw.float32), [])],
                        [tw.constant(1.0)])
    assert run(end) == 243


def test_a_graph_of_another_process(run):
    with tw.Graph().as_default() as made:
        tw.py_func(lambda: np.float32(1), [], tw.float32, name="f")
        definition = made.as_graph_def()
    definition.node[0].attr["token"].s = b"pyfunc_of_another"
    [f] = tw.import_graph_def(definition, return_elements=["f:0"], name="")
    with pytest.raises(tw.errors.InvalidArgumentError, match="only in the process that has made it"):
        run(f)


_PROGRAM = """
import thalweg as tw
y = tw.py_func(lambda x: (print("in", flush=True), all(True for _ in iter(int, 1)), x)[2], [1.0], tw.float32)
try:
    tw.Session().run(y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_reaches_a_function():
    env = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(tw.__file__)))
    with subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True, env=env,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as process:
        assert process.stdout.readline() == "in\n"
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            process.kill()


_MASKS = """
import os, signal, threading, numpy
known = set(os.listdir("/proc/self/task"))  # numpy has its own
import thalweg as tw
def blocked(thread):
    with open(f"/proc/self/task/{thread}/status") as status:
        mask = next(int(line.split()[1], 16) for line in status if line.startswith("SigBlk"))
    return bool(mask >> signal.SIGINT - 1 & 1)
with tw.Session(config=tw.ConfigProto(intra_op_parallelism_threads=4)) as session:
    both = threading.Barrier(2)
    def masked(x):
        both.wait(60)  # so one of the two runs on a thread of the session
        return blocked(threading.get_native_id())
    print([bool(m) for m in session.run([tw.py_func(masked, [i], tw.bool) for i in range(2)])])
    print({blocked(thread) for thread in set(os.listdir("/proc/self/task")) - known})
"""


def test_signals_come_to_threads_of_python():
    env = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(tw.__file__)))
    done = subprocess.run([sys.executable, "-c", _MASKS], capture_output=True, text=True, env=env, timeout=120)
    assert done.stdout == "[False, False]\n{True}\n", done.stderr
