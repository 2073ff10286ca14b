# SPDX-License-Identifier: Apache-2.0
"""Gradients through arrays, lists and recurrent networks: numerically, and unrolled against in a loop."""
import numpy as np
import pytest
import rnn_cases
import thalweg as tw

X = rnn_cases.numbers([2, 5, 3], 1)


def numeric(sess, y, x, value, step=1e-3):
    """d sum(y) / dx by differences."""
    grad = np.zeros(value.size)
    for i in range(value.size):
        moved = [value.ravel().copy() for _ in range(2)]
        moved[0][i] += step
        moved[1][i] -= step
        up, down = (np.sum(sess.run(y, {x: m.reshape(value.shape)}), dtype=np.float64) for m in moved)
        grad[i] = (up - down) / (2 * step)
    return grad.reshape(value.shape)


def check_numeric(build, value, tolerance=1e-6):
    x = tw.placeholder(tw.float64, value.shape)
    y = build(x)
    g, = tw.gradients(y, x)
    value = value.astype(np.float64)
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        np.testing.assert_allclose(sess.run(g, {x: value}), numeric(sess, y, x, value), rtol=1e-4, atol=tolerance)


def networks(make, **arguments):
    """The same network in a loop and unrolled: (loss, gradients by variables and input) of each."""
    x = tw.constant(X)
    found = []
    for network, inputs in ((tw.nn.dynamic_rnn, x), (tw.nn.static_rnn, tw.unstack(x, axis=1))):
        with tw.variable_scope("net", reuse=tw.AUTO_REUSE):
            y, state = network(make(), inputs, dtype=tw.float32, **arguments)
        y = tw.stack(y, 1) if isinstance(y, list) else y
        loss = tw.reduce_sum(tw.square(y - 0.3)) + sum(tw.reduce_sum(s * s) for s in rnn_cases.flat(state))
        found.append([loss, *tw.gradients(loss, [*tw.trainable_variables(), x])])
    return found


