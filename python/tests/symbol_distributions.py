# SPDX-License-Identifier: Apache-2.0
"""Cases of distributions, checkpoint files and placement: see symbol_cases.py."""
import os

import numpy as np
from symbol_cases import CASES, fails
from symbol_saved_model import in_folder

A, B = np.array([1.5, 2.0, 3.5], np.float32), np.array([2.5, 1.2, 0.8], np.float32)
INSIDE, ABOVE = np.array([0.2, 0.5, 0.9], np.float32), np.array([0.3, 1.0, 4.0], np.float32)


def distribution(name, make, values, statistics="mean variance stddev mode entropy", cdf=True):
    def build(tf):
        d = make(tf)
        found = [getattr(d, s)() for s in statistics.split()] + [d.log_prob(values), d.prob(values)]
        return found + ([d.cdf(values), d.survival_function(values)] if cdf else []) + [str(d.batch_shape), str(d.event_shape), str(
            d.dtype.name)]
    CASES["distributions__" + name] = build


distribution("Gamma", lambda tf: tf.distributions.Gamma(A, B), ABOVE)
distribution("Gamma___without_modes", lambda tf: tf.distributions.Gamma(B, A), ABOVE)
distribution("Exponential", lambda tf: tf.distributions.Exponential(A), ABOVE)
distribution("Laplace", lambda tf: tf.distributions.Laplace(A, B), ABOVE)
distribution("StudentT", lambda tf: tf.distributions.StudentT(A, B, A), ABOVE)
distribution("Beta", lambda tf: tf.distributions.Beta(A, B), INSIDE)
distribution("Dirichlet", lambda tf: tf.distributions.Dirichlet(np.array([[1.5, 2.0], [3.0, 4.0]], np.float32)),
             np.array([[0.4, 0.6], [0.1, 0.9]], np.float32), cdf=False)
distribution("Multinomial", lambda tf: tf.distributions.Multinomial(4.0, logits=[0.1, 0.2, 0.3]), np.array([1, 2, 1], np.float32),
             "mean variance", cdf=False)


def divergences(tf):
    d = tf.distributions
    return [d.kl_divergence(d.Gamma(A, B), d.Gamma(B, A)), d.kl_divergence(d.Beta(A, B), d.Beta(B, A)), d.kl_divergence(
        d.Dirichlet(A), d.Dirichlet(B)), fails(tf, lambda: d.kl_divergence(d.Laplace(A, B), d.Normal(A, B))), fails(
            tf, lambda: d.Multinomial(4.0)), fails(tf, lambda: d.Normal(A, B).cdf("x"))]


CASES["distributions__kl_divergence___more"] = divergences


def draws(tf):
    """Means and deviations of many draws, coarsely."""
    tf.set_random_seed(3)
    d = tf.distributions
    found = []
    for made in (d.Gamma(A, B), d.Exponential(A), d.Laplace(A, B), d.Beta(A, B), d.StudentT(A + 5, A, B)):
        x = made.sample(40000, seed=5)
        found += [str(x.shape), tf.reduce_all(tf.abs(tf.reduce_mean(x, 0) - made.mean()) < 0.1)]
    x = d.Dirichlet(A).sample([3, 2], seed=4)
    return found + [str(x.shape), tf.round(tf.reduce_sum(x, -1))]


CASES["distributions__Gamma___draws"] = draws


@in_folder("train.get_checkpoint_mtimes train.remove_checkpoint train.generate_checkpoint_state_proto train.checkpoints_iterator")
def train__update_checkpoint_state(tf, folder):
    path = os.path.join(folder, "m")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1.0).initializer.run()
        saver = tf.train.Saver()
        paths = [saver.save(session, path, i) for i in (1, 2)]
    found = [len(tf.train.get_checkpoint_mtimes(paths + ["none"])), str(list(tf.train.checkpoints_iterator(folder, timeout=0)))]
    tf.train.update_checkpoint_state(folder, paths[0], paths[::-1])
    found += [str(tf.train.latest_checkpoint(folder)), str(list(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths))]
    tf.train.remove_checkpoint(paths[1])
    found += [str(sorted(os.listdir(folder)))]
    state = tf.train.generate_checkpoint_state_proto("/a", "/a/m-1", ["/a/m-0"])
    return found + [state.model_checkpoint_path, str(list(state.all_model_checkpoint_paths)), fails(
        tf, lambda: tf.train.generate_checkpoint_state_proto("/a", "/a/m-1", ["/a/m-0"], [1.0]))]


def placed(tf):
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
            made = [tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b"), tf.Variable(1.0, name="c")]
            made += [tf.constant(1.0)]
        with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:3")):
            made += [tf.constant(1.0), tf.Variable(1.0, name="d", use_resource=True)]
        return [m.device for m in made] + [str(tf.train.replica_device_setter()), fails(
            tf, lambda: tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3))]


CASES["train__replica_device_setter"] = placed
