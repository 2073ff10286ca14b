# SPDX-License-Identifier: Apache-2.0
"""GPflow 1.5.1: exact and variational Gaussian processes, trained by its own wrappers of optimizers."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import gpflow
    x = np.linspace(0, 3, 24)[:, None]
    y = np.sin(3 * x) + 0.1 * np.cos(40 * x)
    model = gpflow.models.GPR(x, y, kern=gpflow.kernels.RBF(1))
    gpflow.train.AdamOptimizer(0.05).minimize(model, maxiter=60)
    mean, variance = model.predict_y(np.array([[0.5], [1.5]]))
    print(model.compute_log_likelihood() + mean.sum() + variance.sum())
"""

VARIATIONAL = """
    import numpy as np
    import tensorflow as tf
    import gpflow
    tf.set_random_seed(1)
    x = np.linspace(0, 3, 40)[:, None]
    y = (np.sin(3 * x) > 0).astype(float)
    model = gpflow.models.SVGP(x, y, kern=gpflow.kernels.Matern32(1), likelihood=gpflow.likelihoods.Bernoulli(), Z=x[::5].copy())
    before = model.compute_log_likelihood()
    gpflow.train.AdamOptimizer(0.1).minimize(model, maxiter=60)
    assert model.compute_log_likelihood() > before + 5
    mean, _ = model.predict_y(x)
    print(np.mean((mean > 0.5) == (y > 0.5)))
"""


def test_an_exact_process_gives_what_it_gave_with_tensorflow(last_number):
    assert last_number(PROGRAM) == pytest.approx(-3.8883125982, rel=1e-4)


def test_a_sparse_variational_process_trains(last_number):
    assert last_number(VARIATIONAL) > 0.9
