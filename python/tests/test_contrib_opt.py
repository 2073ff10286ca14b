# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.opt: three steps of each, as TensorFlow 1.15 has recorded them with resource variables. (With the others, 1.15's weight
decay and its gradient race.)"""
import numpy as np
import pytest
import thalweg as tw

# Makes it, whether it takes sparse gradients, [w], the rows of e (0 and 2 have no gradient, 1 and 3 the same one).
RECORDED = {
    "AdamW": (lambda o: o.AdamWOptimizer(.01, .1), True, [0.6765, -1.6442], 0.67505),
    "MomentumW": (lambda o: o.MomentumWOptimizer(.01, .1, .9), True, [0.3259, 0.186], -0.8479),
    "LazyAdam": (lambda o: o.LazyAdamOptimizer(.1), True, [0.7027, -1.7005], 0.7016),
    "Nadam": (lambda o: o.NadamOptimizer(.1), True, [0.5669, -1.5465], 0.5568),
    "PowerSign": (lambda o: o.PowerSignOptimizer(.1), False, [0.3665, 0.0814], 1),
    "AddSign": (lambda o: o.AddSignOptimizer(.1), False, [0.4512, -0.1968], 1),
    "extended": (lambda o: o.extend_with_decoupled_weight_decay(tw.train.GradientDescentOptimizer)(.1, learning_rate=.1), True,
                 [0.4744, -0.5546], 0.064),
    "MovingAverage": (lambda o: o.MovingAverageOptimizer(tw.train.MomentumOptimizer(.1, .9), .5), True, [0.3434, 0.1574], -0.854),
}


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", RECORDED)
def test_as_recorded(kind, use_resource, tmp_path):
    make, sparse, want_w, want_e = RECORDED[kind]
    w = tw.get_variable("w", initializer=np.float32([1, -2]), use_resource=use_resource)
    e = tw.get_variable("e", initializer=np.ones((4, 2), np.float32), use_resource=use_resource)
    loss = tw.reduce_sum(tw.square(w - .3))
    if sparse:
        loss += tw.reduce_sum(tw.square(tw.nn.embedding_lookup(e, [1, 1, 3])) * [[1.], [2.], [3.]])
    optimizer = make(tw.contrib.opt)
    train = optimizer.minimize(loss)
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        for _ in range(3):
            sess.run(train)
        np.testing.assert_allclose(sess.run(w), want_w, atol=6e-5)
        np.testing.assert_allclose(sess.run(e), np.array([1, want_e, 1, want_e])[:, None] * np.ones(2), atol=6e-5)
        if kind == "MovingAverage":
            path = optimizer.swapping_saver().save(sess, str(tmp_path / "model"))
            saved = tw.train.NewCheckpointReader(path)
            np.testing.assert_allclose(saved.get_tensor("w"), [0.5597, -0.5533], atol=6e-5)
            np.testing.assert_allclose(saved.get_tensor("w/ExponentialMovingAverage"), want_w, atol=6e-5)


def test_only_some_decay():
    w, u = tw.Variable([1.0], name="w"), tw.Variable([1.0], name="u")
    train = tw.contrib.opt.MomentumWOptimizer(.5, 0., 0.).minimize(tw.reduce_sum(w + u), decay_var_list=[w])
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        sess.run(train)
        assert [v.tolist() for v in sess.run([w, u])] == [[0.5], [1.0]]


def test_what_is_missing_is_said():
    with pytest.raises(NotImplementedError, match="ShampooOptimizer of TensorFlow 1.15 is not implemented"):
        tw.contrib.opt.ShampooOptimizer()
    e = tw.Variable(np.ones((4, 2), np.float32))
    with pytest.raises(NotImplementedError, match="_apply_sparse"):
        tw.contrib.opt.PowerSignOptimizer().minimize(tw.reduce_sum(tw.nn.embedding_lookup(e, [1])))
    with pytest.raises(RuntimeError, match="swapping_saver"):
        tw.contrib.opt.MovingAverageOptimizer(tw.train.AdamOptimizer()).swapping_saver()
