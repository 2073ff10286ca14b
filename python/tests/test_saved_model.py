# SPDX-License-Identifier: Apache-2.0
"""SavedModels that TensorFlow has written (tests/golden/saved_models), loaded and run."""
import json
import os

import numpy as np
import pytest
import thalweg as tw

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "saved_models")


def recorded(name):
    path = os.path.join(GOLDEN, name)
    with open(path + ".json") as f:
        return path, json.load(f), np.load(path + ".npz")


@pytest.mark.parametrize("release", ["1.15", "2.21"])
@pytest.mark.parametrize("scope", [None, "mine"])
def test_a_model_with_a_table_and_variables(release, scope):
    path, facts, wanted = recorded(release + "/tf1_lookup")
    prefix = scope + "/" if scope else ""
    for tags in facts["tags"]:
        with tw.Graph().as_default(), tw.Session() as session:
            meta = tw.saved_model.loader.load(session, tags, path, import_scope=scope)
            if tags == ["serve"]:
                assert sorted(meta.signature_def) == sorted(facts["signatures"])
            fetches = {k: prefix + k + ":0" for k in ("ids", "scores", "best")}
            found = session.run(fetches, {prefix + k: v for k, v in facts["feeds"].items()})
            for name, value in found.items():
                np.testing.assert_allclose(value, wanted[name], rtol=1e-5)


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_a_model_of_functions(release):
    path, facts, wanted = recorded(release + "/tf2_module")
    with tw.Graph().as_default(), tw.Session() as session:
        meta = tw.saved_model.loader.load(session, ["serve"], path)
        for i, case in enumerate(facts["cases"]):
            signature = meta.signature_def[case["signature"]]
            feeds = {signature.inputs[n].name: wanted[f"{i}.in.{n}"] for n in case["inputs"]}
            found = session.run({n: signature.outputs[n].name for n in case["outputs"]}, feeds)
            for name, value in found.items():
                np.testing.assert_allclose(value, wanted[f"{i}.out.{name}"], rtol=1e-5)


def test_files_that_are_no_models(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\x0a\xff\xff\xff")
    with tw.Graph().as_default(), tw.Session() as session:
        with pytest.raises(OSError, match="Cannot parse file"):
            tw.saved_model.loader.load(session, ["serve"], str(tmp_path))
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tw.saved_model.loader.load(session, ["serve"], str(tmp_path / "none"))
        (tmp_path / "saved_model.pb").write_bytes(b"")
        with pytest.raises(RuntimeError, match="could not be found in SavedModel"):
            tw.saved_model.loader.load(session, ["serve"], str(tmp_path))
