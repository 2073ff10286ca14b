# SPDX-License-Identifier: Apache-2.0
"""tf.function and defun in graphs. Expected values and errors are those of TensorFlow 1.15 for the same program."""
import gc
import weakref

import numpy as np
import pytest
import thalweg as tw
from thalweg.contrib import eager


@pytest.fixture(autouse=True)
def fresh_graph():
    with tw.Graph().as_default():
        yield


def run(fetches, feeds=None):
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        return session.run(fetches, feeds)


def test_arguments_defaults_and_structures():
    @tw.function
    def f(x, y=2.0, *, z=None):
        return x * y if z is None else x * y + z

    @tw.function
    def structured(x):
        return {"a": x, "b": (x + 1, [x + 2, None])}
    a = tw.constant([1.0, 2.0])
    assert f.__name__ == "f" and callable(f.python_function)
    found = run([f(a), f(a, 3.0), f(a, y=a, z=a)])
    np.testing.assert_array_equal(found, [[2, 4], [3, 6], [2, 6]])
    made = structured(a)
    assert made["b"][1][1] is None and made["a"].shape.as_list() == [2]
    np.testing.assert_array_equal(run([made["a"], made["b"][0], made["b"][1][0]]), [[1, 2], [2, 3], [3, 4]])
    np.testing.assert_array_equal(run(f(np.float32([4, 5]))), [8, 10])


def test_one_trace_for_each_signature():
    traces = []

    @tw.function
    def scaled(x, by):
        traces.append((x.shape.as_list(), by))
        return x * by
    a = tw.constant([1.0, 2.0])
    calls = [scaled(a, 1.0), scaled(a + 1, 1.0), scaled(a, 2.0), scaled(tw.constant([1.0, 2.0, 3.0]), 1.0),
             scaled(tw.constant(1), 1)]
    assert traces == [([2], 1.0), ([2], 2.0), ([3], 1.0), ([], 1)]
    assert calls[0].op.type == calls[1].op.type == "PartitionedCall"
    assert [list(np.ravel(v)) for v in run(calls)] == [[1, 2], [2, 3], [2, 4], [1, 2, 3], [1]]
    with tw.Graph().as_default():  # another graph, another trace
        scaled(tw.constant([1.0, 2.0]), 1.0)
    assert len(traces) == 5


def test_effects_happen_in_order():
    v = tw.get_variable("v", initializer=1.0, use_resource=True)

    @tw.function
    def twice_and_two(d):
        v.assign(v * d)
        before = v.read_value()
        v.assign_add(2.0)
        return before, v.read_value()

    @tw.function
    def only_effect(d):
        v.assign_add(d)
    for _ in range(20):  # an order by chance would differ
        assert run(list(twice_and_two(5.0))) == [5, 7]
    effect = only_effect(tw.constant(41.0))
    assert isinstance(effect, tw.Operation)
    with tw.Session() as session:
        session.run(v.initializer)
        session.run(effect)
        assert session.run(v) == 42


def test_variables_live_outside_and_are_made_once():
    held = []

    @tw.function
    def affine(x):
        if not held:
            held.append(tw.Variable(5.0))
        with tw.variable_scope("affine", reuse=tw.AUTO_REUSE):
            return held[0] * x + tw.get_variable("bias", initializer=1.0)

    @tw.function
    def always_new(x):
        return tw.Variable(5.0) * x
    first, second = affine(tw.constant(2.0)), affine(tw.constant([3.0]))
    assert len(tw.global_variables()) == 2
    assert run(first) == 11 and run(second) == [16]
    assert run(tw.gradients(first, held)) == [2]
    with pytest.raises(ValueError, match="non-first call"):
        always_new(tw.constant(1.0))


def test_gradients_twice_and_captures():
    x, k = tw.constant(3.0), tw.constant(2.0)
    cube = tw.function(lambda t: k * t * t * t)
    first = tw.gradients(cube(x), [x, k])
    assert run([first, tw.gradients(first[0], x)]) == [[54, 27], [36]]


def test_signatures():
    @tw.function(input_signature=[tw.TensorSpec([None], tw.float32)])
    def total(x):
        return tw.reduce_sum(x)
    a = tw.constant([1.0, 2.0])
    assert run([total(a), total([1.0, 2.0, 4.0])]) == [3, 7]
    assert len({t.op.get_attr("f").name for t in (total(a), total(tw.constant([1.0])))}) == 1
    for wrong in (tw.constant([[1.0]]), tw.constant([1])):
        with pytest.raises(ValueError, match="Python inputs incompatible with input_signature"):
            total(wrong)
    with pytest.raises(TypeError, match=r"only pass arguments covered by it. Received 2 argument\(s\)."):
        total(a, a)
    with pytest.raises(TypeError, match="either a tuple or a list"):
        tw.function(lambda x: x, input_signature=3)


def test_concrete_functions():
    @tw.function
    def f(x, y=2.0):
        return x * y
    concrete = f.get_concrete_function(tw.TensorSpec([None], tw.float32))
    assert concrete.name.startswith("__inference_f_")
    assert [t.name for t in concrete.inputs] == ["x:0"] and concrete.outputs[0].shape.as_list() == [None]
    assert concrete.graph is not tw.get_default_graph()
    np.testing.assert_array_equal(run(concrete(tw.constant([1.0, 2.0]))), [2, 4])
    with pytest.raises(TypeError, match="takes 1 tensors, got 2"):
        concrete(tw.constant([1.0]), tw.constant([1.0]))


def test_methods_and_nested_calls():
    class Scaled:
        def __init__(self, k):
            self.k = tw.constant(k)

        @tw.function
        def product(self, x):
            return self.k * inner(x)

    @eager.defun
    def inner(x):
        return tw.while_loop(lambda i: i < 10.0, lambda i: i + x, [x])
    three, four = Scaled(3.0), Scaled(4.0)
    assert run([three.product(tw.constant(4.0)), four.product(tw.constant(5.0)), Scaled(1.0).product(tw.constant(3.0))]) == [
        36, 40, 12]


def test_a_trace_keeps_no_array_that_it_was_called_with():
    class Array(np.ndarray):
        pass

    @tw.function
    def f(x, others):
        return x * others[1]["y"]
    array = np.zeros(3).view(Array)
    kept = weakref.ref(array)
    f(array, [0, {"y": 2.0}])
    del array
    gc.collect()
    assert kept() is None


def test_without_autograph_python_decides():
    @tw.function(autograph=False)
    def not_converted(n):
        while n > 0:
            n -= 1
        return n
    with pytest.raises(TypeError, match="bool"):
        not_converted(tw.constant(3))
