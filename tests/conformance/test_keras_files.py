# SPDX-License-Identifier: Apache-2.0
"""Files of tf.keras models that Thalweg and 1.15 read of each other: checkpoints of weights, SavedModels; 2.21 runs what we saved."""
import json
import os
import subprocess

import keras_files_feed
import numpy as np
import pytest
from releases import OLD_PYTHON, ROOT, need_1_15, their_environment

# The package Keras 2.3.1 is where the old libraries are: `./dev setup libraries`.
KERAS_PYTHON = os.path.join(ROOT, ".venvs", "libraries", "bin", "python")
PROGRAM = os.path.join(os.path.dirname(__file__), "keras_files.py")


def run(who, *words):
    """The program by Thalweg or by 1.15; what it prints, from JSON."""
    old = who == "1.15"
    command = [OLD_PYTHON, "-I", PROGRAM] if old else [KERAS_PYTHON, "-m", "thalweg.as_tensorflow", PROGRAM]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=600, cwd=words[1],
                          env=their_environment() if old else dict(os.environ))
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None


@pytest.fixture(scope="module", params=["1.15", "thalweg"])
def written(request, tmp_path_factory):
    """(who wrote, the folder, what its models said)"""
    need_1_15()
    if not os.path.exists(KERAS_PYTHON):
        pytest.skip("the package Keras 2.3.1 is installed by ./dev setup libraries")
    folder = tmp_path_factory.mktemp("keras")
    run(request.param, "write", str(folder))
    return request.param, folder, json.loads((folder / "said.json").read_text())


@pytest.mark.parametrize("reader", ["1.15", "thalweg"])
def test_models_go_on_where_they_were_saved(written, reader):
    writer, folder, said = written
    found = run(reader, "read", str(folder), *(["own"] if reader == "thalweg" else []))
    np.testing.assert_allclose(found.pop("exported")["predicted"], said["Adam"]["predicted"], rtol=1e-5, atol=1e-6)
    if reader == "thalweg":  # 1.15 does not make a model of what model.save of Thalweg wrote
        said = {**said, "saved": said["Adam"]}
    assert sorted(found) == sorted(said)
    for name, values in said.items():
        for key, value in values.items():
            np.testing.assert_allclose(found[name][key], value, rtol=1e-4, atol=1e-6, err_msg=f"{name} {key}, {writer} to {reader}")


def test_1_15_makes_models_of_what_model_save_wrote(tmp_path):
    need_1_15()
    if not os.path.exists(KERAS_PYTHON):
        pytest.skip("the package Keras 2.3.1 is installed by ./dev setup libraries")
    run("thalweg", "write_various", str(tmp_path))
    said = json.loads((tmp_path / "various.json").read_text())
    assert len(said) == 8
    found = run("1.15", "read_various", str(tmp_path), *said)
    for name, values in said.items():
        for key, value in values.items():
            np.testing.assert_allclose(found[name][key], value, rtol=1e-4, atol=1e-5, err_msg=f"{name} {key}")


def test_all_weights_are_consumed(tmp_path):
    import thalweg as tw
    need_1_15()
    if not os.path.exists(KERAS_PYTHON):
        pytest.skip("the package Keras 2.3.1 is installed by ./dev setup libraries")
    for writer in ("1.15", "thalweg"):
        os.mkdir(tmp_path / writer)
        run(writer, "write_weights", str(tmp_path / writer))
    for writer, reader in (("thalweg", "1.15"), ("1.15", "thalweg"), ("thalweg", "thalweg")):
        said = json.loads((tmp_path / writer / "weights.json").read_text())
        assert len(said) == 9
        found = run(reader, "read_weights", str(tmp_path / writer))
        for name, predicted in said.items():
            np.testing.assert_allclose(found[name], predicted, rtol=1e-4, atol=1e-5, err_msg=f"{name}, {writer} to {reader}")
            keys = [tw.train.list_variables(str(tmp_path / each / "weights" / name)) for each in ("1.15", "thalweg")]
            assert keys[0] == keys[1], name


def test_checkpoints_have_the_same_keys(written, tmp_path):
    import thalweg as tw
    writer, folder, _ = written
    other = "thalweg" if writer == "1.15" else "1.15"
    run(other, "write", str(tmp_path))
    for prefix in ("Adam/weights", "Nadam/weights", "RMSprop/weights", "SGD/weights", "exported/variables/variables"):
        names = [tw.train.list_variables(str(place / prefix)) for place in (folder, tmp_path)]
        assert names[0] == names[1], prefix


def test_2_21_runs_what_is_saved(written):
    import tensorflow as tf
    writer, folder, said = written
    if writer == "1.15":
        pytest.skip("2.21's tf.saved_model.load ends with an AttributeError at the slots of what model.save of 1.15 wrote")
    serve = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"]
    out = serve(**{name: tf.constant(value) for name, value in keras_files_feed.FEED.items()})["out"]
    np.testing.assert_allclose(out.numpy(), said["Adam"]["predicted"], rtol=1e-5, atol=1e-6)
