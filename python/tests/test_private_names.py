# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow's private modules that libraries use and that work: structures, traces, sessions, variables, gradients."""
import collections
import json

import numpy as np
import pytest
import thalweg as tw
from thalweg import messages, nest
from thalweg.base import later
from thalweg.compatibility import private_names, stand_ins
from thalweg.graph import session, timeline
from thalweg.training import monitored_session
from thalweg.contrib import graph_editor
from thalweg.contrib.layers import utils

AB = {"a": [1, (2, 3)], "b": (4,)}


def test_structures_up_to_another():
    assert nest.flatten_up_to([None, [None]], [[1, 2], [(3, 4)]]) == [[1, 2], (3, 4)]
    assert nest.map_structure_up_to([None, [None]], lambda x, y: (x, y), [[1, 2], [(3, 4)]], [5, [6]]) == [
        ([1, 2], 5), [((3, 4), 6)]]
    assert nest.map_structure_up_to(None, lambda x: x, [1]) == [1]
    assert nest.flatten_with_tuple_paths_up_to({"a": None, "b": (None,)}, AB) == [(("a",), [1, (2, 3)]), (("b", 0), 4)]
    assert nest.get_traverse_shallow_structure(lambda s: not isinstance(s, tuple), AB) == {"a": [True, False], "b": False}


@pytest.mark.parametrize("shallow, deep, error, words", [
    ([None, None], [[1, 2]], ValueError, "Input structure has length 1, while shallow structure has length 2"),
    ([None, None], (1, 2), TypeError, "Input structure has type <class 'tuple'>, while shallow structure has type <class 'list'>"),
    ([None, None], 3, TypeError, "If shallow structure is a sequence, input must also be a sequence. Input has type: <class 'int'>"),
    ({"a": None}, {"b": 1}, ValueError, "keys that are not in the input_tree: \\['a'\\]")])
def test_structures_that_do_not_fit(shallow, deep, error, words):
    with pytest.raises(error, match=words):
        nest.flatten_up_to(shallow, deep)


def test_places_in_structures():
    pair = collections.namedtuple("pair", "x y")
    assert list(nest.yield_flat_paths(AB)) == [("a", 0), ("a", 1, 0), ("a", 1, 1), ("b", 0)]
    assert nest.flatten_with_joined_string_paths(pair(1, [2])) == [("x", 1), ("y/0", 2)]
    assert nest.map_structure_with_paths(lambda p, x: (p, x), AB) == {
        "a": [("a/0", 1), (("a/1/0", 2), ("a/1/1", 3))], "b": (("b/0", 4),)}
    assert nest.flatten_dict_items({(4, 5, (6, 8)): ("a", "b", ("c", "d"))}) == {4: "a", 5: "b", 6: "c", 8: "d"}
    with pytest.raises(ValueError, match="key 4 is not unique"):
        nest.flatten_dict_items({(4, 5): ("a", "b"), 4: "c"})


def test_a_traced_step_as_a_timeline(graph):
    x = tw.placeholder(tw.float32, [64, 64], name="x")
    y = tw.matmul(x, x, name="product")
    metadata = tw.RunMetadata()
    with tw.Session() as sess:
        sess.run(y, {x: np.ones((64, 64))}, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE), run_metadata=metadata)
    events = json.loads(timeline.Timeline(metadata.step_stats, graph).generate_chrome_trace_format())["traceEvents"]
    assert any(e["ph"] == "M" and "CPU" in e["args"]["name"] for e in events)
    ran = {e["args"]["name"]: e for e in events if e["ph"] == "X"}
    assert ran["product"]["name"] == "MatMul" and ran["product"]["dur"] >= 1 and ran["product"]["args"]["input0"] == "x"


class Pair:
    """A class that no session knows."""

    def __init__(self, a, b):
        self.a, self.b = a, b


