# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.framework and training, checkpoints without a session; numbers of layers are in symbol_cases.py."""
import numpy as np
import pytest
import thalweg as tw

framework = tw.contrib.framework


@framework.add_arg_scope
def named(a, b=1, c=2):
    return a, b, c


def test_arg_scope():
    with framework.arg_scope([named], b=5):
        assert named(0) == (0, 5, 2) and named(0, b=7) == (0, 7, 2)
        with framework.arg_scope([named], c=6) as kept:
            assert named(0) == (0, 5, 6)
        assert named(0) == (0, 5, 2)
    assert named(0) == (0, 1, 2)
    with framework.arg_scope(kept):
        assert named(0) == (0, 5, 6)
    assert framework.has_arg_scope(named) and framework.arg_scoped_arguments(named) == {"b", "c"}
    with pytest.raises(ValueError, match="not decorated"), framework.arg_scope([len], b=1):
        pass


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint with variables of several kinds, and their values."""
    values = {"net/w": np.arange(6, dtype=np.float32).reshape(2, 3), "net/n": np.int64(7), "s": np.array([b"a", b"", b"longer"])}
    with tw.Graph().as_default(), tw.Session() as session:
        for name, value in values.items():
            tw.get_variable(name, initializer=tw.constant(value))
        session.run(tw.global_variables_initializer())
        return tw.train.Saver().save(session, str(tmp_path / "model")), values


def test_reader(checkpoint):
    path, values = checkpoint
    reader = tw.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"net/w": [2, 3], "net/n": [], "s": [3]}
    assert reader.get_variable_to_dtype_map()["net/n"] == tw.int64
    for name, value in values.items():
        np.testing.assert_array_equal(reader.get_tensor(name), value)
    assert tw.train.list_variables(path)[0] == ("net/n", []) and tw.train.load_variable(path, "net/n:0") == 7
    with pytest.raises(tw.errors.NotFoundError, match="Key other"):
        reader.get_tensor("other")
    with pytest.raises(tw.errors.NotFoundError):
        tw.train.NewCheckpointReader(path + "x")


def test_damaged_index(checkpoint):
    path, _ = checkpoint
    with open(path + ".index", "r+b") as f:
        f.seek(5)
        f.write(b"\xff")
    with pytest.raises(tw.errors.DataLossError, match="checksum"):
        tw.train.NewCheckpointReader(path)
    with open(path + ".index", "wb") as f:
        f.write(b"short")
    with pytest.raises(tw.errors.DataLossError, match="too few for a table"):
        tw.train.NewCheckpointReader(path)


def test_init_from_checkpoint(checkpoint, run):
    path, values = checkpoint
    mine = tw.get_variable("mine/w", [2, 3])
    tw.train.init_from_checkpoint(path, {"net/": "mine/"})
    np.testing.assert_array_equal(run(mine), values["net/w"])
    other = tw.get_variable("other", [3, 2])
    with pytest.raises(ValueError, match="doesn't match"):
        tw.train.init_from_checkpoint(path, {"net/w": other})


def test_assign_from_checkpoint(checkpoint):
    path, values = checkpoint
    variable = tw.get_variable("w", [2, 3])
    op, feeds = framework.assign_from_checkpoint(path, {"net/w": variable})
    with tw.Session() as session:
        session.run(op, feeds)
        np.testing.assert_array_equal(session.run(variable), values["net/w"])
    with pytest.raises(ValueError, match="missing"):
        framework.assign_from_checkpoint(path, {"nothing": variable})


def test_lists_of_variables():
    with tw.variable_scope("a"):
        first = framework.model_variable("w", [1])
        second = framework.variable("b", [1])
    assert framework.get_model_variables() == [first] and framework.get_variables("a", "b") == [second]
    assert framework.get_variables_by_name("w") == [first] and framework.get_unique_variable("a/b") is second
    assert framework.get_variables_to_restore(exclude=["a/w"]) == [second]


def test_optimize_loss(run):
    v = tw.get_variable("v", initializer=3.0)
    step = tw.train.get_or_create_global_step()
    train = tw.contrib.layers.optimize_loss(tw.square(v), step, 0.25, "SGD", clip_gradients=1.0)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(train)
        assert session.run([v, step]) == [2.75, 1]
    with pytest.raises(ValueError, match="Optimizer name"):
        tw.contrib.layers.optimize_loss(tw.square(v), step, 0.25, "Nobody")


def test_hparams_refuse_what_does_not_fit():
    params = tw.contrib.training.HParams(a=1, b=[1.0])
    for text in ("a=x", "a=[1]", "b=1", "c=1", "a", "a=1.5"):
        with pytest.raises(ValueError):
            params.parse(text)
    params.set_hparam("a", 4)
    assert params.values() == {"a": 4, "b": [1.0]} and "a" in params and params.get("z", 9) == 9


def test_a_flow_that_is_no_number_leads_to_the_first_row_or_column(run):
    flow = np.zeros([1, 3, 3, 2], np.float32)
    flow[0, 1, 2, 1] = flow[0, 0, 1, 0] = flow[0, 2, 2] = np.nan
    image = tw.reshape(tw.range(9.0) + 1, [1, 3, 3, 1])
    given = tw.placeholder(tw.float32, flow.shape)
    warped = tw.contrib.image.dense_image_warp(image, given)
    assert run(warped, {given: flow}).ravel().tolist() == [1, 2, 3, 4, 5, 4, 7, 8, 1]  # as 1.15 gave it
    assert run(tw.gradients(warped, given)[0], {given: flow})[0, 2, 2].tolist() == [0, 0]
    assert run(warped, {given: np.full_like(flow, np.inf)}).ravel().tolist() == [1] * 9
