# SPDX-License-Identifier: Apache-2.0
"""Rows of tensors and variables by index on /device:GPU:0: gathers, scatters and sparse updates give what the CPU's give, to the bit
where nothing is rounded twice, and refuse what it refuses."""
import numpy as np
import pytest
import thalweg as tw

GPU, CPU = "/device:GPU:0", "/cpu:0"
random = np.random.RandomState(11)
STRICT = tw.ConfigProto(allow_soft_placement=False)
INDICES = [3, 0, 3, 3, 1]  # a row that is named several times is changed in this order


def floats(*shape):
    return random.uniform(0.5, 2.0, shape).astype(np.float32)


def session_of(graph):
    session = tw.Session(graph=graph, config=STRICT)
    session.run(tw.global_variables_initializer())
    return session


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("axis,batch_dims,shape,indices", [
    (0, 0, (5,), [4, 0, 4]), (0, 0, (5, 3), 2), (0, 0, (5, 3), [[0, 4], [1, 1]]), (1, 0, (2, 5, 3), [4, 0]), (-1, 0, (2, 3, 4), [[3], [0]]),
    (1, 1, (2, 5, 3), [[0, 4, 4], [1, 2, 0]]), (2, 1, (2, 3, 4, 2), [[3, 0], [1, 1]]), (0, 0, (5, 3), np.zeros([0])), (0, 0, (5, 0), [1])])
def test_gathers(dtype, index, axis, batch_dims, shape, indices):
    values, at = (floats(*shape) * 9).astype(dtype), np.asarray(indices).astype(index)

    def run(device):
        with tw.Graph().as_default() as graph, tw.device(device):
            x, i = tw.placeholder(dtype, shape), tw.placeholder(index, at.shape)
            y = tw.gather(x, i, axis=axis, batch_dims=batch_dims)
            with session_of(graph) as session:
                return session.run(y, {x: values, i: at})
    expected, found = run(CPU), run(GPU)
    assert expected.shape == found.shape
    np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("shape,ids,segments", [((5, 3), INDICES, 4), ((5,), [1, -1, 0, 1, -7], 3), ((2, 2, 3), [[2, 0], [2, 2]], 3),
                                                ((0, 3), np.zeros([0]), 2), ((5, 3), INDICES, 6), ((5, 0), INDICES, 4)])
def test_sums_of_segments(dtype, shape, ids, segments):
    values = (floats(*shape) * 9).astype(dtype)

    def run(device):
        with tw.Graph().as_default() as graph, tw.device(device):
            x = tw.placeholder(dtype, shape)
            y = tw.unsorted_segment_sum(x, np.asarray(ids, np.int32), segments)
            with session_of(graph) as session:
                return session.run(y, {x: values})
    np.testing.assert_array_equal(run(CPU), run(GPU))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_once_each(index):
    with tw.Graph().as_default() as graph, tw.device(GPU):
        values, places = tw.unique(tw.constant(np.asarray(INDICES, index)))
        with session_of(graph) as session:
            assert [v.tolist() for v in session.run([values, places])] == [[3, 0, 1], [0, 1, 0, 0, 2]]


def updated(device, change, initial, fetch=None):
    """What `change(variable)` leaves in variables of these values."""
    with tw.Graph().as_default() as graph, tw.device(device):
        variables = [tw.Variable(value, use_resource=True) for value in initial]
        op = change(*variables)
        with session_of(graph) as session:
            for _ in range(2):
                session.run(op)
            return session.run([v.read_value() for v in variables])


