# SPDX-License-Identifier: Apache-2.0
"""Variables, gradients, optimizers, savers."""
import os

import numpy as np
import pytest
import thalweg as tw


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables(use_resource):
    v = tw.Variable([1.0, 2.0], name="v", use_resource=use_resource)
    assert v.name == "v:0" and v.shape.as_list() == [2] and v.dtype.base_dtype is tw.float32
    up, down = v.assign_add([1, 1]), v.assign_sub([10, 10])
    with tw.Session() as sess:
        with pytest.raises(tw.errors.FailedPreconditionError):
            sess.run(v)
        assert sess.run(tw.report_uninitialized_variables()).tolist() == [b"v"]
        sess.run(tw.global_variables_initializer())
        assert sess.run(v * 2).tolist() == [2, 4]
        sess.run(up)
        assert sess.run(v).tolist() == [2, 3]
        sess.run(down.op if hasattr(down, "op") else down)
        v.load([5, 6], sess)
        assert v.eval(sess).tolist() == [5, 6] and sess.run(v[1]) == 6
        assert sess.run(v, {v: [0, 0]}).tolist() == [0, 0]
        alone = [change([1, 1], read_value=False) for change in (v.assign, v.assign_add, v.assign_sub)]
        assert {type(one) for one in alone} == {tw.Operation} and sess.run(alone[0]) is None


def test_get_variable_shares():
    with tw.variable_scope("a"):
        first = tw.get_variable("w", [2, 3])
        with tw.variable_scope("b"):
            assert tw.get_variable("w", [1]).name == "a/b/w:0"
    with tw.variable_scope("a", reuse=True):
        assert tw.get_variable("w", [2, 3]) is first
        with pytest.raises(ValueError, match="does not exist"):
            tw.get_variable("new", [1])
        with pytest.raises(ValueError, match="specified shape"):
            tw.get_variable("w", [3, 2])
    with tw.variable_scope("a"), pytest.raises(ValueError, match="already exists"):
        tw.get_variable("w", [2, 3])
    with tw.variable_scope("a", reuse=tw.AUTO_REUSE):
        assert tw.get_variable("w") is first and tw.get_variable("x", []).name == "a/x:0"
    assert first.name == "a/w:0" and tw.add(first, 1.0).name == "Add:0"


def test_names_of_layers():
    x = tw.placeholder(tw.float32, [None, 4])
    for _ in range(3):
        tw.layers.dense(x, 3)
    tw.layers.dense(x, 2, name="out")
    tw.layers.dense(x, 2, name="out", reuse=True)
    assert [v.name for v in tw.trainable_variables()] == ["dense/kernel:0", "dense/bias:0", "dense_1/kernel:0",
                                                         "dense_1/bias:0", "dense_2/kernel:0", "dense_2/bias:0",
                                                         "out/kernel:0", "out/bias:0"]


def test_gradients(run):
    x, y = tw.placeholder(tw.float32, []), tw.placeholder(tw.float32, [])
    z = x * x * y + tw.exp(x)
    gx, gy, none = tw.gradients(z, [x, y, tw.constant(1.0)])
    assert none is None
    np.testing.assert_allclose(run([gx, gy], {x: 2, y: 3}), [12 + np.exp(2), 4], rtol=1e-6)
    [scaled] = tw.gradients([z], [y], grad_ys=[tw.constant(10.0)])
    assert run(scaled, {x: 2, y: 3}) == 40
    u = x * 3
    [stopped] = tw.gradients(u * x, [x], stop_gradients=[u])
    assert run(stopped, {x: 2}) == 6
    [second] = tw.gradients(tw.gradients(x * x * x, x), x)
    assert run(second, {x: 2}) == 12
    [zero] = tw.gradients(x, [y], unconnected_gradients=tw.UnconnectedGradients.ZERO)
    assert run(zero, {y: 1}) == 0
    with pytest.raises((ValueError, tw.errors.OpError)):
        tw.gradients(x, [y], explain_unconnected=True)


