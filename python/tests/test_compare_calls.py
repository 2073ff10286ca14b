# SPDX-License-Identifier: Apache-2.0
"""One step in two ways: the first node that differs is found in called functions, and in loops and branches that are functions."""
import pytest
import thalweg as tw
from thalweg.control import function_calls
from thalweg.control.functions import Defun
from thalweg.graph.ops import apply

from test_recursion import FLOAT, Library


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default():
        yield


def first_of(build, a=0.1, b=0.2, feeds=None):
    """The first node that differs between a step with one slope and with another."""
    return comparison_of(build, a, b, feeds).first


def comparison_of(build, a=0.1, b=0.2, feeds=None):
    """A step with one slope and with another compared; the text says the same again when it is asked twice."""
    with tw.Graph().as_default() as other:
        build(b)
    y = build(a)
    with tw.Session() as one, tw.Session(graph=other) as two:
        for session in (one, two):
            session.run(session.graph.get_operation_by_name("init") if session.graph._has("init") else [])
        assert tw.debugging.compare_runs(one, one, y, feeds).ok
        found = tw.debugging.compare_runs(one, two, y, feeds)
        assert not found.ok and str(tw.debugging.compare_runs(one, two, y, feeds)) == str(found)
        return found


def bad(x, slope):
    return tw.nn.leaky_relu(tw.subtract(x, 1.0, name="less"), slope, name="bad")


@pytest.mark.parametrize("call", ["name", "partitioned", "stateful", "nested"])
def test_a_node_of_a_called_function(call):
    def build(slope):
        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.multiply(bad(x, slope), 2.0, name="behind")

        @Defun(tw.float32, func_name="G")
        def g(x):
            return tw.add(f(tw.identity(x, name="before"), name="scope/inner"), 1.0)
        x = tw.identity(tw.constant([0.5, 2.0]), name="x")
        if call in ("name", "nested"):
            y = (f if call == "name" else g)(x, name="layer/call")
        else:
            y = apply("PartitionedCall" if call == "partitioned" else "StatefulPartitionedCall", [[x]], {"Tout": [tw.float32], "f": f},
                      name="layer/call")[0]
        return tw.negative(y, name="out")
    first = first_of(build)
    assert (first.op.type, first.tensor, first.function) == ("LeakyRelu", "bad:0", "F"), str(first)
    assert first.calls == (("layer/call", "scope/inner") if call == "nested" else ("layer/call",)) and not first.loop and not first.branch
    calls = "'layer/call' > 'scope/inner'" if call == "nested" else "'layer/call'"
    assert str(first).startswith(f"LeakyRelu 'bad:0' in the function 'F' that {calls} calls (created at "), str(first)


def test_a_function_that_is_called_as_an_operation_is():
    def build(slope):
        @Defun(tw.float32, func_name="B")
        def f(x):
            return bad(x, slope)
        return tw.identity(f(tw.constant([0.5]), name="call"), name="out")
    first = first_of(build)
    assert (first.tensor, first.function, first.calls) == ("bad:0", "B", ("call",)), str(first)


@pytest.mark.parametrize("kind", ["While", "For"])
def test_a_node_of_a_function_that_is_a_loops_body(kind):
    """What is below 0 differs: from the third iteration on."""
    def build(slope):
        @Defun(tw.float32, func_name="Inner")
        def inner(x):
            return bad(x, slope)

        @Defun(tw.int32, tw.float32, func_name="Body")
        def body(i, x):
            x = inner(x, name="inner")
            return (i + 1, x) if kind == "While" else x

        @Defun(tw.int32, tw.float32, func_name="Condition")
        def condition(i, x):
            return i < 6
        x = tw.constant([2.5], name="x")
        if kind == "While":
            return tw.identity(function_calls.While([tw.constant(0), x], condition, body, name="scope/loop")[1], name="out")
        return tw.identity(function_calls.For(0, 6, 1, [x], body, name="scope/loop")[0], name="out")
    first = first_of(build)
    assert (first.tensor, first.function, first.calls) == ("bad:0", "Inner", ("scope/loop", "inner")), str(first)
    assert (first.loop, first.iteration) == ("scope/loop", 2), str(first)
    assert "in the function 'Inner' that 'scope/loop' > 'inner' calls in iteration 2 of the loop 'scope/loop'" in str(first)


