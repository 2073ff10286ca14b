# SPDX-License-Identifier: Apache-2.0
"""Graphs with functions that the real TensorFlow writes (tf.function, Defun, control flow of both versions), run in both: the
same values, states and classes of errors, step by step."""
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import thalweg as tw
from both import PLAIN, Outcome, differ
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

F32 = tf.float32


def x_of(*shape, name="x", dtype=F32):
    return tf.placeholder(dtype, shape, name=name)


def numbers(*shape):
    return np.random.RandomState(3).standard_normal(shape).astype(np.float32)


def nested_calls():
    inner = tf.function(lambda a, b: (a * b, a + 1.0))
    outer = tf.function(lambda a: inner(a, a + 2.0)[0] + inner(a, 3.0)[1])
    return [outer(x_of(None)), outer(outer(x_of(2, name="y")))], [{"x:0": numbers(3), "y:0": numbers(2)}]


def lists_and_constants():
    @tf.function
    def f(a, b):
        parts = tf.split(tf.concat([a, b], 0), 3)
        return parts[2], parts[0], tf.constant([7, 8]), a.shape[0]
    return list(f(x_of(2), x_of(4, name="y"))), [{"x:0": numbers(2), "y:0": numbers(4)}]


def conditionals():
    @tf.function
    def f(p, q, a):
        y = tf.cond(p, lambda: tf.cond(q, lambda: a + 1.0, lambda: a * a), lambda: tf.constant(5.0))
        n, s = tf.cond(q, lambda: (1, "yes"), lambda: (2, "no"))
        return y, n, s
    p, q = x_of(name="p", dtype=tf.bool), x_of(name="q", dtype=tf.bool)
    return list(f(p, q, x_of())), [{"p:0": a, "q:0": b, "x:0": np.float32(3)} for a in (True, False) for b in (True, False)]


def switch_case():
    @tf.function
    def f(i, a):
        return tf.switch_case(i, [lambda: a + 1.0, lambda: a * 10.0, lambda: tf.constant(-1.0)])
    return [f(x_of(name="i", dtype=tf.int32), x_of())], [{"i:0": np.int32(i), "x:0": np.float32(2)} for i in (0, 1, 2, 3, -1)]


def loops():
    @tf.function
    def f(n, a):
        def body(i, v, t):
            _, inner = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + tf.reduce_sum(v) * 0.5), [0, tf.constant(0.0)])
            return i + 1, tf.tanh(v) + a, t + inner
        return tf.while_loop(lambda i, v, t: i < n, body, [0, a, tf.constant(0.0)])
    return list(f(x_of(name="n", dtype=tf.int32), x_of(3))), [{"n:0": np.int32(n), "x:0": numbers(3)} for n in (0, 1, 4)]


def growing_loop():
    @tf.function
    def f(n, a):
        return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.concat([v, a], 0)), [0, a],
                             shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1]
    return [f(x_of(name="n", dtype=tf.int32), x_of(2))], [{"n:0": np.int32(n), "x:0": numbers(2)} for n in (0, 3)]


def loop_in_branch():
    @tf.function
    def f(p, n, a):
        return tf.cond(p, lambda: tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 1.5 + 1.0), [0, a])[1],
                       lambda: tf.while_loop(lambda i, v: i < n, lambda i, v: (
                           i + 1, tf.cond(v[0] > 0, lambda: v - a, lambda: v + 2.0 * a)), [0, a])[1])
    p, n = x_of(name="p", dtype=tf.bool), x_of(name="n", dtype=tf.int32)
    return [f(p, n, x_of(2))], [{"p:0": p, "n:0": np.int32(n), "x:0": numbers(2)} for p in (True, False) for n in (0, 3)]


def gradient_inside():
    @tf.function
    def f(a):
        y = tf.reduce_sum(tf.sin(a) * a)
        return y, tf.gradients(y, a)[0]
    return list(f(x_of(4))), [{"x:0": numbers(4)}]


def gradient_of_branches():
    @tf.function
    def f(p, a):
        y = tf.cond(p, lambda: tf.sin(a) * a, lambda: a * a * a)
        return tf.gradients(y, a)[0]
    return [f(x_of(name="p", dtype=tf.bool), x_of(3))], [{"p:0": p, "x:0": numbers(3)} for p in (True, False)]