def test_the_gradient_of_a_gather_is_sparse(run):
    table = tw.Variable(np.arange(12.0).reshape(4, 3))
    [g] = tw.gradients(tw.reduce_sum(tw.nn.embedding_lookup(table, [1, 1, 3]) * 2), [table])
    assert isinstance(g, tw.IndexedSlices)
    got = run(g)
    assert got.indices.tolist() == [1, 1, 3] and got.values.tolist() == [[2] * 3] * 3
    np.testing.assert_array_equal(run(tw.convert_to_tensor(g)), np.array([0, 4, 0, 2])[:, None] * np.ones(3))


def test_clipping(run):
    a, b = np.array([3.0, 4.0], np.float32), np.array([12.0], np.float32)
    clipped, norm = tw.clip_by_global_norm([tw.constant(a), None, tw.constant(b)], 6.5)
    assert clipped[1] is None
    got = run([clipped[0], clipped[2], norm])
    np.testing.assert_allclose(got[0], a / 2, rtol=1e-6)
    np.testing.assert_allclose(got[1], b / 2, rtol=1e-6)
    assert got[2] == 13 and run(tw.clip_by_global_norm([tw.constant(a)], 100.0)[0][0]).tolist() == [3, 4]


OPTIMIZERS = {
    "GradientDescent": (lambda: tw.train.GradientDescentOptimizer(0.1), []),
    "Momentum": (lambda: tw.train.MomentumOptimizer(0.05, 0.8), ["momentum"]),
    "Nesterov": (lambda: tw.train.MomentumOptimizer(0.05, 0.8, use_nesterov=True), ["momentum"]),
    "Adagrad": (lambda: tw.train.AdagradOptimizer(0.5), ["accumulator"]),
    "Adadelta": (lambda: tw.train.AdadeltaOptimizer(1.0, epsilon=1e-4), ["accum", "accum_update"]),
    "RMSProp": (lambda: tw.train.RMSPropOptimizer(0.02), ["momentum", "rms"]),
    "CenteredRMSProp": (lambda: tw.train.RMSPropOptimizer(0.02, centered=True), ["mg", "momentum", "rms"]),
    "Adam": (lambda: tw.train.AdamOptimizer(0.1), ["m", "v"]),
    "Ftrl": (lambda: tw.train.FtrlOptimizer(1.0), ["accum", "linear"]),
    "ProximalGradientDescent": (lambda: tw.train.ProximalGradientDescentOptimizer(0.1), []),
    "ProximalAdagrad": (lambda: tw.train.ProximalAdagradOptimizer(0.5), ["accumulator"]),
}


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_optimizers_find_the_minimum(kind, use_resource):
    make, slots = OPTIMIZERS[kind]
    v = tw.Variable([2.0, -3.0], use_resource=use_resource)
    loss = tw.reduce_sum(tw.square(v - [1.0, 1.0]))
    optimizer, steps = make(), tw.train.get_or_create_global_step()
    train = optimizer.minimize(loss, global_step=steps)
    assert optimizer.get_slot_names() == slots and all(optimizer.get_slot(v, s).shape == [2] for s in slots)
    assert set(optimizer.variables()) <= set(tw.global_variables())
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        for _ in range(300):
            sess.run(train)
        assert sess.run(loss) < 0.01 and sess.run(steps) == 300


def test_one_step_of_adam_and_momentum_in_numbers(run):
    for make, want in [(lambda: tw.train.AdamOptimizer(0.1), 1 - 0.1), (lambda: tw.train.MomentumOptimizer(0.1, 0.9), 1 - 0.2)]:
        v = tw.Variable(1.0)
        train = make().minimize(v * v)
        with tw.Session() as sess:
            sess.run(tw.global_variables_initializer())
            sess.run(train)
            np.testing.assert_allclose(sess.run(v), want, rtol=1e-5)


def test_wrong_use_of_optimizers():
    v, optimizer = tw.Variable(1.0), tw.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(tw.constant(1.0), var_list=[v])
    with pytest.raises(ValueError, match="No variables"):
        optimizer.apply_gradients([])