def test_a_class_that_sessions_learn_to_run(graph, monkeypatch):
    monkeypatch.setattr(session, "_known", [])
    session.register_session_run_conversion_functions(
        Pair, lambda p: ([p.a, p.b], lambda values: Pair(*values)), lambda p, value: [(p.a, value[0]), (p.b, value[1])])
    pair = Pair(tw.placeholder(tw.float32), tw.placeholder(tw.float32))
    with tw.Session() as sess:
        found = sess.run({"both": pair, "sum": pair.a + pair.b}, {pair: (1.0, 2.0)})
    assert (found["both"].a, found["both"].b, found["sum"]) == (1, 2, 3)
    with pytest.raises(ValueError, match="has already been registered so ignore it"):
        session.register_session_run_conversion_functions(Pair, None)


def test_hooks_around_a_session(graph):
    seen = []

    class Hook(tw.train.SessionRunHook):
        def before_run(self, context):
            return tw.train.SessionRunArgs(double)

        def after_run(self, context, values):
            seen.append(values.results)
            context.request_stop()
    x = tw.constant(3)
    double = x * 2
    sess = monitored_session._HookedSession(tw.Session(), [Hook()])
    assert sess.run(x) == 3 and seen == [6] and sess.should_stop() and sess.graph is graph
    with pytest.raises(RuntimeError, match="should_stop requested"):
        sess.run(x)


def test_functions_that_make_variables(graph):
    made = []

    def outer(next_creator, **kwargs):
        made.append(("outer", kwargs["name"]))
        return next_creator(**kwargs)

    def inner(next_creator, **kwargs):
        made.append(("inner", kwargs["name"]))
        kwargs["trainable"] = False
        return next_creator(**kwargs)
    with tw.variable_creator_scope(outer), tw.variable_creator_scope(inner):
        tw.Variable(1.0, name="a")
        tw.get_variable("b", [2])
    c = tw.VariableV1(1.0, name="c")
    assert made == [("inner", "a"), ("outer", "a"), ("inner", "b"), ("outer", "b")] and tw.trainable_variables() == [c]


def test_a_custom_getter_is_told_whether_a_variable_is_trainable(graph):
    told = []

    def getter(get, name, **kwargs):
        told.append(kwargs["trainable"])
        return get(name, **kwargs)
    with tw.variable_scope("a", custom_getter=getter):
        tw.get_variable("v", [2])
        tw.get_variable("w", [2], trainable=False)
        tw.get_variable("x", [2], synchronization=tw.VariableSynchronization.ON_READ)
    assert told == [True, False, False]


def test_gradients_of_operations(graph, run):
    x = tw.placeholder(tw.float32)
    y = x * x
    assert private_names.get_gradient_function(x.op) is None
    left, right = private_names.get_gradient_function(y.op)(y.op, tw.constant(2.0))
    assert run(left + right, {x: 3.0}) == 12
    assert private_names.get_registered_ops()["MatMul"].input_arg[0].name == "a"


def test_what_depends_on_tensors_is_what_1_15_finds(graph):
    def found(inputs, targets=None):
        return sorted(one.name for one in stand_ins.get_reachable_from_inputs(inputs, targets))
    x, c = tw.placeholder(tw.float32, [], name="x"), tw.constant(1.0, name="c")
    y = tw.add(x, c, name="y")
    u = tw.square(c, name="u")
    with tw.control_dependencies([y]):
        n, k = tw.no_op(name="n"), tw.identity(c, name="k")
    v = tw.Variable(1.0, use_resource=True, name="v")
    update = v.assign_add(y, read_value=False)
    of_y = ["AssignAddVariableOp", "k", "k:0", "n", "y", "y:0"]
    assert found([x]) == found(x) == sorted([*of_y, "x:0"]) and found([x.op]) == sorted([*of_y, "x", "x:0"])
    assert found({"c": c}) == sorted([*of_y, "c:0", "u", "u:0"])
    assert {v, v.op, v.op.outputs[0], update} <= stand_ins.get_reachable_from_inputs([v])
    reached = stand_ins.get_reachable_from_inputs([x], [update, u])
    assert [one in reached for one in (update, n, k.op, k, u, v.op)] == [True] * 4 + [False] * 2


