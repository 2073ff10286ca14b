# SPDX-License-Identifier: Apache-2.0
"""Models that both releases write now, loaded with tw.load: every signature gives what they gave. Tables and texts, Keras of 1.15 in its
three forms, a frozen graph with loops and conditionals, a MetaGraph beside shards, an Estimator; a tf.Module with many signatures."""
import glob
import os
import subprocess
import sys

import numpy as np
import pytest
from releases import OLD_PYTHON, need_1_15, their_environment

import thalweg as tw

HERE = os.path.dirname(os.path.abspath(__file__))


def written(folder, python, program):
    environment = their_environment()
    subprocess.run([python, os.path.join(HERE, program), folder], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=600, check=True)
    return folder


def assert_same(found, wanted, name):
    if wanted.dtype.kind in "OSU":
        assert [bytes(v) for v in np.ravel(found)] == [bytes(v) for v in np.ravel(wanted)], name
    else:
        assert found.dtype == wanted.dtype, name
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5, err_msg=name)
    assert np.shape(found) == wanted.shape, name


def compare(folder):
    """Every case, in the order of its number: some count their calls."""
    models, cases = {}, sorted(glob.glob(os.path.join(folder, "*,*.npz")))
    for path in cases:
        case = os.path.basename(path)
        name, signature, _ = case.split(",")
        if name not in models:
            models[name] = tw.load(os.path.join(folder, name))
        model = models[name]
        with np.load(path, allow_pickle=True) as recorded:
            arrays = {k: recorded[k] for k in recorded.files}
        inputs = {k[3:]: v for k, v in arrays.items() if k.startswith("in.")}
        wanted = {k[4:]: v for k, v in arrays.items() if k.startswith("out.")}
        if "" in wanted:
            with pytest.raises(getattr(tw.errors, str(wanted[""]))) as refused:
                model.signature(signature)(**inputs)
            assert refused.value.message.startswith(f"{model.path}: signature '{signature}': ")
            continue
        found = model.signature(signature)(**inputs)
        found = found if isinstance(found, dict) else {next(iter(model.signatures[signature].outputs)): found}
        assert sorted(found) == sorted(wanted), case
        for output, value in wanted.items():
            assert_same(np.asarray(found[output]), value, f"{case}: {output}")
    return len(cases)


def test_models_of_1_15(tmp_path):
    need_1_15()
    assert compare(written(str(tmp_path), OLD_PYTHON, "models_of_1_15.py")) == 14


def test_models_of_2_21(tmp_path):
    assert compare(written(str(tmp_path), sys.executable, "models_of_2_21.py")) == 13
