# SPDX-License-Identifier: Apache-2.0
"""Which functions are converted, when, and what their errors show: closures, classes, warnings, tracebacks, effects, datasets, layers."""
import functools
import linecache
import subprocess
import sys
import traceback
import weakref

import numpy as np
import pytest
import random_programs

import thalweg as tw
from thalweg.autograph import conversion, exits, liveness

FACTOR = 10
_counter = 0


def run(value, feeds=None):
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        return session.run(value, feeds)


def call(function, *arguments, **settings):
    """What tf.function of a function gives for constants."""
    return run(tw.function(function, **settings)(*map(tw.constant, arguments)))


def relu(x):
    if x > 0:
        return x
    return 0


# ---- what is converted ----
def test_nothing_of_it_is_loaded_before_it_is_used():
    source = ("import sys, thalweg as tw\nx = tw.constant(1) + 1\nwith tw.Session() as s: s.run(x)\n"
              "print([m for m in sys.modules if 'autograph' in m])\ntw.autograph.to_graph\nprint('thalweg.autograph.conversion' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]


def test_a_function_is_converted_once(monkeypatch):
    compiled = []
    before = conversion._compiled
    monkeypatch.setattr(conversion, "_compiled", lambda function, features: compiled.append(function) or before(function, features))

    def helper(x):
        return x + 1 if x > 0 else x

    def program(x):
        for _ in range(5):
            x = helper(x)
        return x
    made = tw.function(program)
    for value in (1, 2.0, 3):
        made(tw.constant(value))
    tw.function(program)(tw.constant(4))
    assert sorted(f.__name__ for f in compiled) == ["helper", "program"]


def test_functions_of_libraries_run_as_they_are():
    for function in (np.linalg.norm, functools.reduce, linecache.getline, tw.reduce_sum, tw.Session.run, len, print, int):
        assert conversion.converted(function) is function
    assert conversion.converted(relu) is not relu and conversion.converted(functools.partial(relu)).func is not relu


def test_generators_run_as_they_are():
    def numbers(n):
        for i in range(n):
            if i != 1:
                yield i

    def program(x):
        return sum([x * i for i in numbers(4)])
    assert conversion.converted(numbers) is numbers
    assert call(program, 2) == 2 * (0 + 2 + 3)


def test_without_conversion_python_decides():
    with pytest.raises(TypeError, match="as a Python `bool`"):
        call(relu, 1, autograph=False)
    with pytest.raises(TypeError, match="as a Python `bool`"):
        call(tw.autograph.experimental.do_not_convert(lambda x: relu(x)), 1)
    with pytest.raises(TypeError, match="as a Python `bool`"):
        tw.autograph.to_graph(lambda x: relu(x), recursive=False)(tw.constant(1))


def test_do_not_convert_within_what_is_converted():
    seen = []

    @tw.autograph.experimental.do_not_convert
    def looks(x):
        seen.append(type(x))
        return x > 0

    def program(x):
        if looks(x):
            return x
        return -x
    assert call(program, -4) == 4 and len(seen) == 1


def test_a_function_without_source_runs_with_one_warning(caplog):
    scope = {"__name__": "a_program"}
    exec(compile("def double(x): return x * 2\ndef choose(x):\n  if x > 0: return x\n  return 0", "<typed in>", "exec"), scope)
    for _ in range(3):
        assert call(lambda x: scope["double"](x), 4) == 8
    assert caplog.text.count("AutoGraph could not transform <function double") == 1
    caplog.clear()
    with pytest.raises(TypeError, match="as a Python `bool`"):
        call(scope["choose"], 1)
    assert caplog.text.count("Cause: could not get source code") == 1
    with pytest.raises(Exception, match="^converting <function choose") as raised:
        tw.autograph.to_graph(scope["choose"])
    assert type(raised.value).__name__ == "ConversionError"


def test_what_is_not_converted_says_so(caplog):
    def program(x):
        while True:
            try:
                x += 1
            finally:
                break  # noqa: B012
        return x
    assert call(program, 1) == 2
    assert "break and continue in a finally block are not converted" in caplog.text


# ---- names ----
def test_globals_closures_and_defaults_are_the_functions_own():
    outer = 5

    def program(x, scale=FACTOR, *, more=3):
        global _counter
        if x > 0:
            x = x * scale + outer
        _counter += more
        return x * FACTOR
    made = tw.autograph.to_graph(program)
    before = _counter
    assert run(made(tw.constant(2))) == 250 and _counter == before + 3
    outer = 6
    assert run(made(tw.constant(2), 1, more=1)) == 80
    assert made.__name__ == "program" and made.__defaults__ is None and made.__wrapped__.__defaults__ == (10,)


def test_recursion():
    def count(x, depth):
        if depth == 0:
            return x
        if x > 3:
            return count(x - 1, depth - 1)
        return count(x + 10, depth - 1)
    assert call(lambda x: count(x, 4), 5) == count(5, 4) == 12


class Base:
    def step(self, x):
        return x + 1 if x > 0 else x


class Steps(Base):
    __hidden = 7

    def step(self, x):
        y = super().step(x)
        if y > 2:
            y = y * self.__hidden
        return y

    @tw.function
    def method(self, x):
        if x > 0:
            return self.step(x)
        return x

    @staticmethod
    def static(x):
        return x if x > 0 else -x

    @classmethod
    def of_class(cls, x):
        return x * cls.__hidden if x > 0 else x


def test_classes():
    steps = Steps()
    assert run(steps.method(tw.constant(3))) == 28 and run(steps.method(tw.constant(-3))) == -3
    assert call(lambda x: (steps.step(x), Steps.static(x), Steps.of_class(x), steps.of_class(-x)), 4) == (35, 4, 28, -4)


def test_names_without_a_value_have_none_in_python_either():
    def program(x, define):
        if define:
            y = x
        return y
    made = tw.autograph.to_graph(program)
    assert run(made(tw.constant(3), True)) == 3
    with pytest.raises(NameError, match="'y'"):
        made(tw.constant(3), False)

    def deleted(x):
        y = x
        if x > 0:
            z = y
            del y
        else:
            z = -y
            del y
        return z
    assert call(deleted, -2) == 2


def test_names_that_a_branch_which_leaves_does_not_define():
    def program(x):
        if x > 0:
            if x > 5:
                return 100
            y = x
        else:
            y = -x
        return y
    assert [call(program, v) for v in (7, 3, -4)] == [100, 3, 4]

    def in_loops(x):
        for i in tw.range(x):
            if i > 3:
                break
            if i < 1:
                continue
            last = i * 10
        return last
    assert [call(in_loops, v) for v in (9, 3)] == [30, 20]


def test_match_walrus_annotations_and_exceptions():
    def program(x, kind):
        total: int = 0
        match kind:
            case "double":
                if x > 0:
                    return x * 2
            case [first, *_]:
                total = first
            case _:
                total = -1
        if (y := x + 1) > 3:
            total = total + y
        try:
            if kind is None:
                raise KeyError("k")
        except KeyError as error:
            for _ in range(len(error.args)):
                total += 100
        return total
    made = tw.autograph.to_graph(program)
    assert [run(made(tw.constant(5), k)) for k in ("double", [7], None)] == [10, 13, 105]
    assert run(made(tw.constant(-5), "double")) == 0


def test_lambdas_of_one_line():
    pick = [lambda x: x if x > 0 else 0, lambda x: x if x < 0 else 0]
    assert [call(f, 3) for f in pick] == [3, 0] and [call(f, -3) for f in pick] == [0, -3]


def test_comprehensions_keep_their_names():
    def program(x):
        i = 5
        if x > 0:
            y = sum([i for i in range(4)])
        else:
            y = i
        return y + i
    assert [call(program, v) for v in (1, -1)] == [11, 10]


# ---- loops ----
def test_shape_invariants():
    def program(n):
        found = tw.constant([0])
        for i in tw.range(n):
            tw.autograph.experimental.set_loop_options(shape_invariants=[(found, tw.TensorShape([None]))])
            found = tw.concat([found, [i]], 0)
        return found
    assert call(program, 3).tolist() == [0, 0, 1, 2]


def test_loop_options_reach_the_loop():
    def program(n):
        while n > 0:
            tw.autograph.experimental.set_loop_options(parallel_iterations=3, maximum_iterations=2)
            n -= 1
        return n
    with tw.Graph().as_default() as graph, tw.Session() as session:
        assert session.run(tw.autograph.to_graph(program)(tw.constant(9))) == 7
        assert {op.get_attr("parallel_iterations") for op in graph.get_operations() if op.type == "Enter"} == {3}


def test_lists_whose_type_is_said():
    from thalweg.contrib import autograph

    def program(n):
        found = []
        autograph.set_element_type(found, tw.int32, [])
        for i in tw.range(n):
            if i > 2:
                found.append(i * 10)
            else:
                found.append(i)
        last = found.pop()
        return autograph.stack(found), last, len(found), found[1]
    values, last, count, second = call(program, 5)
    assert values.tolist() == [0, 1, 2, 30] and (last, count, second) == (40, 4, 1)
    with pytest.raises(ValueError, match="must be stackable when strict=True"):
        autograph.stack([1])


def test_while_goes_on_in_the_graph_where_a_break_looks_at_a_tensor():
    def program(n):
        turns = 0
        while turns < 100:
            turns += 1
            if turns > n:
                break
        return turns
    assert [call(program, n) for n in (3, 200)] == [4, 100]


# ---- effects ----
def test_effects_happen_in_order_in_loops_and_conditionals():
    variable = tw.Variable(1, use_resource=True, name="effects")

    @tw.function
    def program(n):
        if n > 0:
            variable.assign_add(10)
        i = 0
        while i < n:
            variable.assign(variable * 2)
            i += 1
        for x in tw.data.Dataset.range(3):
            variable.assign_add(tw.cast(x, tw.int32))
        return variable.read_value()
    with tw.Session() as session:
        two, none = program(tw.constant(2)), program(tw.constant(0))
        session.run(variable.initializer)
        assert session.run(two) == 47 and session.run(none) == 50


def test_effects_that_nobody_reads():
    variable = tw.Variable(1, use_resource=True, name="unread")

    @tw.function
    def grow(n):
        while variable < n:
            variable.assign_add(3)

    @tw.function
    def outer(n):
        grow(n)
        if variable > 100:
            variable.assign(0)
    with tw.Session() as session:
        small, large = outer(tw.constant(50)), outer(tw.constant(200))
        session.run(variable.initializer)
        session.run(small)
        assert session.run(variable) == 52
        session.run(large)
        assert session.run(variable) == 0


# ---- those who convert ----
def test_functions_of_datasets():
    numbers = tw.data.Dataset.range(6)

    def even(x):
        if x % 2 > 0:
            return False
        return True

    def spread(x):
        return numbers.take(x if x < 3 else tw.constant(0, tw.int64))

    def larger(state, x):
        if x > state:
            state = x
        return state
    made = {"map": numbers.map(lambda x: -x if x > 3 else x), "filter": numbers.filter(even), "flat_map": numbers.flat_map(spread),
            "interleave": numbers.interleave(spread, 2), "scan": numbers.scan(np.int64(2), lambda s, x: (larger(s, x), larger(s, x)))}
    found = {}
    with tw.Session() as session:
        for name, dataset in made.items():
            following = dataset.make_one_shot_iterator().get_next()
            found[name] = []
            with pytest.raises(tw.errors.OutOfRangeError):
                while True:
                    found[name].append(int(session.run(following)))
        assert session.run(numbers.reduce(np.int64(0), larger)) == 5
    assert found == {"map": [0, 1, 2, 3, -4, -5], "filter": [0, 2, 4], "flat_map": [0, 0, 1], "interleave": [0, 0, 1],
                     "scan": [2, 2, 2, 3, 4, 5]}


def test_for_over_datasets():
    def program(limit):
        total = 0
        for x, y in tw.data.Dataset.zip((tw.data.Dataset.range(5), tw.data.Dataset.range(5, 10))).repeat():
            if x * y > limit:
                break
            total += tw.cast(x + y, tw.int32)
            last = y
        return total, last
    total, last = run(tw.function(program)(tw.constant(20, tw.int64)))
    assert (total, last) == (5 + 7 + 9, 7)


def test_layers_convert_their_call():
    class Signed(tw.layers.Layer):
        def call(self, x):
            if tw.reduce_sum(x) > 0:
                return x
            return -x
    assert run(Signed()(tw.constant([-5.0, 1.0]))).tolist() == [5.0, -1.0]


def test_contrib_names():
    from thalweg.contrib import autograph

    @autograph.convert()
    def program(x):
        return x if x > 0 else 0
    assert run(program(tw.constant(-3))) == 0
    assert autograph.to_code(relu) == tw.autograph.to_code(relu)
    assert "ag__.if_statement(x > 0" in autograph.to_code(relu)
    assert issubclass(autograph.AutoGraphError, Exception)


def test_features(capfd):
    feature = tw.autograph.experimental.Feature

    def program(x):
        print("x is", x)
        return x
    call(program, 5)
    assert "x is Tensor" in capfd.readouterr().out
    call(program, 5, experimental_autograph_options=feature.BUILTIN_FUNCTIONS)
    assert "x is 5" in capfd.readouterr().err
    with pytest.raises(TypeError, match="a tf.autograph.experimental.Feature is expected"):
        call(program, 5, experimental_autograph_options="BUILTIN_FUNCTIONS")


def test_names_that_libraries_import(tmp_path):
    source = """
import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.autograph.core.converter import ConversionOptions, Feature
from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.autograph.impl.api import do_not_convert, tf_convert
from tensorflow.python.autograph.lang import directives
from tensorflow.contrib import autograph as contrib
import tensorflow.contrib.autograph

def relu(x):
    if x > 0:
        return x
    return 0

def run(function, context):
    try:
        return tf.Session().run(tf_convert(function, context)(tf.constant(-3)))
    except TypeError as error:
        return "bool" in str(error)
print(run(relu, ag_ctx.control_status_ctx()), run(relu, ag_ctx.ControlStatusCtx(ag_ctx.Status.DISABLED)))
with ag_ctx.ControlStatusCtx(status=ag_ctx.Status.DISABLED):
    print(run(relu, ag_ctx.control_status_ctx()))
options = ConversionOptions(recursive=True, user_requested=True, optional_features=Feature.LISTS)
print(options.uses(Feature.LISTS), tf.Session().run(autograph.converted_call(relu, options, (tf.constant(3),), None)))
print(tf.autograph.to_graph is tf.compat.v1.autograph.to_graph, contrib.Feature is Feature, callable(directives.set_loop_options))
"""
    (tmp_path / "program.py").write_text(source)
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", str(tmp_path / "program.py")], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == "0 True True True 3 True True True".split()


def test_where_operations_run_at_once_control_flow_is_pythons(tmp_path):
    source = """
import thalweg as tf
tf.enable_eager_execution()

def program(n):
    total, seen = 0, []
    while n > 0:
        n -= 1
        if n > 2 and not n > 4:
            total += int(n)
            seen.append(n)
    for x in tf.data.Dataset.range(4):
        if x > 2:
            break
        total += int(x)
    for x in tf.constant([1, 2]):
        total += x
    return total, len(seen)
total, count = tf.autograph.to_graph(program)(tf.constant(6))
print(int(total), count)

@tf.function
def traced(n):
    total = 0
    while n > 0:
        total += n
        n -= 1
    return total
print(int(traced(tf.constant(4))))
"""
    (tmp_path / "program.py").write_text(source)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["13", "2", "10"]


# ---- errors ----
def fails_deep_inside(x):
    for i in tw.range(x):
        if i > 1:
            x = x + "text"
    return x


def test_tracebacks_show_the_users_lines_alone():
    with pytest.raises(TypeError) as raised:
        tw.function(lambda x: fails_deep_inside(x))(tw.constant(3))
    frames = traceback.extract_tb(raised.value.__traceback__)
    generated = [f.name for f in frames if "thalweg/autograph/" in f.filename or "thalweg/control/control_flow.py" in f.filename]
    assert generated == []
    ours = [f for f in frames if f.filename == __file__]
    assert [f.line for f in ours[-3:]] == ["for i in tw.range(x):", "if i > 1:", 'x = x + "text"']
    assert {f.name for f in ours[-3:]} == {"fails_deep_inside"}


def test_errors_of_a_step_name_the_users_line():
    def program(x):
        if x > 0:
            y = tw.gather([1, 2], x)  # the line
        else:
            y = x
        return y
    with pytest.raises(tw.errors.InvalidArgumentError) as raised:
        run(tw.autograph.to_graph(program)(tw.constant(7)))
    assert f"test_autograph_conversion.py:{program.__code__.co_firstlineno + 2} in program" in str(raised.value)


# ---- conversions that are broken ----
def differs(seeds):
    """Whether a random program gives anything else than Python does."""
    for seed in seeds:
        source, name = random_programs.make(seed), f"<broken {seed}>"
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        scope = {}
        exec(compile(source, name, "exec"), scope)
        with tw.Graph().as_default(), tw.Session() as session:
            try:
                made = tw.autograph.to_graph(scope["program"])(*map(tw.constant, (3, 4, 0, [1, 2, 5])))
                if session.run(tw.convert_to_tensor(made)) != scope["program"](3, 4, 0, [1, 2, 5]):
                    return True
            except (TypeError, ValueError, NameError, tw.autograph.ConversionError, tw.errors.OpError):
                return True
    return False


@pytest.mark.parametrize("broken", ["flags", "liveness", "breaks", "restore"])
def test_a_broken_conversion_is_seen(monkeypatch, broken):
    assert not differs(range(1000, 1006))
    monkeypatch.setattr(conversion, "_codes", weakref.WeakKeyDictionary())  # what was converted before is not known
    if broken == "flags":
        monkeypatch.setattr(exits, "_none_of", lambda flags, at: exits.ast.copy_location(exits.ast.Constant(True), at))
    elif broken == "liveness":
        monkeypatch.setattr(liveness.Liveness, "_reads", lambda self, *roots: frozenset())
    elif broken == "breaks":
        monkeypatch.setattr(exits, "_always_leaves", lambda statements: bool(statements))
    else:
        from thalweg.autograph import branching
        before = branching._Branch.__init__
        monkeypatch.setattr(branching._Branch, "__init__",
                            lambda self, context, run, put, get, start: before(self, context, run, lambda values: None, get, start))
    assert differs(range(1000, 1030))