def gradient_of_loop():
    @tf.function
    def f(n, a):
        y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.sin(v) * a), [0, a])[1]
        return tf.gradients(y, a)[0]
    return [f(x_of(name="n", dtype=tf.int32), x_of(3))], [{"n:0": np.int32(n), "x:0": numbers(3)} for n in (0, 1, 4)]


def map_and_scan():
    @tf.function
    def f(a):
        return tf.map_fn(lambda r: r * tf.reduce_sum(r), a), tf.scan(lambda s, r: s * 0.5 + r, a)
    return list(f(x_of(None, 2))), [{"x:0": numbers(4, 2)}]


def variables():
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)

    @tf.function
    def f(a):
        v.assign_add(a)
        y = v.read_value()
        v.assign(y * 2.0)
        return y, tf.cond(a[0] > 0, lambda: v.assign_sub(a), lambda: v.assign_add([100.0, 0.0])), v.read_value()
    return list(f(x_of(2))), [{"x:0": np.float32([1, 2])}, {"x:0": np.float32([-1, 2])}], ["v/Read/ReadVariableOp:0"]


def effects_without_readers():
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def f(a):
        v.assign_add(a)
        return a * 2.0
    return [f(x_of())], [{"x:0": np.float32(3)}, {"x:0": np.float32(4)}], ["v/Read/ReadVariableOp:0"]


def effects_in_loop():
    v = tf.get_variable("v", initializer=0.0, use_resource=True)

    @tf.function
    def f(n):
        def body(i):
            v.assign(v * 2.0 + tf.cast(i, F32))
            return [i + 1]
        i = tf.while_loop(lambda i: i < n, body, [0])
        return i, v.read_value()
    return tf.nest.flatten(f(x_of(name="n", dtype=tf.int32))), [{"n:0": np.int32(3)}, {"n:0": np.int32(2)}]


def assertion():
    @tf.function
    def f(a):
        tf.debugging.assert_greater(a, 0.0)
        return tf.cond(a > 5.0, lambda: tf.debugging.check_numerics(tf.math.log(5.0 - a), "bad"), lambda: a)
    return [f(x_of())], [{"x:0": np.float32(v)} for v in (1, -1, 7, 2)]


def raw_forms():
    @function.Defun(tf.int32, F32)
    def body(i, a):
        return a * tf.cast(i, F32) + 1.0

    @function.Defun(F32)
    def more(a):
        return a + 10.0

    @function.Defun(F32)
    def less(a):
        return -a
    s, l, d = (x_of(name=n, dtype=tf.int32) for n in ("s", "l", "d"))
    a = x_of(2)
    fetches = [functional_ops.For(s, l, d, [a], body)[0], functional_ops.If(a[0], [a], more, less)[0],
               functional_ops.If(tf.reshape(a, [1, 2]), [a], more, less)[0], functional_ops.If("", [a], more, less)[0]]
    return fetches, [{"s:0": np.int32(s), "l:0": np.int32(l), "d:0": np.int32(d), "x:0": numbers(2)}
                     for s, l, d in [(0, 3, 1), (0, 0, 1), (3, 0, -1), (3, 0, 1), (0, 3, 0), (0, 5, 2), (5, 0, -2), (0, 0, 0)]]


def function_on_rows():
    @function.Defun(F32, tf.int32, F32)
    def f(a, n, scale):
        return a * scale, tf.reduce_sum(a) + tf.cast(n, F32), tf.range(n)
    fetches = tf.raw_ops.MapDefun(arguments=[x_of(None, 2), x_of(None, name="n", dtype=tf.int32)], captured_inputs=[x_of(name="y")],
                                  output_types=[F32, F32, tf.int32], output_shapes=[[2], [], [None]], f=f)
    return fetches, [{"x:0": numbers(rows, 2), "n:0": np.int32(n), "y:0": np.float32(3)} for rows, n in ((3, [4, 4, 4]), (1, [0]), (3, [1, 2, 3]), (2, [1, 1, 1]))]


def remote_call():
    @function.Defun(F32)
    def f(a):
        return a * 3.0
    return functional_ops.remote_call(args=[x_of()], Tout=[F32], f=f, target="/job:localhost/replica:0/task:0/device:CPU:0"), [{"x:0": np.float32(2)}]


