# SPDX-License-Identifier: Apache-2.0
"""The Pythons of TensorFlow's releases: 2.21 is in this very one, 1.15 in one of its own, where a Python 3.7 was found for it."""
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD_PYTHON = os.path.join(ROOT, ".venvs", "conformance-1.15", "bin", "python")


def need_1_15():
    """Leaves a test out where 1.15 could not be installed."""
    if not os.path.exists(OLD_PYTHON):
        pytest.skip("TensorFlow 1.15 has no Python 3.7 here")


def their_environment():
    """The environment of a program of TensorFlow's: without Thalweg, and without what 2.21 sets where it is imported in this very process,
    by which 1.15 behaves as 2."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TF2_BEHAVIOR")}