@pytest.mark.parametrize("taken", [True, False])
def test_a_node_of_a_function_that_is_a_branch(taken):
    def build(slope):
        @Defun(tw.float32, func_name="Then")
        def then(x):
            return bad(x, slope)

        @Defun(tw.float32, func_name="Else")
        def other(x):
            return tw.multiply(bad(x, slope + 0.1), 2.0)
        p = tw.placeholder(tw.bool, [], name="p")
        return tw.identity(function_calls.If(p, [tw.constant([0.5])], then, other, name="choice")[0], name="out")
    first = first_of(build, feeds={"p:0": taken})
    assert (first.tensor, first.function, first.calls, first.branch) == ("bad:0", "Then" if taken else "Else", ("choice",), "choice"), str(first)


@pytest.mark.parametrize("side", [1, 10])
def test_a_call_in_a_loop(side):
    """In a loop of the program the call is looked into, and its iteration told where no two run at once."""
    def build(slope):
        v = tw.get_variable("v", initializer=[0.0], use_resource=True)
        tw.group(v.initializer, name="init")

        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.add(bad(x, slope), v + 0.0, name="behind")
        x = tw.constant([2.5], name="x")
        h = tw.while_loop(lambda i, h: i < 6, lambda i, h: (i + 1, tw.identity(f(h, name="call"), name="after")), [0, x], name="while",
                          parallel_iterations=side)[1]
        return tw.identity(h, name="out")
    first = first_of(build)
    assert (first.tensor, first.function, first.calls) == ("bad:0", "F", ("while/call",)), str(first)
    assert "while" in first.loop and first.iteration == (2 if side == 1 else None), str(first)


def test_what_stands_behind_a_call_in_a_loop_is_still_named():
    def build(slope):
        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.subtract(x, 1.0, name="less")
        h = tw.while_loop(lambda i, h: i < 6, lambda i, h: (i + 1, tw.nn.leaky_relu(f(h, name="call"), slope, name="bad")),
                          [0, tw.constant([2.5])], name="while", parallel_iterations=1)[1]
        return tw.identity(h, name="out")
    first = first_of(build)
    assert (first.op.name, first.function, first.iteration) == ("while/bad", "", 2), str(first)


@pytest.mark.parametrize("where", ["call", "loop"])
def test_a_variable_that_a_function_writes(where):
    def build(slope):
        v = tw.get_variable("v", initializer=[0.5], use_resource=True)
        tw.group(v.initializer, name="init")

        @tw.function
        def update(x):
            v.assign_add(bad(x, slope))
            return x
        if where == "call":
            return tw.group(update(tw.constant([0.25])), name="step")
        return tw.while_loop(lambda i: i < 4, lambda i: i + tw.cast(update(tw.fill([1], 3.5 - tw.cast(i, tw.float32)))[0] * 0.0 + 1.0, tw.int32),
                             [0], name="while", parallel_iterations=1)
    first = first_of(build)
    assert first.function.startswith("__inference_update") and not first.branch, str(first)
    assert (first.op.type, first.tensor) == (("LeakyRelu", "bad:0") if where == "call" else ("AssignAddVariableOp", "v")), str(first)


def test_random_operations_of_a_function_are_named():
    @Defun(func_name="Noise")
    def noise():
        return tw.random_normal([3], name="noise")
    y = tw.identity(noise(name="call"), name="out")
    with tw.Session() as session:
        for b in (tw.ConfigProto(intra_op_parallelism_threads=1), "/device:CPU:0"):  # the other graph has the nodes of the first comparison
            found = tw.debugging.compare_runs(session, b, y)
            assert (found.first.op.type, found.first.function, found.first.tensor) == ("RandomStandardNormal", "Noise", "noise/RandomStandardNormal:0")


def test_a_function_that_the_other_graph_has_otherwise():
    def build(name):
        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.multiply(tw.add(x, 1.0, name=name), 2.0, name="behind")
        return tw.identity(f(tw.constant(1.0) if name == "sum" else tw.constant(1.5), name="call"), name="out")
    first = first_of(build, "sum", "total")
    assert first.op.name.endswith("Const") or first.function == "F", str(first)


def test_a_function_of_an_input_pipeline_is_named_as_a_whole():
    def build(slope):
        total = tw.data.Dataset.range(5).reduce(tw.constant(0.0), lambda a, b: a + tw.cast(b, tw.float32) * slope)
        return tw.identity(total, name="out")
    first = first_of(build)
    assert (first.op.type, first.function) == ("ReduceDataset", ""), str(first)


