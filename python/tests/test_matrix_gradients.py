# SPDX-License-Identifier: Apache-2.0
"""Gradients of operations on complex matrices against differences."""

import numpy as np
import pytest
import thalweg as tf

STEP = 1e-6


def random(seed, *shape):
    state = np.random.RandomState(seed)
    return state.randn(*shape) + 1j * state.randn(*shape)


def regular(seed):
    return random(seed, 3, 3) + 4 * np.eye(3)


def hermitian(x):
    return (x + tf.linalg.adjoint(x)) / 2


def weighted(y):
    """A real number that depends on every part of y."""
    weights = random(17, *y.shape.as_list())
    return tf.reduce_sum(tf.math.real(y) * weights.real + tf.math.imag(y) * weights.imag)


def eigen(x):
    values, vectors = tf.linalg.eigh(hermitian(x))
    return weighted(tf.cast(values, tf.complex128)) + weighted(tf.cast(tf.abs(vectors) ** 2, tf.complex128))


def decomposed(x):
    """Of the vectors only what their phases do not change."""
    s, u, v = tf.linalg.svd(x)
    across = tf.matmul(u * tf.cast(s, tf.complex128) ** 3, v, adjoint_b=True)
    return weighted(across) + weighted(tf.matmul(u, v, adjoint_b=True))


def factors(x):
    q, r = tf.linalg.qr(x)
    return weighted(q) + weighted(tf.linalg.adjoint(r))


FUNCTIONS = {
    "Cholesky": (lambda x: weighted(tf.linalg.cholesky(hermitian(x))), [regular(1)]),
    "LogMatrixDeterminant": (lambda x: tf.math.real(tf.linalg.slogdet(x)[1]), [regular(2)]),
    "MatrixDeterminant": (lambda x: weighted(tf.reshape(tf.linalg.det(x), [1])), [regular(3)]),
    "MatrixInverse": (lambda x: weighted(tf.linalg.inv(x)), [regular(4)]),
    "MatrixSolve": (lambda x, y: weighted(tf.linalg.solve(x, y)), [regular(5), random(6, 3, 2)]),
    "MatrixSolve, adjoint": (lambda x, y: weighted(tf.linalg.solve(x, y, adjoint=True)), [regular(5), random(6, 3, 2)]),
    "MatrixTriangularSolve": (lambda x, y: weighted(tf.linalg.triangular_solve(x, y)), [regular(7), random(8, 3, 2)]),
    "MatrixTriangularSolve, adjoint": (
        lambda x, y: weighted(tf.linalg.triangular_solve(x, y, lower=False, adjoint=True)),
        [regular(7), random(8, 3, 2)],
    ),
    "Qr, square": (factors, [random(9, 3, 3)]),
    "Qr, tall": (factors, [random(10, 5, 3)]),
    "Qr, wide": (factors, [random(11, 2, 4)]),
    "SelfAdjointEigV2": (eigen, [random(12, 3, 3)]),
    "Svd, square": (decomposed, [random(13, 3, 3)]),
    "Svd, tall": (decomposed, [random(14, 4, 2)]),
    "Svd, wide": (decomposed, [random(15, 2, 4)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name):
    function, values = FUNCTIONS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.complex128, x.shape) for x in values]
        y = function(*inputs)
        run = session.make_callable(y, inputs)
        found = session.run(tf.gradients(y, inputs), dict(zip(inputs, values)))
        for i, x in enumerate(values):
            expected = np.zeros_like(x)
            for at in np.ndindex(*x.shape):
                for unit in (1, 1j):
                    moved = [[v.copy() for v in values] for _ in range(2)]
                    moved[0][i][at] += STEP * unit
                    moved[1][i][at] -= STEP * unit
                    expected[at] += unit * (run(*moved[0]) - run(*moved[1])) / (2 * STEP)
            np.testing.assert_allclose(found[i], expected, rtol=1e-6, atol=1e-6)
