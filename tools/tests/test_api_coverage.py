# SPDX-License-Identifier: Apache-2.0
"""tools/api_coverage.py: states of symbols, and that its page counts them."""
import os
import sys
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import api_coverage  # noqa: E402


class Missing(AttributeError):
    pass


def package():
    def right(x, name=None):
        return x

    def wrong(x, axis=1, name=None):
        return x

    def find(name):
        raise Missing(name) if name == "later" else AttributeError(name)
    made = types.ModuleType("made")
    made.right, made.wrong, made.__getattr__ = right, wrong, find
    made.kernelless = types.FunctionType(right.__code__, {})
    made.kernelless.operation = "Nothing"
    return made


ROWS = {f"tf.{n}": {"kind": "function", "args": ["x", "name=None"]} for n in ("right", "wrong", "later", "never", "kernelless")}


def test_states():
    found = {n: api_coverage.state_of(package(), f"tf.{n}", ROWS, set())[0]
             for n in ("right", "wrong", "later", "never", "kernelless")}
    assert found == {"right": "works", "wrong": "other arguments", "later": "missing", "never": "unnamed",
                     "kernelless": "missing"}
    assert api_coverage.state_of(package(), "tf.compat.v1.right", ROWS, set())[0] == "works"


def test_arguments_that_are_the_same():
    same = api_coverage.same
    assert same("x", "x") and same("x=1.0", "x=1") and same("x=<Zeros>", "x=<thing>") and same("x=1e-05", "x=1e-05")
    assert not same("x", "y") and not same("x", "x=1") and not same("x=1", "x=2") and not same("x='a'", "x='b'")


def test_own_keywords_are_not_counted():
    def more(x, name=None, *, extra=1):
        return x

    def needed(x, name=None, *, extra):
        return x
    assert api_coverage.parameters(more) == ["x", "name=None"]
    assert api_coverage.parameters(needed) == ["x", "name=None", "extra"]
    assert api_coverage.same("x=[1, 2]", "x=(1, 2)") and not api_coverage.same("x=[1, 2]", "x=(1, 3)")
    assert api_coverage.same("x=Thing()", "x=None") and not api_coverage.same("x=1", "x=None")


def test_page_counts():
    page = api_coverage.page([("tf.a", 2, "works", ""), ("tf.b", 0, "missing", "why"), ("tf.nn.c", 0, "other arguments", "")])
    assert "| used by programs | 1 | 0 | 0 | 0 |" in page and "| all | 1 | 1 | 1 | 0 |" in page
    assert "- `tf.b`: why" in page and "| tf.nn | 0 | 1 | 0 | 0 |" in page


def test_facts_are_read():
    assert "tf.contrib.layers.conv2d" in api_coverage.symbols() and api_coverage.usage()["tf.Session"] == 101