def test_walks_through_a_graph(graph):
    def names(ops):
        return [op.name for op in ops]
    a = tw.constant(1.0, name="a")
    b = tw.add(a, a, name="b")
    with tw.control_dependencies([tw.no_op(name="n")]):
        c = tw.identity(b, name="c")
    d = tw.square(c, name="d")
    e = tw.add(d, b, name="e")
    assert names(graph_editor.get_backward_walk_ops(e)) == ["e", "d", "b", "c", "a"]
    assert set(names(graph_editor.get_backward_walk_ops(e, control_inputs=True))) == {*"edbac", "n"}
    assert names(graph_editor.get_backward_walk_ops(e.op, inclusive=False)) == ["d", "b", "c", "a"]
    assert set(names(graph_editor.get_backward_walk_ops([e], stop_at_ts=[c]))) == set("edba")
    assert names(graph_editor.get_backward_walk_ops([e], within_ops=[e.op, d.op])) == ["e", "d"]
    assert set(names(graph_editor.get_forward_walk_ops(a))) == set("becd")
    assert set(names(graph_editor.get_walks_intersection_ops([b.op], [d.op]))) == set("bcd")
    with pytest.raises(TypeError, match="Expected a type in"):
        graph_editor.get_backward_walk_ops(3)


def test_names_that_layers_give_their_outputs(graph):
    x = tw.placeholder(tw.float32, [2, 3])
    outputs = tw.contrib.layers.fully_connected(x, 4, scope="first", outputs_collections="ends")
    flat = tw.contrib.layers.flatten(outputs, outputs_collections="ends", scope="flat")
    assert dict(utils.convert_collection_to_dict("ends")) == {"first": outputs, "flat": flat}
    assert utils.get_tensor_aliases(x) == ["Placeholder"]


def test_enums_of_messages():
    assert messages.DT_FLOAT == 1 and messages.DataType.Name(3) == "DT_INT32" and messages.DataType.Value("DT_STRING") == 7
    assert messages.DataType.DT_BOOL == 10
    with pytest.raises(ValueError, match="no name defined for value 9999"):
        messages.DataType.Name(9999)


def test_a_module_that_is_loaded_late():
    scope = {}
    late = stand_ins.LazyLoader("maths", scope, "cmath")
    assert scope == {} and late.sqrt(-1) == 1j and scope["maths"].__name__ == "cmath"


def test_sizes_become_tensors(run):
    assert run(tw.cast(tw.Dimension(3), tw.float32)) == 3 and tw.convert_to_tensor(tw.Dimension(2)).dtype == tw.int32
    with pytest.raises(ValueError, match="Cannot convert an unknown Dimension to a Tensor"):
        tw.convert_to_tensor(tw.Dimension(None))


def test_an_axis_that_is_a_tensor(graph, run):
    axis = tw.placeholder(tw.int32, [None])
    assert np.allclose(run(tw.reduce_logsumexp(tw.zeros([2, 3]), axis=axis), {axis: [0]}), np.log([2, 2, 2]))


def test_what_no_tensor_is_is_its_own_value():
    assert tw.get_static_value(3) == 3 and tw.get_static_value(tw.Variable(1)) is None


def test_estimators_have_the_hooks_of_train():
    assert tw.estimator.SessionRunHook is tw.train.SessionRunHook and tw.estimator.StopAtStepHook is tw.train.StopAtStepHook


