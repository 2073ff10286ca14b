# SPDX-License-Identifier: Apache-2.0
"""What help() says of the names that programs use most: numpy's sections, with examples that run."""
import ast
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
    "padded_batch": "data.Dataset.padded_batch", "request_stop": "train.Coordinator.request_stop",
    "should_stop": "train.Coordinator.should_stop", "reuse_variables": "VariableScope.reuse_variables",
    "get_collection": "Graph.get_collection", "get_operations": "Graph.get_operations", "dequeue": "QueueBase.dequeue",
    "managed_session": "train.Supervisor.managed_session",
}


def most_used():
    """The names of tools/tf_facts/api_usage.csv, below the package; of the methods there those whose class is known."""
    with open(os.path.join(ROOT, "tools", "tf_facts", "api_usage.csv")) as f:
        symbols = [row["symbol"] for row in csv.DictReader(f)]
    return [METHODS[s[len("(object)."):]] if s.startswith("(object).") else s.removeprefix("tf.").removeprefix("python.framework.ops.")
            for s in symbols if s.removeprefix("(object).") in METHODS or not s.startswith("(object).")]


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
    return {s.replace("Yields", "Returns") for s in re.findall(r"^(\w+)\n-{3,}$", doc, flags=re.M)}


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
    assert len(most_used()) > 400 and len(NAMES) > 350


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


def in_a_finalized_graph(call):
    tw.get_default_graph().finalize()
    return call()


# What a call does that its name's documentation says is an error.
FAILS = {
    "arg_min": lambda: tw.arg_min([1, 2], 3), "cholesky": lambda: tw.cholesky([[1.0, 2.0]]),
    "cross": lambda: tw.cross([1.0, 0.0], [0.0, 1.0]), "image.decode_jpeg": lambda: tw.image.decode_jpeg(b"x"),
    "image.decode_png": lambda: tw.image.decode_png(b"x"), "floordiv": lambda: tw.floordiv([7], 0), "mod": lambda: tw.mod([7], 0),
    "quantization.fake_quant_with_min_max_args": lambda: tw.quantization.fake_quant_with_min_max_args([0.3], min=2.0, max=1.0),
    "matrix_determinant": lambda: tw.matrix_determinant([[1.0, 2.0]]), "matrix_inverse": lambda: tw.matrix_inverse([[1.0, 2.0], [2.0, 4.0]]),
    "matrix_solve": lambda: tw.matrix_solve([[1.0, 2.0], [2.0, 4.0]], [[1.0], [2.0]]), "maximum": lambda: tw.maximum([1, 2], [1, 2, 3]),
    "logical_and": lambda: tw.logical_and([True, True], [True] * 3), "read_file": lambda: tw.read_file("there_is_no_such_file"),
    "square": lambda: tw.square("a"), "log": lambda: tw.log(1), "sqrt": lambda: tw.sqrt(4), "exp": lambda: tw.exp(1),
    "fill": lambda: tw.fill([-1], 0), "zeros": lambda: tw.zeros([-1]), "ones": lambda: tw.ones([-1]), "ones_like": lambda: tw.ones_like(None),
    "zeros_like": lambda: tw.zeros_like(None), "identity": lambda: tw.identity(None), "tile": lambda: tw.tile([1, 2], [1, 2]),
    "placeholder_with_default": lambda: tw.placeholder_with_default([1, 2], [3]), "range": lambda: tw.range(0, 5, 0),
    "linspace": lambda: tw.linspace(0.0, 1.0, 0), "abs": lambda: tw.abs("a"), "round": lambda: tw.round("a"),
    "decode_raw": lambda: tw.decode_raw("abc", tw.int32), "string_split": lambda: tw.string_split("abc"),
    "random_normal": lambda: tw.random_normal([-1]), "truncated_normal": lambda: tw.truncated_normal([2], dtype=tw.int32),
    "confusion_matrix": lambda: tw.confusion_matrix([3], [0], num_classes=2), "nn.lrn": lambda: tw.nn.lrn([1.0]),
    "edit_distance": lambda: tw.edit_distance(tw.SparseTensor([[0]], [1], [1]), tw.SparseTensor([[0, 0]], [1], [1, 1])),
    "sparse_tensor_dense_matmul":
        lambda: tw.sparse_tensor_dense_matmul(tw.SparseTensor([[0, 0]], [1.0], [1, 1]), tw.zeros([2, 2])),
    "nn.weighted_cross_entropy_with_logits": lambda: tw.nn.weighted_cross_entropy_with_logits(tw.zeros([2]), tw.zeros([3]), 1.0),
    "summary.scalar": lambda: tw.summary.scalar("a", [1.0, 2.0]), "self_adjoint_eig": lambda: tw.self_adjoint_eig([[1.0, 2.0]]),
    "placeholder": lambda: tw.placeholder(tw.float32), "shape": lambda: tw.shape(None), "stop_gradient": lambda: tw.stop_gradient(None),
    "gather": lambda: tw.gather([1, 2], 5), "sigmoid": lambda: tw.sigmoid(1), "tanh": lambda: tw.tanh(1), "pow": lambda: tw.pow(2, -1),
    "nn.relu": lambda: tw.nn.relu("a"), "nn.softplus": lambda: tw.nn.softplus(1), "nn.l2_loss": lambda: tw.nn.l2_loss(1),
    "clip_by_value": lambda: tw.clip_by_value([1.0, 2.0], [0.0, 0.0, 0.0], 1.0),
    "contrib.rnn.GRUCell": lambda: tw.contrib.rnn.GRUCell(2)(tw.placeholder(tw.float32, [None, None]), tw.zeros([1, 2])),
    "contrib.rnn.BasicLSTMCell":
        lambda: tw.contrib.rnn.BasicLSTMCell(2)(tw.placeholder(tw.float32, [None, None]), (tw.zeros([1, 2]), tw.zeros([1, 2]))),
    "contrib.rnn.NASCell":
        lambda: tw.contrib.rnn.NASCell(2)(tw.placeholder(tw.float32, [None, None]), (tw.zeros([1, 2]), tw.zeros([1, 2]))),
    "no_op": lambda: in_a_finalized_graph(tw.no_op),
    "global_variables_initializer": lambda: in_a_finalized_graph(tw.global_variables_initializer),
    "local_variables_initializer": lambda: in_a_finalized_graph(tw.local_variables_initializer),
    "nn.nce_loss": lambda: tw.nn.nce_loss(tw.zeros([4, 2]), tw.zeros([4]), tw.zeros([3, 1], tw.int64), tw.zeros([3, 5]), 2, 4),
    "InteractiveSession": lambda: tw.InteractiveSession("nothing://"),
    "random_normal_initializer": lambda: tw.random_normal_initializer()([2], tw.int32),
    "truncated_normal_initializer": lambda: tw.truncated_normal_initializer()([2], tw.int32),
    "control_dependencies": lambda: tw.control_dependencies([object()]).__enter__(),
    "FixedLenFeature": lambda: tw.parse_single_example(b"", {"a": tw.FixedLenFeature([None], tw.float32)}),
    "layers.conv2d": lambda: tw.layers.conv2d(tw.zeros([3, 3]), 1, 1),
    "layers.conv2d_transpose": lambda: tw.layers.conv2d_transpose(tw.zeros([3, 3]), 1, 1),
    "layers.dropout": lambda: tw.layers.dropout(tw.zeros([2]), rate=2.0, training=True),
    "layers.Dense": lambda: tw.layers.Dense(2)(tw.placeholder(tw.float32, [None, None])),
    "data.TFRecordDataset": lambda: tw.data.TFRecordDataset("there_is_no_such_file").make_one_shot_iterator().get_next(),
    "data.TextLineDataset": lambda: tw.data.TextLineDataset("there_is_no_such_file").make_one_shot_iterator().get_next(),
}


