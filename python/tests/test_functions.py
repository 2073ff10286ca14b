# SPDX-License-Identifier: Apache-2.0
"""Functions of the library: Defun, calls by name, branches and loops of functions, their gradients. Expected values and errors
are those of TensorFlow 1.15 for the same program."""
import os

import numpy as np
import pytest
import thalweg as tw
from thalweg.control import function_calls as calls
from thalweg.control.functions import Defun


@pytest.fixture(autouse=True)
def fresh_graph():
    with tw.Graph().as_default():
        yield


def run(fetches, feeds=None):
    with tw.Session() as session:
        return session.run(fetches, feeds)


def test_a_call_is_one_operation_named_after_the_function():
    @Defun(tw.float32, tw.float32, func_name="Foo", out_names=["a", "b"])
    def foo(x, y):
        return x + y, x * y
    a = tw.placeholder(tw.float32, [2], name="a")
    first, second = foo(a, a, name="hi")
    assert (first.name, second.name, first.op.type) == ("hi:0", "hi:1", "Foo")
    assert foo.declared_input_types == (tw.float32, tw.float32)
    np.testing.assert_array_equal(run([first, second], {a: [1, 2]}), [[2, 4], [1, 4]])
    with pytest.raises(ValueError, match="Expected number of arguments: 2, received: 1"):
        foo(a)
    with pytest.raises(ValueError, match="int32"):
        foo(a, tw.constant(1))


def test_names_depend_on_the_body():
    def twice(x):
        return x * 2.0

    def thrice(x):
        return x * 3.0
    one, same, other = Defun(tw.float32)(twice), Defun(tw.float32)(twice), Defun(tw.float32)(thrice)
    assert one.name == same.name != other.name
    assert one.name.startswith("twice_") and len(one.name) == len("twice_") + 11


def test_tensors_from_outside_become_inputs():
    a = tw.placeholder(tw.float32, [2], name="a")

    @Defun(tw.float32)
    def add(x):
        return x + a
    y = add(a)
    assert [t.name for t in add.captured_inputs] == ["a:0"]
    assert [i.name for i in y.op.inputs] == ["a:0", "a:0"]
    found = run([y, tw.gradients(y, a)[0]], {a: [1, 2]})
    np.testing.assert_array_equal(found, [[2, 4], [2, 2]])


def test_captures_inside_conditions_and_nested_functions():
    a, p = tw.placeholder(tw.float32, []), tw.placeholder(tw.bool, [])

    @Defun(tw.float32)
    def inner(x):
        return tw.cond(p, lambda: x * a, lambda: x - 1.0)

    @Defun(tw.float32)
    def outer(x):
        return inner(inner(x)) + a
    y = outer(tw.constant(5.0))
    assert run(y, {a: 2.0, p: True}) == 22.0
    assert run(y, {a: 2.0, p: False}) == 5.0


def test_results_of_other_forms():
    a = tw.constant([3.0])

    @Defun(tw.float32)
    def nothing(x):
        tw.Assert(tw.reduce_all(x > 0), [x])

    @Defun(tw.float32)
    def listed(x):
        return [x]
    assert isinstance(nothing(a), tw.Operation)
    run(nothing(a))
    with pytest.raises(tw.errors.InvalidArgumentError, match="assertion failed"):
        run(nothing(-a))
    assert run(listed(a)) == [3.0]


def test_types_may_be_left_open():
    @Defun()
    def double(x):
        return x * 2
    found = run([double(tw.constant(1.5)), double(tw.constant(3))])
    assert found == [3.0, 6] and found[1].dtype == np.int32


def test_argument_counts_are_checked():
    with pytest.raises(ValueError, match="fewer arguments than the number of specified input types"):
        Defun(tw.float32, tw.float32)(lambda x: x)
    with pytest.raises(ValueError, match="fewer input types than arguments"):
        Defun(tw.float32)(lambda x, y: x)


