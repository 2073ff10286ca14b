# SPDX-License-Identifier: Apache-2.0
"""cond and while_loop."""
from collections import Counter

import numpy as np
import pytest
import thalweg as tw


def test_the_nodes_of_a_cond_and_of_a_loop():
    with tw.Graph().as_default() as graph:
        a, b = tw.constant(1.0), tw.constant(2.0)
        tw.cond(tw.placeholder(tw.bool, []), lambda: (a + b, a), lambda: (a * b, b))
        nodes = Counter(op.type for op in graph.get_operations())
        assert nodes["Switch"] == 1 + 2 * 2  # the predicate's, and one for each tensor that a branch captures
        assert nodes["Merge"] == 2
    with tw.Graph().as_default() as graph:
        captured = tw.constant(1)
        tw.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + captured), [0, 0])
        nodes = Counter(op.type for op in graph.get_operations())
        assert [nodes[kind] for kind in ("Merge", "Switch", "NextIteration", "Exit")] == [2, 2, 2, 2]
        enters = [op for op in graph.get_operations() if op.type == "Enter"]
        assert [op.inputs[0].name == captured.name for op in enters] == [op.get_attr("is_constant") for op in enters] == [False, False, True]


def test_cond_runs_one_branch_only(run):
    counts = [tw.Variable(0), tw.Variable(0)]
    x = tw.placeholder(tw.float32, [])

    def branch(i, value):
        def go():
            with tw.control_dependencies([counts[i].assign_add(1)]):
                return tw.identity(value)
        return go
    y = tw.cond(x > 0, branch(0, x * 2), branch(1, tw.constant(-1.0)))
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        assert [sess.run(y, {x: v}) for v in (3, -3, 4)] == [6, -1, 8]
        assert sess.run(counts) == [2, 1]


def test_cond_structures_and_nesting(run):
    x = tw.placeholder(tw.float32, [])
    y = tw.cond(x > 0, lambda: (x, [x + 1]), lambda: (x * 2, [tw.constant(5.0)]))
    z = tw.cond(x > 0, lambda: tw.cond(x > 5, lambda: x * 100, lambda: tw.constant(-1.0)), lambda: x)
    assert run([y, z], {x: 7}) == [(7, [8]), 700] and run([y, z], {x: 3})[1] == -1 and run([y, z], {x: -3}) == [(-6, [5]), -3]
    with pytest.raises(ValueError):
        tw.cond(x > 0, lambda: (x, x), lambda: x)
    with pytest.raises(ValueError, match="same type"):
        tw.cond(x > 0, lambda: x, lambda: tw.constant(1))
    with pytest.raises(TypeError):
        tw.cond(True, lambda: x, lambda: x)


def test_gradient_through_cond(run):
    x = tw.placeholder(tw.float32, [])
    [g] = tw.gradients(tw.cond(x > 0, lambda: x * x, lambda: 3 * x), x)
    assert run(g, {x: 5}) == 10 and run(g, {x: -5}) == 3


def test_case(run):
    x = tw.placeholder(tw.int32, [])
    y = tw.case([(x < 0, lambda: tw.constant("minus")), (x > 0, lambda: tw.constant("plus"))], lambda: tw.constant("zero"))
    assert [run(y, {x: v}) for v in (-1, 0, 1)] == [b"minus", b"zero", b"plus"]


def test_while_loop(run):
    n = tw.placeholder(tw.int32, [])
    i, total = tw.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + i), [0, 0])
    assert [run([i, total], {n: v}) for v in (0, 1, 10)] == [[0, 0], [1, 0], [10, 45]]
    assert run(tw.while_loop(lambda v: v < 100, lambda v: v * 2, [3])) == 192
    assert run(tw.while_loop(lambda v: v < 100, lambda v: v * 2, [3], maximum_iterations=2)) == 12

@pytest.mark.parametrize("iterations", [2, 5, 32])
def test_the_first_iteration_waits_for_the_last(run, iterations):
    """So all of them are under way at once, as parallel_iterations allows."""
    queue = tw.FIFOQueue(1, tw.int32, shapes=[[]])

    def body(i, total):
        def first():
            return queue.dequeue()

        def last():
            with tw.control_dependencies([queue.enqueue(i * 100)]):
                return tw.identity(i)
        got = tw.case([(tw.equal(i, 0), first), (tw.equal(i, iterations - 1), last)], default=lambda: tw.identity(i))
        return i + 1, total + got
    total = tw.while_loop(lambda i, t: i < iterations, body, [0, 0], parallel_iterations=iterations, swap_memory=True)[1]
    assert run(total) == 100 * (iterations - 1) + sum(range(iterations))