def test_learning_rates(run):
    step = tw.placeholder(tw.int64, [])
    rates = [tw.train.exponential_decay(0.1, step, 10, 0.5), tw.train.exponential_decay(0.1, step, 10, 0.5, staircase=True),
             tw.train.polynomial_decay(1.0, step, 10, 0.0), tw.train.piecewise_constant(step, [5, 20], [1.0, 2.0, 3.0]),
             tw.train.inverse_time_decay(1.0, step, 10, 2.0)]
    np.testing.assert_allclose(run(rates, {step: 15}), [0.1 * 0.5 ** 1.5, 0.05, 0, 2, 0.25], rtol=1e-5)


@pytest.mark.parametrize("make, recorded", [  # of TensorFlow 2.21, from 0.5 at steps 0, 3, 12 and 40
    (lambda step: tw.train.cosine_decay(0.5, step, 10, 0.1), [0.5, 0.407252, 0.05, 0.05]),
    (lambda step: tw.train.cosine_decay_restarts(0.5, step, 10, 2.0, 0.9, 0.1), [0.5, 0.407252, 0.445089, 0.36112]),
    (lambda step: tw.train.cosine_decay_restarts(0.5, step, 10, 1.0), [0.5, 0.396946, 0.452254, 0.5]),
    (lambda step: tw.train.linear_cosine_decay(0.5, step, 10), [0.5005, 0.278362, 0.0005, 0.0005]),
    (lambda step: tw.train.natural_exp_decay(0.5, step, 10, 0.3), [0.5, 0.456966, 0.348838, 0.150597]),
    (lambda step: tw.train.polynomial_decay(0.5, step, 10, cycle=True, power=2.0), [0.5, 0.245051, 0.080084, 0.0001]),
])
def test_learning_rates_as_recorded(run, make, recorded):
    step = tw.placeholder(tw.int32, [])
    rate = make(step)
    np.testing.assert_allclose([run(rate, {step: at}) for at in (0, 3, 12, 40)], recorded, rtol=2e-5)


def test_a_rate_that_the_graph_computes():
    v, rate = tw.Variable(1.0), tw.placeholder(tw.float32, [])
    train = tw.train.GradientDescentOptimizer(rate).minimize(3 * v)
    with tw.Session() as sess:
        sess.run(v.initializer)
        sess.run(train, {rate: 0.1})
        np.testing.assert_allclose(sess.run(v), 0.7, rtol=1e-6)


@pytest.mark.parametrize("use_resource", [False, True])
def test_saver(tmp_path, use_resource):
    w = tw.Variable(np.arange(6.0).reshape(2, 3), name="w", use_resource=use_resource)
    n = tw.Variable(7, name="n", use_resource=use_resource)
    saver = tw.train.Saver(max_to_keep=2)
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        paths = [saver.save(sess, str(tmp_path / "model"), global_step=s) for s in (1, 2, 3)]
        sess.run([w.assign(w * 0), n.assign(0)])
        saver.restore(sess, paths[-1])
        assert sess.run(n) == 7 and sess.run(w).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert paths[-1] == str(tmp_path / "model-3") == tw.train.latest_checkpoint(str(tmp_path))
    assert saver.last_checkpoints == paths[1:]
    assert not os.path.exists(paths[0] + ".index") and os.path.exists(paths[1] + ".index")
    state = tw.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == paths[-1] and list(state.all_model_checkpoint_paths) == paths[1:]
    with tw.Graph().as_default():
        saver = tw.train.import_meta_graph(paths[-1] + ".meta")
        with tw.Session() as sess:
            saver.restore(sess, paths[-1])
            assert sess.run("n/read:0" if not use_resource else "n/Read/ReadVariableOp:0") == 7
        assert [v.name for v in tw.trainable_variables()] == ["w:0", "n:0"]


def test_saver_by_other_names_and_wrong_use(tmp_path):
    v = tw.Variable(3.0, name="v")
    path = str(tmp_path / "m")
    with tw.Session() as sess:
        sess.run(v.initializer)
        assert tw.train.Saver({"other": v}).save(sess, path) == path
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            tw.train.Saver().restore(sess, str(tmp_path / "none"))
        with pytest.raises(tw.errors.NotFoundError, match="v"):
            tw.train.Saver().restore(sess, path)
    assert tw.train.latest_checkpoint(str(tmp_path / "empty")) is None
    with tw.Graph().as_default(), pytest.raises(ValueError, match="No variables to save"):
        tw.train.Saver()


