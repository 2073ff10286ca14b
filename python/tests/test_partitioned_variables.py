# SPDX-License-Identifier: Apache-2.0
"""Variables in parts: made as TensorFlow makes them, and slices of one tensor in checkpoints, as both releases write them."""
import os

import numpy as np
import pytest

import thalweg as tw
from thalweg import raw_ops

GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "golden", "checkpoints")
RELEASES = pytest.mark.parametrize("release", ["1.15", "2.21"])
KINDS = pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
PARTS = np.arange(40, dtype=np.float32).reshape(10, 4)


def parts_of(name="part", count=3, value=PARTS, axis=0, **more):
    """A variable of this value in so many parts."""
    def initial(shape, dtype=None, partition_info=None):
        at = partition_info.var_offset
        return tw.constant(value[tuple(slice(o, o + n) for o, n in zip(at, shape))])
    return tw.get_variable(name, value.shape, initializer=initial, partitioner=tw.fixed_size_partitioner(count, axis=axis), **more)


def whole(session, variable):
    return session.run(tw.convert_to_tensor(variable))


def slices(variables):
    return [(v._save_slice_info.full_name, v._save_slice_info.spec) for v in variables]


def test_parts_know_where_they_are():
    part, cols, one = parts_of(), tw.create_partitioned_variables([4, 6], [1, 2], tw.ones_initializer(), name="cp"), parts_of("one", 1)
    assert slices(part) == [("part", "10 4 0,4:0,4"), ("part", "10 4 4,3:0,4"), ("part", "10 4 7,3:0,4")]
    assert slices(cols) == [("cp", "4 6 0,4:0,3"), ("cp", "4 6 0,4:3,3")] and slices(one) == [("one", "10 4 0,10:0,4")]
    assert [v.name for v in part] == ["part/part_0:0", "part/part_1:0", "part/part_2:0"]
    assert part._get_partitions() == [3, 1] and part._partition_axes() == [0]
    info = list(part)[1]._get_save_slice_info()
    assert (info.full_shape, info.var_offset, info.var_shape) == ([10, 4], [4, 0], [3, 4])
    copy = tw.Variable.SaveSliceInfo(save_slice_info_def=info.to_proto(), import_scope="into")
    assert (copy.full_name, copy.spec) == ("into/part", info.spec) and info.to_proto("elsewhere") is None


@KINDS
def test_slots_and_averages_are_partitioned_too(resource):
    part = parts_of(use_resource=resource)
    loss = tw.reduce_sum(tw.convert_to_tensor(part) ** 2)
    tw.train.AdamOptimizer(0.1).minimize(loss)
    tw.train.ExponentialMovingAverage(0.9).apply([list(part)[0]])
    made = {v.op.name: v for v in tw.global_variables()}
    assert slices([made["part/part_1/Adam"], made["part/part_2/Adam_1"], made["part/part_0/ExponentialMovingAverage"]]) == [
        ("part/Adam", "10 4 4,3:0,4"), ("part/Adam_1", "10 4 7,3:0,4"), ("part/ExponentialMovingAverage", "10 4 0,4:0,4")]
    assert made["beta1_power"]._save_slice_info is None


class Scaled(tw.train.MomentumOptimizer):
    """Goes through Python, which makes its slots otherwise."""

    def _prepare(self):
        super()._prepare()


def test_slots_of_optimizers_in_python_are_partitioned_too():
    Scaled(0.1, 0.9).minimize(tw.reduce_sum(tw.convert_to_tensor(parts_of()) ** 2))
    slots = [v for v in tw.global_variables() if v.op.name.endswith("/Momentum")]
    assert slices(slots) == [("part/Momentum", s) for s in ("10 4 0,4:0,4", "10 4 4,3:0,4", "10 4 7,3:0,4")]


def test_initializers_know_the_whole(run):
    eye = tw.get_variable("eye", [5, 3], initializer=tw.initializers.identity(), partitioner=tw.fixed_size_partitioner(2))
    wide = tw.get_variable("wide", [1000, 8], initializer=tw.glorot_uniform_initializer(), partitioner=tw.fixed_size_partitioner(10))
    given = tw.get_variable("given", initializer=tw.constant(PARTS), partitioner=tw.fixed_size_partitioner(4))
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        np.testing.assert_array_equal(whole(session, eye), np.eye(5, 3))
        assert 0.07 < np.abs(whole(session, wide)).max() <= np.sqrt(6 / 1008)
        np.testing.assert_array_equal(whole(session, given), PARTS)
        session.run([v.op for v in given.assign_add(PARTS)] + [v.op for v in eye.assign(np.ones((5, 3)))])
        np.testing.assert_array_equal(whole(session, given), 2 * PARTS)
        session.run([v.op for v in given.assign_sub(PARTS)])
        np.testing.assert_array_equal(whole(session, given), PARTS)
        assert whole(session, eye).sum() == 15
        np.testing.assert_array_equal(session.run(tw.nn.embedding_lookup(given, [9, 0, 3], "div")), PARTS[[9, 0, 3]])


