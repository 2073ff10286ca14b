# SPDX-License-Identifier: Apache-2.0
"""Networks of channels-first images: the values of the channels-last ones, and transposes at their border only."""
import collections

import numpy as np
import pytest
import thalweg as tf


def network(x, data_format, rng):
    """A residual block with normalization, both kinds of pooling, and a classifier. Returns logits."""
    first = data_format == "NCHW"
    channels = 1 if first else 3

    def dims(rows, columns):
        return [1, 1, rows, columns] if first else [1, rows, columns, 1]

    def weight(*shape):
        return tf.Variable(rng.randn(*shape).astype("f") * np.float32(0.3))

    def conv(y, size, n, stride=1):
        filters = weight(size, size, y.shape.as_list()[channels], n)
        return tf.nn.conv2d(y, filters, dims(stride, stride), "SAME", data_format=data_format)

    def norm(y):
        n = y.shape.as_list()[channels]
        scale, offset = tf.Variable(np.ones(n, "f")), tf.Variable(np.zeros(n, "f"))
        return tf.nn.fused_batch_norm(y, scale, offset, data_format=data_format)[0]

    y = tf.nn.relu(norm(conv(x, 3, 8, 2)))
    y = tf.nn.max_pool(y, dims(3, 2), dims(1, 2), "SAME", data_format=data_format)
    bias = tf.Variable(rng.randn(8).astype("f"))
    y = tf.nn.relu(tf.nn.bias_add(conv(y, 3, 8), bias, data_format=data_format) + y)
    y = tf.nn.avg_pool(y, dims(2, 2), dims(2, 2), "VALID", data_format=data_format)
    return tf.matmul(tf.reduce_mean(y, [2, 3] if first else [1, 2]), weight(8, 5))


def train(data_format, batch, opt_level=0):
    """Losses of three steps, the gradient of the image, and the operations of the plan."""
    rng = np.random.RandomState(3)
    image = rng.rand(6, 11, 9, 3).astype("f")
    shape = [batch, 11, 9, 3]
    if data_format == "NCHW":
        image, shape = image.transpose(0, 3, 1, 2), [batch, 3, 11, 9]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, shape)
        labels = tf.constant(np.array([0, 1, 2, 3, 4, 0], "i"))
        logits = network(x, data_format, rng)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        gradient = tf.gradients(loss, x)[0]
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.opt_level = opt_level
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            by_image = session.run(gradient, {x: image})
            losses = [session.run([loss, step], {x: image})[0] for _ in range(3)]
            options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
            session.run([loss, step], {x: image}, options, metadata)
    if data_format == "NCHW":
        by_image = by_image.transpose(0, 2, 3, 1)
    return losses, by_image, collections.Counter(n.op for n in metadata.partition_graphs[0].node)


@pytest.mark.parametrize("batch", [6, None])
def test_training_gives_the_values_of_channels_last(batch):
    expected, expected_gradient, expected_ops = train("NHWC", batch)
    assert expected_ops["_FusedBatchNormEx"] == expected_ops["_FusedBatchNormGradEx"] == 1
    plain, plain_gradient, plain_ops = train("NCHW", batch, -1)
    losses, gradient, ops = train("NCHW", batch)
    np.testing.assert_allclose(plain, expected, rtol=1e-4)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(plain_gradient, expected_gradient, atol=1e-5)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-5)
    assert plain_ops["Transpose"] == plain_ops["_FusedBatchNormEx"] == 0
    if batch is not None:  # else sums over what may have been broadcast stand between
        assert ops["Transpose"] == 3  # the image; what is averaged, and its gradient
