# SPDX-License-Identifier: Apache-2.0
"""The digits and their split are those that were committed, and the loader gives the three parts."""
import hashlib
import os
import re
import sys

import numpy as np

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")
sys.path.insert(0, os.path.join(EXAMPLES, "python"))
import digits


def test_files_are_the_recorded_ones():
    readme = open(os.path.join(EXAMPLES, "data", "README.md")).read()
    sums = re.findall(r"([0-9a-f]{64})  (\S+)", readme)
    assert [name for _, name in sums] == ["digits.csv", "digits_split.txt"]
    for expected, name in sums:
        with open(os.path.join(EXAMPLES, "data", name), "rb") as f:
            assert hashlib.sha256(f.read()).hexdigest() == expected, name


def test_parts():
    train, validation, test = digits.load()
    assert [len(p.labels) for p in (train, validation, test)] == [1297, 200, 300]
    assert train.images.shape == (1297, 8, 8, 1) and train.images.dtype == np.float32
    assert train.images.min() == 0 and train.images.max() == 1 and train.labels.dtype == np.int32
    assert np.bincount(test.labels).tolist() == [30] * 10 and np.bincount(validation.labels).tolist() == [20] * 10


def test_no_image_is_in_two_parts():
    seen = [{image.tobytes() for image in part.images} for part in digits.load()]
    assert not seen[0] & seen[2] and not seen[0] & seen[1] and not seen[1] & seen[2]


def test_batches_cover_the_part_once():
    train = digits.load()[0]
    batches = list(train.batches(64, seed=1))
    assert sum(len(labels) for _, labels in batches) == 1297 and len(batches) == 21
    assert np.bincount(np.concatenate([labels for _, labels in batches])).tolist() == np.bincount(train.labels).tolist()
    again = list(train.batches(64, seed=1))
    assert all((a[1] == b[1]).all() for a, b in zip(batches, again))


def test_shuffled_labels_keep_the_counts():
    train = digits.load()[0]
    shuffled = train.with_shuffled_labels(seed=0)
    assert np.bincount(shuffled.labels).tolist() == np.bincount(train.labels).tolist()
    assert (shuffled.labels == train.labels).mean() < 0.2
