# SPDX-License-Identifier: Apache-2.0
"""What the models of keras_files.py are given."""
import numpy as np

FEED = {"a": np.random.RandomState(0).rand(16, 6, 2).astype("f"), "b": np.random.RandomState(1).rand(16, 3).astype("f")}