@pytest.mark.parametrize("parallel_iterations", [1, 10])
def test_nested_loops_and_conditions(run, parallel_iterations):
    x = tw.placeholder(tw.float32, [])

    def outer(i, t):
        def inner(j, u):
            return j + 1, tw.cond(tw.equal(j % 2, 0), lambda: u + x, lambda: u * 2)
        return i + 1, tw.while_loop(lambda j, u: j < i, inner, [0, t], parallel_iterations=parallel_iterations)[1]
    got = tw.while_loop(lambda i, t: i < 5, outer, [0, x], parallel_iterations=parallel_iterations)[1]
    want = 3.0
    for i in range(5):
        for j in range(i):
            want = want + 3 if j % 2 == 0 else want * 2
    assert run(got, {x: 3}) == want


def test_what_a_loop_closes_over_is_computed_once(run):
    count = tw.Variable(0)
    outside = count.assign_add(1) * 10
    total = tw.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + outside), [0, 0])[1]
    with tw.Session() as sess:
        sess.run(count.initializer)
        assert sess.run(total) == 50 and sess.run(count) == 1


def test_assignments_in_a_loop_happen_in_every_iteration(run):
    v = tw.Variable(0)

    def body(i):
        with tw.control_dependencies([v.assign_add(i)]):
            return i + 1
    loop = tw.while_loop(lambda i: i < 5, body, [0])
    with tw.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(loop) == 5 and sess.run(v) == 10


def test_shapes_of_loop_variables_are_known_in_the_body(run):
    w = tw.constant([[0.0, 2.0], [2.0, 0.0]])
    _, x = tw.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tw.matmul(x, w)), [0, tw.ones([2, 2])])
    assert x.shape == [2, 2]
    assert run(x).tolist() == [[8, 8], [8, 8]]
    with pytest.raises(ValueError, match="Provide shape invariants"):
        tw.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tw.concat([x, x], 0)), [0, tw.ones([2])])


def test_shape_invariants(run):
    loop = tw.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tw.concat([t, t], 0)), [0, tw.ones([1])],
                         shape_invariants=[tw.TensorShape([]), tw.TensorShape([None])])
    assert loop[1].shape.as_list() == [None] and run(loop[1]).shape == (8,)
    assert tw.while_loop(lambda i: i < 3, lambda i: i + 1, [0]).shape.as_list() == []


def test_structures_of_loop_variables(run):
    got = tw.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, {"a": p["a"] + 1, "b": [p["b"][0] * 2]}),
                        [0, {"a": tw.constant(1.0), "b": [tw.constant(1)]}])
    assert run(got) == [3, {"a": 4.0, "b": [8]}]


def test_wrong_loops():
    with pytest.raises((TypeError, ValueError)):
        tw.while_loop(lambda i: i < 3, lambda i: tw.to_float(i), [0])
    with pytest.raises(ValueError):
        tw.while_loop(lambda i: i < 3, lambda i: (i, i), [0])
    with pytest.raises(ValueError, match="No loop variables"):
        tw.while_loop(lambda: True, lambda: [], [])


def test_assert(run):
    x = tw.placeholder(tw.float32, [])
    with tw.control_dependencies([tw.Assert(x > 0, ["x must be positive", x])]):
        y = tw.identity(x)
    assert run(y, {x: 1}) == 1
    with pytest.raises(tw.errors.InvalidArgumentError, match="x must be positive"):
        run(y, {x: -1})


def test_a_loop_in_two_sessions_on_threads():
    loop = tw.while_loop(lambda i: i < 1000, lambda i: i + 1, [0])
    with tw.Session() as a, tw.Session() as b:
        np.testing.assert_array_equal([a.run(loop), b.run(loop)], [1000, 1000])


@pytest.mark.parametrize("trained", [False, True])
def test_a_loop_multiplies_by_a_matrix_from_outside(trained):
    """Packed once outside the loop, forwards and in its gradient: the same bits as without rewriting. The matrix's own gradient
    is summed in another order."""
    rng = np.random.RandomState(0)
    start, matrix = rng.uniform(-1, 1, (20, 70)).astype("f"), rng.uniform(-.3, .3, (70, 70)).astype("f")
    x, w = tw.placeholder(tw.float32, [20, 70]), tw.placeholder(tw.float32, [70, 70])
    _, y = tw.while_loop(lambda i, _: i < 9, lambda i, h: (i + 1, tw.tanh(tw.matmul(h, w))), [tw.constant(0), x])
    fetch = tw.gradients(tw.reduce_sum(y * y), [x, w]) if trained else [y]
    plain = tw.ConfigProto()
    plain.graph_options.optimizer_options.opt_level = -1
    values = []
    for config in (None, plain):
        with tw.Session(config=config) as sess:
            values.append(sess.run(fetch, {x: start, w: matrix}))
    np.testing.assert_array_equal(values[0][0], values[1][0])
    np.testing.assert_allclose(values[0][-1], values[1][-1], rtol=1e-5, atol=2e-5)
    h = start.astype("d")
    for _ in range(9):
        h = np.tanh(h @ matrix)
    if not trained:
        np.testing.assert_allclose(values[0][0], h, atol=1e-5)


