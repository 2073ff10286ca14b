# SPDX-License-Identifier: Apache-2.0
"""Functions that work without conversion work with it: what they give, what runs where they cannot be converted, what is kept of them."""
import contextlib
import functools
import gc
import linecache
import weakref

import pytest

import thalweg as tw
from thalweg.autograph import conversion


def run(value, feeds=None):
    with tw.Session() as session:
        return session.run(value, feeds)


def call(function, *arguments):
    """What tf.function of a function gives for constants."""
    return run(tw.function(function)(*map(tw.constant, arguments)))


def returned_after_an_error(text):
    try:
        return int(text)
    except ValueError:
        pass
    return -1


def returned_after_swallowed_errors(text):
    if text:
        with contextlib.suppress(ValueError):
            return int(text)
    return -1


def broken_after_swallowed_errors(limit):
    turns = 0
    while turns < 3:
        turns += 1
        with contextlib.suppress(ZeroDivisionError):
            if 6 // limit:
                break
    return turns


def names_of_the_test_of_a_while(values):
    values, taken = iter(values), []
    while (value := next(values, None)) is not None:
        if value == 3:
            continue
        if value > 5:
            break
        taken.append(value)
    else:
        taken.append("end")
    return taken, value


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@pytest.mark.parametrize(("function", "values"), [
    (returned_after_an_error, ["x", "3"]), (returned_after_swallowed_errors, ["x", "3", ""]), (broken_after_swallowed_errors, [0, 7, 2]),
    (names_of_the_test_of_a_while, [[1, 3, 4], [1, 9], []]), (factorial, [0, 5])])
def test_what_looks_at_no_tensor_is_pythons(function, values):
    made = conversion.converted(function)
    assert made is not function and [made(v) for v in values] == [function(v) for v in values]


def test_names_of_the_test_of_a_while_on_tensors():
    def program(x):
        turns = 0
        while (y := x - 1) > 0:
            x, turns = y - 1, turns + 1
        else:
            turns = turns + 100
        return x, y, turns
    for x in (5, 0):
        assert call(program, x) == program(x)


def test_return_from_a_with_of_a_branch():
    def program(x):
        if tw.reduce_sum(x) > 0:
            with tw.name_scope("positive"):
                return x
        return -x
    x = tw.placeholder(tw.int32)
    result = tw.autograph.to_graph(program)(x)
    assert [run(result, {x: value}) for value in (3, -3)] == [3, 3] and list(run(result, {x: [1, 2]})) == [1, 2]


def from_file(name, source):
    """`program` of a source that is known under the name of a file."""
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope = {"__name__": "programs"}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


@pytest.mark.parametrize("source", [
    f"def program(x): return {'+'.join(['x'] * 1200)}\n",
    "def program(x):\n    if x < 0: y = -1\n" + "".join(f"    elif x == {i}: y = {i}\n" for i in range(300)) + "    return y\n"])
def test_what_is_too_deep_for_the_rewriter_runs_as_it_is(source, caplog):
    program = from_file(f"/programs/deep_{len(source)}.py", source)
    for _ in range(2):
        assert conversion.converted(program) is program
    assert caplog.text.count("Cause: ") == 1 and "RecursionError" in caplog.text


def test_a_mistake_of_the_rewriter_is_a_warning(monkeypatch, caplog):
    def program(x):
        return x + 1

    def fail(node):
        raise AttributeError("a mistake")
    monkeypatch.setattr(conversion.control_flow, "rewrite", fail)
    assert call(program, 1) == 2 and "Cause: AttributeError: a mistake" in caplog.text


def test_a_function_that_cannot_be_converted_keeps_nobody_alive(monkeypatch):
    monkeypatch.setattr(conversion.logging, "warning", lambda *words: None)  # whose records keep what they name

    class Held:
        pass

    def caller():
        def program():
            try:
                return 1
            finally:
                return held  # noqa: B012
        held = Held()
        for _ in range(2):
            assert conversion.converted(program) is program
        return weakref.ref(held), weakref.ref(program)
    found = caller()
    gc.collect()
    assert [f() for f in found] == [None, None]


def test_a_wrapper_of_what_is_left_alone_is_converted():
    def positive(function):
        @functools.wraps(function)
        def wrapper(x):
            if x > 0:
                return function(x)
            return function(-x)
        return wrapper

    @tw.autograph.experimental.do_not_convert
    def doubled(x):
        return x * 2
    made = tw.autograph.to_graph(lambda x: x + 1)
    assert call(positive(doubled), -4) == 8 and call(positive(made), -4) == 5

    def program(x):
        def inner(x):
            return x if x > 0 else -x
        return positive(inner)(x)
    assert call(program, -4) == 4


def test_a_trace_where_nothing_is_converted_does_not_bind_later_ones():
    function = tw.function(lambda x: -x if x > 0 else x)

    @tw.autograph.experimental.do_not_convert
    def within(x):
        return function(x)
    with pytest.raises(TypeError, match="as a Python `bool`"):
        within(tw.constant(2))
    assert run(function(tw.constant(2))) == -2