def test_refusals():
    def refused(words, **given):
        with pytest.raises(ValueError, match=words):
            tw.get_variable("bad", [4, 4], **given)
    refused("Can only slice a variable along one dimension", partitioner=lambda shape, dtype: [2, 2])
    refused("does not match the Variable's rank", partitioner=lambda shape, dtype: [2])
    refused("zero partitions for some axes", partitioner=lambda shape, dtype: [0, 1])
    refused("Partitioner must be callable", partitioner=[2, 1])
    refused("must return a sequence", partitioner=lambda shape, dtype: 2)
    part, v = parts_of(), tw.get_variable("v", [3])
    with pytest.raises(ValueError, match="unpartitioned version of the variable was found: v"):
        tw.get_variable("v", [3], partitioner=tw.fixed_size_partitioner(3))
    with pytest.raises(ValueError, match="partitioned version of the variable was found: part/part_0"):
        tw.get_variable("part", [10, 4])
    other = parts_of("other")
    for var_list, words in (({"a": [v]}, "Slices must all be slices"), ({"a": [*part, *other]}, "same tensor: part != other"),
                            ({"a": [list(part)[0], tw.constant(1)]}, "Slices must all be Variables"), ([v, v], "same name: v")):
        with pytest.raises(ValueError, match=words):
            tw.train.Saver(var_list)


@RELEASES
@KINDS
def test_what_the_releases_wrote(release, resource, tmp_path):
    folder = os.path.join(GOLDEN, release, "partitioned")
    expected = dict(np.load(os.path.join(folder, "expected.npz")))
    zeros = {name: np.zeros_like(value) for name, value in expected.items()}
    made = {"part/rows": parts_of("part/rows", 3, zeros["part/rows"], use_resource=resource),
            "part/cols": parts_of("part/cols", 2, zeros["part/cols"], 1, use_resource=resource)}
    made.update({n: tw.get_variable(n, initializer=tw.constant(zeros[n]), use_resource=not resource) for n in ("whole", "other")})
    saver = tw.train.Saver()
    with tw.Session() as session:
        saver.restore(session, os.path.join(folder, "model-2"))
        for name, variable in made.items():
            np.testing.assert_array_equal(whole(session, variable), expected[name], err_msg=name)
        path = saver.save(session, str(tmp_path / "model"), global_step=2)
        for file in ("index", "data-00000-of-00001"):  # byte for byte
            with open(f"{path}.{file}", "rb") as ours, open(os.path.join(folder, f"model-2.{file}"), "rb") as theirs:
                assert ours.read() == theirs.read(), file
        session.run(tw.global_variables_initializer())
        saver.restore(session, os.path.join(GOLDEN, release, "v1", "model.ckpt"))
        for name, variable in made.items():
            np.testing.assert_array_equal(whole(session, variable), expected[name], err_msg=name)


@RELEASES
def test_graphs_of_the_releases_restore_and_save_them(release, tmp_path):
    folder = os.path.join(GOLDEN, release, "partitioned")
    expected = np.load(os.path.join(folder, "expected.npz"))
    saver = tw.train.import_meta_graph(os.path.join(folder, "model-2.meta"), clear_devices=True)
    assert slices(v for v in tw.global_variables() if "rows" in v.name) == [
        ("part/rows", "10 4 0,4:0,4"), ("part/rows", "10 4 4,3:0,4"), ("part/rows", "10 4 7,3:0,4")]
    with tw.Session() as session:
        saver.restore(session, os.path.join(folder, "model-2"))
        path = tw.train.Saver().save(session, str(tmp_path / "again"))
        for name in expected.files:
            np.testing.assert_array_equal(tw.train.load_variable(path, name), expected[name])


def saved(tmp_path, count, version=2, **more):
    """A checkpoint of PARTS in so many parts."""
    with tw.Graph().as_default(), tw.Session() as session:
        parts_of(count=count, **more) if count else tw.get_variable("part", initializer=tw.constant(PARTS), **more)
        session.run(tw.global_variables_initializer())
        return tw.train.Saver(write_version=version).save(session, str(tmp_path / f"in{count}"))


@pytest.mark.parametrize("version", [1, 2])
@KINDS
def test_parts_of_any_number_are_read_as_any_other(version, resource, tmp_path):
    for written in (0, 1, 3, 4):
        path = saved(tmp_path, written, version, use_resource=resource)
        assert tw.train.list_variables(path) == [("part", [10, 4])]
        np.testing.assert_array_equal(tw.train.load_variable(path, "part"), PARTS)
        for axis, count in ((0, 0), (0, 1), (0, 2), (0, 5), (1, 2), (1, 4)):
            with tw.Graph().as_default(), tw.Session() as session:
                v = parts_of(count=count, axis=axis, use_resource=resource) if count else tw.get_variable("part", [10, 4])
                tw.train.Saver().restore(session, path)
                np.testing.assert_array_equal(whole(session, v), PARTS)


