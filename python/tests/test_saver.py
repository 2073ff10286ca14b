# SPDX-License-Identifier: Apache-2.0
"""What a Saver keeps, its message, and collections in MetaGraphs."""
import math
import os

import numpy as np
import pytest

import thalweg as tw


def kept(folder):
    return sorted(name[:-len(".index")] for name in os.listdir(folder) if name.endswith(".index"))


def test_a_saver_goes_on_with_what_is_there(tmp_path):
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        first = tw.train.Saver(max_to_keep=3)
        paths = [first.save(session, str(tmp_path / "m"), step) for step in range(3)]
        second = tw.train.Saver(max_to_keep=2)
        assert second.last_checkpoints == []
        second.recover_last_checkpoints([*paths, str(tmp_path / "gone")])
        assert second.last_checkpoints == paths
        newest = second.save(session, str(tmp_path / "m"), 3)
        assert second.last_checkpoints == [paths[2], newest] and kept(tmp_path) == ["m-2", "m-3"]
        second.set_last_checkpoints_with_time([(paths[2], 5.0)])
        assert second.last_checkpoints == [paths[2]]
        with pytest.raises(AssertionError):
            second.set_last_checkpoints_with_time((paths[2], 5.0))
        deferred = tw.train.Saver(defer_build=True)
        deferred.set_last_checkpoints([newest])
        assert deferred.saver_def is None and deferred.last_checkpoints == [newest]
        deferred.build()
        assert deferred.last_checkpoints == [newest] and deferred.saver_def.restore_op_name.endswith("/restore_all")


def test_old_ones_of_unknown_age_are_kept_for_good(tmp_path):
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        saver = tw.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=math.inf)
        path = saver.save(session, str(tmp_path / "m"), 0)
        saver.set_last_checkpoints([path])
        saver.save(session, str(tmp_path / "m"), 1)
        assert kept(tmp_path) == ["m-1"]  # nothing is older than never


def test_the_state_file(tmp_path):
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        saver = tw.train.Saver(max_to_keep=1)
        path = saver.save(session, str(tmp_path / "m"), 0, latest_filename="other")
        assert tw.train.latest_checkpoint(str(tmp_path)) is None
        assert tw.train.latest_checkpoint(str(tmp_path), "other") == path
        assert tw.train.latest_checkpoint(str(tmp_path), "none") is None
        saver.save(session, str(tmp_path / "m"), 1, write_state=False)
        assert kept(tmp_path) == ["m-0", "m-1"] and saver.last_checkpoints == [path]
        with pytest.raises(ValueError, match="path components"):
            saver.save(session, str(tmp_path / "m"), latest_filename="a/b")


def test_a_saver_of_nodes_that_are_there(tmp_path):
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        saver = tw.train.Saver(max_to_keep=7, name="mine")
        assert saver.saver_def.max_to_keep == 7 and saver.saver_def.filename_tensor_name == "mine/Const:0"
        operations = len(session.graph.get_operations())
        again = tw.train.Saver.from_proto(saver.to_proto())
        assert len(session.graph.get_operations()) == operations and again.to_proto() == saver.to_proto()
        path = again.save(session, str(tmp_path / "m"))
        session.run(v.assign(3.0))
        again.restore(session, path)
        assert session.run(v) == 1
        made = saver.export_meta_graph(str(tmp_path / "graph"), collection_list=["variables"])
        assert made.saver_def == saver.saver_def and list(made.collection_def) == ["variables"]
        tw.add_to_collection(tw.GraphKeys.SAVERS, saver)
        whole = tw.train.export_meta_graph()
    with tw.Graph().as_default() as graph, tw.Session() as session:
        imported = tw.train.import_meta_graph(str(tmp_path / "graph"), import_scope="in")
        assert imported.saver_def.restore_op_name == "in/mine/restore_all"
        assert not [o.name for o in graph.get_operations() if o.name.startswith("in/mine_1")]
        imported.restore(session, path)
        assert session.run("in/v:0") == 1
    with tw.Graph().as_default():
        tw.train.import_meta_graph(whole)
        (found,) = tw.get_collection(tw.GraphKeys.SAVERS)
        assert found.saver_def == saver.saver_def
    with pytest.raises(ValueError, match="build cannot be deferred"):
        tw.train.Saver([v], defer_build=True)