@pytest.mark.parametrize("lengths", [None, [3, 5], [0, 2]])
@pytest.mark.parametrize("name", ["GRUCell", "LSTMCell", "LSTMBlockCell", "MultiRNNCell", "NASCell"])
def test_a_loop_is_differentiated_as_its_steps_are(run, name, lengths):
    cells = tw.nn.rnn_cell
    make = {"GRUCell": lambda: cells.GRUCell(4), "NASCell": lambda: tw.contrib.rnn.NASCell(4),
            "LSTMCell": lambda: cells.LSTMCell(4, use_peepholes=True, num_proj=3, cell_clip=0.4),
            "LSTMBlockCell": lambda: tw.contrib.rnn.LSTMBlockCell(4, use_peephole=True),
            "MultiRNNCell": lambda: cells.MultiRNNCell([cells.BasicLSTMCell(4), cells.ResidualWrapper(cells.GRUCell(4))])}
    tw.set_random_seed(5)
    looped, unrolled = run(networks(make[name], sequence_length=lengths))
    assert len(looped) > 3
    for a, b in zip(looped, unrolled):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_cells_of_one_operation_have_the_gradients_of_those_of_many(run):
    x, h = tw.constant(X[:, 0]), tw.constant(rnn_cases.numbers([2, 4], 2))
    grads = []
    for one in (True, False):
        with tw.variable_scope("v", reuse=tw.AUTO_REUSE):
            gru = tw.contrib.rnn.GRUBlockCellV2(4) if one else tw.nn.rnn_cell.GRUCell(4)
            lstm = tw.contrib.rnn.LSTMBlockCell(4) if one else tw.nn.rnn_cell.LSTMCell(4, name="lstm_cell")
            y, (state, z) = gru(x, h)[0], lstm(x, (h, h * 0.5))[1]
        loss = tw.reduce_sum(y * y) + tw.reduce_sum(z * z) + tw.reduce_sum(state * state * state)
        grads.append([loss, *tw.gradients(loss, [*tw.trainable_variables(), x, h])])
    for a, b in zip(*run(grads)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_dynamic_rnn_numerically():
    def build(x):
        cell = tw.nn.rnn_cell.LSTMCell(3, use_peepholes=True, initializer=tw.constant_initializer(0.3, dtype=tw.float64))
        outputs, state = tw.nn.dynamic_rnn(cell, x, sequence_length=[2, 4], dtype=tw.float64)
        return tw.reduce_sum(outputs * outputs) + tw.reduce_sum(state.c * state.h)
    check_numeric(build, X[:, :4])


@pytest.mark.parametrize("build", [
    lambda x: tw.reduce_sum(tw.map_fn(lambda r: r * r * tw.reduce_sum(r), x)),
    lambda x: tw.foldl(lambda a, r: a * r[0] + r, x)[1],
    lambda x: tw.foldr(lambda a, r: a * r[0] + tw.reduce_sum(r), x, initializer=tw.constant(0.5, tw.float64)),
    lambda x: tw.reduce_sum(tw.scan(lambda a, r: a * r + r, x) * [[1.0], [3.0], [2.0]]),
    lambda x: tw.reduce_sum(tw.scan(lambda a, r: a * a + r, x, reverse=True)),
    lambda x: tw.reduce_sum(tw.map_fn(lambda r: tw.reduce_sum(tw.map_fn(lambda e: e * e * e, r)), x)),
    lambda x: tw.reduce_sum(tw.TensorArray(tw.float64, 2, infer_shape=False).split(x, [1, 2]).read(1) ** 3),
    lambda x: tw.reduce_sum(tw.while_loop(
        lambda i, s, a: i < 3, lambda i, s, a: (i + 1, s + tw.reduce_sum(a.read(i) ** 2) * s, a),
        (0, tw.reduce_sum(x), tw.TensorArray(tw.float64, 3).unstack(x)))[1]),
], ids=["map_fn", "foldl", "foldr", "scan", "scan_reverse", "nested_map", "split", "array_in_loop"])
def test_functions_of_rows_numerically(build):
    check_numeric(build, rnn_cases.numbers([3, 2], 4))


def test_second_derivatives_of_a_loop_over_an_array():
    def build(x):
        y = tw.foldl(lambda a, r: a * tw.reduce_sum(r) + r[0] * r[1], x, initializer=tw.constant(0.5, tw.float64))
        return tw.reduce_sum(tw.gradients(y, x)[0] ** 2)
    check_numeric(build, rnn_cases.numbers([3, 2], 4))


def of_rows(x):
    return tw.raw_ops.TensorListFromTensor(tensor=x, element_shape=[2])


def stacked(handle):
    return tw.raw_ops.TensorListStack(input_handle=handle, element_shape=[2], element_dtype=tw.float64)


def get(handle, i):
    return tw.raw_ops.TensorListGetItem(input_handle=handle, index=i, element_shape=[2], element_dtype=tw.float64)


def pop(handle):
    return tw.raw_ops.TensorListPopBack(input_handle=handle, element_shape=[2], element_dtype=tw.float64)


def joined(handle, lengths=()):
    return tw.raw_ops.TensorListConcatV2(input_handle=handle, element_shape=[-1, 2], leading_dims=tw.constant(
        list(lengths), tw.int64), element_dtype=tw.float64).tensor


def empty():
    return tw.raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tw.float64)


def push(handle, x):
    return tw.raw_ops.TensorListPushBack(input_handle=handle, tensor=x)


def in_a_loop(x):
    """Rows are pushed in one loop and popped in another."""
    _, made, _ = tw.while_loop(lambda i, *_: i < 3, lambda i, h, rows: (i + 1, push(h, get(rows, i) * x[0]), rows),
                               (0, empty(), of_rows(x)))

    def take(i, h, s):
        h, row = pop(h)
        return i + 1, h, s * row + row
    return tw.while_loop(lambda i, *_: i < 3, take, (0, made, tw.zeros([2], tw.float64)))[2]


