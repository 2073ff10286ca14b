# SPDX-License-Identifier: Apache-2.0
"""tensorflow-probability 0.8.0: densities as TensorFlow 1.15 gave them, bijectors, variational inference, Monte Carlo chains."""
import pytest

DENSITIES = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_probability as tfp
    tfd, tfb = tfp.distributions, tfp.bijectors
    x = np.array([0.3, 1.2, 2.5], np.float32)
    found = [tfd.Normal(0.5, 2.).log_prob(x), tfd.Gamma(2., 3.).log_prob(x), tfd.StudentT(3., 0., 1.).log_prob(x),
             tfd.Poisson(2.).log_prob([0., 1., 4.]), tfd.Categorical([0.1, 0.4, -1.]).log_prob([0, 1, 2]),
             tfd.MultivariateNormalTriL([0., 1., 2.], np.tril(np.ones((3, 3), np.float32))).log_prob(x),
             tfd.MixtureSameFamily(tfd.Categorical(probs=[0.3, 0.7]), tfd.Normal([-1., 1.], [0.5, 2.])).log_prob(x),
             tfd.TransformedDistribution(tfd.Normal(0., 1.), tfb.Exp()).log_prob(x),
             tfd.Dirichlet([1., 2., 3.]).log_prob(x / x.sum()), tfd.kl_divergence(tfd.Normal(0., 1.), tfd.Normal(1., 2.)),
             tfb.Chain([tfb.Softplus(), tfb.AffineScalar(1., 2.)]).forward_log_det_jacobian(x, event_ndims=0)]
    with tf.Session() as session:
        print(sum(np.sum(v) for v in session.run(found)))
"""

TRAINED = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_probability as tfp
    tf.set_random_seed(1)
    data = np.random.RandomState(0).randn(200).astype(np.float32) * 0.5 + 2
    place, spread = tf.Variable(0.), tf.Variable(1.)
    loss = -tf.reduce_mean(tfp.distributions.Normal(place, tf.nn.softplus(spread)).log_prob(data))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    samples, (accepted,) = tfp.mcmc.sample_chain(
        400, tf.zeros([8]), num_burnin_steps=100, trace_fn=lambda _, result: (result.is_accepted,),
        kernel=tfp.mcmc.HamiltonianMonteCarlo(lambda x: tfp.distributions.Normal(3., 0.5).log_prob(x), step_size=0.3, num_leapfrog_steps=4))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            session.run(step)
        assert abs(session.run(place) - data.mean()) < 0.05
        assert session.run(tf.reduce_mean(tf.cast(accepted, tf.float32))) > 0.7
        print(session.run(samples).mean())
"""


def test_densities_are_those_of_tensorflow(last_number):
    assert last_number(DENSITIES) == pytest.approx(-35.09109044, rel=1e-5)


def test_parameters_are_fitted_and_sampled(last_number):
    assert last_number(TRAINED) == pytest.approx(3, abs=0.1)