def test_a_saver_is_where_the_scopes_say():
    with tw.device("/job:worker"):
        v, w = tw.get_variable("v", [2]), tw.get_variable("w", [2], use_resource=True)
    with tw.device("/job:ps"):
        tw.train.Saver([v, w])
    tw.train.Saver([v], name="free")
    devices = {op.name: op.device for op in tw.get_default_graph().get_operations()}
    assert [devices["save/" + name] for name in ("SaveV2", "RestoreV2", "Const")] == ["/job:ps"] * 3
    assert devices["save/Assign"] in ("", "/job:worker")  # it goes where the variable is
    assert devices["free/SaveV2"] == ""


def test_moving_averages():
    v = tw.Variable(0.0)
    averages = tw.train.ExponentialMovingAverage(0.5)
    update = averages.apply([v])
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        sess.run(v.assign(8.0))
        sess.run(update)
        assert sess.run(averages.average(v)) == 4


def test_sparse_updates():
    v = tw.Variable(np.zeros((3, 2), np.float32))
    train = tw.train.GradientDescentOptimizer(1.0).minimize(tw.reduce_sum(tw.gather(v, [2, 2, 0])))
    with tw.Session() as sess:
        sess.run(v.initializer)
        sess.run(train)
        assert sess.run(v).tolist() == [[-1, -1], [0, 0], [-2, -2]]
        sess.run(tw.scatter_update(v, [1], [[5.0, 6.0]]))
        assert sess.run(v)[1].tolist() == [5, 6]


def test_metrics_over_batches():
    labels, predictions = tw.placeholder(tw.int64, [None]), tw.placeholder(tw.int64, [None])
    accuracy, update = tw.metrics.accuracy(labels, predictions)
    error, update_error = tw.metrics.mean_squared_error(tw.to_float(labels), tw.to_float(predictions))
    with tw.Session() as sess:
        sess.run(tw.local_variables_initializer())
        for p in ([1, 2, 3], [1, 0, 0], [1, 2, 0]):
            sess.run([update, update_error], {labels: [1, 2, 3], predictions: p})
        assert sess.run(accuracy) == np.float32(6 / 9) and abs(sess.run(error) - (0 + 13 + 9) / 9) < 1e-5


def test_get_variable_starts_as_an_array(run):
    v = tw.get_variable("from_array", initializer=np.arange(3, dtype=np.float32))
    with tw.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v).tolist() == [0, 1, 2]


def test_gradient_of_a_weight_used_at_every_step_of_an_unrolled_network():
    """The sum of its terms is joined into one product; without passes it is added term by term."""
    rng = np.random.RandomState(0)
    weight = tw.Variable((rng.randn(100, 90) * .1).astype("f"))
    terms = [(rng.randn(3 + i, 100).astype("f"), rng.randn(3 + i, 90).astype("f")) for i in range(5)]
    xs = [tw.placeholder(tw.float32, x.shape) for x, _ in terms]
    feed = {x: value for x, (value, _) in zip(xs, terms)}
    loss = tw.add_n([tw.reduce_sum(tw.matmul(x, weight) * tw.constant(y)) for x, (_, y) in zip(xs, terms)])
    step = tw.train.GradientDescentOptimizer(1.0).minimize(loss)
    expected = sum(x.T.astype("d") @ y for x, y in terms)
    plain = tw.ConfigProto()
    plain.graph_options.optimizer_options.opt_level = tw.OptimizerOptions.L0
    for config in (None, plain):
        with tw.Session(config=config) as sess:
            sess.run(tw.global_variables_initializer())
            start = sess.run(weight)
            metadata = tw.RunMetadata()
            sess.run(step, feed, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE), run_metadata=metadata)
            np.testing.assert_allclose(start - sess.run(weight), expected, atol=1e-4)
            ran = [node.timeline_label for device in metadata.step_stats.dev_stats for node in device.node_stats]
            assert any("/AddN/a = ConcatV2" in label for label in ran) == (config is None), ran