# ---- collections in MetaGraphs ----
def test_what_collections_hold_comes_back():
    v, r = tw.get_variable("v", [3]), tw.get_variable("r", [3], use_resource=True)
    constant = tw.constant(1, name="c")
    for name, items in {"vs": [v, r], "ops": [constant.op, constant], "ints": [True, 3], "floats": [2.5, 1], "texts": ["a", b"b"],
                        "strange": [{"a": 1}], "mixed": [3, 3.5], "parts": [tw.SparseTensor([[0]], [1], [2])]}.items():
        for item in items:
            tw.add_to_collection(name, item)
    made = tw.train.export_meta_graph().collection_def
    assert list(made["vs"].node_list.value) == ["v:0", "r:0"] and list(made["ops"].node_list.value) == ["c", "c:0"]
    assert list(made["ints"].int64_list.value) == [1, 3] and list(made["floats"].float_list.value) == [2.5, 1]
    assert list(made["texts"].bytes_list.value) == [b"a", b"b"]
    assert not {"strange", "mixed", "parts"} & set(made)
    whole = tw.train.export_meta_graph()
    with tw.Graph().as_default() as graph:
        tw.train.import_meta_graph(whole, import_scope="in")
        tensors = tw.get_collection("vs")
        assert tensors == [graph.get_tensor_by_name("in/v:0"), graph.get_tensor_by_name("in/r:0")]
        assert tw.get_collection("ops") == [graph.get_operation_by_name("in/c"), graph.get_tensor_by_name("in/c:0")]
        with tw.Session() as session:
            session.run(tw.global_variables_initializer())
            assert session.run(tensors[0]).shape == (3,)


def test_collections_with_messages_of_their_own(tmp_path):
    from thalweg.graph import proto_functions

    class Item:
        def __init__(self, text):
            self.text = text
    proto_functions.register_proto_function("items of a test", tw.train.BytesList,
                                            lambda item, export_scope=None: tw.train.BytesList(value=[item.text]),
                                            lambda proto, import_scope=None: Item(proto.value[0]))
    with pytest.raises(KeyError, match="items of a test"):
        proto_functions.register_proto_function("items of a test")
    tw.add_to_collection("items of a test", Item(b"one"))
    made = tw.train.export_meta_graph()
    with tw.Graph().as_default():
        tw.train.import_meta_graph(made)
        assert [i.text for i in tw.get_collection("items of a test")] == [b"one"]


# ---- variables ----
@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_rows_and_elements_of_a_variable(resource):
    v = tw.get_variable("v", initializer=tw.constant(np.arange(6.0).reshape(3, 2)), use_resource=resource)
    delta = tw.IndexedSlices(tw.constant([[10.0, 20.0]], tw.float64), tw.constant([1]))
    with tw.Session() as session:
        def changed(make):
            session.run(v.initializer)
            return session.run(make()).tolist()
        assert changed(lambda: v.sparse_read([2, 0])) == [[4, 5], [0, 1]]
        assert changed(lambda: v.gather_nd([[2, 1], [0, 0]])) == [5, 0]
        assert changed(lambda: v.scatter_nd_add([[0, 1], [2, 0]], tw.constant([1.0, 2.0], tw.float64))) == [[0, 2], [2, 3], [6, 5]]
        assert changed(lambda: v.scatter_nd_sub([[0, 1]], tw.constant([1.0], tw.float64))) == [[0, 0], [2, 3], [4, 5]]
        assert changed(lambda: v.scatter_nd_update([[2]], tw.constant([[7.0, 8.0]], tw.float64))) == [[0, 1], [2, 3], [7, 8]]
        assert changed(lambda: v.scatter_max(delta)) == [[0, 1], [10, 20], [4, 5]]
        assert changed(lambda: v.scatter_min(delta)) == [[0, 1], [2, 3], [4, 5]]
        assert changed(lambda: v.scatter_mul(delta)) == [[0, 1], [20, 60], [4, 5]]
        assert changed(lambda: v.scatter_div(delta)) == [[0, 1], [0.2, 0.15], [4, 5]]
        batches = tw.IndexedSlices(tw.constant([[9.0], [8.0], [7.0]], tw.float64), tw.constant([[1], [0], [1]]))
        assert changed(lambda: v.batch_scatter_update(batches)) == [[0, 9], [8, 3], [4, 7]]
        with pytest.raises(ValueError, match="not IndexedSlices"):
            v.batch_scatter_update(3)


def test_modes_and_references():
    v = tw.get_variable("v", [1])
    assert v.aggregation is tw.VariableAggregation.NONE and v.synchronization is tw.VariableSynchronization.AUTO
    w = tw.get_variable("w", [1], synchronization=tw.VariableSynchronization.ON_READ, aggregation=tw.VariableAggregation.SUM)
    assert not w.trainable and w.aggregation is tw.VariableAggregation.SUM
    copy = tw.Variable.from_proto(w.to_proto())
    assert copy.aggregation is w.aggregation and copy.synchronization is w.synchronization and not copy.trainable
    with pytest.raises(ValueError, match="ON_READ only for non-trainable"):
        tw.get_variable("x", [1], trainable=True, synchronization=tw.VariableSynchronization.ON_READ)
    with pytest.raises(ValueError, match="mutually exclusive"):
        tw.Variable(1.0, variable_def=v.to_proto())
    assert v.experimental_ref() == v.experimental_ref() != w.experimental_ref() and v.experimental_ref().deref() is v
    assert {v.experimental_ref(): 1}[v.experimental_ref()] == 1
    assert v.to_proto("elsewhere") is None