def test_an_effect_that_reads_nothing_of_the_loop_comes_once_an_iteration():
    """As in 1.15: not once more in the round in which the condition fails."""
    queue, count = tw.FIFOQueue(10, tw.int64, shapes=[()]), tw.get_variable("count", [], initializer=tw.zeros_initializer())
    one = tw.constant(1.0)

    def body(i, last):
        with tw.control_dependencies([tw.assign_add(count, one)]):
            return i + 1, queue.dequeue()
    turns = tw.while_loop(lambda i, last: i < 3, body, [0, tw.constant(0, tw.int64)])
    with tw.Session() as session:
        session.run([queue.enqueue_many(([1, 2, 3],)), count.initializer])
        assert session.run(turns, options=tw.RunOptions(timeout_in_ms=60000))[0] == 3
        assert session.run([count, queue.size()]) == [3, 0]


def values_from_outside():
    """{name: a function of x that gives a loop's results}: what some results are made of is the same in all iterations."""
    def loop(body, *first, **options):
        return tw.while_loop(lambda i, *rest: i < 3, body, [0, *first], **options)

    def nested(x):
        return loop(lambda i, _: (i + 1, loop(lambda j, __: (j + 1, tw.tanh(x)), x)[1]), x)
    return {
        "made anew": lambda x: loop(lambda i, _: (i + 1, tw.tanh(x)), x),
        "itself": lambda x: loop(lambda i, _: (i + 1, x), x),
        "one after the other": lambda x: loop(lambda i, _: (i + 1, tw.tanh(x)), x, parallel_iterations=1),
        "beside others": lambda x: loop(lambda i, a, b: (i + 1, b + 1.0, tw.tanh(x)), x, x),
        "the one before": lambda x: loop(lambda i, a, b: (i + 1, tw.tanh(x), a), x, x),
        "in a conditional": lambda x: loop(lambda i, _: (i + 1, tw.cond(i > 1, lambda: tw.tanh(x), lambda: x)), x),
        "in a loop": nested}


@pytest.mark.parametrize("name", values_from_outside())
def test_what_comes_from_outside_ends_with_the_loop(name):
    """Such a value runs in every iteration that begins: it must not begin one by itself."""
    x = tw.placeholder_with_default(1.0, [])
    made = values_from_outside()[name](x)
    slope = tw.gradients(made[-1], x)
    with tw.Session() as session:
        count, *_, last = session.run(made, options=tw.RunOptions(timeout_in_ms=60000))
        assert count == 3
        np.testing.assert_allclose(last, np.tanh(1.0) if name != "itself" else 1.0, rtol=1e-6)
        np.testing.assert_allclose(session.run(slope, options=tw.RunOptions(timeout_in_ms=60000)),
                                   [1 - np.tanh(1.0) ** 2 if name != "itself" else 1.0], rtol=1e-5)


def test_a_reference_goes_round_a_loop_and_is_assigned_to(run):
    v, w = tw.Variable([1.0, 2.0], name="v"), tw.Variable([3.0], name="w")

    def body(i, r, total):
        added = tw.assign_add(r, [1.0, 1.0])
        with tw.control_dependencies([added]):
            return i + 1, tw.scatter_add(added, [0], [10.0]), total + w
    _, r, total = tw.while_loop(lambda i, *_: i < 3, body, (tw.constant(0), v._ref(), w))
    assert r.dtype._is_ref_dtype and r.op.type == "RefExit" and not total.dtype._is_ref_dtype
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        assert [x.tolist() for x in sess.run([r, total])] == [[34, 5], [12]] and sess.run(v).tolist() == [34, 5]
        assert sess.run(w).tolist() == [3]
    with pytest.raises(TypeError, match="is the plain value"):
        tw.while_loop(lambda r: tw.reduce_sum(r) < 9, lambda r: r + 1.0, (v._ref(),))
