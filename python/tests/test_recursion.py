# SPDX-License-Identifier: Apache-2.0
"""Functions that call themselves as often as the values of a step say."""
import threading

import numpy as np
import pytest

import thalweg as tw

INT, FLOAT, BOOL = 3, 1, 10


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as g:
        yield g


class Library:
    """A GraphDef that gets functions of one type."""

    def __init__(self, dtype=INT):
        self.graph_def, self.dtype = tw.GraphDef(), dtype

    def function(self, name, result, *args, stateful=False):
        made = self.graph_def.library.function.add()
        made.signature.name = name
        made.signature.is_stateful = stateful
        for arg in args:
            made.signature.input_arg.add(name=arg, type=self.dtype)
        made.signature.output_arg.add(name="r", type=self.dtype)
        made.ret["r"] = result
        return made

    def const(self, function, name, value):
        made = function.node_def.add(name=name, op="Const")
        made.attr["dtype"].type = self.dtype
        made.attr["value"].tensor.CopyFrom(tw.make_tensor_proto(value, dtype=tw.as_dtype(self.dtype)))

    def node(self, function, name, op, *inputs):
        function.node_def.add(name=name, op=op, input=list(inputs)).attr["T"].type = self.dtype

    def call(self, function, name, callee, *inputs):
        function.node_def.add(name=name, op=callee, input=list(inputs))

    def either(self, function, name, condition, then, otherwise, *inputs, op="StatelessIf"):
        made = function.node_def.add(name=name, op=op, input=[condition, *inputs])
        made.attr["Tcond"].type = BOOL
        made.attr["Tin"].list.type.extend([self.dtype] * len(inputs))
        made.attr["Tout"].list.type.append(self.dtype)
        made.attr["then_branch"].func.name, made.attr["else_branch"].func.name = then, otherwise

    def finish(self, callee, *args):
        """The call's output, and the placeholders that go in."""
        for arg in args:
            self.graph_def.node.add(name=arg, op="Placeholder").attr["dtype"].type = self.dtype
        self.graph_def.node.add(name="call", op=callee, input=list(args))
        tw.import_graph_def(self.graph_def, name="")
        return tw.get_default_graph().get_tensor_by_name("call:0")


def fibonacci():
    lib = Library()
    lib.function("Same", "n", "n")
    more = lib.function("More", "sum:z:0", "n")
    lib.const(more, "one", 1)
    lib.const(more, "two", 2)
    lib.node(more, "a", "Sub", "n", "one:output:0")
    lib.node(more, "b", "Sub", "n", "two:output:0")
    lib.call(more, "fa", "Fib", "a:z:0")
    lib.call(more, "fb", "Fib", "b:z:0")
    lib.node(more, "sum", "Add", "fa:r:0", "fb:r:0")
    fib = lib.function("Fib", "either:output:0", "n")
    lib.const(fib, "two", 2)
    lib.node(fib, "small", "Less", "n", "two:output:0")
    lib.either(fib, "either", "small:z:0", "Same", "More", "n")
    return lib.finish("Fib", "n")


def depth():
    """Depth(n) = n <= 0 ? n : 1 + Depth(n - 1)."""
    lib = Library()
    lib.function("Same", "n", "n")
    more = lib.function("More", "sum:z:0", "n")
    lib.const(more, "one", 1)
    lib.node(more, "less", "Sub", "n", "one:output:0")
    lib.call(more, "inner", "Depth", "less:z:0")
    lib.node(more, "sum", "Add", "inner:r:0", "one:output:0")
    made = lib.function("Depth", "either:output:0", "n")
    lib.const(made, "zero", 0)
    lib.node(made, "done", "LessEqual", "n", "zero:output:0")
    lib.either(made, "either", "done:z:0", "Same", "More", "n")
    return lib.finish("Depth", "n")