def test_names_that_collide_with_those_of_the_graph_and_of_the_call():
    """The graph has nodes where calls are looked into, and functions nodes that are named as what is made for a call, or as a node of a call in it."""
    def build(slope):
        @Defun(tw.float32, func_name="G")
        def g(x):
            return bad(x, slope)

        @Defun(tw.float32, func_name="F")
        def f(x):
            x = tw.multiply(tw.identity(x, name="before"), 1.0, name="inner/bad")
            return tw.add(tw.multiply(g(x, name="inner"), 1.0, name="bad_1"), 1.0, name="done")
        if slope == 0.1:
            for i in range(2):
                tw.constant(1.0, name=f"expanded_calls_{i}/call/inner/bad")
        x = tw.constant([0.25])
        with tw.control_dependencies([tw.no_op(name="first")]):
            y = f(x, name="call")
        return tw.identity(y, name="out")
    first = first_of(build)
    assert (first.op.type, first.tensor, first.function, first.calls) == ("LeakyRelu", "bad:0", "G", ("call", "inner")), str(first)


def test_a_node_of_the_same_name_as_one_that_is_made_for_the_call():
    def build(slope):
        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.add(tw.nn.leaky_relu(tw.subtract(x, 1.0), slope, name="before"), 1.0)
        x = tw.constant([0.25])
        with tw.control_dependencies([tw.no_op(name="first")]):
            return tw.identity(f(x, name="call"), name="out")
    first = first_of(build)
    assert (first.tensor, first.function, first.calls) == ("before:0", "F", ("call",)), str(first)


def nested(slope, levels):
    """A function of 8 calls of one of 8 calls, ..."""
    def level(k, inner):
        @Defun(tw.float32, func_name=f"Level{k}")
        def f(x):
            for _ in range(8):
                x = bad(x, slope) if inner is None else inner(x)
            return x
        return f
    inner = None
    for k in range(levels):
        inner = level(k, inner)
    return tw.identity(inner(tw.constant([0.25]), name="call"), name="out")


def test_a_call_that_becomes_too_much_is_not_looked_into():
    with tw.Graph().as_default() as other:
        nested(0.2, 5)
    y = nested(0.1, 5)
    with tw.Session() as one, tw.Session(graph=other) as two:
        found = tw.debugging.compare_runs(one, two, y)
    assert found.first.op.name == "call" and not any(op.name.startswith("expanded") for op in y.graph.get_operations())
    assert any(note.startswith("'call' is not looked into: ") and "expand to more than 65536 nodes" in note for note in found.notes), str(found)


def recursive(slope):
    lib = Library(FLOAT)
    lib.function("Same", "x", "x")
    more = lib.function("More", "bad:activations:0", "x")
    lib.const(more, "one", 1.0)
    lib.node(more, "less", "Sub", "x", "one:output:0")
    lib.call(more, "inner", "Rec", "less:z:0")
    lib.node(more, "worse", "Sub", "inner:r:0", "one:output:0")
    lib.node(more, "bad", "LeakyRelu", "worse:z:0")
    more.node_def[-1].attr["alpha"].f = slope
    rec = lib.function("Rec", "if:output:0", "x")
    lib.const(rec, "zero", 0.0)
    lib.node(rec, "positive", "Greater", "x", "zero:output:0")
    lib.either(rec, "if", "positive:z:0", "More", "Same", "x")
    return tw.identity(lib.finish("Rec", "x"), name="out")


@pytest.mark.parametrize("times, named", [(1, ("LeakyRelu", "bad:0")), (2, ("_RuntimeCall", "inner:0"))])
def test_a_function_that_calls_itself_is_looked_into_once(times, named):
    first = first_of(recursive, feeds={"x:0": float(times)})
    assert (first.op.type, first.tensor) == named and (first.function, first.calls) == ("More", ("call", "if")), str(first)


def queue_of(count, value):
    """A queue of so many elements, which `init` fills."""
    q = tw.FIFOQueue(200, [tw.float32], [[1]], shared_name="q")
    tw.group(q.enqueue_many([[[value]] * count]), name="init")
    tw.identity(q.size(), name="left")
    return q


