# SPDX-License-Identifier: Apache-2.0
"""Functions that TF1 makes of several operations, by TF1's rules. Recorded values are those of TensorFlow 2.21."""
import numpy as np
import pytest
import thalweg as tw

A = np.arange(12, dtype=np.float32).reshape(3, 4) / 10 - 0.4
C = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [1, 2, 0, [[2], [1]], [[-1, -2], [1, 0]], [[0], [0]]])
def test_tensordot_with_shapes_of_all_kinds(run, axes):
    b = C[0] if axes in (2, [[2], [1]], [[-1, -2], [1, 0]]) else C[:, :1, 0] if axes == [[0], [0]] else A.T
    want = np.tensordot(C, b, axes)
    x, y = tw.placeholder(tw.float32, [None] * 3), tw.placeholder(tw.float32, [None] * b.ndim)
    np.testing.assert_allclose(run(tw.tensordot(C, b, axes)), want, rtol=1e-5)
    product = tw.tensordot(x, y, axes)
    assert product.shape.ndims == want.ndim
    np.testing.assert_allclose(run(product, {x: C, y: b}), want, rtol=1e-5)
    with pytest.raises(ValueError):
        tw.tensordot(x, y, [[0, 1], [0]])


def test_dense_of_batches_of_any_size(run):
    x = tw.placeholder(tw.float32, [None, None, 4])
    y = tw.layers.dense(x, 5, kernel_initializer=tw.ones_initializer(), bias_initializer=tw.ones_initializer())
    assert y.shape.as_list() == [None, None, 5]
    np.testing.assert_allclose(run(y, {x: C}), np.repeat(C.sum(-1, keepdims=True) + 1, 5, -1))


def test_the_shape_that_was_set_is_known_to_what_follows():
    x = tw.placeholder(tw.float32, [None, None])
    x.set_shape([3, None])
    y = tw.exp(x)
    assert y.shape.as_list() == [3, None] and tw.matmul(x, tw.ones([4, 2])).shape.as_list() == [3, 2]
    with pytest.raises(ValueError, match="MatMul"):
        tw.matmul(tw.ones([2, 5]), x)


@pytest.mark.parametrize("optimizer", [tw.train.GradientDescentOptimizer, tw.train.AdamOptimizer])
def test_training_waits_for_control_dependencies(optimizer):
    count, w = tw.Variable(0.0, trainable=False), tw.Variable(2.0)
    with tw.control_dependencies([tw.assign_add(count, 1.0)]):
        train = optimizer(0.1).minimize(w * w)
        g = tw.gradients(w * w, w)[0]
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        assert sess.run(count) == 0  # slots wait for nothing
        sess.run(train)
        assert sess.run(count) == 1
        sess.run(g)
        assert sess.run(count) == 2


def test_what_the_core_makes_comes_from_the_line_that_asked(graph):
    w = tw.Variable(2.0)
    loss = w * w
    first = graph._num_nodes()
    step = tw.train.AdamOptimizer(0.1).minimize(loss, name="step")
    tw.train.Saver()
    sites = {op.site for op in graph.get_operations()[first:]}
    assert len(sites) == 2 and all("test_composites.py" in s and "comes_from_the_line" in s for s in sites), sites
    assert step.name == "step" and graph.get_operation_by_name("step") == step


def test_adam_of_variables_of_several_types():
    a, b = tw.Variable(2.0), tw.Variable(np.float64(3.0))
    train = tw.train.AdamOptimizer(0.1).minimize(tw.cast(a, tw.float64) * b)
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        for _ in range(2):
            sess.run(train)
        np.testing.assert_allclose(sess.run([a, b]), [1.8, 2.8], atol=1e-3)


def test_ftrl_shrinks(run):
    v = tw.Variable(A, use_resource=True)
    train = tw.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.5).minimize(tw.reduce_sum(v * v))
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        sess.run(train)
        gradient = 2 * A
        accumulated = 0.1 + gradient**2
        linear = gradient + 2 * 0.5 * A - (np.sqrt(accumulated) - np.sqrt(0.1)) / 0.1 * A
        np.testing.assert_allclose(sess.run(v), -linear / (np.sqrt(accumulated) / 0.1), rtol=1e-4, atol=1e-6)


def test_reuse_is_inherited():
    with tw.variable_scope("a"):
        first = tw.get_variable("w", [])
    with tw.variable_scope("a", reuse=True), tw.variable_scope("", reuse=False) as inner:
        assert inner.reuse and tw.get_variable("w", []) is first


