# SPDX-License-Identifier: Apache-2.0
"""Functions of tw.linalg that are more than one operation, against numpy."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import thalweg as tf

RANDOM = np.random.RandomState(3)
MATRIX, TALL = RANDOM.randn(4, 4), RANDOM.randn(2, 6, 3)
POSITIVE = MATRIX @ MATRIX.T + np.eye(4)


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (1, 2), (-2, -1)])
@pytest.mark.parametrize("order", ["euclidean", 1, 2, np.inf, 3])
@pytest.mark.parametrize("keep", [False, True])
def test_norm(order, axis, keep):
    is_matrix = isinstance(axis, tuple)
    if is_matrix and order == 3:
        with pytest.raises(ValueError, match="'ord' must be a supported matrix norm"):
            tf.norm(TALL, order, axis)
        return
    given, where = (TALL, axis) if axis is not None else (TALL.reshape(-1), 0)
    expected = np.linalg.norm(given, {"euclidean": "fro" if is_matrix else None}.get(order, order), where, keepdims=keep)
    got = value(tf.norm(TALL, order, axis, keepdims=keep))
    np.testing.assert_allclose(np.reshape(got, expected.shape), expected, rtol=1e-10)
    assert got.ndim == (TALL.ndim if keep else TALL.ndim - (3 if axis is None else 2 if is_matrix else 1))


def test_least_squares():
    rhs = RANDOM.randn(2, 6, 2)
    expected = np.stack([np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(TALL, rhs)])
    for fast in (True, False):
        np.testing.assert_allclose(value(tf.matrix_solve_ls(TALL, rhs, fast=fast)), expected, rtol=1e-8)
    wide = np.swapaxes(TALL, 1, 2)
    regular = value(tf.linalg.lstsq(wide, rhs[:, :3], l2_regularizer=0.3))
    for a, b, x in zip(wide, rhs[:, :3], regular):
        np.testing.assert_allclose(x, a.T @ np.linalg.solve(a @ a.T + 0.3 * np.eye(3), b), rtol=1e-8)
    x = tf.constant(TALL)
    gradient = value(tf.gradients(tf.reduce_sum(tf.matrix_solve_ls(x, rhs, 0.1)), x)[0])
    step = np.zeros_like(TALL)
    step[0, 1, 2] = 1e-6
    change = value(tf.reduce_sum(tf.matrix_solve_ls(TALL + step, rhs, 0.1)) - tf.reduce_sum(tf.matrix_solve_ls(TALL - step, rhs, 0.1)))
    np.testing.assert_allclose(gradient[0, 1, 2], change / 2e-6, rtol=1e-5)


def test_factors_and_determinants():
    np.testing.assert_allclose(value(tf.cholesky_solve(tf.cholesky(POSITIVE), MATRIX)), np.linalg.solve(POSITIVE, MATRIX), rtol=1e-9)
    np.testing.assert_allclose(value(tf.linalg.logdet(POSITIVE)), np.log(np.linalg.det(POSITIVE)), rtol=1e-10)
    sign, size = value(tf.linalg.slogdet(MATRIX))
    np.testing.assert_allclose([sign, size], np.linalg.slogdet(MATRIX), rtol=1e-10)
    s, u, v = value(tf.svd(TALL))
    np.testing.assert_allclose(u * s[:, None] @ np.swapaxes(v, 1, 2), TALL, atol=1e-12)
    np.testing.assert_allclose(value(tf.svd(TALL, compute_uv=False)), s, rtol=1e-12)
    e, vectors = value(tf.self_adjoint_eig(POSITIVE))
    np.testing.assert_allclose(vectors * e @ vectors.T, POSITIVE, atol=1e-12)
    np.testing.assert_allclose(value(tf.self_adjoint_eigvals(POSITIVE)), e, rtol=1e-12)


def test_products():
    np.testing.assert_allclose(value(tf.einsum("bij,bkj->bik", TALL, TALL)), np.einsum("bij,bkj->bik", TALL, TALL), rtol=1e-12)
    np.testing.assert_allclose(value(tf.einsum("ij,jk", MATRIX, POSITIVE)), MATRIX @ POSITIVE, rtol=1e-12)
    np.testing.assert_allclose(value(tf.linalg.matvec(MATRIX, POSITIVE[0], transpose_a=True)), MATRIX.T @ POSITIVE[0], rtol=1e-12)
    np.testing.assert_allclose(value(tf.trace(MATRIX)), np.trace(MATRIX))
    complex_matrix = MATRIX + 2j * POSITIVE
    np.testing.assert_array_equal(value(tf.linalg.adjoint(complex_matrix)), complex_matrix.conj().T)
    for rows, columns in ((3, None), (2, 4), (4, 2), (3, 3)):
        np.testing.assert_array_equal(value(tf.eye(rows, columns, batch_shape=[2])), np.stack([np.eye(rows, columns)] * 2))
    unit, size = value(tf.linalg.normalize(TALL, axis=1))
    np.testing.assert_allclose(unit * size, TALL)
    np.testing.assert_allclose(value(tf.linalg.expm(np.zeros([2, 2]))), np.eye(2))


def test_without_the_component_decompositions_say_what_is_missing(tmp_path):
    package = os.path.dirname(tf.__file__)
    shutil.copytree(package, tmp_path / "thalweg", ignore=shutil.ignore_patterns("libthalweg_linalg.so", "libthalweg_dnnl.so"))
    program = ("import thalweg as tf\n"
               "with tf.Session() as session:\n"
               "    print(session.run(tf.trace(tf.matmul([[1.0]], [[2.0]]))), session.run(tf.matrix_inverse(tf.zeros([0, 0]))).shape)\n"
               "    for made in (tf.cholesky, tf.matrix_inverse, tf.linalg.logdet, tf.svd, tf.qr, tf.linalg.expm):\n"
               "        try: session.run(made([[2.0]]))\n"
               "        except tf.errors.UnimplementedError as error: print(error)\n")
    said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True, cwd=tmp_path,
                          capture_output=True, text=True).stdout
    assert said.startswith("2.0 (0, 0)\n")
    assert said.count("need libthalweg_linalg.so beside the library: ./dev build makes it") == 6