@pytest.mark.parametrize("path", FAILS)
def test_what_is_said_to_fail_fails(path):
    raises = re.search(r"^Raises\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", inspect.getdoc(documented(path)), flags=re.M | re.S)[1]
    with tw.Graph().as_default(), tw.Session() as session, pytest.raises(Exception) as error:
        session.run(FAILS[path]())
    assert type(error.value).__name__ in re.findall(r"^(\w+)$", raises, flags=re.M)


# ---- all others that have such documentation ----
PACKAGE = os.path.dirname(tw.__file__)


def sources():
    """The modules of the package, as paths below it."""
    found = [os.path.relpath(os.path.join(where, f), PACKAGE) for where, _, files in os.walk(PACKAGE) for f in files]
    return sorted(path for path in found if path.endswith(".py"))


def nodes_of(path):
    """(qualified name, node, documentation) of the functions and classes of a module, and of the methods of these."""
    with open(os.path.join(PACKAGE, path), encoding="utf-8") as f:
        rows = [("", node) for node in ast.parse(f.read()).body]
    for prefix, node in rows:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield prefix + node.name, node, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            rows += [(node.name + ".", inner) for inner in node.body]


def parameters_of(node):
    """(names of a function's parameters, or of those of a class's constructor; what stands for any others), or None."""
    if isinstance(node, ast.ClassDef):
        makers = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
        node = makers.get("__init__", makers.get("__new__"))
        if node is None:
            return None
    a = node.args
    named = {p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs]} - {"self", "cls"}
    return named, {p.arg for p in (a.vararg, a.kwarg) if p is not None}


def named_parameters(doc):
    """The names in the section of the parameters, or None."""
    section = re.search(r"^Parameters\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", doc, flags=re.M | re.S)
    if section is None:
        return None
    heads = [line.partition(" : ")[0] for line in section[1].splitlines() if line[:1].strip()]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


EVERYWHERE = [path for path in sources() if any(">>> " in doc or named_parameters(doc) for _, _, doc in nodes_of(path))]


def test_there_are_many_more():
    assert sum(">>> " in doc for path in EVERYWHERE for _, _, doc in nodes_of(path)) > 240


@pytest.mark.parametrize("path", EVERYWHERE)
def test_documented_parameters_are_those_of_the_signature(path):
    for name, node, doc in nodes_of(path):
        told, there = named_parameters(doc), parameters_of(node)
        if told is not None and there is not None:
            named, others = there
            assert named <= told and (others or told <= named), f"{path}: {name} differs by {told ^ named}"


@pytest.mark.parametrize("path", EVERYWHERE)
def test_all_examples_of_a_module_run(path, tmp_path, monkeypatch):
    for name, _, doc in nodes_of(path):
        said, test = [], doctest.DocTestParser().get_doctest(doc, {"tw": tw, "tf": tw, "np": np}, f"{path}: {name}", path, 0)
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        with tw.Graph().as_default():
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
        assert not said, "".join(said)