@pytest.mark.parametrize("build", [
    lambda x: stacked(of_rows(x)) ** 3,
    lambda x: get(of_rows(x), 1) ** 2 + get(of_rows(x), 2) ** 3,
    lambda x: stacked(tw.raw_ops.TensorListSetItem(input_handle=of_rows(x), index=1, item=x[0] * x[2])) ** 2,
    lambda x: stacked(push(push(of_rows(x), x[0] ** 2), x[1])) ** 2,
    lambda x: pop(of_rows(x))[1] ** 3,
    lambda x: stacked(pop(pop(of_rows(x))[0])[0]) ** 2,
    lambda x: stacked(tw.raw_ops.TensorListResize(input_handle=of_rows(x), size=2)) ** 2,
    lambda x: stacked(tw.raw_ops.TensorListResize(input_handle=of_rows(x), size=5)) ** 2,
    lambda x: tw.raw_ops.TensorListGather(input_handle=of_rows(x), indices=[2, 0, 2], element_shape=[2],
                                          element_dtype=tw.float64) ** 2,
    lambda x: stacked(tw.raw_ops.TensorListScatter(tensor=x, indices=[2, 4, 0], element_shape=[2])) ** 2,
    lambda x: stacked(tw.raw_ops.TensorListScatterV2(tensor=x, indices=[2, 1, 0], element_shape=[2], num_elements=3)) ** 2,
    lambda x: stacked(tw.raw_ops.TensorListScatterIntoExistingList(input_handle=of_rows(x), tensor=x[:2] ** 2,
                                                                   indices=[2, 0])) ** 2,
    lambda x: joined(tw.raw_ops.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=tw.constant([2, 1], tw.int64))) ** 2,
    lambda x: joined(push(tw.raw_ops.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=tw.constant(
        [3], tw.int64)), x[:1] ** 2)) ** 2,
    in_a_loop,
], ids=["stack", "get", "set", "push", "pop", "pop_twice", "resize_down", "resize_up", "gather", "scatter", "scatter_2",
        "scatter_into", "split", "concat", "in_a_loop"])
def test_lists_numerically(build):
    check_numeric(build, rnn_cases.numbers([3, 2], 4) + 1.5)


def test_a_list_is_changed_in_place_in_a_loop(run):
    """20,000 pushes of a list that nobody else holds: with a copy each they would take 3 GB of handles to be written."""
    n = 20000
    _, made = tw.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, push(h, tw.cast(tw.stack([i, i]), tw.float64))),
                            (0, empty()))
    rows = run(stacked(made))
    assert rows.shape == (n, 2) and (rows[:, 0] == np.arange(n)).all()


@pytest.mark.parametrize("lengths", [None, [0, 57]])
def test_products_of_a_loop_are_summed_as_one_or_one_by_one(lengths):
    tw.set_random_seed(5)
    x = tw.constant(rnn_cases.numbers([2, 60, 3], 1))
    y, _ = tw.nn.dynamic_rnn(tw.nn.rnn_cell.BasicLSTMCell(40), x, dtype=tw.float32, sequence_length=lengths)
    gradients = tw.gradients(tw.reduce_sum(tw.square(y - 0.3)), [*tw.trainable_variables(), x])
    plain = tw.ConfigProto()
    plain.graph_options.optimizer_options.opt_level = -1
    found, kernels = [], []
    values = None
    for config in (None, plain):
        with tw.Session(config=config) as sess:
            sess.run(tw.global_variables_initializer())
            if values is not None:
                for variable, value in zip(tw.trainable_variables(), values):
                    variable.load(value, sess)
            values = sess.run(tw.trainable_variables())
            metadata = tw.RunMetadata()
            options = tw.RunOptions(output_partition_graphs=True)
            found.append(sess.run(gradients, options=options, run_metadata=metadata))
            kernels.append({node.op for graph in metadata.partition_graphs for node in graph.node})
    assert ["_AddProduct" in ops for ops in kernels] == [True, False]
    for joined, one_by_one in zip(*found):
        np.testing.assert_allclose(joined, one_by_one, rtol=2e-5, atol=2e-5)