def test_variables_live_outside():
    with tw.variable_scope("vs"):
        @Defun(tw.float32)
        def scaled(x):
            return x * tw.get_variable("w", initializer=3.0)
        y = scaled(tw.constant([1.0, 2.0]))
    assert [v.name for v in tw.global_variables()] == ["vs/w:0"]
    gradient = tw.gradients(y, tw.global_variables()[0])[0]
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        np.testing.assert_array_equal(session.run(y), [3, 6])
        assert session.run(gradient) == 3.0


def test_assignments_run_also_when_nobody_reads_the_result():
    v = tw.get_variable("v", initializer=1.0, use_resource=True)

    @Defun(tw.float32)
    def note(x):
        with tw.control_dependencies([v.assign_add(x)]):
            return tw.identity(x)
    y = note(tw.constant(5.0))
    with tw.Session() as session:
        session.run(v.initializer)
        session.run(y)
        assert session.run(v.read_value()) == 6.0
        session.run(y.op)
        assert session.run(v.read_value()) == 11.0


def test_gradients_of_the_users():
    @Defun(tw.float32, tw.float32)
    def fifth(x, dy):
        return dy * 5.0

    @Defun(tw.float32, grad_func=fifth)
    def same(x):
        return tw.identity(x)

    @Defun(tw.float32, python_grad_func=lambda op, g: g * 7.0)
    def square(x):
        return x * x
    a = tw.constant([1.0, 2.0])
    np.testing.assert_array_equal(run(tw.gradients(same(a), a)[0]), [5, 5])
    np.testing.assert_array_equal(run(tw.gradients(square(same(a)), a)[0]), [35, 35])
    library = tw.get_default_graph().as_graph_def().library
    assert [(g.function_name, g.gradient_func) for g in library.gradient] == [(same.name, fifth.name)]


def test_second_derivatives():
    @Defun(tw.float32, tw.float32)
    def cube(x, y):
        return x * x * x * y
    x, y = tw.constant(2.0), tw.constant(5.0)
    first = tw.gradients(cube(x, y), [x, y])
    second = tw.gradients(first[0], [x, y])
    assert run(first + second) == [60.0, 8.0, 60.0, 12.0]
    assert run(tw.gradients(second[0], x)[0]) == 30.0


def test_forms_of_branches_and_loops():
    @Defun(tw.int32, tw.float32)
    def below(i, x):
        return i < 4

    scale = tw.constant(2.0)

    @Defun(tw.int32, tw.float32)
    def step(i, x):
        return i + 1, x * scale

    @Defun(tw.int32, tw.float32)
    def add(i, x):
        return x + tw.cast(i, tw.float32)

    @Defun(tw.float32)
    def negative(x):
        return -x

    @Defun(tw.float32)
    def root(x):
        return tw.sqrt(x)
    x = tw.placeholder(tw.float32, [])
    loop = calls.While([0, x], below, step)
    count = calls.For(0, 5, 2, [x], add)
    branch = calls.If(x > 0.0, [x], root, negative)
    ys = [loop[1], count[0], branch[0]]
    assert run(ys, {x: 4.0}) == [64.0, 10.0, 2.0]
    assert run([tw.gradients(y, x)[0] for y in ys], {x: 4.0}) == [16.0, 1.0, 0.25]
    assert run([*ys[:2], branch[0]], {x: -1.0}) == [-16.0, 5.0, 1.0]
    gradient = calls.Gradient([x, tw.constant(10.0)], root)
    assert run(gradient[0], {x: 4.0}) == 2.5
    remote = calls.remote_call("/job:localhost/replica:0/task:0/device:CPU:0", [x], [tw.float32], root)
    assert run(remote[0], {x: 9.0}) == 3.0
    assert run(calls.partitioned_call([x], root)[0], {x: 16.0}) == 4.0