@pytest.mark.parametrize("threads", [1, 2])
def test_fibonacci(threads):
    y = fibonacci()
    with tw.Session(config=tw.ConfigProto(inter_op_parallelism_threads=threads, intra_op_parallelism_threads=threads)) as session:
        assert [session.run(y, {"n:0": n}) for n in range(12)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


def test_ten_thousand_calls_inside_each_other():
    y = depth()
    with tw.Session() as session:
        assert session.run(y, {"n:0": 10000}) == 10000


def test_recursion_that_is_too_deep_says_so():
    y = depth()
    with tw.Session() as session:
        with pytest.raises(tw.errors.ResourceExhaustedError, match="inside each other more than 16384 deep"):
            session.run(y, {"n:0": 10 ** 6})
        assert session.run(y, {"n:0": 3}) == 3


def test_a_branch_that_is_the_function_itself():
    """Down(n) = n <= 0 ? n : Down(n) with n - 1 as its argument, the branch being Down."""
    lib = Library()
    lib.function("Same", "n", "n")
    made = lib.function("Down", "either:output:0", "n")
    lib.const(made, "one", 1)
    lib.const(made, "zero", 0)
    lib.node(made, "less", "Sub", "n", "one:output:0")
    lib.node(made, "done", "LessEqual", "n", "zero:output:0")
    lib.either(made, "either", "done:z:0", "Same", "Down", "less:z:0")
    y = lib.finish("Down", "n")
    with tw.Session() as session:
        assert session.run(y, {"n:0": 50}) == -1


def test_deadlines_and_cancellations_end_recursion():
    y = fibonacci()
    with tw.Session() as session:
        with pytest.raises(tw.errors.DeadlineExceededError):
            session.run(y, {"n:0": 60}, options=tw.RunOptions(timeout_in_ms=100))
        failed, begun = [], threading.Event()
        begin = tw.py_func(begun.set, [], [])

        def run():
            try:
                session.run([y, begin], {"n:0": 60})
            except tw.errors.OpError as error:
                failed.append(error)
        running = threading.Thread(target=run)
        running.start()
        assert begun.wait(60)
    running.join()
    assert isinstance(failed[0], tw.errors.CancelledError), failed


def test_errors_inside_name_the_node():
    lib = Library()
    lib.function("Same", "n", "n")
    more = lib.function("More", "next:r:0", "n")
    lib.const(more, "one", 1)
    lib.node(more, "less", "Sub", "n", "one:output:0")
    lib.node(more, "share", "FloorDiv", "n", "less:z:0")
    more.node_def.add(name="after", op="Identity", input=["less:z:0", "^share"]).attr["T"].type = INT
    lib.call(more, "next", "Divide", "after:output:0")
    made = lib.function("Divide", "either:output:0", "n")
    lib.const(made, "zero", -5)
    lib.node(made, "done", "LessEqual", "n", "zero:output:0")
    lib.either(made, "either", "done:z:0", "Same", "More", "n")
    y = lib.finish("Divide", "n")
    with tw.Session() as session:
        with pytest.raises(tw.errors.InvalidArgumentError, match="share"):
            session.run(y, {"n:0": 4})


def power(outer="Power"):
    """Power(x, n) = n <= 0 ? 1 : x * Power(x, n - 1), of floats."""
    lib = Library(FLOAT)
    one = lib.function("One", "one:output:0", "x", "n")
    lib.const(one, "one", 1.0)
    more = lib.function("More", "all:z:0", "x", "n")
    lib.const(more, "one", 1.0)
    lib.node(more, "less", "Sub", "n", "one:output:0")
    lib.call(more, "inner", "Power", "x", "less:z:0")
    lib.node(more, "all", "Mul", "x", "inner:r:0")
    made = lib.function("Power", "either:output:0", "x", "n")
    lib.const(made, "zero", 0.0)
    lib.node(made, "done", "LessEqual", "n", "zero:output:0")
    lib.either(made, "either", "done:z:0", "One", "More", "x", "n")
    return lib.finish(outer, "x", "n")


def test_gradients_go_through_recursion_once():
    y = power()
    x = tw.get_default_graph().get_tensor_by_name("x:0")
    gradient = tw.gradients(y, x)[0]
    with tw.Session() as session:
        for n in range(6):
            value, slope = session.run([y, gradient], {x: 1.5, "n:0": float(n)})
            np.testing.assert_allclose([value, slope], [1.5 ** n, n * 1.5 ** (n - 1)], rtol=1e-5)


def test_variables_in_recursion():
    """Each call adds its n to the variable that the handle leads to."""
    lib = Library()

    def with_handle(function):
        function.signature.input_arg.add(name="v", type=20)
    lib_same = lib.function("Same", "n", "n", stateful=True)
    with_handle(lib_same)
    more = lib.function("More", "inner:r:0", "n", stateful=True)
    with_handle(more)
    lib.const(more, "one", 1)
    lib.node(more, "less", "Sub", "n", "one:output:0")
    add = more.node_def.add(name="add", op="AssignAddVariableOp", input=["v", "n"])
    add.attr["dtype"].type = INT
    more.node_def.add(name="inner", op="Sum", input=["less:z:0", "v", "^add"])
    made = lib.function("Sum", "either:output:0", "n", stateful=True)
    with_handle(made)
    lib.const(made, "zero", 0)
    lib.node(made, "done", "LessEqual", "n", "zero:output:0")
    lib.either(made, "either", "done:z:0", "Same", "More", "n", "v", op="If")
    made.node_def[-1].attr["Tin"].list.type[:] = [INT, 20]
    v = tw.get_variable("v", initializer=np.int32(0), use_resource=True)
    lib.graph_def.node.add(name="n", op="Placeholder").attr["dtype"].type = INT
    lib.graph_def.node.add(name="handle", op="Placeholder").attr["dtype"].type = 20
    lib.graph_def.node.add(name="call", op="Sum", input=["n", "handle"])
    tw.import_graph_def(lib.graph_def, name="", input_map={"handle:0": v.handle})
    with tw.Session() as session:
        session.run(v.initializer)
        session.run("call:0", {"n:0": 100})
        assert session.run(v) == 5050
