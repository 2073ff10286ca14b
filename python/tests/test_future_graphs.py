# SPDX-License-Identifier: Apache-2.0
"""G4: graphs that a later release than we know has written."""
import pytest
import thalweg as tw
from thalweg import messages


def _square(producer, value=None):
    """x * x whose Mul has an attribute of a release to come."""
    with tw.Graph().as_default() as graph:
        tw.multiply(tw.constant(3.0, name="x"), graph.get_tensor_by_name("x:0"), name="y")
        made = graph.as_graph_def()
    made.versions.producer = producer
    if value is not None:
        next(n for n in made.node if n.name == "y").attr["speed_up"].i = value
    return made


def _operations_of_then(default):
    """The producer's list, as MetaGraphs carry it."""
    found = messages.OpList()
    op = found.op.add()
    op.name = "Mul"
    attr = op.attr.add()
    attr.name, attr.type, attr.default_value.i = "speed_up", "int", default
    return found


def test_a_later_producer_is_no_obstacle(run):
    y, = tw.import_graph_def(_square(999999), return_elements=["y:0"])
    assert run(y) == 9


def test_an_unknown_attribute_at_its_default_is_dropped(run):
    y, = tw.import_graph_def(_square(999999, 7), return_elements=["y:0"], producer_op_list=_operations_of_then(7))
    assert run(y) == 9


@pytest.mark.parametrize("operations", [None, _operations_of_then(6)])
def test_another_value_is_refused_with_producer_operation_attribute_and_remedy(operations):
    with pytest.raises(ValueError) as caught:
        tw.import_graph_def(_square(999999, 7), producer_op_list=operations)
    for part in ("producer version 999999", "Mul", "'import/y'", "'speed_up'", "export it again"):
        assert part in str(caught.value), str(caught.value)
    assert tw.get_default_graph().get_operations() == []


def _function(value):
    """A graph with a function whose Mul has the attribute."""
    made = messages.GraphDef()
    function = made.library.function.add()
    function.signature.name = "square"
    for args, name in ((function.signature.input_arg, "x"), (function.signature.output_arg, "z")):
        arg = args.add()
        arg.name, arg.type = name, "DT_FLOAT"
    node = function.node_def.add()
    node.name, node.op = "y", "Mul"
    node.input.extend(["x", "x"])
    node.attr["T"].type, node.attr["speed_up"].i = "DT_FLOAT", value
    function.ret["z"] = "y:z:0"
    return made


def test_functions_are_stripped_and_refused_when_they_are_loaded():
    tw.import_graph_def(_function(7), producer_op_list=_operations_of_then(7))
    with pytest.raises(ValueError, match="NodeDef mentions attr 'speed_up' not in Op<name=Mul>.*function 'square'"):
        tw.import_graph_def(_function(6), producer_op_list=_operations_of_then(7))


@pytest.mark.parametrize("value", [7, 6])
def test_a_meta_graph_brings_the_list_along(run, value):
    made = messages.MetaGraphDef()
    made.graph_def.CopyFrom(_square(999999, value))
    made.meta_info_def.stripped_op_list.CopyFrom(_operations_of_then(7))
    if value == 6:
        with pytest.raises(ValueError, match="speed_up"):
            tw.train.import_meta_graph(made)
        return
    tw.train.import_meta_graph(made)
    assert run(tw.get_default_graph().get_tensor_by_name("y:0")) == 9


def test_an_unknown_operation_is_refused_with_producer_and_remedy():
    made = _square(999999)
    next(n for n in made.node if n.name == "y").op = "MulOfThen"
    with pytest.raises(tw.errors.NotFoundError) as caught:
        tw.import_graph_def(made)
    for part in ("'import/y'", "not registered 'MulOfThen'", "producer version 999999", "extract_sub_graph", "load_op_library"):
        assert part in str(caught.value), str(caught.value)
    assert tw.get_default_graph().get_operations() == []
    needed = tw.graph_util.extract_sub_graph(made, ["x"])  # what the error says to do
    tw.import_graph_def(needed, name="")
    assert [op.name for op in tw.get_default_graph().get_operations()] == ["x"]


def test_consumers_that_a_graph_shuts_out_are_told():
    made = _square(999999)
    made.versions.min_consumer = 999990
    with pytest.raises(ValueError, match="999990"):
        tw.import_graph_def(made)
