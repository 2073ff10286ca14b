# SPDX-License-Identifier: Apache-2.0
"""The handwritten digits of examples/data for the programs beside: images in [0, 1] as rows of 64, labels."""
import os

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


def load():
    """(train images, train labels, test images, test labels); the validation part counts as training."""
    table = np.loadtxt(os.path.join(FOLDER, "digits.csv"), delimiter=",", dtype=np.int32)
    with open(os.path.join(FOLDER, "digits_split.txt")) as f:
        test = np.array(f.read().split()) == "test"
    images, labels = (table[:, :64] / 16.0).astype(np.float32), table[:, 64]
    return images[~test], labels[~test], images[test], labels[test]
