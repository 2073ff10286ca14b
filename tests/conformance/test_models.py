# SPDX-License-Identifier: Apache-2.0
"""Models that both releases write now, loaded with tw.load: every signature gives what they gave. Tables and texts, Keras of 1.15 in its
three forms, a frozen graph with loops and conditionals, a MetaGraph beside shards, an Estimator; a tf.Module with many signatures. Then
every signature is converted, and both releases run what was written."""
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


def convert_all(folder):
    """Each signature as a GraphDef, or as a SavedModel where it needs tables; gives those that change their variables."""
    os.mkdir(os.path.join(folder, "converted"))
    refused = []
    for name, signature in sorted({tuple(os.path.basename(p).split(",")[:2]) for p in glob.glob(os.path.join(folder, "*,*.npz"))}):
        model, out = tw.load(os.path.join(folder, name)), os.path.join(folder, "converted", f"{name},{signature}")
        try:
            model.convert(out, signature)
        except tw.errors.FailedPreconditionError as error:
            if "fills a table" not in error.message:
                refused.append(signature)
                continue
            model.convert(out, signature, saved_model=True)
    return refused


def compare_converted(folder):
    """How many cases give the same from what was converted."""
    count = 0
    for path in sorted(glob.glob(os.path.join(folder, "converted", "*"))):
        model = tw.load(path)
        run = model.signature(os.path.basename(path).split(",")[1]) if model.kind == "SavedModel" else model
        for case in sorted(glob.glob(os.path.join(folder, glob.escape(os.path.basename(path)) + ",*.npz"))):
            with np.load(case, allow_pickle=True) as recorded:
                arrays = {k: recorded[k] for k in recorded.files}
            if "out." in arrays:
                continue
            found = run(**{k[3:]: v for k, v in arrays.items() if k.startswith("in.")})
            wanted = {k[4:]: v for k, v in arrays.items() if k.startswith("out.")}
            if model.kind == "GraphDef":  # where an input and an output have one name, the output gets another
                wanted = {k + "_1" if "in." + k in arrays else k: v for k, v in wanted.items()}
            found = found if isinstance(found, dict) else {next(iter(wanted)): found}
            for output, value in wanted.items():
                assert_same(np.asarray(found[output]), value, f"{case}: {output}")
            count += 1
    return count


def opened(folder, python):
    """How many cases a release runs to the same results."""
    return int(subprocess.run([python, "-I", os.path.join(HERE, "open_converted.py"), folder], env=their_environment(), stdout=subprocess.PIPE,
                              timeout=600, check=True, cwd="/").stdout)


def test_models_of_1_15(tmp_path):
    need_1_15()
    folder = written(str(tmp_path), OLD_PYTHON, "models_of_1_15.py")
    assert compare(folder) == 14
    assert convert_all(folder) == []
    assert [compare_converted(folder), opened(folder, OLD_PYTHON), opened(folder, sys.executable)] == [14] * 3


def test_models_of_2_21(tmp_path):
    folder = written(str(tmp_path), sys.executable, "models_of_2_21.py")
    assert compare(folder) == 13
    assert convert_all(folder) == ["count"]
    assert [compare_converted(folder), opened(folder, sys.executable)] == [10] * 2
    need_1_15()
    assert opened(folder, OLD_PYTHON) == 8  # "words" writes beyond the end of a list, which 1.15 has no operation for


def test_a_record_of_each_release_is_verified(tmp_path):
    """examples/verify: values of a graph with a loop and a conditional, as the release computes them."""
    need_1_15()
    folder = written(str(tmp_path), OLD_PYTHON, "models_of_1_15.py")
    script = os.path.join(HERE, "..", "..", "examples", "verify", "record_with_tensorflow.py")
    with np.load(os.path.join(folder, "frozen.pb,serving_default,0.npz")) as case:
        np.save(tmp_path / "x.npy", case["in.x"])
    for python in (OLD_PYTHON, sys.executable):
        record = str(tmp_path / "record.npz")
        subprocess.run([python, "-I", script, folder + "/frozen.pb", record, f"x={tmp_path}/x.npy"], env=their_environment(), timeout=300,
                       check=True, cwd="/")
        with np.load(record) as recorded:
            inputs = {k[3:]: recorded[k] for k in recorded.files if k.startswith("in.")}
            values = {k[4:]: recorded[k] for k in recorded.files if k.startswith("out.")}
        found = tw.load(folder + "/frozen.pb").verify(inputs, values)
        assert found["same"], found
        assert len(values) > 5 and "z:0" in values
        done = subprocess.run([sys.executable, "-m", "thalweg", "verify", folder + "/frozen.pb", "--against", "framework=tensorflow", "--python", python,
                               "--feed", f"x={tmp_path}/x.npy"], timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0 and done.stdout.endswith(" compared: the same\n"), done.stdout + done.stderr
