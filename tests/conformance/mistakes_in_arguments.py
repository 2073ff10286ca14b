# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the arguments of one call: see mistakes.py. Each is made with x(value) a constant and again a placeholder of unknown
shape, so that the shapes are wrong when the graph is made and when it runs. Python 3.7 and later."""
import numpy as np


def zeros(*shape):
    return np.zeros(shape, np.float32)


def ones(*shape):
    return np.ones(shape, np.float32)


PNG = b"\x89PNG\r\n\x1a\n but no more"

ARGUMENTS = {
    # products and element-wise
    "matmul of other inner dimensions": lambda tf, x: tf.matmul(x(zeros(2, 3)), x(zeros(2, 3))),
    "matmul of a vector": lambda tf, x: tf.matmul(x(zeros(3)), x(zeros(3, 2))),
    "matmul of other batches": lambda tf, x: tf.matmul(x(zeros(2, 3, 4)), x(zeros(3, 4, 5))),
    "matmul of a batch by another inner dimension": lambda tf, x: tf.matmul(x(zeros(2, 3, 4)), x(zeros(2, 3, 4))),
    "tensordot of other dimensions": lambda tf, x: tf.tensordot(x(zeros(2, 3)), x(zeros(2, 3)), 1),
    "einsum of other dimensions": lambda tf, x: tf.einsum("ij,jk->ik", x(zeros(2, 3)), x(zeros(2, 3))),
    "einsum of another rank": lambda tf, x: tf.einsum("ijk,jk->ik", x(zeros(2, 3)), x(zeros(2, 3))),
    "sum of shapes that do not broadcast": lambda tf, x: x(zeros(2, 3)) + x(zeros(4)),
    "product of shapes that do not broadcast": lambda tf, x: tf.multiply(x(zeros(2, 3)), x(zeros(2, 4))),
    "comparison of shapes that do not broadcast": lambda tf, x: tf.less(x(zeros(2, 3)), x(zeros(3, 2))),
    "add_n of other shapes": lambda tf, x: tf.add_n([x(zeros(2, 3)), x(zeros(3, 2))]),
    "where of other shapes": lambda tf, x: tf.where(x(np.array([True, False])), x(zeros(2, 3)), x(zeros(2, 4))),
    "where of a condition that is too long": lambda tf, x: tf.where(x(np.array([True, False, True])), x(zeros(2, 3)), x(zeros(2, 3))),
    "cross product of pairs": lambda tf, x: tf.cross(x(zeros(2, 2)), x(zeros(2, 2))),
    "division of integers by zero": lambda tf, x: x(np.array([1, 2])) // x(np.array([1, 0])),
    "integer to a negative power": lambda tf, x: tf.pow(x(np.array([2])), x(np.array([-1]))),
    "cast of text to a number": lambda tf, x: tf.cast(x(np.array(["1"])), tf.float32),
    "bitcast of three bytes": lambda tf, x: tf.bitcast(x(np.zeros(3, np.uint8)), tf.float32),
    # shapes
    "fill of -1 rows": lambda tf, x: tf.fill(x(np.array([2, -1])), 0.0),
    "fill of a number of rows that is no vector": lambda tf, x: tf.fill(x(np.array(2)), 0.0),
    "zeros of -3 columns": lambda tf, x: tf.zeros(x(np.array([2, -3]))),
    "broadcast_to another size": lambda tf, x: tf.broadcast_to(x(zeros(3)), x(np.array([2, 4]))),
    "broadcast_to a lower rank": lambda tf, x: tf.broadcast_to(x(zeros(2, 3)), x(np.array([3]))),
    "reshape to another count": lambda tf, x: tf.reshape(x(zeros(2, 3)), x(np.array([7]))),
    "reshape that does not divide": lambda tf, x: tf.reshape(x(zeros(2, 3)), x(np.array([4, -1]))),
    "reshape with two dimensions to find": lambda tf, x: tf.reshape(x(zeros(2, 3)), x(np.array([-1, -1]))),
    "reshape to -2": lambda tf, x: tf.reshape(x(zeros(2, 3)), x(np.array([-2, 3]))),
    "expand_dims beyond the rank": lambda tf, x: tf.expand_dims(x(zeros(2, 3)), 4),
    "squeeze of a dimension of two": lambda tf, x: tf.squeeze(x(zeros(2, 1)), [0]),
    "squeeze beyond the rank": lambda tf, x: tf.squeeze(x(zeros(2, 1)), [2]),
    "transpose by a permutation that is too long": lambda tf, x: tf.transpose(x(zeros(2, 3)), [0, 1, 2]),
    "transpose by a permutation with a number twice": lambda tf, x: tf.transpose(x(zeros(2, 3)), [0, 0]),
    "transpose by a number beyond the rank": lambda tf, x: tf.transpose(x(zeros(2, 3)), [0, 2]),
    "tile of too few multiples": lambda tf, x: tf.tile(x(zeros(2, 3)), x(np.array([2]))),
    "tile of a negative multiple": lambda tf, x: tf.tile(x(zeros(2, 3)), x(np.array([2, -1]))),
    "pad of too few rows": lambda tf, x: tf.pad(x(zeros(2, 3)), x(np.array([[1, 1]]))),
    "pad of a negative number": lambda tf, x: tf.pad(x(zeros(2, 3)), x(np.array([[1, 1], [-1, 0]]))),
    "mirror pad beyond the size": lambda tf, x: tf.pad(x(zeros(2, 3)), x(np.array([[2, 0], [0, 0]])), "REFLECT"),
    # parts
    "concat of other shapes": lambda tf, x: tf.concat([x(zeros(2, 3)), x(zeros(2, 4))], 0),
    "concat of other ranks": lambda tf, x: tf.concat([x(zeros(2, 3)), x(zeros(3))], 0),
    "concat along an axis beyond the rank": lambda tf, x: tf.concat([x(zeros(2, 3)), x(zeros(2, 3))], 2),
    "concat of scalars": lambda tf, x: tf.concat([x(zeros()), x(zeros())], 0),
    "stack of other shapes": lambda tf, x: tf.stack([x(zeros(2, 3)), x(zeros(3, 2))]),
    "stack along an axis beyond the rank": lambda tf, x: tf.stack([x(zeros(2, 3)), x(zeros(2, 3))], 4),
    "unstack to another number": lambda tf, x: tf.unstack(x(zeros(2, 3)), 3),
    "unstack of a scalar": lambda tf, x: tf.unstack(x(zeros())),
    "unstack along an axis beyond the rank": lambda tf, x: tf.unstack(x(zeros(2, 3)), 2, 3),
    "split that does not divide": lambda tf, x: tf.split(x(zeros(5, 2)), 2),
    "split along an axis beyond the rank": lambda tf, x: tf.split(x(zeros(4, 2)), 2, 3),
    "split to sizes of another sum": lambda tf, x: tf.split(x(zeros(5, 2)), [2, 2]),
    "slice beyond the size": lambda tf, x: tf.slice(x(zeros(2, 3)), x(np.array([1, 1])), x(np.array([2, 2]))),
    "slice from a negative number": lambda tf, x: tf.slice(x(zeros(2, 3)), x(np.array([-1, 0])), x(np.array([1, 1]))),
    "slice of too few numbers": lambda tf, x: tf.slice(x(zeros(2, 3)), x(np.array([0])), x(np.array([1]))),
    "index beyond the size": lambda tf, x: x(zeros(2, 3))[5],
    "negative index beyond the size": lambda tf, x: x(zeros(2, 3))[-3],
    "too many indices": lambda tf, x: x(zeros(2, 3))[0, 0, 0],
    "index with a stride of zero": lambda tf, x: x(zeros(2, 3))[::0],
    "two ellipses": lambda tf, x: x(zeros(2, 3))[..., ..., 0],
    "reverse of an axis beyond the rank": lambda tf, x: tf.reverse(x(zeros(2, 3)), [2]),
    "reverse of an axis twice": lambda tf, x: tf.reverse(x(zeros(2, 3)), [0, 0]),
    "roll along an axis beyond the rank": lambda tf, x: tf.roll(x(zeros(2, 3)), 1, 2),
    # gathers and scatters
    "gather of an index out of range": lambda tf, x: tf.gather(x(zeros(2, 3)), x(np.array([0, 7]))),
    "gather of a negative index": lambda tf, x: tf.gather(x(zeros(2, 3)), x(np.array([-1]))),
    "gather along an axis beyond the rank": lambda tf, x: tf.gather(x(zeros(2, 3)), x(np.array([0])), axis=2),
    "gather_nd of an index out of range": lambda tf, x: tf.gather_nd(x(zeros(2, 3)), x(np.array([[0, 1], [2, 0]]))),
    "gather_nd of too many numbers": lambda tf, x: tf.gather_nd(x(zeros(2, 3)), x(np.array([[0, 1, 2]]))),
    "scatter_nd of an index out of range": lambda tf, x: tf.scatter_nd(x(np.array([[7]])), x(ones(1)), x(np.array([4]))),
    "scatter_nd of other updates": lambda tf, x: tf.scatter_nd(x(np.array([[1], [2]])), x(ones(3)), x(np.array([4]))),
    "scatter into a tensor beyond the size": lambda tf, x: tf.tensor_scatter_update(x(zeros(4)), x(np.array([[4]])), x(ones(1))),
    "embedding of an id out of range": lambda tf, x: tf.nn.embedding_lookup(x(zeros(4, 2)), x(np.array([1, 4]))),
    "batch_gather of other batches": lambda tf, x: tf.batch_gather(x(zeros(2, 3)), x(np.array([[0], [1], [2]]))),
    "dynamic_partition to a part that is not there": lambda tf, x: tf.dynamic_partition(x(zeros(3)), x(np.array([0, 1, 2], np.int32)), 2),
    "dynamic_stitch of other lengths": lambda tf, x: tf.dynamic_stitch([x(np.array([0, 1], np.int32))], [x(zeros(3))]),
    "segment_sum of ids that fall": lambda tf, x: tf.segment_sum(x(zeros(3)), x(np.array([1, 0, 2]))),
    "segment_sum of too few ids": lambda tf, x: tf.segment_sum(x(zeros(3)), x(np.array([0, 1]))),
    "unsorted_segment_sum of an id out of range": lambda tf, x: tf.unsorted_segment_sum(x(zeros(3)), x(np.array([0, 5, 1])), 2),
    "boolean_mask of another shape": lambda tf, x: tf.boolean_mask(x(zeros(2, 3)), x(np.array([True, False, True]))),
    "one_hot of a negative depth": lambda tf, x: tf.one_hot(x(np.array([0, 1])), x(np.array(-1, np.int32))),
    "reverse_sequence of a length beyond the size": lambda tf, x: tf.reverse_sequence(x(zeros(2, 3)), x(np.array([4, 1])), seq_axis=1, batch_axis=0),
    "sparse_to_dense out of order": lambda tf, x: tf.sparse_to_dense(x(np.array([3, 1])), [5], x(ones(2))),
    "sparse_to_dense out of range": lambda tf, x: tf.sparse_to_dense(x(np.array([1, 5])), [5], x(ones(2))),
    "sparse product of other dimensions": lambda tf, x: tf.sparse_tensor_dense_matmul(
        tf.SparseTensor(x(np.array([[0, 0]], np.int64)), x(ones(1)), x(np.array([2, 3], np.int64))), x(zeros(2, 3))),
    "sparse tensor of other counts": lambda tf, x: tf.sparse_tensor_to_dense(
        tf.SparseTensor(x(np.array([[0, 0], [0, 1]], np.int64)), x(ones(3)), x(np.array([2, 3], np.int64)))),
    "sparse reshape to another count": lambda tf, x: tf.sparse_reshape(
        tf.SparseTensor(x(np.array([[0, 0]], np.int64)), x(ones(1)), x(np.array([2, 3], np.int64))), x(np.array([4, 2], np.int64))).indices,
    # reductions and searches
    "sum along an axis beyond the rank": lambda tf, x: tf.reduce_sum(x(zeros(2, 3)), 2),
    "argmax along an axis beyond the rank": lambda tf, x: tf.argmax(x(zeros(2, 3)), 2),
    "cumsum along an axis beyond the rank": lambda tf, x: tf.cumsum(x(zeros(2, 3)), 2),
    "top_k of too many": lambda tf, x: tf.nn.top_k(x(zeros(2, 3)), 5)[0],
    "in_top_k of other batches": lambda tf, x: tf.nn.in_top_k(x(zeros(2, 3)), x(np.array([0, 1, 2])), 1),
    "unique of a matrix": lambda tf, x: tf.unique(x(zeros(2, 3)))[0],
    "range without a step": lambda tf, x: tf.range(x(np.array(0)), x(np.array(5)), x(np.array(0))),
    "range in the wrong direction": lambda tf, x: tf.range(x(np.array(5)), x(np.array(0)), x(np.array(1))),
    "linspace of no numbers": lambda tf, x: tf.linspace(0.0, 1.0, x(np.array(0, np.int32))),
    # linear algebra
    "cholesky of a matrix that is not square": lambda tf, x: tf.cholesky(x(zeros(2, 3))),
    "cholesky of a matrix that is not positive definite": lambda tf, x: tf.cholesky(x(np.array([[1, 2], [2, 1]], np.float32))),
    "inverse of a singular matrix": lambda tf, x: tf.matrix_inverse(x(ones(2, 2))),
    "inverse of a matrix that is not square": lambda tf, x: tf.matrix_inverse(x(ones(2, 3))),
    "solution of other rows": lambda tf, x: tf.matrix_solve(x(np.eye(3, dtype=np.float32)), x(zeros(2, 1))),
    "determinant of a matrix that is not square": lambda tf, x: tf.matrix_determinant(x(zeros(2, 3))),
    "diagonal of a matrix that is not square": lambda tf, x: tf.diag_part(x(zeros(2, 3))),
    # networks
    "softmax cross entropy of other classes": lambda tf, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x(zeros(2, 3)), logits=x(zeros(2, 4))),
    "softmax cross entropy of other batches": lambda tf, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x(zeros(2, 3)), logits=x(zeros(4, 3))),
    "sparse cross entropy of a label out of range": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=x(np.array([0, 7])), logits=x(zeros(2, 3))),
    "sparse cross entropy of a matrix of labels": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=x(np.array([[0], [1]])), logits=x(zeros(2, 3))),
    "sparse cross entropy of other batches": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=x(np.array([0, 1, 2])), logits=x(zeros(2, 3))),
    "sigmoid cross entropy of other shapes": lambda tf, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=x(zeros(2)), logits=x(zeros(2, 1))),
    "bias of another size": lambda tf, x: tf.nn.bias_add(x(zeros(2, 3)), x(zeros(4))),
    "bias that is a matrix": lambda tf, x: tf.nn.bias_add(x(zeros(2, 3)), x(zeros(1, 3))),
    "conv2d of other channels": lambda tf, x: tf.nn.conv2d(x(zeros(1, 5, 5, 3)), x(zeros(3, 3, 4, 8)), [1, 1, 1, 1], "SAME"),
    "conv2d of one image": lambda tf, x: tf.nn.conv2d(x(zeros(5, 5, 3)), x(zeros(3, 3, 3, 8)), [1, 1, 1, 1], "SAME"),
    "conv2d of a filter of three dimensions": lambda tf, x: tf.nn.conv2d(x(zeros(1, 5, 5, 3)), x(zeros(3, 3, 3)), [1, 1, 1, 1], "SAME"),
    "conv2d of three strides": lambda tf, x: tf.nn.conv2d(x(zeros(1, 5, 5, 3)), x(zeros(3, 3, 3, 8)), [1, 1, 1], "SAME"),
    "conv2d of strides of zero": lambda tf, x: tf.nn.conv2d(x(zeros(1, 5, 5, 3)), x(zeros(3, 3, 3, 8)), [1, 0, 0, 1], "SAME"),
    "conv2d of strides in the batch": lambda tf, x: tf.nn.conv2d(x(zeros(2, 5, 5, 3)), x(zeros(3, 3, 3, 8)), [2, 1, 1, 1], "SAME"),
    "conv2d of another padding": lambda tf, x: tf.nn.conv2d(x(zeros(1, 5, 5, 3)), x(zeros(3, 3, 3, 8)), [1, 1, 1, 1], "FULL"),
    "conv2d of a filter larger than the image": lambda tf, x: tf.nn.conv2d(x(zeros(1, 2, 2, 3)), x(zeros(3, 3, 3, 8)), [1, 1, 1, 1], "VALID"),
    "conv2d_transpose to another size": lambda tf, x: tf.nn.conv2d_transpose(
        x(zeros(1, 5, 5, 8)), x(zeros(3, 3, 3, 8)), [1, 12, 12, 3], [1, 2, 2, 1], "SAME"),
    "depthwise_conv2d of other channels": lambda tf, x: tf.nn.depthwise_conv2d(x(zeros(1, 5, 5, 3)), x(zeros(3, 3, 4, 1)), [1, 1, 1, 1], "SAME"),
    "max_pool of one image": lambda tf, x: tf.nn.max_pool(x(zeros(4, 4, 3)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "max_pool of a window larger than the image": lambda tf, x: tf.nn.max_pool(x(zeros(1, 2, 2, 3)), [1, 3, 3, 1], [1, 1, 1, 1], "VALID"),
    "avg_pool of a window of two numbers": lambda tf, x: tf.nn.avg_pool(x(zeros(1, 4, 4, 3)), [1, 2, 2], [1, 2, 2, 1], "SAME"),
    "local response normalization of three dimensions": lambda tf, x: tf.nn.lrn(x(zeros(4, 4, 3))),
    "batch norm of another scale": lambda tf, x: tf.nn.fused_batch_norm(x(zeros(1, 4, 4, 3)), x(ones(4)), x(zeros(3)))[0],
    "dropout of a rate above one": lambda tf, x: tf.nn.dropout(x(zeros(2, 3)), rate=1.5),
    "softmax of a scalar": lambda tf, x: tf.nn.softmax(x(zeros())),
    "space_to_depth that does not divide": lambda tf, x: tf.space_to_depth(x(zeros(1, 3, 3, 1)), 2),
    # images, text, files
    "image of bytes that are none": lambda tf, x: tf.image.decode_png(x(np.array(b"no image", object))),
    "image whose file is cut": lambda tf, x: tf.image.decode_png(x(np.array(PNG, object))),
    "jpeg of bytes that are none": lambda tf, x: tf.image.decode_jpeg(x(np.array(b"no image", object))),
    "decode_image of bytes that are none": lambda tf, x: tf.image.decode_image(x(np.array(b"no image", object))),
    "image of two channels": lambda tf, x: tf.image.decode_png(x(np.array(PNG, object)), channels=2),
    "resize of a matrix": lambda tf, x: tf.image.resize_images(x(zeros(4, 4)), [2, 2]),
    "resize to three numbers": lambda tf, x: tf.image.resize_images(x(zeros(1, 4, 4, 3)), [2, 2, 2]),
    "resize to no pixels": lambda tf, x: tf.image.resize_bilinear(x(zeros(1, 4, 4, 3)), x(np.array([0, 2], np.int32))),
    "crop beyond the image": lambda tf, x: tf.image.crop_to_bounding_box(x(zeros(4, 4, 3)), 2, 2, 3, 3),
    "random crop larger than the image": lambda tf, x: tf.random_crop(x(zeros(4, 4, 3)), [5, 5, 3]),
    "hsv of two channels": lambda tf, x: tf.image.rgb_to_hsv(x(zeros(2, 2, 2))),
    "number of text that is none": lambda tf, x: tf.string_to_number(x(np.array(["1.5", "x7"], object))),
    "integer of text that is none": lambda tf, x: tf.string_to_number(x(np.array("1.5", object)), tf.int32),
    "substr beyond the text": lambda tf, x: tf.substr(x(np.array("abc", object)), 5, 1),
    "string_split of a matrix": lambda tf, x: tf.string_split(x(np.array([["a b"]], object))).values,
    "decode_raw of a byte too many": lambda tf, x: tf.decode_raw(x(np.array(b"abcde", object)), tf.float32),
    "decode_base64 of other text": lambda tf, x: tf.decode_base64(x(np.array("a?b", object))),
    "decode_csv of too few fields": lambda tf, x: tf.decode_csv(x(np.array(["1,2"], object)), [[0.0], [0.0], [0.0]]),
    "decode_csv of text for a number": lambda tf, x: tf.decode_csv(x(np.array(["1,b"], object)), [[0.0], [0.0]]),
    "decode_csv of a missing field": lambda tf, x: tf.decode_csv(x(np.array(["1,"], object)), [[0.0], tf.constant([], tf.float32)]),
    "example of bytes that are none": lambda tf, x: tf.parse_example(x(np.array([b"no example"], object)), {"a": tf.FixedLenFeature([], tf.int64)}),
    "example without a feature": lambda tf, x: tf.parse_example(x(np.array([b""], object)), {"a": tf.FixedLenFeature([], tf.int64)}),
    "single example without a feature": lambda tf, x: tf.parse_single_example(x(np.array(b"", object)), {"a": tf.FixedLenFeature([], tf.int64)}),
    "file that is not there": lambda tf, x: tf.read_file(x(np.array("no/such/file", object))),
    # checks and random numbers
    "number that is not finite": lambda tf, x: tf.check_numerics(x(np.array([1, np.nan], np.float32)), "the loss"),
    "assertion that fails": lambda tf, x: with_check(tf, tf.Assert(x(np.array(False)), [x(np.array([1, 2]))])),
    "assert_equal that fails": lambda tf, x: with_check(tf, tf.assert_equal(x(np.array([1, 2])), x(np.array([1, 3])), message="these differ")),
    "assert_positive that fails": lambda tf, x: with_check(tf, tf.assert_positive(x(np.array([1, -2])))),
    "assert_rank that fails": lambda tf, x: with_check(tf, tf.assert_rank(x(zeros(2, 3)), 3)),
    "random integers of no range": lambda tf, x: tf.random_uniform([2], x(np.array(3)), x(np.array(3)), tf.int64),
    "multinomial of a vector": lambda tf, x: tf.multinomial(x(zeros(3)), 2),
    "ensure_shape of another size": lambda tf, x: tf.ensure_shape(x(zeros(2, 3)), [None, 4]),
    "set_shape of another size": lambda tf, x: with_shape(x(zeros(2, 3)), [None, 4]),
    "confusion matrix of a class out of range": lambda tf, x: tf.confusion_matrix(x(np.array([0, 3])), x(np.array([0, 1])), num_classes=2),
}


def with_check(tf, check):
    with tf.control_dependencies([check] if check is not None else []):
        return tf.no_op()


def with_shape(tensor, shape):
    tensor.set_shape(shape)
    return tensor + zeros(2, 4)