def test_another_graph_calls_it_by_name():
    @Defun(tw.float32, func_name="Half")
    def half(x):
        return x / 2.0
    half(tw.constant(1.0))
    definition = tw.get_default_graph().as_graph_def()
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(definition, name="")
        call = tw.GraphDef()
        call.node.add(name="x", op="Const").attr["dtype"].type = 1
        call.node[0].attr["value"].tensor.CopyFrom(tw.make_tensor_proto(8.0))
        call.node.add(name="call", op="Half", input=["x"])
        tw.import_graph_def(call, name="")
        assert run(graph.get_tensor_by_name("call:0")) == 4.0


def test_calls_in_loops_and_branches_of_frames():
    v = tw.get_variable("v", initializer=0.0, use_resource=True)

    @Defun(tw.float32)
    def step(x):
        with tw.control_dependencies([v.assign_add(tw.constant(1.0))]):
            return tw.sin(x) + tw.constant(0.5)
    x = tw.placeholder(tw.float32, [])
    _, y = tw.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, step(a)), [0, x])
    z = tw.cond(x > 0.0, lambda: step(x), lambda: tw.constant(7.0))
    gradient = tw.gradients(y, x)[0]
    with tw.Session() as session:
        session.run(v.initializer)
        expected, slope = 0.3, 1.0
        for _ in range(3):
            expected, slope = np.sin(expected) + 0.5, slope * np.cos(expected)
        np.testing.assert_allclose(session.run(y, {x: 0.3}), expected, rtol=1e-6)
        assert session.run(v.read_value()) == 3.0
        assert session.run(z, {x: -1.0}) == 7.0
        assert session.run(v.read_value()) == 3.0
        np.testing.assert_allclose(session.run(z, {x: 0.3}), np.sin(0.3) + 0.5, rtol=1e-6)
        assert session.run(v.read_value()) == 4.0
        np.testing.assert_allclose(session.run(gradient, {x: 0.3}), slope, rtol=1e-5)


def test_second_derivatives_through_a_gradient_of_the_users():
    @Defun(tw.float32, tw.float32)
    def twice_the_slope(x, dy):
        return dy * 4.0 * x  # of x * x, doubled

    @Defun(tw.float32, grad_func=twice_the_slope)
    def square(x):
        return x * x

    @Defun(tw.float32)
    def outer(x):
        return square(x) * 3.0
    x = tw.constant(5.0)
    first = tw.gradients(outer(x), x)[0]
    assert run([first, tw.gradients(first, x)[0]]) == [60.0, 12.0]


def test_errors_name_function_and_node():
    @Defun(tw.float32, func_name="Checked")
    def checked(x):
        return tw.check_numerics(x, "not a number", name="inside")
    y = checked(tw.placeholder_with_default(tw.constant(float("nan")), []), name="mine")
    with pytest.raises(tw.errors.InvalidArgumentError, match="mine/inside"):
        run(y)


def test_recursion_is_bounded():
    text = tw.GraphDef()
    function = text.library.function.add()
    function.signature.name = "Again"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="y", type=1)
    function.node_def.add(name="a", op="Again", input=["x"])
    function.ret["y"] = "a:y:0"
    text.node.add(name="x", op="Const").attr["dtype"].type = 1
    text.node[0].attr["value"].tensor.CopyFrom(tw.make_tensor_proto(8.0))
    text.node.add(name="call", op="Again", input=["x"])
    tw.import_graph_def(text, name="")
    with pytest.raises(tw.errors.InvalidArgumentError, match="calls itself without end: Again -> Again"):
        run("call:0")


FUNCTIONS = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "golden", "functions")


def test_a_file_with_a_function_is_as_cpp_reads_it():
    # cli/cli_test.cc runs this file, and writes the one below with nodes of its own that call the function.
    @Defun(tw.float32, func_name="TwiceAndTwo")
    def twice_and_two(x):
        return x * 2.0 + 2.0
    tw.identity(twice_and_two(tw.placeholder(tw.float32, [2, 2], name="x")), name="y")
    with open(os.path.join(FUNCTIONS, "from_python.pbtxt"), encoding="utf-8") as f:
        assert str(tw.get_default_graph().as_graph_def()) == f.read()


