# SPDX-License-Identifier: Apache-2.0
"""An autoencoder with tied weights squeezes the digits into 16 numbers; the measure: its error beside that of PCA."""
import numpy as np
import tensorflow as tf

import digit_images

tf.app.flags.DEFINE_integer("steps", 2500, "training steps")
tf.app.flags.DEFINE_integer("code", 16, "numbers that an image is squeezed into")
FLAGS = tf.app.flags.FLAGS


def autoencoder(images, code_size):
    """The images again, after a code of `code_size` numbers; the decoder uses the encoder's weights, transposed."""
    with tf.variable_scope("layers", initializer=tf.glorot_uniform_initializer(seed=1)):
        w1, w2 = tf.get_variable("w1", [64, 48]), tf.get_variable("w2", [48, code_size])
        b = [tf.get_variable("b%d" % i, [size], initializer=tf.zeros_initializer())
             for i, size in enumerate([48, code_size, 48, 64])]
    hidden = tf.nn.elu(tf.nn.xw_plus_b(images, w1, b[0]))
    code = tf.nn.xw_plus_b(hidden, w2, b[1])
    hidden = tf.nn.elu(tf.matmul(code, w2, transpose_b=True) + b[2])
    return tf.nn.sigmoid(tf.matmul(hidden, w1, transpose_b=True) + b[3])


def pca_error(train, test, size):
    mean = train.mean(0)
    axes = np.linalg.svd(train - mean, full_matrices=False)[2][:size]
    return np.mean((mean + (test - mean).dot(axes.T).dot(axes) - test)**2)


def main(_):
    tf.set_random_seed(1)
    train, _, test, _ = digit_images.load()
    images = tf.placeholder(tf.float32, [None, 64])
    loss = tf.losses.mean_squared_error(images, autoencoder(images, FLAGS.code))
    rate = tf.train.exponential_decay(3e-3, tf.train.get_or_create_global_step(), 500, 0.7)
    step = tf.train.AdamOptimizer(rate).minimize(loss, global_step=tf.train.get_global_step())
    rows = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(FLAGS.steps):
            value, _ = session.run([loss, step], {images: train[rows.randint(0, len(train), 128)]})
            if i % 500 == 0:
                print("step %4d  error %.4f" % (i, value))
        error = session.run(loss, {images: test})
    print("test error: %.4f, PCA with as many numbers: %.4f" % (error, pca_error(train, test, FLAGS.code)))


if __name__ == "__main__":
    tf.app.run()