@pytest.mark.parametrize("where", ["call", "loop"])
def test_what_a_function_takes_from_a_queue(where):
    """Outside of loops it is taken once to be looked at; in a loop the call is not looked into."""
    def build(slope):
        q = queue_of(200, -1.0)

        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.nn.leaky_relu(tw.add(x, q.dequeue(), name="sum"), slope, name="bad")
        x = tw.constant([0.25])
        if where == "call":
            return tw.identity(f(x, name="call"), name="out")
        return tw.identity(tw.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, f(h, name="call")), [0, x], name="while",
                                         parallel_iterations=1)[1], name="out")
    with tw.Graph().as_default() as other:
        build(0.2)
    y = build(0.1)
    with tw.Session() as one, tw.Session(graph=other) as two:
        for session in (one, two):
            session.run("init")
        found = tw.debugging.compare_runs(one, two, y)
        left = [session.run("left:0") for session in (one, two)]
    if where == "call":
        assert (found.first.tensor, found.first.function) == ("bad:0", "F"), str(found)
        assert left == [197, 197]  # the step, the search before the call, the look into it
    else:
        assert (found.first.op.name, found.first.function, found.first.iteration) == ("while/call", "", 0), str(found)
        assert any("'while/call' is not looked into" in note and "QueueDequeueV2" in note for note in found.notes), str(found)


def test_what_cannot_be_drawn_again_is_said():
    """The queue ends with the search before the call."""
    def build(slope):
        q = queue_of(2, -1.0)
        tw.group(q.close(), name="close")

        @Defun(tw.float32, func_name="F")
        def f(x):
            return tw.nn.leaky_relu(tw.add(x, q.dequeue()), slope, name="bad")
        return tw.identity(f(tw.constant([0.25]), name="call"), name="out")
    with tw.Graph().as_default() as other:
        build(0.2)
    y = build(0.1)
    with tw.Session() as one, tw.Session(graph=other) as two:
        for session in (one, two):
            session.run("init")
            session.run("close")
        found = tw.debugging.compare_runs(one, two, y)
    assert found.first.op.name in ("call", "out") and any("cannot be drawn once more" in note for note in found.notes), str(found)


def test_a_call_that_cannot_be_expanded_leaves_a_graph_that_is_whole():
    def build(slope):
        inner = None
        for level in range(3):
            @Defun(tw.float32, func_name=f"Level{level}")
            def f(x, inner=inner):
                for _ in range(41):
                    x = tw.negative(x) if inner is None else inner(x)
                return x
            inner = f

        @Defun(tw.float32, tw.float32, func_name="Cond")
        def cond(i, x):
            return i < 1.0

        @Defun(tw.float32, tw.float32, func_name="Body")
        def body(i, x):
            return i + 1.0, inner(x)

        @Defun(tw.float32, func_name="Else")
        def other(x):
            return apply("While", [[tw.constant(0.0), x]], {"T": [tw.float32] * 2, "cond": cond, "body": body, "output_shapes": [],
                                                            "parallel_iterations": 10})[1]

        @Defun(tw.float32, func_name="Then")
        def then(x):
            return bad(x, slope)
        taken = tw.placeholder(tw.bool, [], name="taken")
        return tw.identity(apply("If", [taken, [tw.constant([0.25])]], {"Tout": [tw.float32], "then_branch": then, "else_branch": other},
                                 name="layer")[0], name="out")
    found = comparison_of(build, feeds={"taken:0": True})
    assert found.first.op.name == "layer" and "expand to more than 65536 nodes" in "".join(found.notes), str(found)
    tw.get_default_graph().as_graph_def()


def test_a_writing_call_that_stands_in_one_graph_alone_is_named():
    def build(slope):
        kept = tw.Variable([1.0], name="kept", use_resource=True)
        tw.group(kept.initializer, name="init")

        @Defun(tw.resource, func_name="F")
        def f(handle):
            write = apply("AssignVariableOp", [handle, bad(tw.constant([0.5]), slope)], name="write")
            with tw.control_dependencies([write]):
                return tw.constant(1.0)
        return tw.group(f(kept.handle, name="call_of_one" if slope == 0.1 else "call_of_the_other").op, name="train")
    found = comparison_of(build)
    assert found.first.op.name == "call_of_one" and "the graph of the other way lacks it" in "".join(found.notes), str(found)


def test_looking_into_calls_is_no_growth_of_the_program(capfd):
    def call(i):
        @Defun(tw.float32, func_name=f"F{i}")
        def f(x):
            return tw.reduce_sum(x + tw.random_normal([3]))
        return f(tw.constant([1.0, 2.0, 3.0]))
    outputs, one_thread = [call(i) for i in range(9)], tw.ConfigProto(intra_op_parallelism_threads=1)
    with tw.Session() as session:
        for y in outputs:  # each time the session runs, the graph has more nodes than the time before
            found = tw.debugging.compare_runs(session, one_thread, y, share_random=False)
            assert found.first.op.type == "RandomStandardNormal", str(found)
    assert "the graph has grown" not in capfd.readouterr().err
