# SPDX-License-Identifier: Apache-2.0
"""TensorLayer 1.11.1: layers as objects around tensors, its loop over batches, its moving averages."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensorlayer as tl
    np.random.seed(0)
    tf.set_random_seed(1)
    images = np.random.rand(128, 8, 8, 1).astype("float32")
    images[:64] *= 0.5
    classes = np.repeat([0, 1], 64)
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int64, [None])
    net = tl.layers.InputLayer(x, name="in")
    net = tl.layers.Conv2d(net, 8, (3, 3), act=tf.nn.relu, name="first")
    net = tl.layers.BatchNormLayer(net, is_train=True, name="norm")
    net = tl.layers.FlattenLayer(tl.layers.MaxPool2d(net, name="pool"), name="flat")
    net = tl.layers.DropoutLayer(net, keep=0.8, name="drop")
    net = tl.layers.DenseLayer(net, 2, name="out")
    loss = tl.cost.cross_entropy(net.outputs, y, "loss")
    share = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(net.outputs, 1), y), tf.float32))
    train = tf.train.AdamOptimizer(0.01).minimize(loss, var_list=net.all_params)
    session = tf.InteractiveSession()
    tl.layers.initialize_global_variables(session)
    tl.utils.fit(session, net, train, loss, images, classes, x, y, acc=share, batch_size=32, n_epoch=10, print_freq=5)
    print(session.run(share, {x: images, y: classes, **tl.utils.dict_to_one(net.all_drop)}))
"""


def test_a_convolutional_net_trains(last_number):
    assert last_number(PROGRAM) > 0.95
