# SPDX-License-Identifier: Apache-2.0
"""Gradients of sparse matrices (variants in compressed rows), beside numeric ones."""
import numpy as np
import pytest

import thalweg as tw

A = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0, 3]], np.float64)
PLACES = np.argwhere(A)


def check(function, start):
    with tw.Graph().as_default(), tw.Session():
        x = tw.constant(start)
        y = function(x)
        shape = tw.Session().run(y).shape
        assert tw.test.compute_gradient_error(x, start.shape, y, shape, x_init_value=start) < 1e-6


def csr(dense):
    return tw.raw_ops.DenseToCSRSparseMatrix(dense_input=dense, indices=PLACES)


def dense(matrix):
    return tw.raw_ops.CSRSparseMatrixToDense(sparse_input=matrix, type=tw.float64)


def test_conversions():
    check(lambda x: dense(csr(x)) * tw.constant(A + 2), A)
    values = A[A != 0]
    made = lambda x: tw.raw_ops.SparseTensorToCSRSparseMatrix(indices=PLACES, values=x, dense_shape=[3, 4])
    check(lambda x: dense(made(x)) * tw.constant(A + 2), values)
    check(lambda x: tw.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=made(x), type=tw.float64)[1] * [2.0, 3.0, 4.0], values)
    check(lambda x: dense(tw.raw_ops.SparseMatrixTranspose(input=csr(x), type=tw.float64)), A)


@pytest.mark.parametrize("turn_a", ["", "transpose_a", "adjoint_a"])
@pytest.mark.parametrize("turn_b", ["", "transpose_b", "adjoint_b"])
def test_products(turn_a, turn_b):
    turned = {name: True for name in (turn_a, turn_b) if name}
    factor = np.random.RandomState(0).rand(3 if turn_a else 4, 2)
    factor = factor.T.copy() if turn_b else factor
    product = lambda a, b: tw.raw_ops.SparseMatrixMatMul(a=a, b=b, **turned)
    check(lambda x: product(csr(x), tw.constant(factor)), A)
    check(lambda x: product(csr(tw.constant(A)), x), factor)
    other = np.array([[1.0, 0], [0, 2], [0, 0], [3, 0]]) if not turn_a else np.array([[1.0, 0], [0, 2], [3, 0]])
    other = other.T.copy() if turn_b else other
    places = np.argwhere(other)
    second = lambda y: tw.raw_ops.DenseToCSRSparseMatrix(dense_input=y, indices=places)
    both = lambda a, b: dense(tw.raw_ops.SparseMatrixSparseMatMul(a=a, b=b, type=tw.float64, **turned))
    check(lambda x: both(csr(x), second(tw.constant(other))), A)
    check(lambda y: both(csr(tw.constant(A)), second(y)), other)


def test_products_of_batches():
    batch = np.stack([A, 2 * A])
    places = np.argwhere(batch)
    factor = np.random.RandomState(0).rand(2, 4, 2)
    made = lambda x: tw.raw_ops.DenseToCSRSparseMatrix(dense_input=x, indices=places)
    check(lambda x: tw.raw_ops.SparseMatrixMatMul(a=made(x), b=tw.constant(factor)), batch)
    check(lambda x: tw.raw_ops.SparseMatrixMatMul(a=made(tw.constant(batch)), b=x), factor)
