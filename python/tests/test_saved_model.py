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


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_a_model_of_functions_is_frozen(release, tmp_path):
    """Its variables are read in a nested function, in a loop and in a conditional."""
    path, facts, wanted = recorded(release + "/tf2_module")
    with tw.Graph().as_default() as graph, tw.Session() as session:
        meta = tw.saved_model.loader.load(session, ["serve"], path)
        signature = meta.signature_def["serving_default"]
        first = meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name
        outputs = {n: t.name for n, t in signature.outputs.items()}
        kept = {name.partition(":")[0] for name in [*outputs.values(), first]}
        # "Variable" holds the name of a file and is set by what makes the table ready.
        frozen = tw.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), sorted(kept),
                                                              variable_names_blacklist=["Variable"])
        assets = {a.tensor_info.name: os.path.join(path, "assets", a.filename) for a in meta.asset_file_def}
    assert [n.name for n in frozen.node if n.op == "VarHandleOp"] in ([], ["Variable"])
    assert not {"PartitionedCall", "StatefulPartitionedCall"} & {n.op for n in frozen.node} and frozen.library.function
    assert not any(n.op == "ReadVariableOp" for f in frozen.library.function for n in f.node_def)
    with tw.Graph().as_default() as graph, tw.Session() as session:
        tw.import_graph_def(tw.GraphDef.FromString(frozen.SerializeToString()), name="")
        session.run(graph.as_graph_element(first), {k: v for k, v in assets.items() if graph._has(k.partition(":")[0])})
        for i, case in enumerate(facts["cases"]):
            if case["signature"] == "serving_default":
                feeds = {signature.inputs[n].name: wanted[f"{i}.in.{n}"] for n in case["inputs"]}
                for name, value in session.run(outputs, feeds).items():
                    np.testing.assert_allclose(value, wanted[f"{i}.out.{name}"], rtol=1e-5)


def test_a_graph_that_changes_a_variable_is_not_frozen():
    v = tw.Variable(1.0, use_resource=True, name="v")
    changed = tw.identity(v.assign_add(1.0), name="y")
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        with pytest.raises(ValueError, match="AssignAddVariableOp 'AssignAddVariableOp' uses a variable other than by reading"):
            tw.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
        kept = tw.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"], variable_names_blacklist=["v"])
        assert "VarHandleOp" in [n.op for n in kept.node] and changed.op.name == "y"


def test_gathers_and_shapes_of_variables_are_frozen():
    from thalweg import raw_ops
    table = tw.Variable(np.arange(6.0).reshape(3, 2), use_resource=True)
    raw_ops.ResourceGather(resource=table.handle, indices=[2, 0], dtype=tw.float64, name="rows")
    raw_ops.VariableShape(input=table.handle, name="shape")
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        frozen = tw.graph_util.convert_variables_to_constants(session, session.graph_def, ["rows", "shape"])
    with tw.Graph().as_default(), tw.Session() as session:
        tw.import_graph_def(frozen, name="")
        rows, shape = session.run(["rows:0", "shape:0"])
    assert rows.tolist() == [[4, 5], [0, 1]] and shape.tolist() == [3, 2]
