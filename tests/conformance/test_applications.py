# SPDX-License-Identifier: Apache-2.0
"""Networks of keras.applications: five as Keras 2 of 1.15 saves them, five as Keras 3 exports them under 2.21, give what they gave there to
1e-5 of the largest value, from Python, from C++ and from the command."""
import os
import subprocess
import sys

import numpy as np
import pytest
from releases import OLD_PYTHON, ROOT, need_1_15, their_environment

import thalweg as tw

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(ROOT, "build", "release")


def finished(*command, **options):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=3600, check=False, **options)
    assert p.returncode == 0, p.stderr[-2000:]


@pytest.fixture(scope="module")
def run_model(tmp_path_factory):
    """A program of C++ that knows the installed headers and the library alone."""
    program = str(tmp_path_factory.mktemp("cpp") / "run_model")
    library = os.path.join(BUILT, "lib")
    finished("c++", "-std=c++17", os.path.join(HERE, "run_model.cc"), "-I" + os.path.join(BUILT, "generated", "include"), "-I" + ROOT,
             "-L" + library, "-Wl,-rpath," + library, "-lthalweg", "-o", program)
    return program


@pytest.mark.parametrize("release, name", [
    ("1.15", "DenseNet121"), ("1.15", "MobileNet"), ("1.15", "MobileNetV2"), ("1.15", "NASNetMobile"), ("1.15", "ResNet50"),
    ("2.21", "EfficientNetB0"), ("2.21", "InceptionV3"), ("2.21", "MobileNetV3Small"), ("2.21", "ResNet50V2"), ("2.21", "Xception")])
def test_gives_what_its_release_gave(tmp_path, run_model, release, name):
    if release == "1.15":
        need_1_15()
    python = OLD_PYTHON if release == "1.15" else sys.executable
    finished(python, "-I", os.path.join(HERE, "applications.py"), str(tmp_path), name, env=their_environment(), cwd="/")
    model, record = str(tmp_path / name), str(tmp_path / name) + ".npz"
    with np.load(record) as case:
        image, wanted = case["in.image"], case["out.features"]
    assert np.isfinite(wanted).all() and wanted.std() > 0.01 * np.abs(wanted).max()
    bound = 1e-5 * np.abs(wanted).max()

    found = tw.load(model)(image=image)
    assert np.abs((found["features"] if isinstance(found, dict) else found) - wanted).max() <= bound

    image.tofile(tmp_path / "image")
    finished(run_model, model, str(tmp_path / "image"), str(tmp_path / "features"), str(len(image)), str(image.shape[1]))
    assert np.abs(np.fromfile(tmp_path / "features", np.float32).reshape(wanted.shape) - wanted).max() <= bound

    finished(os.path.join(BUILT, "bin", "thalweg"), "verify", model, "--reference", record, "--rtol", "0", "--atol", repr(float(bound)))
