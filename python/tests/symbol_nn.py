# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.nn and tf.linalg over several operations: see symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, fails, numbers

SQUARE = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], np.float32)
IMAGES = numbers(2, 4, 6, 3)
LOGITS = numbers(5, 2, 4, start=0.3) * 2


def values(**functions):
    CASES.update(functions)


values(
    nn__conv1d_transpose=lambda tf: [
        tf.nn.conv1d_transpose(numbers(2, 3, 2), numbers(3, 4, 2), [2, 6, 4], 2),
        tf.nn.conv1d_transpose(numbers(2, 3, 2), numbers(3, 4, 2), [2, 7, 4], 2, "VALID"),
        fails(tf, lambda: tf.nn.conv1d_transpose(numbers(2, 3, 2), numbers(3, 4, 2), [2, 6, 4], 2, data_format="X"))],
    nn__conv_transpose=lambda tf: [
        tf.nn.conv_transpose(numbers(2, 3, 2), numbers(3, 4, 2), [2, 6, 4], 2),
        tf.nn.conv_transpose(IMAGES, numbers(2, 2, 2, 3), [2, 8, 12, 2], 2),
        tf.nn.conv_transpose(numbers(1, 2, 2, 2, 1), numbers(2, 2, 2, 1, 1), [1, 4, 4, 4, 1], [2, 2, 2]),
        fails(tf, lambda: tf.nn.conv_transpose(IMAGES, numbers(2, 2, 2, 3), [2, 8], 2))],
    nn__atrous_conv2d_transpose=lambda tf: [
        tf.nn.atrous_conv2d_transpose(IMAGES, numbers(2, 2, 2, 3), [2, 4, 6, 2], 2, "SAME"),
        tf.nn.atrous_conv2d_transpose(IMAGES, numbers(2, 2, 2, 3), [2, 6, 8, 2], 2, "VALID"),
        fails(tf, lambda: tf.nn.atrous_conv2d_transpose(IMAGES, numbers(2, 2, 2, 3), [2, 4, 6, 2], 0, "SAME"))],
    nn__with_space_to_batch=lambda tf: [
        tf.nn.with_space_to_batch(IMAGES, [2, 2], "VALID", lambda x, n, padding: tf.nn.conv2d(
            x, numbers(2, 2, 3, 2), [1, 1, 1, 1], padding)),
        tf.nn.with_space_to_batch(IMAGES, [1, 2], "SAME", lambda x, n, padding: tf.nn.conv2d(
            x, numbers(3, 2, 3, 2), [1, 1, 1, 1], padding), filter_shape=[3, 2]),
        tf.nn.with_space_to_batch(IMAGES, [1, 1], "SAME", lambda x, n, padding: tf.nn.conv2d(
            x, numbers(3, 2, 3, 2), [1, 1, 1, 1], padding))],
    nn__avg_pool_v2=lambda tf: [tf.nn.avg_pool_v2(IMAGES, 2, 2, "VALID"), tf.nn.avg_pool_v2(numbers(2, 6, 3), 3, 1, "SAME"),
                                tf.nn.avg_pool_v2(numbers(1, 4, 4, 4, 2), 2, 2, "VALID")],
    nn__max_pool_with_argmax=lambda tf: list(tf.nn.max_pool_with_argmax(IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")),
    nn__batch_norm_with_global_normalization=lambda tf: [tf.nn.batch_norm_with_global_normalization(
        tf.constant(IMAGES), tf.constant([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0]), tf.constant([0.5, 0.6, 0.7]),
        tf.constant([2.0, 3.0, 4.0]), 0.01, scale) for scale in (True, False)],
    nn__compute_average_loss=lambda tf: [tf.nn.compute_average_loss(tf.constant([1.0, 2.0, 3.0])), tf.nn.compute_average_loss(
        tf.constant([1.0, 2.0, 3.0]), [1.0, 0.0, 2.0], global_batch_size=10), tf.nn.scale_regularization_loss(
            tf.constant([1.0, 2.0]))],
    nn__fractional_max_pool=lambda tf: list(tf.nn.fractional_max_pool(IMAGES, [1.0, 1.5, 1.4, 1.0], deterministic=True, seed=3,
                                                                      seed2=4)),
    nn__fractional_avg_pool=lambda tf: list(tf.nn.fractional_avg_pool(IMAGES, [1.0, 1.5, 1.4, 1.0], True, True,
                                                                      deterministic=True, seed=3, seed2=4)),
    nn__conv3d_backprop_filter_v2=lambda tf: [tf.nn.conv3d_backprop_filter_v2(
        numbers(1, 3, 4, 3, 2), [2, 2, 2, 2, 1], numbers(1, 2, 3, 2, 1), [1, 1, 1, 1, 1], "VALID")],
    nn__depthwise_conv2d_native_backprop_filter=lambda tf: [tf.nn.depthwise_conv2d_native_backprop_filter(
        IMAGES, [2, 2, 3, 2], numbers(2, 3, 5, 6), [1, 1, 1, 1], "VALID")],
    nn__depthwise_conv2d_native_backprop_input=lambda tf: [tf.nn.depthwise_conv2d_native_backprop_input(
        [2, 4, 6, 3], numbers(2, 2, 3, 2), numbers(2, 3, 5, 6), [1, 1, 1, 1], "VALID")],
    nn__collapse_repeated=lambda tf: list(tf.nn.collapse_repeated(
        np.array([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], np.int64), [5, 3])),
    nn__ctc_unique_labels=lambda tf: list(tf.nn.ctc_unique_labels(tf.constant([[3, 4, 4, 3], [1, 1, 2, 0]]))),
    nn__ctc_loss_v2=lambda tf: [
        tf.nn.ctc_loss_v2(tf.constant([[1, 2], [3, 0]]), tf.constant(LOGITS), [2, 1], [5, 4]),
        tf.nn.ctc_loss_v2(tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 2, 1]), [2, 2]), tf.constant(LOGITS), None,
                          [5, 4], blank_index=-1),
        tf.nn.ctc_loss_v2(tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 2, 1]), [2, 2]), tf.constant(LOGITS), None,
                          [5, 4], blank_index=3),
        fails(tf, lambda: tf.nn.ctc_loss_v2(tf.SparseTensor([[0, 0]], tf.constant([0]), [2, 2]), tf.constant(LOGITS), None,
                                            [5, 4]))])