@KINDS
def test_old_checkpoints_with_a_name_for_each_part(resource, run, tmp_path):
    path = str(tmp_path / "old")
    values = [PARTS[:4], PARTS[4:7], PARTS[7:]]
    run(raw_ops.SaveV2(prefix=path, tensor_names=["part/part_0", "part/part_1", "part/part_2", "v"], shape_and_slices=[""] * 4,
                       tensors=[*values, np.float32(7)]))
    part, v = parts_of(use_resource=resource), tw.get_variable("v", [])
    with tw.Session() as session:
        tw.train.Saver().restore(session, path)
        np.testing.assert_array_equal(whole(session, part), PARTS)
        assert session.run(v) == 7
        other = tw.get_variable("other", [])
        with pytest.raises(tw.errors.NotFoundError, match="other"):
            tw.train.Saver([*part, v, other]).restore(session, path)


def test_parts_by_other_names(tmp_path):
    part = parts_of()
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        for number, var_list in enumerate(({"a": part}, {"a": list(part)})):
            path = tw.train.Saver(var_list).save(session, str(tmp_path / f"m{number}"))
            np.testing.assert_array_equal(tw.train.load_variable(path, "a"), PARTS)
        path = tw.train.Saver([part]).save(session, str(tmp_path / "whole"))
        assert tw.train.list_variables(path) == [("part", [10, 4])]
        path = tw.train.Saver([list(part)[1]]).save(session, str(tmp_path / "one"))
        with pytest.raises(tw.errors.OpError, match="holds only 12 of the 40 elements"):
            tw.train.load_variable(path, "part")
        tw.train.Saver([list(part)[1]]).restore(session, path)


@KINDS
def test_variables_that_start_from_a_checkpoint(resource, tmp_path):
    path = saved(tmp_path, 3)

    def starts(begin, expected=PARTS, axis=0):
        with tw.Graph().as_default(), tw.Session() as session, tw.variable_scope("mine"):
            v = parts_of(count=2, value=np.zeros_like(PARTS), axis=axis, use_resource=resource)
            begin(v)
            session.run(tw.global_variables_initializer())
            np.testing.assert_array_equal(whole(session, v), expected)
    for given in ("mine/part", None, list):
        starts(lambda v, given=given: tw.train.init_from_checkpoint(path, {"part": v if given is None else given(v) if given is list
                                                                           else given}))
    starts(lambda v: tw.train.init_from_checkpoint(path, {"/": "mine/"}), axis=1)
    starts(lambda v: tw.train.warm_start(path, var_name_to_prev_var_name={"mine/part": "part"}), axis=1)
    starts(lambda v: tw.train.warm_start(path, None), np.zeros_like(PARTS))
    for refused, words in ((lambda v: tw.train.warm_start(path), "mine/part is not found"),
                           (lambda v: tw.train.init_from_checkpoint(path, {"other/": "mine/"}), "other/part"),
                           (lambda v: tw.train.warm_start(path, var_name_to_prev_var_name={"x": "y"}), "were not used"),
                           (lambda v: tw.train.warm_start(path, 3), "must be a `list` or `str`"),
                           (lambda v: tw.train.warm_start(path, ["a", v]), "all `Variable` or all `str`")):
        with pytest.raises(ValueError, match=words):
            starts(refused)


@KINDS
def test_contrib_reads_parts(resource, tmp_path):
    path = saved(tmp_path, 3)
    framework = tw.contrib.framework
    v = framework.model_variable("part", [10, 4], initializer=tw.zeros_initializer(), partitioner=tw.fixed_size_partitioner(2),
                                 use_resource=resource)
    assert [framework.get_variable_full_name(p) for p in v] == ["part", "part"]
    with tw.Session() as session:
        for var_list in (list(v), {"part": v}, {"part": list(v)}):
            session.run(tw.global_variables_initializer())
            operation, feeds = framework.assign_from_checkpoint(path, var_list)
            session.run(operation, feeds)
            np.testing.assert_array_equal(whole(session, v), PARTS)
            session.run(tw.global_variables_initializer())
            framework.assign_from_checkpoint_fn(path, var_list)(session)
            np.testing.assert_array_equal(whole(session, v), PARTS)


def test_meta_graphs_keep_the_parts(tmp_path):
    parts_of()
    made = tw.train.export_meta_graph()
    with tw.Graph().as_default():
        tw.train.import_meta_graph(made, import_scope="in")
        assert slices(tw.global_variables()) == [("in/part", s) for s in ("10 4 0,4:0,4", "10 4 4,3:0,4", "10 4 7,3:0,4")]
        again = tw.Variable.from_proto(tw.global_variables()[1].to_proto())
        assert again.to_proto() == tw.global_variables()[1].to_proto() and again.trainable
