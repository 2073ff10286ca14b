# SPDX-License-Identifier: Apache-2.0
"""Whole networks of keras.applications: five of Keras 2 as 1.15 saves or freezes them, five of Keras 3 as 2.21 exports them, give what they gave
there to 1e-5 of the largest value, from Python, from C++ and from the command."""
import os
import subprocess
import sys

import numpy as np
import pytest
from releases import OLD_PYTHON, ROOT, need_1_15, their_environment

import thalweg as tw

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(ROOT, "build", "release")
NAMES = {"1.15": ["DenseNet121.pb", "MobileNet", "MobileNetV2.pb", "ResNet50", "VGG16"],
         "2.21": ["EfficientNetB0", "InceptionV3", "MobileNetV3Small", "ResNet50V2", "Xception"]}


def finished(*command, **options):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=3600, check=False, **options)
    assert p.returncode == 0, p.stderr[-2000:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All networks, which both releases write at the same time."""
    made = tmp_path_factory.mktemp("applications")
    pythons = {"1.15": OLD_PYTHON, "2.21": sys.executable}
    running = [subprocess.Popen([python, "-I", os.path.join(HERE, "applications.py"), str(made), *NAMES[release]], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, env=their_environment(), cwd="/")
               for release, python in pythons.items() if os.path.exists(python)]
    try:
        for process in running:
            errors = process.communicate(timeout=3600)[1]
            assert process.returncode == 0, errors[-2000:]
    finally:
        for process in running:
            process.kill()
    return made


@pytest.fixture(scope="module")
def run_model(tmp_path_factory):
    """A program of C++ that knows the installed headers and the library alone."""
    program = str(tmp_path_factory.mktemp("cpp") / "run_model")
    library = os.path.join(BUILT, "lib")
    finished("c++", "-std=c++17", os.path.join(HERE, "run_model.cc"), "-I" + os.path.join(BUILT, "generated", "include"), "-I" + ROOT,
             "-L" + library, "-Wl,-rpath," + library, "-lthalweg", "-o", program)
    return program


@pytest.mark.parametrize("release, name", [(release, name) for release, names in NAMES.items() for name in names])
def test_gives_what_its_release_gave(folder, tmp_path, run_model, release, name):
    if release == "1.15":
        need_1_15()
    model = str(folder / name)
    with np.load(str(folder / name.partition(".")[0]) + ".npz") as case:
        image, wanted = case["image"], case["classes"]
    assert wanted.shape == (2, 1000) and (wanted > 0.01 * wanted.max()).all(0).mean() > 0.5  # it tells classes apart without being sure
    found = {}

    loaded = tw.load(model)
    found["Python"] = loaded(image=image)

    image.tofile(tmp_path / "image")
    finished(run_model, model, str(tmp_path / "image"), str(tmp_path / "classes"), str(len(image)), str(image.shape[1]))
    found["C++"] = np.fromfile(tmp_path / "classes", np.float32).reshape(wanted.shape)

    np.save(tmp_path / "image.npy", image)
    finished(os.path.join(BUILT, "bin", "thalweg"), "run", model, "--feed", f"image={tmp_path / 'image.npy'}", "--out", str(tmp_path / "out.npz"))
    with np.load(tmp_path / "out.npz") as out:
        found["command"] = out[out.files[0]]

    differences = {who: float(np.abs(value - wanted).max() / np.abs(wanted).max()) for who, value in found.items()}
    print(f"| {name.partition('.')[0]} | {release} | {max(differences.values()):.1e} |")
    assert max(differences.values()) <= 1e-5, differences