@pytest.mark.parametrize("op", ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_scatters(op, dtype):
    if (op, dtype) == ("Div", np.int64):
        return  # integers may not be divided by zero, which the device cannot say
    for shape, updates in (((4, 3), floats(5, 3) * 5), ((4, 2, 2), floats(5, 2, 2)), ((4,), floats(5)), ((4, 3), np.float32(2.5)),
                           ((4, 0), floats(5, 0))):
        initial = (floats(*shape) * 7).astype(dtype)

        def change(v, updates=updates):
            return getattr(tw.raw_ops, f"ResourceScatter{op}")(resource=v.handle, indices=INDICES, updates=tw.constant(updates.astype(dtype)))
        expected, found = updated(CPU, change, [initial]), updated(GPU, change, [initial])
        np.testing.assert_array_equal(expected[0], found[0])


SPARSE = {
    "Adagrad": lambda v, a, g, i: tw.raw_ops.ResourceSparseApplyAdagrad(var=v.handle, accum=a.handle, lr=0.1, grad=g, indices=i),
    "Adagrad without slots": lambda v, a, g, i: tw.raw_ops.ResourceSparseApplyAdagrad(
        var=v.handle, accum=a.handle, lr=0.1, grad=g, indices=i, update_slots=False),
    "Momentum": lambda v, a, g, i: tw.raw_ops.ResourceSparseApplyMomentum(
        var=v.handle, accum=a.handle, lr=0.1, grad=g, indices=i, momentum=0.9),
    "Nesterov": lambda v, a, g, i: tw.raw_ops.ResourceSparseApplyMomentum(
        var=v.handle, accum=a.handle, lr=0.1, grad=g, indices=i, momentum=0.9, use_nesterov=True),
    "dense Adagrad without slots": lambda v, a, g, i: tw.raw_ops.ResourceApplyAdagrad(
        var=v.handle, accum=a.handle, lr=0.1, grad=tw.ones_like(v.read_value()), update_slots=False),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_updates(name):
    initial, grad = [floats(4, 3), floats(4, 3)], floats(5, 3)

    def change(v, a):
        return SPARSE[name](v, a, tw.constant(grad), tw.constant(INDICES))
    for expected, found in zip(updated(CPU, change, initial), updated(GPU, change, initial)):
        np.testing.assert_allclose(expected, found, rtol=1e-5)


def test_sparse_updates_with_two_slots():
    initial, grad = [floats(4, 3), floats(4, 3), floats(4, 3)], floats(5, 3)

    def change(v, ms, mom):
        return tw.raw_ops.ResourceSparseApplyRMSProp(var=v.handle, ms=ms.handle, mom=mom.handle, lr=0.1, rho=0.9, momentum=0.5,
                                                     epsilon=1e-3, grad=tw.constant(grad), indices=tw.constant(INDICES))
    for expected, found in zip(updated(CPU, change, initial), updated(GPU, change, initial)):
        np.testing.assert_allclose(expected, found, rtol=1e-5)


@pytest.mark.parametrize("optimizer", [
    lambda: tw.train.GradientDescentOptimizer(0.5), lambda: tw.train.AdagradOptimizer(0.5), lambda: tw.train.MomentumOptimizer(0.1, 0.9),
    lambda: tw.train.RMSPropOptimizer(0.05), lambda: tw.train.AdamOptimizer(0.05)])
def test_an_embedding_trains_there(optimizer):
    """The table stays on the device: lookups and updates of its rows run there."""
    words, labels = random.randint(0, 20, [16, 4]), random.randint(0, 3, [16])
    table, weights = floats(20, 8), floats(8, 3)

    def losses(device):
        with tw.Graph().as_default() as graph:
            with tw.device(device):
                e = tw.Variable(table, name="table", use_resource=True)
                w = tw.Variable(weights, use_resource=True)
                scores = tw.matmul(tw.reduce_mean(tw.nn.embedding_lookup(e, words), 1), w)
                loss = tw.reduce_mean(tw.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
            train = optimizer().minimize(loss)
            with tw.Session(graph=graph, config=tw.ConfigProto(allow_soft_placement=True)) as session:
                session.run(tw.global_variables_initializer())
                if device == GPU:
                    assert GPU in session.explain_placement("table").splitlines()[0]
                return [session.run([loss, train])[0] for _ in range(8)]
    expected, found = losses(CPU), losses(GPU)
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(expected, found, rtol=1e-4)


def test_bad_rows_are_refused_before_anything_is_changed():
    with tw.Graph().as_default() as graph, tw.device(GPU):
        v = tw.Variable(np.ones([4, 3], np.float32), use_resource=True)
        i = tw.placeholder(tw.int32)
        updates = tw.placeholder(tw.float32)
        gather = tw.gather(v, i)
        add = tw.raw_ops.ResourceScatterAdd(resource=v.handle, indices=i, updates=updates)
        update = SPARSE["Adagrad"](v, tw.Variable(np.ones([4, 3], np.float32), use_resource=True), updates, i)
        with session_of(graph) as session:
            ones = np.ones([2, 3], np.float32)
            for op, bad, with_updates, words in (
                    (gather, [0, 4], ones, r"indices\[1\] = 4 is not in \[0, 4\)"), (add, [0, -1], ones, r"indices\[1\] = -1 is not in \[0, 4\)"),
                    (add, [0, 1], np.ones([3, 3], np.float32), "Must have updates.shape"),
                    (update, [0, 4], ones, r"indices\[1\] = 4 is not in"), (update, [[0, 1]], ones, "one-dimensional"),
                    (update, [0], ones, "with 1 indices must be")):
                with pytest.raises(tw.errors.InvalidArgumentError, match=words):
                    session.run(op, {i: bad, updates: with_updates})
            assert (session.run(v) == 1).all()
