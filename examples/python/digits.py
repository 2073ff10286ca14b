# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits of examples/data: images as float32 in [0, 1], labels as int32.

    train, validation, test = digits.load()
    train.images.shape    # (1297, 8, 8, 1)
    for images, labels in train.batches(64, seed=0): ...    # one pass in a random order; the last batch may be short
"""
import collections
import os

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


class Part(collections.namedtuple("Part", "images labels")):
    """One part of the data; rows keep the order of the file."""

    def batches(self, size, seed):
        order = np.random.RandomState(seed).permutation(len(self.labels))
        for start in range(0, len(order), size):
            rows = order[start:start + size]
            yield self.images[rows], self.labels[rows]

    def with_shuffled_labels(self, seed):
        """The same images with labels that mean nothing: what a model learns from it is worth a guess."""
        return Part(self.images, np.random.RandomState(seed).permutation(self.labels))


def load(folder=FOLDER):
    """The parts train (1,297 rows), validation (200) and test (300), always the same rows."""
    table = np.loadtxt(os.path.join(folder, "digits.csv"), delimiter=",", dtype=np.int32)
    with open(os.path.join(folder, "digits_split.txt")) as f:
        part = np.array(f.read().split())
    images = (table[:, :64] / np.float32(16)).astype(np.float32).reshape(-1, 8, 8, 1)
    return tuple(Part(images[part == name], table[part == name, 64]) for name in ("train", "validation", "test"))
