# SPDX-License-Identifier: Apache-2.0
"""A ready-made model that one release has trained is gone on with by the other: its checkpoint, slots of optimizers included, and the
SavedModel that it was exported to, which 2.21 and tw.load read too."""
import json
import os
import subprocess
import sys

import estimators
import numpy as np
from releases import OLD_PYTHON, need_1_15, their_environment

import thalweg as tw

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "estimators.py")


def theirs(python, what, folder):
    """What a release finds."""
    done = subprocess.run([python, PROGRAM, what, str(folder)], env=their_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def check_exported(found, probabilities):
    assert found["signatures"] == ["classification", "predict", "regression", "serving_default"]
    for name in ("predict", "serving_default"):
        assert np.allclose(found[name], probabilities, atol=1e-5), name
    assert np.allclose(np.ravel(found["regression"]), np.array(probabilities)[:, 1], atol=1e-5)


def check_read(found, probabilities):
    assert np.allclose(found["probabilities"], probabilities, atol=1e-5)
    assert found["step"] == 6 and {"accuracy", "auc", "auc_precision_recall", "average_loss", "label/mean"} <= set(found["metrics"])


def test_our_model_is_read_by_both_releases(tmp_path):
    need_1_15()
    probabilities = estimators.write(tw, str(tmp_path))["probabilities"]
    check_exported(estimators.load(tw, str(tmp_path)), probabilities)
    check_exported(theirs(OLD_PYTHON, "load", tmp_path), probabilities)
    check_exported(theirs(sys.executable, "load", tmp_path), probabilities)
    check_read(theirs(OLD_PYTHON, "read", tmp_path), probabilities)


def test_a_model_of_1_15_is_read_here(tmp_path):
    need_1_15()
    probabilities = theirs(OLD_PYTHON, "write", tmp_path)["probabilities"]
    check_exported(estimators.load(tw, str(tmp_path)), probabilities)
    classified = tw.load(estimators.exported(str(tmp_path))).signature("serving_default")(inputs=estimators.examples(tw))
    assert np.allclose(classified["scores"], probabilities, atol=1e-5)
    check_read(estimators.read(tw, str(tmp_path)), probabilities)
