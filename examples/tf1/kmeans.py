# SPDX-License-Identifier: Apache-2.0
"""k-means in one tf.while_loop that ends when no point moves to another center; the measure: how pure the clusters are."""
import numpy as np
import tensorflow as tf

import digit_images

tf.app.flags.DEFINE_integer("clusters", 20, "number of centers")
FLAGS = tf.app.flags.FLAGS


def nearest(points, centers):
    """The number of the nearest center for every point."""
    distances = tf.reduce_sum(tf.squared_difference(points[:, None, :], centers[None, :, :]), 2)
    return tf.argmin(distances, 1, output_type=tf.int32)


def kmeans(points, centers, most_rounds=100):
    """(rounds, centers, center of every point) when it has settled; an empty cluster keeps its center."""
    count = tf.shape(centers)[0]

    def moved(rounds, centers, of_point, changed):
        return tf.logical_and(changed, rounds < most_rounds)

    def move(rounds, centers, of_point, changed):
        size = tf.unsorted_segment_sum(tf.ones_like(of_point, tf.float32), of_point, count)[:, None]
        total = tf.unsorted_segment_sum(points, of_point, count)
        centers = tf.where(tf.tile(size > 0, [1, tf.shape(points)[1]]), total / tf.maximum(size, 1), centers)
        now = nearest(points, centers)
        return rounds + 1, centers, now, tf.reduce_any(tf.not_equal(now, of_point))

    return tf.while_loop(moved, move, [0, centers, nearest(points, centers), True])[:3]


def main(_):
    images, labels, _, _ = digit_images.load()
    start = images[np.random.RandomState(0).permutation(len(images))[:FLAGS.clusters]]
    with tf.Session() as session:
        rounds, _, of_point = session.run(kmeans(tf.constant(images), tf.constant(start)))
    print("settled after %d rounds" % rounds)
    common = sum(np.bincount(labels[of_point == c]).max() for c in range(FLAGS.clusters) if (of_point == c).any())
    print("cluster purity: %.3f" % (common / float(len(labels))))


if __name__ == "__main__":
    tf.app.run()
