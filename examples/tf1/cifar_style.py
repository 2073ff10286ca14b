# SPDX-License-Identifier: Apache-2.0
"""A convolutional net in the manner of the CIFAR tutorial: queues read, distort and shuffle images while the net trains; weights decay
by a collection of losses; moving averages of the variables are what is tested.

    cifar_style.py [--max_steps=400]

Ends with the share of test images that it knows.
"""
import numpy as np
import tensorflow as tf

import digit_images

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("max_steps", 400, "training steps")
tf.app.flags.DEFINE_integer("batch_size", 64, "images of a batch")


def distort(image):
    """A function of numpy in the pipeline: the image moved by up to a pixel."""
    down, right = np.random.randint(-1, 2, size=2)
    return np.roll(np.roll(image, down, 0), right, 1)


def distorted_inputs(images, labels):
    image, label = tf.train.slice_input_producer([images.reshape(-1, 8, 8, 1), labels], shuffle=True, seed=1)
    image = tf.py_func(distort, [image], tf.float32)
    image.set_shape([8, 8, 1])
    image = tf.image.random_brightness(image, max_delta=0.1, seed=2)
    image = tf.image.random_contrast(image, lower=0.8, upper=1.2, seed=3)
    return tf.train.shuffle_batch([image, label], FLAGS.batch_size, num_threads=2, capacity=1000, min_after_dequeue=300)


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev))
    if wd:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss"))
    return var


def inference(images):
    with tf.variable_scope("conv1") as scope:
        kernel = _variable_with_weight_decay("weights", [3, 3, 1, 16], 0.2, 0.0)
        conv = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        biases = tf.get_variable("biases", [16], initializer=tf.constant_initializer(0.0))
        conv1 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    norm1 = tf.nn.lrn(conv1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")
    with tf.variable_scope("conv2") as scope:
        kernel = _variable_with_weight_decay("weights", [3, 3, 16, 32], 0.1, 0.0)
        conv = tf.nn.conv2d(norm1, kernel, [1, 1, 1, 1], padding="SAME")
        biases = tf.get_variable("biases", [32], initializer=tf.constant_initializer(0.1))
        conv2 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
    pool2 = tf.nn.max_pool(conv2, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool2")
    with tf.variable_scope("local3") as scope:
        reshape = tf.reshape(pool2, [-1, 4 * 4 * 32])
        weights = _variable_with_weight_decay("weights", [4 * 4 * 32, 64], 0.04, 0.004)
        biases = tf.get_variable("biases", [64], initializer=tf.constant_initializer(0.1))
        local3 = tf.nn.relu(tf.matmul(reshape, weights) + biases, name=scope.name)
    with tf.variable_scope("softmax_linear") as scope:
        weights = _variable_with_weight_decay("weights", [64, 10], 1 / 64.0, 0.0)
        biases = tf.get_variable("biases", [10], initializer=tf.constant_initializer(0.0))
        return tf.add(tf.matmul(local3, weights), biases, name=scope.name)


def total_loss(logits, labels):
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(cross_entropy, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses"), name="total_loss")


def train_op_of(loss, global_step):
    lr = tf.train.exponential_decay(0.1, global_step, 200, 0.5, staircase=True)
    tf.summary.scalar("learning_rate", lr)
    loss_averages = tf.train.ExponentialMovingAverage(0.9, name="avg")
    with tf.control_dependencies([loss_averages.apply([loss])]):
        opt = tf.train.MomentumOptimizer(lr, 0.9)
        grads = opt.compute_gradients(loss)
    apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
    averages = tf.train.ExponentialMovingAverage(0.95, global_step)
    with tf.control_dependencies([apply_gradient_op]):
        return averages.apply(tf.trainable_variables()), averages


def main(argv=None):
    images, labels, test_images, test_labels = digit_images.load()
    tf.set_random_seed(1)
    np.random.seed(1)
    global_step = tf.train.get_or_create_global_step()
    batch, batch_labels = distorted_inputs(images, labels)
    with tf.variable_scope("net"):
        loss = total_loss(inference(batch), batch_labels)
    train_op, averages = train_op_of(loss, global_step)
    with tf.variable_scope("net", reuse=True):
        logits = inference(tf.constant(test_images.reshape(-1, 8, 8, 1)))
    top_1 = tf.nn.in_top_k(logits, tf.constant(test_labels), 1)
    use_averages = [tf.assign(v, averages.average(v)) for v in tf.trainable_variables()]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            for step in range(FLAGS.max_steps):
                if coord.should_stop():
                    break
                _, value = sess.run([train_op, loss])
                assert not np.isnan(value), "Model diverged with loss = NaN"
                if step % 100 == 0:
                    print("step %d, loss = %.2f" % (step, value))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
        sess.run(use_averages)
        print("precision @ 1 = %.3f" % np.mean(sess.run(top_1)))


if __name__ == "__main__":
    tf.app.run()
