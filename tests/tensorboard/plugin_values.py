# SPDX-License-Identifier: Apache-2.0
"""What plugin_programs.py writes, and what the tests look for."""
import numpy as np

LABELS = np.array([True, False, True, True, False, False])
PREDICTIONS = np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1], np.float32)
VERTICES = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]], np.float32)
COLORS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]]], np.uint8)
FACES = np.array([[[0, 1, 2], [0, 1, 3]]], np.int32)
DOTS = np.arange(12, dtype=np.uint8).reshape([1, 2, 2, 3])
TRIALS = [(0.1, "adam", 0.75), (0.25, "sgd", 0.5)]  # dropout, optimizer, accuracy
