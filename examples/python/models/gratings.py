# SPDX-License-Identifier: Apache-2.0
"""Made images for nets that want large ones: striped patterns in noise; the class is the direction and the color of the stripes.

    images, labels = gratings.batch(16, 224, classes=10, seed=0)    # float32 [16, 224, 224, 3], int32 [16]
"""
import numpy as np


def batch(count, size, classes, seed):
    """The same seed gives the same images."""
    random = np.random.RandomState(seed)
    labels = random.randint(0, classes, count).astype(np.int32)
    angle = np.pi * labels / classes
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size
    along = x[None] * np.cos(angle)[:, None, None] + y[None] * np.sin(angle)[:, None, None]
    stripes = np.sin(2 * np.pi * (8 * along + random.rand(count)[:, None, None]))
    color = np.stack([np.cos(2 * np.pi * (labels / classes + third / 3)) for third in range(3)], 1)
    images = stripes[..., None] * (1 + 0.5 * color[:, None, None, :]) + random.standard_normal([count, size, size, 3])
    return images.astype(np.float32), labels


def feeds(images, labels, options):
    """Feeds of the step-th batch, for training.run."""
    def of(step):
        x, y = batch(options.batch, options.size, options.classes, seed=step)
        return {images: x, labels: y}
    return of


def placeholders(tf, options):
    """(images, labels)."""
    return (tf.placeholder(tf.float32, [options.batch, options.size, options.size, 3], name="images"),
            tf.placeholder(tf.int32, [options.batch], name="labels"))