def batch_functions(**more):
    @function.Defun(F32, tf.int32, F32)
    def f(a, n, scale):
        return a * scale, n + tf.shape(a)[0]
    fetches = tf.raw_ops.BatchFunction(in_tensors=[x_of(None, 2), x_of(None, name="n", dtype=tf.int32)], captured_tensors=[x_of(name="y")], f=f, num_batch_threads=1,
                                       batch_timeout_micros=1000, Tout=[F32, tf.int32], **{"max_batch_size": 4, "allowed_batch_sizes": [2, 4], **more})
    return fetches, [{"x:0": numbers(rows, 2), "n:0": np.int32(n), "y:0": np.float32(3)} for rows, n in ((1, [7]), (3, [1, 2, 3]), (4, [4, 3, 2, 1]), (5, [0] * 5), (2, [1]), (0, []))]


def batch_function_that_splits():
    return batch_functions(max_batch_size=8, enable_large_batch_splitting=True)[0], batch_functions()[1][:3]


def bad_batch_function():
    @function.Defun(F32)
    def f(a):
        return tf.reduce_sum(a)
    return tf.raw_ops.BatchFunction(in_tensors=[tf.placeholder(F32, name="x")], captured_tensors=[], f=f, num_batch_threads=1, max_batch_size=4, batch_timeout_micros=0, Tout=[F32]), \
        [{"x:0": np.float32(1)}, {"x:0": numbers(2)}]


def symbolic_gradients():
    @function.Defun(F32, F32)
    def cube(a, b):
        return a * a * a * b

    @function.Defun(F32, F32, F32)
    def own(a, b, g):
        return g * 100.0, g * b

    @function.Defun(F32, F32, grad_func=own)
    def special(a, b):
        return a + b
    a, b = x_of(), x_of(name="y")
    first = tf.gradients(cube(a, b), [a, b])
    custom = tf.gradients(cube(special(a, b), b), [a, b])
    return first + custom, [{"x:0": np.float32(2), "y:0": np.float32(5)}]


PROGRAMS = [nested_calls, lists_and_constants, conditionals, switch_case, loops, growing_loop, loop_in_branch, gradient_inside,
            gradient_of_branches, gradient_of_loop, map_and_scan, variables, effects_without_readers, effects_in_loop, assertion,
            raw_forms, function_on_rows, batch_functions, batch_function_that_splits, bad_batch_function, remote_call, symbolic_gradients]


def run_steps(module, graph, config, start, fetches, feeds, also):
    """[Outcome] of the steps in one session."""
    outcomes = []
    with module.Session(graph=graph, config=config) as session:
        if start:
            session.run(start)
        for fed in feeds:
            try:
                known = {t: v for t, v in fed.items() if t.partition(":")[0] in names_of(graph)}
                outcomes.append(Outcome(session.run(fetches, known)))
            except module.errors.OpError as error:
                outcomes.append(Outcome(error=error))
            for name in also:
                outcomes.append(Outcome([session.run(name)]))
    return outcomes


def names_of(graph):
    return {op.name for op in graph.get_operations()}


def both(program, more=lambda m, graph, fetches: fetches):
    """(theirs, ours): the outcomes of a program; `more(module, graph, fetch names)` may ask for gradients."""
    with tf.Graph().as_default() as graph:
        made, feeds, *also = program()
        start = tf.global_variables_initializer().name if tf.global_variables() else None
        fetches = [t.name for t in made]
        definition = graph.as_graph_def(add_shapes=True).SerializeToString()
        asked = more(tf, graph, fetches)
        theirs = run_steps(tf, graph, PLAIN, start, asked, feeds, also[0] if also else [])
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
        asked = more(tw, graph, fetches)
        return theirs, run_steps(tw, graph, None, start, asked, feeds, also[0] if also else [])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_steps(program):
    theirs, ours = both(program)
    for step, (a, b) in enumerate(zip(theirs, ours)):
        why = differ(a, b)
        assert why is None, f"step {step}: {why}"


def by_x(module, graph, fetches):
    """The gradient of the sum of what is asked for, with respect to x."""
    x = graph.get_tensor_by_name("x:0")
    total = module.add_n([module.reduce_sum(graph.get_tensor_by_name(f)) for f in fetches
                          if graph.get_tensor_by_name(f).dtype.base_dtype.name == "float32"])
    return [module.gradients(total, x)[0].name]


@pytest.mark.parametrize("program", [nested_calls, conditionals, switch_case, loops, loop_in_branch, gradient_inside],
                         ids=lambda p: p.__name__)
def test_same_gradients(program):
    theirs, ours = both(program, by_x)
    for step, (a, b) in enumerate(zip(theirs, ours)):
        why = differ(a, b)
        assert why is None, f"step {step}: {why}"