@pytest.mark.parametrize("training", [True, "fed"])
@pytest.mark.parametrize("shape,axis,fused", [((4, 3, 2, 5), -1, None), ((4, 3, 2, 5), [3], False), ((6, 5), 1, None),
                                              ((4, 5, 3), 1, None)])
def test_batch_normalization(training, shape, axis, fused):
    x = np.random.RandomState(0).randn(*shape).astype(np.float32) * 3 + 1
    kept = (axis[0] if isinstance(axis, list) else axis) % x.ndim
    others = tuple(i for i in range(x.ndim) if i != kept)
    on = True if training is True else tw.placeholder(tw.bool, [])
    y = tw.layers.batch_normalization(tw.constant(x), axis=axis, momentum=0.9, training=on, fused=fused)
    mean, variance = tw.get_collection("variables")[-2:]
    updates = tw.get_collection("update_ops")
    assert len(updates) == 2 and [v.name.rpartition("/")[2] for v in tw.trainable_variables()] == ["gamma:0", "beta:0"]
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        wide = [-1 if i == kept else 1 for i in range(x.ndim)]
        got = sess.run(y, {} if on is True else {on: True})
        want = (x - x.mean(others, keepdims=True)) / np.sqrt(x.var(others, keepdims=True) + 1e-3)
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
        if on is not True:
            np.testing.assert_allclose(sess.run(y, {on: False}), x / np.sqrt(1.001), rtol=1e-4)
            sess.run(updates, {on: False})
            np.testing.assert_array_equal(sess.run(mean), np.zeros(5))
        sess.run(updates, {} if on is True else {on: True})
        # The fused operation corrects the variance for the size of the batch.
        count = x.size / x.shape[kept]
        correction = count / (count - 1) if x.ndim == 4 and fused is None else 1
        np.testing.assert_allclose(sess.run(mean), 0.1 * x.mean(others), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(sess.run(variance), 0.9 + 0.1 * x.var(others) * correction, rtol=1e-3)
        assert len(wide) == x.ndim


def test_batch_normalization_of_channels_first_and_halves(run):
    x = np.random.RandomState(1).randn(2, 3, 4, 5).astype(np.float32)
    first = run(tw.layers.batch_normalization(tw.constant(x), axis=1, training=True))
    last = run(tw.layers.batch_normalization(tw.constant(x.transpose(0, 2, 3, 1)), training=True))
    np.testing.assert_allclose(first, last.transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5)
    half = tw.layers.batch_normalization(tw.constant(x[:, :, 0], tw.float16), training=True)
    assert half.dtype is tw.float16 and run(half).shape == (2, 3, 5)
    with pytest.raises(NotImplementedError):
        tw.layers.batch_normalization(tw.constant(x), renorm=True)


def test_sequence_mask(run):
    assert run(tw.sequence_mask([1, 0, 2])).tolist() == [[True, False], [False, False], [True, True]]
    assert run(tw.sequence_mask([1, 3], 4, dtype=tw.int32)).tolist() == [[1, 0, 0, 0], [1, 1, 1, 0]]


def test_range_keeps_the_types_of_arrays(run):
    assert tw.range(np.int64(3)).dtype is tw.int64 and tw.range(3).dtype is tw.int32
    assert tw.range(0.0, 1.0, 0.25).dtype is tw.float32 and tw.range(np.float64(2)).dtype is tw.float64


LABELS, SCORES = np.array([[0, 1, 1], [1, 0, 0]], np.float32), np.array([[0.5, -1, 2], [3, 0.25, -0.5]], np.float32)
# Seen in TensorFlow 2.21.
LOSSES = {
    "hinge_loss": (lambda: tw.losses.hinge_loss(LABELS, SCORES), np.mean([1.5, 2, 0, 0, 1.25, 0.5])),
    "huber_loss": (lambda: tw.losses.huber_loss(LABELS, SCORES), np.mean([0.125, 1.5, 0.5, 1.5, 0.03125, 0.125])),
    "cosine_distance": (lambda: tw.losses.cosine_distance(LABELS, SCORES, axis=1), np.mean([1 - 1, 1 - 3])),
    "pairwise": (lambda: tw.losses.mean_pairwise_squared_error(LABELS, SCORES),
                 sum(np.mean([((d[i] - d[j]) ** 2) for i in range(3) for j in range(3) if i != j]) for d in SCORES - LABELS)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(run, name):
    make, want = LOSSES[name]
    np.testing.assert_allclose(run(make()), want, rtol=1e-5)
    assert len(tw.losses.get_losses()) == 1


def test_precision_recall_and_root_mean_squared_error():
    labels, predictions = tw.placeholder(tw.bool, [None]), tw.placeholder(tw.bool, [None])
    precision, recall = tw.metrics.precision(labels, predictions), tw.metrics.recall(labels, predictions)
    rmse = tw.metrics.root_mean_squared_error(tw.cast(labels, tw.float32), tw.cast(predictions, tw.float32))
    with tw.Session() as sess:
        sess.run(tw.local_variables_initializer())
        assert sess.run([precision[0], recall[0]]) == [0, 0]
        for feed in ({labels: [1, 1, 0], predictions: [1, 0, 1]}, {labels: [1, 0], predictions: [1, 0]}):
            sess.run([precision[1], recall[1], rmse[1]], feed)
        np.testing.assert_allclose(sess.run([precision[0], recall[0], rmse[0]]), [2 / 3, 2 / 3, np.sqrt(2 / 5)], rtol=1e-6)


def test_clip_by_average_norm(run):
    np.testing.assert_allclose(run(tw.clip_by_average_norm(A, 0.01)), A * 0.01 * A.size / np.linalg.norm(A), rtol=1e-5)
    np.testing.assert_allclose(run(tw.clip_by_average_norm(A, 10.0)), A, rtol=1e-6)


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError):
        tw.gather_nd(A, [[0]], batch_dims=1)


def test_meta_graphs_name_the_nodes_of_the_saver(tmp_path, graph):
    v = tw.Variable(3.0, name="v")
    saver = tw.train.Saver()
    with tw.Session() as sess:
        sess.run(v.initializer)
        path = saver.save(sess, str(tmp_path / "m"))
    with open(path + ".meta", "rb") as f:
        names = tw.MetaGraphDef.FromString(f.read()).saver_def
    assert [graph.as_graph_element(n).name for n in (names.filename_tensor_name, names.save_tensor_name)] == \
        ["save/Const:0", "save/control_dependency:0"]
    with tw.Graph().as_default() as other:
        tw.train.import_meta_graph(path + ".meta")
        with tw.Session() as sess:  # as a program does that knows nothing but the message
            sess.run(other.get_operation_by_name(names.restore_op_name), {names.filename_tensor_name: path})
            assert sess.run("v:0") == 3


def test_values_are_named_under_the_operation_that_reads_them(graph):
    a = tw.constant(1.0, name="a")
    b = a + 2
    tw.concat([A, A], 0)
    with tw.name_scope("s"):
        2 - b
        tw.matmul(A, A, transpose_b=True)
    v = tw.Variable(1.0, name="v", use_resource=True)
    v * 2
    x = tw.placeholder(tw.float32, name="y")
    assert x.name == "y:0"
    names = [op.name for op in graph.get_operations() if not op.name.startswith("v")]
    assert names == ["a", "add/y", "add", "concat/values_0", "concat/values_1", "concat/axis", "concat", "s/sub/x", "s/sub",
                     "s/MatMul/a", "s/MatMul/b", "s/MatMul", "mul/ReadVariableOp", "mul/y", "mul", "y"]


def test_errors_of_names_and_values_are_of_tf1s_classes(run):
    x = tw.placeholder(tw.float32, [])
    with pytest.raises(KeyError):
        tw.get_default_graph().get_operation_by_name("nothing")
    with pytest.raises(ValueError, match="Fetch argument 'nothing:0' cannot be interpreted as a Tensor"):
        run("nothing:0")
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        run(x, {"nothing:0": 1})
    with pytest.raises(TypeError):
        x + "a"


def test_what_has_no_derivative_gives_none(run):
    x = tw.placeholder(tw.float32, [])
    with pytest.warns(UserWarning, match="must be floating"):
        assert tw.gradients(tw.cast(x, tw.int32), [x]) == [None]
    with pytest.warns(UserWarning, match="must be floating"):
        [g] = tw.gradients([tw.cast(x, tw.int32), x * x], [x], grad_ys=[None, 3.0])
    assert run(g, {x: 2}) == 12
    with pytest.raises(TypeError, match="grad_ys"):
        tw.gradients(tw.cast(x, tw.complex64), x)
