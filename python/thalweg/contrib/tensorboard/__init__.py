# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.tensorboard."""
from thalweg.contrib.tensorboard import plugins  # noqa: F401