def test_the_configuration_of_a_task(monkeypatch):
    cluster = {"ps": ["h:1", "h:2"], "master": ["h:0"], "worker": ["h:3"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "ps", "index": 1}, "environment": "cloud"}))
    config = tw.contrib.learn.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief, config.master) == ("ps", 1, False, "grpc://h:2")
    assert (config.num_ps_replicas, config.num_worker_replicas, config.environment) == (2, 2, "cloud")
    assert config.cluster_spec.as_dict() == cluster and config.save_checkpoints_secs == 600
    monkeypatch.delenv("TF_CONFIG")
    assert tw.contrib.learn.RunConfig(save_checkpoints_steps=3).is_chief


def test_the_second_release_over_the_same_graph(graph, run):
    v2 = tw.compat.v2
    assert not hasattr(v2, "placeholder") and not hasattr(v2, "Session") and v2.newaxis is None
    assert run(v2.where([True, False], [1.0, 2.0], 0.0)).tolist() == [1, 0]
    assert run(v2.argmax([[1.0, 5.0], [7.0, 2.0]])).tolist() == [1, 0]
    assert run(v2.pad([1], [[1, 0]], "CONSTANT", 9)).tolist() == [9, 1]
    assert run(v2.nn.max_pool(tw.ones([1, 4, 4, 1]), 2, 2, "SAME")).shape == (1, 2, 2, 1)
    made = v2.Variable(1.0)
    assert made._resource and isinstance(made, v2.Variable) and isinstance(tw.Variable(1.0), v2.Variable)
    with pytest.raises(NotImplementedError, match="tf.compat.v2.nn.ctc_loss"):
        v2.nn.ctc_loss(None, None, None, None)
    assert not later.is_stand_in(v2.math.bincount)


def test_functions_have_no_annotations_where_libraries_compare_them():
    spec = stand_ins.getfullargspec(tw.cast)
    assert spec.args == ["x", "dtype", "name"] and spec.annotations == {}
    assert stand_ins.getfullargspec(lambda x, dtype, name=None: x) == spec


def test_a_class_derived_from_resource_variables(graph):
    class Parameter(private_names.ResourceVariable):
        def value(self):
            return super().value() * 2.0

    found = Parameter(3.0, name="p", dtype=tw.float32)
    assert found.handle.op.type == "VarHandleOp" and found in tw.trainable_variables()
    made = [tw.Variable(1.0, use_resource=resource) for resource in (True, False)]
    assert [isinstance(v, private_names.ResourceVariable) for v in made] == [True, False]
    assert not isinstance(made[0], Parameter)

    class Both(type(private_names.ResourceVariable), type(list)):
        pass
    with tw.Session() as session:
        session.run(found.initializer)
        assert session.run([found.value(), tw.gradients(found.value(), found)[0]]) == [6.0, 2.0]


def test_sizes_in_shapes_as_numbers():
    shape, unknown = tw.TensorShape([None, 3]), tw.TensorShape(None)
    tw.enable_v2_tensorshape()
    try:
        assert (list(shape), shape[1], shape[0], unknown[0], shape[1:]) == ([None, 3], 3, None, None, tw.TensorShape([3]))
        assert type(shape[1]) is int and isinstance(shape.dims[1], tw.Dimension)
        assert (repr(shape), str(shape), repr(unknown), str(unknown)) == ("TensorShape([None, 3])", "(None, 3)", "TensorShape(None)", "<unknown>")
        with pytest.raises(ValueError, match="Cannot iterate over a shape with unknown rank"):
            list(unknown)
        queue = tw.FIFOQueue(9, [tw.int32, tw.int32], [[], [2]])
        assert queue.enqueue_many([[1, 2], [[1, 2], [3, 4]]]).type == "QueueEnqueueManyV2"
        with pytest.raises(ValueError, match="Dimensions 2 and 1 are not compatible"):
            queue.enqueue_many([[1, 2], [[1, 2]]])
    finally:
        tw.disable_v2_tensorshape()
    assert (repr(shape), str(shape)) == ("TensorShape([Dimension(None), Dimension(3)])", "(?, 3)")
