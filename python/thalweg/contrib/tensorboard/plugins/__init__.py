# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.tensorboard.plugins."""
from thalweg.contrib.tensorboard.plugins import projector  # noqa: F401
