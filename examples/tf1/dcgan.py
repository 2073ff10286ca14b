# SPDX-License-Identifier: Apache-2.0
"""A small DCGAN makes digits from noise; the measure: their distance to real ones, in that of unseen real ones, and variety."""
import numpy as np
import tensorflow as tf

import digit_images

tf.app.flags.DEFINE_integer("steps", 2500, "training steps of generator and discriminator")
FLAGS = tf.app.flags.FLAGS
NOISE, BATCH = 16, 64


def generator(noise, training):
    with tf.variable_scope("generator"):
        x = tf.reshape(tf.layers.dense(noise, 2 * 2 * 32), [-1, 2, 2, 32])
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training))
        x = tf.layers.conv2d_transpose(x, 16, 3, strides=2, padding="same")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training))
        return tf.nn.sigmoid(tf.layers.conv2d_transpose(x, 1, 3, strides=2, padding="same"))


def discriminator(images):
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        x = tf.nn.leaky_relu(tf.layers.conv2d(images, 16, 3, strides=2, padding="same", name="conv1"))
        x = tf.nn.leaky_relu(tf.layers.conv2d(x, 32, 3, strides=2, padding="same", name="conv2"))
        return tf.layers.dense(tf.layers.flatten(x), 1, name="logit")


def cross_entropy(logits, label):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.fill(tf.shape(logits), label), logits=logits))


def train_step(loss, scope, rate, beta1):
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope)):
        return tf.train.AdamOptimizer(rate, beta1).minimize(loss, var_list=tf.trainable_variables(scope))


def to_nearest(images, train):
    """Distance to the nearest of `train`, and its row, for every image."""
    square = (images**2).sum(1)[:, None] - 2 * images.dot(train.T) + (train**2).sum(1)
    return np.sqrt(np.maximum(square.min(1), 0)).mean(), square.argmin(1)


def main(_):
    tf.set_random_seed(2)
    train, labels, test, _ = digit_images.load()
    real = tf.placeholder(tf.float32, [None, 8, 8, 1])
    noise = tf.placeholder(tf.float32, [None, NOISE])
    training = tf.placeholder_with_default(True, [])
    fake = generator(noise, training)
    on_real, on_fake = discriminator(real), discriminator(fake)
    judge = train_step(cross_entropy(on_real, 0.9) + cross_entropy(on_fake, 0.0), "discriminator", 5e-4, 0.5)
    forge = train_step(cross_entropy(on_fake, 1.0), "generator", 2e-3, 0.5)

    r = np.random.RandomState(0)

    unseen = to_nearest(test, train)[0]

    def batch():
        rows = r.randint(0, len(train), BATCH)
        return {real: train[rows].reshape(-1, 8, 8, 1), noise: r.randn(BATCH, NOISE)}

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        some = {noise: np.random.RandomState(1).randn(500, NOISE), training: False}
        for i in range(FLAGS.steps + 1):
            if i % 500 == 0 or i == FLAGS.steps:
                made = session.run(fake, some)
                distance, rows = to_nearest(made.reshape(-1, 64), train)
                kinds = (np.bincount(labels[rows], minlength=10) > 10).sum()
                print("step %4d  distance %.2f, kinds of digits %d" % (i, distance / unseen, kinds))
            session.run(judge, batch())
            session.run(forge, batch())
    for row in made[:4].max(3).transpose(1, 0, 2):
        print("   ".join("".join(" .:*#"[int(v * 4.99)] for v in image) for image in row))
    print("distance to real digits: %.2f of unseen ones', kinds of digits: %d" % (distance / unseen, kinds))


if __name__ == "__main__":
    tf.app.run()