TALL = numbers(4, 3, start=1)
LOW = np.outer(numbers(4), numbers(3, start=1)).astype(np.float32)
COMPACT = np.array([[2, 1, 0.5, 9], [4, 5, 6, 7], [9, 1, 2, 0.3]], np.float32)
FULL = (np.diag(COMPACT[1]) + np.diag(COMPACT[0, :3], 1) + np.diag(COMPACT[2, 1:], -1)).astype(np.float32)

values(
    linalg__matrix_rank=lambda tf: [tf.linalg.matrix_rank(TALL), tf.linalg.matrix_rank(LOW), tf.linalg.matrix_rank(
        np.stack([TALL, LOW])), tf.linalg.matrix_rank(TALL, tol=1.0), fails(tf, lambda: tf.linalg.matrix_rank([1.0, 2.0])),
        fails(tf, lambda: tf.linalg.matrix_rank([[1, 2]]))],
    linalg__pinv=lambda tf: [tf.linalg.pinv(TALL), tf.linalg.pinv(LOW), tf.linalg.pinv(np.stack([TALL, LOW]), rcond=[0.1, 1e-3]),
                             fails(tf, lambda: tf.linalg.pinv([[1, 2]]))],
    linalg__tridiagonal_solve=lambda tf: [
        tf.linalg.tridiagonal_solve(tf.constant(COMPACT), tf.constant(numbers(4))), tf.linalg.tridiagonal_solve(tf.constant(COMPACT), tf.constant(numbers(4, 2))),
        tf.linalg.tridiagonal_solve(tuple(map(tf.constant, COMPACT)), tf.constant(numbers(4, 2)), "sequence"),
        tf.linalg.tridiagonal_solve(tuple(map(tf.constant, (COMPACT[0, :3], COMPACT[1], COMPACT[2, 1:]))), tf.constant(numbers(4, 2)), "sequence"),
        tf.linalg.tridiagonal_solve(tf.constant(FULL), tf.constant(numbers(4, 2)), "matrix"),
        tf.linalg.tridiagonal_solve(tf.constant(COMPACT), tf.constant(numbers(2, 4)), transpose_rhs=True),
        fails(tf, lambda: tf.linalg.tridiagonal_solve(tf.constant(COMPACT), tf.constant(numbers(4)), "round"))],
    linalg__tridiagonal_matmul=lambda tf: [
        tf.linalg.tridiagonal_matmul(COMPACT, tf.constant(numbers(4, 2))),
        tf.linalg.tridiagonal_matmul((COMPACT[0], COMPACT[1], COMPACT[2]), tf.constant(numbers(4, 2)), "sequence"),
        tf.linalg.tridiagonal_matmul(FULL, tf.constant(numbers(4, 2)), "matrix")],
    linalg__lstsq=lambda tf: [tf.linalg.lstsq(FULL[:, :3], tf.constant(numbers(4, 2))), tf.linalg.lstsq(FULL[:, :3], tf.constant(numbers(4, 2)), 0.1)],
    linalg__cholesky_solve=lambda tf: [tf.linalg.cholesky_solve(tf.cholesky(SQUARE), SQUARE[:, :2])],
    linalg__logdet=lambda tf: [tf.linalg.logdet(SQUARE), *tf.linalg.slogdet(SQUARE)],
    linalg__einsum=lambda tf: [tf.einsum("ij,jk->ik", tf.constant(TALL), tf.constant(SQUARE)), tf.einsum(
        "bij,bkj->bik", tf.constant(numbers(2, 3, 4)), tf.constant(numbers(2, 5, 4))),
                               tf.einsum("ij->j", tf.constant(TALL)), tf.einsum("ij,ij->", tf.constant(TALL), tf.constant(TALL))],
    linalg__expm=lambda tf: [tf.linalg.expm(SQUARE * 0.3)], linalg__adjoint=lambda tf: [tf.linalg.adjoint(TALL)],
    linalg__matvec=lambda tf: [tf.linalg.matvec(TALL, [1.0, 2.0, 3.0]), tf.linalg.matvec(TALL, [1.0, 2.0, 3.0, 4.0], True)],
    linalg__normalize=lambda tf: list(tf.linalg.normalize(TALL)) + list(tf.linalg.normalize(TALL, axis=1)),
    linalg__tensor_diag=lambda tf: [tf.linalg.tensor_diag([1.0, 2.0]), tf.linalg.tensor_diag_part(SQUARE), tf.linalg.band_part(
        SQUARE, 0, 1), tf.linalg.set_diag(SQUARE, [7.0, 8.0, 9.0])])
