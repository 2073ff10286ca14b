# SPDX-License-Identifier: Apache-2.0
"""What editors and type checkers are told: the stubs, which come from the annotations of the sources."""
import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest
import thalweg as tw

PACKAGE = pathlib.Path(tw.__file__).parent
ROOT = pathlib.Path(__file__).parent.parent.parent
MOST_ANY = 0.05  # of the parameters and results


def declared(path):
    """{name: what its stub says of it} of a namespace."""
    place = PACKAGE / path
    nodes = ast.parse((place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")).read_text()).body
    found = {alias.asname or alias.name: ast.unparse(n) for n in nodes if isinstance(n, (ast.ImportFrom, ast.Import)) for alias in n.names}
    found.update((n.name, ast.unparse(n.returns) if isinstance(n, ast.FunctionDef) else "class") for n in nodes
                 if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
    found.update((ast.unparse(n.target if isinstance(n, ast.AnnAssign) else n.targets[0]), ast.unparse(n)) for n in nodes
                 if isinstance(n, (ast.AnnAssign, ast.Assign)))
    return found


@pytest.mark.parametrize("path", ["", "nn", "train", "math", "losses", "image", "linalg", "random", "io", "contrib/rnn", "errors"])
def test_stubs_name_all_that_works(path):
    space = tw
    for part in path.split("/") if path else []:
        space = getattr(space, part)
    assert {n for n in dir(space) if not n.startswith("__")} <= set(declared(path))


def test_stubs_say_what_is_a_tensor():
    named = declared("")
    assert named["Tensor"] == "from thalweg.graph.tensor import Tensor as Tensor" and named["matmul"] == named["exp"] == "_Tensor"
    assert named["float32"] == "float32: _DType" and declared("nn")["relu"] == "_Tensor"
    assert named["GraphDef"] == "from thalweg.messages import GraphDef as GraphDef" and declared("messages")["GraphDef"] == "class"
    assert {"MatMul", "Conv2D", "UniqueOutputs"} <= set(declared("raw_ops"))


def types_of(tree):
    """Every annotation of a parameter or result in a stub; None where there is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            yield from (a.annotation for a in given if a is not None and a.arg not in ("self", "cls"))
            yield node.returns


def count_any(paths):
    """(how many parameters and results have Any in their types, how many there are)."""
    vague, whole = 0, 0
    for path in paths:
        tree = ast.parse(path.read_text())
        names = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "typing" for a in n.names
                 if a.name == "Any"}
        for annotation in types_of(tree):
            whole += 1
            vague += annotation is None or any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(annotation))
    return vague, whole


def test_any_is_counted(tmp_path):
    path = tmp_path / "sample.pyi"
    path.write_text("from typing import Any as _Any\nclass C:\n    def f(self, a: int, *b: list[_Any], c=...) -> _Any: ...\n")
    assert count_any([path]) == (3, 4)


def test_few_types_are_any():
    """Tables make the stubs of operations and messages: they count apart, so that they hide nothing."""
    made = {PACKAGE / "raw_ops.pyi", PACKAGE / "messages.pyi"}
    vague, whole = count_any(set(PACKAGE.rglob("*.pyi")) - made - {PACKAGE / "_core.pyi"})
    assert whole > 8000 and vague < MOST_ANY * whole, f"{vague} of {whole}"
    vague, whole = count_any(made)
    assert whole > 10000 and vague < 0.001 * whole, f"{vague} of {whole}"


def test_no_alias_hides_any():
    """A type of base/typing.py that is Any itself would not be counted."""
    tree = ast.parse((PACKAGE / "base" / "typing.py").read_text())
    aliases = {n.target.id: n.value.value for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.value, ast.Constant)}
    assert len(aliases) > 20 and "Any" not in {part.strip() for value in aliases.values() for part in re.split(r"\|", value)}


def checker():
    """mypy of the virtual environment that `./dev setup lint` makes."""
    path = ROOT / ".venvs" / "lint" / "bin" / "mypy"
    if not path.exists():
        pytest.skip("no mypy: ./dev setup lint")
    return path


SAMPLE = """
import thalweg as tf
x: tf.Tensor = tf.placeholder(tf.float32, [None, 3])
w = tf.Variable(tf.zeros([3, 2]))
y = (1.0 - tf.nn.relu(tf.matmul(x, w))) * w + 1.0
reveal_type(y)
def twice(t: tf.Tensor, g: tf.Graph, d: tf.DType, m: tf.GraphDef) -> tf.Tensor:
    return tf.cast(t, d) * 2
train = tf.train.AdamOptimizer(0.1).minimize(tf.losses.mean_squared_error(y, y))
with tf.Session() as sess:
    sess.run(train, {x: [[1.0, 2.0, 3.0]]})
class Mine(tf.layers.Layer):
    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return tf.layers.dense(inputs, 3)
try:
    cell = tf.nn.rnn_cell.BasicLSTMCell(3)
except tf.errors.NotFoundError as e:
    print(e.message)
c: int = tf.matmul(x, x)
tf.reduce_men(x)
tf.reshape(x, "flat")
x.numpy()
"""


def test_a_type_checker_knows_tensors(tmp_path):
    (tmp_path / "sample.py").write_text(SAMPLE)
    done = subprocess.run([checker(), "--config-file", ROOT / "python" / "mypy.ini", "--no-error-summary", "--cache-dir", tmp_path / "cache",
                           "sample.py"], cwd=tmp_path, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}, capture_output=True,
                          text=True, check=False, timeout=600)
    assert [line.partition(":")[2].partition("; expected")[0] for line in done.stdout.splitlines()] == [
        '6: note: Revealed type is "thalweg.graph.tensor.Tensor"',
        '19: error: Incompatible types in assignment (expression has type "Tensor", variable has type "int")  [assignment]',
        '20: error: Module has no attribute "reduce_men"; maybe "reduce_mean", "reduce_min", or "reduce_any"?  [attr-defined]',
        '21: error: Argument 2 to "reshape" has incompatible type "str"',
        '22: error: "Tensor" has no attribute "numpy"  [attr-defined]'], done.stdout


def test_the_typed_program_runs():
    import typed_program
    losses = typed_program.train(50, 0.1)
    assert losses[-1] < losses[0] / 2 and typed_program.missing("/no/such/model")


def test_the_typed_layers_run(tmp_path):
    import numpy as np
    import typed_layers
    losses, newest = typed_layers.train(str(tmp_path), 60)
    assert sum(losses[-10:]) < sum(losses[:10]) and len(losses) == 60 and newest.endswith("-60")
    assert typed_layers.sums(np.array([[1, 2, 3], [4, 5, 6]], np.float32)) == [6.0, 15.0]
    assert typed_layers.slope(str(tmp_path)) == pytest.approx(3.0, abs=1e-3)
    accuracy, path = typed_layers.classified(str(tmp_path))
    assert accuracy == 1.0 and os.path.isdir(path)


def test_an_annotation_of_an_unknown_name_is_refused():
    sys.path.insert(0, str(ROOT / "python"))
    try:
        from stub_types import UnknownName, Writer
    finally:
        sys.path.pop(0)
    writer = Writer("thalweg.sample", {"bool"})
    assert writer.text("bool | list[DType | None]", "thalweg.graph.tensor") == "_bool | list[_DType | None]"
    assert writer.imports == {"from builtins import bool as _bool\n", "from thalweg.dtypes import DType as _DType\n"}
    with pytest.raises(UnknownName, match="thalweg.graph.tensor: an annotation names Tensro"):
        writer.text("Tensro", "thalweg.graph.tensor")