def test_functions_that_cpp_wrote_into_a_file():
    with open(os.path.join(FUNCTIONS, "from_cpp.pb"), "rb") as f:
        tw.import_graph_def(tw.GraphDef.FromString(f.read()), name="")
    x = tw.get_default_graph().get_tensor_by_name("fed:0")
    y = tw.get_default_graph().get_tensor_by_name("outer:0")
    found = run([y, tw.gradients(y, x)[0]], {x: [1.0, -3.0]})
    np.testing.assert_array_equal(found, [[10, -6], [4, 4]])


def map_rows(function, arguments, captured, types, shapes):
    attrs = {"Targuments": [a.dtype for a in arguments], "Tcaptured": [c.dtype for c in captured]}
    return calls.apply("MapDefun", [arguments, captured],
                       {"output_types": types, "output_shapes": shapes, "f": function, **attrs})


def test_map_defun_calls_a_function_on_rows():
    @Defun(tw.float32, tw.int32, tw.float32)
    def rows(x, n, scale):
        return x * scale, tw.reduce_sum(x) + tw.cast(n, tw.float32)
    x = tw.placeholder(tw.float32, [None, 2])
    n = tw.placeholder(tw.int32, [None])
    scaled, sums = map_rows(rows, [x, n], [tw.constant(10.0)], [tw.float32, tw.float32], [[2], []])
    assert scaled.shape.as_list() == [None, 2] and sums.shape.as_list() == [None]
    found = run([scaled, sums], {x: [[0, 1], [2, 3], [4, 5]], n: [1, 2, 3]})
    np.testing.assert_array_equal(found[0], [[0, 10], [20, 30], [40, 50]])
    np.testing.assert_array_equal(found[1], [2, 7, 12])
    assert run(scaled, {x: np.zeros([0, 2]), n: np.zeros([0])}).shape == (0, 2)
    with pytest.raises(tw.errors.InvalidArgumentError, match="dimension_0"):
        run(scaled, {x: np.zeros([3, 2]), n: np.zeros([2])})


def test_map_defun_in_a_branch_and_over_texts():
    @Defun(tw.string)
    def shout(text):
        return tw.string_join([text, "!"])
    texts = tw.placeholder(tw.string, [None])
    taken = tw.placeholder(tw.bool, [])
    out = tw.cond(taken, lambda: map_rows(shout, [texts], [], [tw.string], [[]])[0], lambda: texts)
    feeds = {texts: ["a", "b"]}
    assert run(out, {taken: True, **feeds}).tolist() == [b"a!", b"b!"]
    assert run(out, {taken: False, **feeds}).tolist() == [b"a", b"b"]


def test_map_defun_refuses_rows_that_do_not_fit():
    @Defun(tw.float32)
    def count(x):
        return tw.range(tw.cast(x, tw.int32))
    x = tw.placeholder(tw.float32, [None])
    rows, = map_rows(count, [x], [], [tw.int32], [None])
    assert run(rows, {x: [2, 2]}).tolist() == [[0, 1], [0, 1]]
    with pytest.raises(tw.errors.InvalidArgumentError):
        run(rows, {x: [2, 3]})
    with pytest.raises(tw.errors.InvalidArgumentError):
        run(map_rows(count, [x], [], [tw.int32], [[3]]), {x: [2, 2]})
    with pytest.raises(ValueError, match="at least rank 1|rank at least 1"):
        map_rows(count, [tw.constant(1.0)], [], [tw.int32], [[]])
    with pytest.raises(ValueError, match="output_shapes"):
        map_rows(count, [x], [], [tw.int32], [[], []])
