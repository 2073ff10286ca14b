# SPDX-License-Identifier: Apache-2.0
"""What help() says of the names that programs use most: numpy's sections, with examples that run."""
import csv
import doctest
import inspect
import os
import re
import types

import numpy as np
import pytest
import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_USED = 200
# Methods that programs call on objects, which the list gives without their class.
METHODS = {
    "run": "Session.run", "minimize": "train.Optimizer.minimize", "add_summary": "summary.FileWriter.add_summary",
    "as_list": "TensorShape.as_list", "apply_gradients": "train.Optimizer.apply_gradients", "eval": "Tensor.eval",
    "assign": "Variable.assign", "get_shape": "Tensor.get_shape", "as_default": "Graph.as_default", "restore": "train.Saver.restore",
    "zero_state": "nn.rnn_cell.RNNCell.zero_state", "compute_gradients": "train.Optimizer.compute_gradients",
    "add_graph": "summary.FileWriter.add_graph", "set_shape": "Tensor.set_shape", "flush": "summary.FileWriter.flush",
    "state_size": "nn.rnn_cell.RNNCell.state_size",
    "get_next": "data.Iterator.get_next", "repeat": "data.Dataset.repeat", "prefetch": "data.Dataset.prefetch",
    "make_initializable_iterator": "data.Dataset.make_initializable_iterator",
}


def most_used():
    """The names of tools/tf_facts/api_usage.csv that most programs use, below the package."""
    with open(os.path.join(ROOT, "tools", "tf_facts", "api_usage.csv")) as f:
        symbols = [row["symbol"] for row in csv.DictReader(f)][:MOST_USED]
    return [METHODS[s[len("(object)."):]] if s.startswith("(object).") else s.removeprefix("tf.").removeprefix("python.framework.ops.")
            for s in symbols]


def found(path):
    """What lies under a name; None where there is nothing."""
    thing = tw
    for part in path.split("."):
        try:
            value = getattr(thing, part)
        except AttributeError:
            return None
        thing = inspect.getattr_static(thing, part) if inspect.isclass(thing) else value
    return None if getattr(thing, "_is_missing", False) else thing


def documented(path):
    """What has the documentation of a name: of a constant its class. None for messages, whose fields are the protocol's, and for what
    another package documents: absl's flags, Python's logging."""
    thing = found(path)
    if isinstance(thing, (classmethod, staticmethod)):
        thing = thing.__func__
    if thing is None or isinstance(thing, (types.ModuleType, str, int)):
        return None
    if not (inspect.isroutine(thing) or inspect.isclass(thing) or isinstance(thing, property)):
        thing = type(thing)
    home = getattr(getattr(thing, "fget", None) or getattr(thing, "__objclass__", thing), "__module__", "")
    return thing if home.startswith("thalweg") and home != "thalweg.messages" else None


NAMES = [path for path in dict.fromkeys(most_used()) if documented(path) is not None]


def sections(doc):
    return set(re.findall(r"^(\w+)\n-{3,}$", doc, flags=re.M))


def wanted_sections(path):
    """What numpy's style asks of a function or class, which says in its documentation what it is made of. A property or a constant has
    an example."""
    thing = documented(path)
    if thing is not found(path) and inspect.isclass(thing) or isinstance(thing, property):
        return {"Examples"}
    try:
        given = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing)
    except (TypeError, ValueError):
        return {"Examples"}
    parameters = [n for n in given.parameters if n not in ("self", "cls", "args", "kwargs")]
    gives = not inspect.isclass(thing) and given.return_annotation not in ("None", inspect.Signature.empty)
    return {"Examples"} | ({"Parameters"} if parameters else set()) | ({"Returns"} if gives else set())


def test_most_of_the_names_are_here():
    assert len(most_used()) == MOST_USED and len(NAMES) > 150


@pytest.mark.parametrize("path", NAMES)
def test_a_name_has_its_documentation(path):
    doc = inspect.getdoc(documented(path)) or ""
    assert wanted_sections(path) <= sections(doc), f"{path} lacks {wanted_sections(path) - sections(doc)}"
    assert ">>> " in doc


def examples_of(thing, name):
    finder = doctest.DocTestFinder(recurse=False)
    return [t for t in finder.find(thing, name, module=False, globs={"tw": tw, "tf": tw, "np": np}) if t.examples]


@pytest.mark.parametrize("path", NAMES)
def test_the_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = documented(path)
    thing = thing.fget if isinstance(thing, property) else thing
    for test in examples_of(thing, path):
        said = []
        with tw.Graph().as_default():
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
        assert not said, "".join(said)
