# SPDX-License-Identifier: Apache-2.0
"""tf-slim 1.1.0: layers under arg_scope with batch normalization and regularization, losses, create_train_op."""

PROGRAM = """
    import numpy as np
    import tensorflow.compat.v1 as tf
    import tf_slim as slim
    tf.set_random_seed(1)
    images = np.random.RandomState(0).rand(64, 8, 8, 1).astype(np.float32)
    classes = (images.mean((1, 2, 3)) > 0.5).astype(np.int64)
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int64, [None])
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-4)):
        net = slim.conv2d(x, 4, [3, 3], scope="first", normalizer_fn=slim.batch_norm)
        net = slim.max_pool2d(net, [2, 2])
        net = slim.repeat(net, 2, slim.conv2d, 4, [3, 3], scope="more")
        net = slim.dropout(slim.flatten(net), 0.9)
        logits = slim.fully_connected(net, 2, activation_fn=None, scope="out")
    tf.losses.sparse_softmax_cross_entropy(y, logits)
    train = slim.learning.create_train_op(tf.losses.get_total_loss(), tf.train.AdamOptimizer(0.01))
    assert "first/BatchNorm/moving_mean:0" in [v.name for v in slim.get_model_variables()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(80):
            loss = session.run(train, {x: images, y: classes})
    print(loss)
"""


def test_a_convolutional_net_trains(last_number):
    assert last_number(PROGRAM) < 0.1
