# SPDX-License-Identifier: Apache-2.0
"""What all tensors of a step are like (papers A6: numbers one can trust)."""
import json
import sys

import numpy as np
import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default():
        yield


@pytest.mark.parametrize("where", ["local", "cluster"])
def test_a_step(where):
    x = tw.placeholder(tw.float32, [None, 3], name="x")
    w = tw.get_variable("w", initializer=np.eye(3, dtype=np.float32), use_resource=True)
    y = tw.log(tw.matmul(x, w, name="product"), name="log")
    texts = tw.as_string(tw.cast(y, tw.int32, name="whole"), name="texts")
    counted = w.assign_add(tw.ones([3, 3]), name="update")
    value = np.float32([[1, 0, np.e], [-1, 1, 1]])
    with tw.Session(tw.train.Server.create_local_server().target if where == "cluster" else "") as session:
        session.run(w.initializer)
        found = tw.debugging.tensor_statistics(session, [texts, counted], {x: value})
        assert session.run(w).sum() == 3 + 9  # the step ran once
        for _ in range(2):  # the nodes that count are made once
            before = len(tw.get_default_graph().get_operations())
            tw.debugging.tensor_statistics(session, y, {x: value})
        assert len(tw.get_default_graph().get_operations()) == before
    assert found.values[0].shape == (2, 3)
    log = found["log:0"]
    assert (log.op, log.dtype, log.shape, log.size, log.nans, log.infinities, log.zeros) == ("Log", "float32", (2, 3), 6, 1, 1, 3)
    assert log.min == 0 and log.max == pytest.approx(1) and log.mean == pytest.approx(0.25) and log.std == pytest.approx(np.std([0, 0, 0, 1]))
    assert found["x:0"].max == pytest.approx(np.e) and found["x:0"].zeros == 1 and found["x:0"].op == "Placeholder"
    assert found["texts:0"].mean is None and found["texts:0"].shape == (2, 3) and found["texts:0"].dtype == "string"
    names = [row.tensor for row in found.rows]
    assert names.index("product:0") < names.index("log:0")
    rows = {row["tensor"]: row for row in json.loads(found.json())}
    assert rows["log:0"]["nans"] == 1 and rows["whole:0"]["dtype"] == "int32"
    assert found.text().splitlines()[0].split() == ["tensor", "op", "type", "and", "shape", "min", "max", "mean", "std", "zeros", "NaN", "Inf"]
    with pytest.raises(KeyError, match="is none of the"):
        found["nothing:0"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64"])
def test_types_are_as_numpy_counts(dtype):
    x = tw.cast(tw.constant([0.0, 1, 2, 5]), dtype)
    with tw.Session() as session:
        row = tw.debugging.tensor_statistics(session, tw.identity(x, name="y"))["y:0"]
    assert (row.dtype, row.min, row.max, row.mean, row.zeros) == (dtype, 0, 5, 2, 1) and row.std == pytest.approx(np.std([0, 1, 2, 5]))


def test_bools_and_complex_numbers_and_nothing():
    with tw.Session() as session:
        found = tw.debugging.tensor_statistics(session, [tw.identity([True, False], name="b"), tw.identity(tw.constant([1j]), name="c"),
                                                         tw.identity(tw.zeros([0, 2]), name="e"), tw.constant(np.nan, name="n")])
    assert found["b:0"].mean == 0.5 and found["c:0"].mean is None and found["c:0"].shape == (1,)
    assert found["e:0"].size == 0 and found["e:0"].min is None and found["e:0"].shape == (0, 2)
    assert found["n:0"].nans == 1 and found["n:0"].min is None
    with tw.Session() as session:
        both = tw.debugging.tensor_statistics(session, tw.identity([np.inf, -np.inf, 1.0], name="i"))["i:0"]
    assert (both.infinities, both.min, both.max) == (2, 1, 1)
    assert "nan" not in found.json().lower().replace('"nans"', "")


def test_iterations_of_a_loop_and_the_branch_that_is_taken():
    h = tw.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tw.multiply(h, 2.0, name="twice")), [0, 1.0], parallel_iterations=1)[1]
    y = tw.cond(h > 3.0, lambda: tw.negative(h, name="taken"), lambda: tw.sqrt(h, name="not_taken"))
    with tw.Session() as session:
        found = tw.debugging.tensor_statistics(session, y)
    assert [(row.iteration, row.mean) for row in found.rows if row.tensor.endswith("twice:0")] == [(0, 2), (1, 4), (2, 8)]
    names = [row.tensor for row in found.rows]
    assert any(name.endswith("/taken:0") for name in names) and not any("not_taken" in name for name in names)
    assert "twice:0 #2" in str(found)


@pytest.mark.parametrize("place", ["body", "branch", "inner"])
def test_iterations_that_may_run_at_once_have_no_number(place):
    def tenfold(i):
        if place == "branch":
            return tw.cond(i >= 0, lambda: tw.multiply(i, 10, name="tenfold"), lambda: i)
        if place == "inner":
            return tw.while_loop(lambda j, x: j < 1, lambda j, x: (j + 1, tw.multiply(i, 10, name="tenfold")), [0, 0], parallel_iterations=1)[1]
        return tw.multiply(i, 10, name="tenfold")
    y = tw.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, h + tenfold(i)), [0, 0])[1]
    with tw.Session() as session:
        found = tw.debugging.tensor_statistics(session, tw.identity(y, name="y"))
    rows = [row for row in found.rows if row.tensor.endswith("tenfold:0")]
    assert sorted(row.mean for row in rows) == [0, 10, 20, 30] and {row.iteration for row in rows} == {None}
    assert "tenfold:0 (some iteration)" in str(found) and "#" not in str(found)
    assert found["y:0"].iteration == 0 and {row["iteration"] for row in json.loads(found.json())} == {0, None}


def test_only_some():
    a = tw.constant([1.0], name="a")
    y = tw.add(a, a, name="y")
    with tw.Session() as session:
        found = tw.debugging.tensor_statistics(session, y, only=lambda x: x.op.type == "Add" or x.op.type == "AddV2")
    assert [row.tensor for row in found.rows] == ["y:0"]


def test_what_is_no_session_is_refused():
    y = tw.constant(1.0)
    with pytest.raises(TypeError, match="expected a Session, got a MonitoredSession"):
        tw.debugging.tensor_statistics(tw.train.MonitoredSession(), y)


def test_a_step_that_fails():
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.check_numerics(tw.log(x), "y")
    with tw.Session() as session:
        with pytest.raises(tw.errors.InvalidArgumentError, match="had NaN"):
            tw.debugging.tensor_statistics(session, y, {x: -1.0})
        # What the failed step has told is none of the next one.
        found = tw.debugging.tensor_statistics(session, y, {x: 1.0})
    assert len({row.tensor for row in found.rows}) == len(found) and all(row.iteration == 0 for row in found.rows)


def test_a_plot_without_matplotlib(tmp_path, monkeypatch):
    with tw.Session() as session:
        found = tw.debugging.tensor_statistics(session, tw.sqrt(tw.constant([1.0, 4.0])))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError):
        found.plot(str(tmp_path / "none.png"))
