# SPDX-License-Identifier: Apache-2.0
"""What somebody meets who has just installed the package: names and completion, reprs, messages, the launcher."""
import os
import subprocess
import sys
import types

import numpy as np
import pytest
import thalweg as tw
from thalweg.base import names

ROOT = os.path.dirname(os.path.dirname(tw.__file__))
NAMESPACES = ("app bitwise compat contrib debugging distribute dtypes errors estimator flags gfile graph_util image initializers io "
              "keras layers linalg logging lookup losses manip math metrics nn python_io quantization queue random saved_model sets "
              "signal sparse spectral strings summary test train version contrib.crf contrib.framework contrib.layers "
              "contrib.losses contrib.metrics contrib.opt contrib.rnn contrib.seq2seq contrib.slim contrib.training "
              "contrib.util").split()


def python(program, *arguments, cwd=None):
    return subprocess.run([sys.executable, *arguments, "-c", program], env={**os.environ, "PYTHONPATH": ROOT}, cwd=cwd,
                          capture_output=True, text=True, check=False, timeout=300)


def launch(*arguments, cwd=None):
    return subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", *arguments], env={**os.environ, "PYTHONPATH": ROOT},
                          cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


def namespace(path):
    found = tw
    for part in path.split("."):
        found = getattr(found, part)
    return found


# ---- names ----
@pytest.mark.parametrize("module", ["thalweg", "tensorflow", "tensorflow.compat.v1"])
def test_star_import_brings_what_tensorflow_brings(module):
    done = python("import thalweg.as_tensorflow\n"
                  f"from {module} import *\n"
                  "import builtins, thalweg\n"  # print, range, abs and others are TensorFlow's now
                  "builtins.print(placeholder is thalweg.placeholder, layers.dense.__name__, GraphKeys.LOSSES, nn.relu.__name__, float32.name,\n"
                  "      train.AdamOptimizer.__name__, 'lite' in globals(), matrix_inverse is thalweg.matrix_inverse, __version__)\n")
    assert done.stdout == "True dense losses relu float32 AdamOptimizer False True 1.15.0\n", done.stderr


def test_star_import_of_a_private_module_of_tensorflow():
    done = python("import thalweg.as_tensorflow\nfrom tensorflow.python.ops.array_ops import *\n"
                  "from tensorflow.python.ops.math_ops import *\n"
                  "import builtins, thalweg\n"
                  "builtins.print(reshape is thalweg.reshape, placeholder is thalweg.placeholder, reduce_sum is thalweg.reduce_sum)\n")
    assert done.stdout == "True True True\n", done.stderr


@pytest.mark.parametrize("path", ["nn", "train", "math", "losses", "contrib.layers", "contrib.rnn", "saved_model", "keras.initializers"])
def test_star_import_of_a_namespace_brings_its_names_and_none_from_inside(path):
    scope = {}
    exec(f"from thalweg.{path} import *", scope)
    brought = set(scope) - {"__builtins__"}
    assert set(dir(namespace(path))) <= brought and len(brought) > 3
    assert not brought & {"apply", "array_ops", "np", "names", "convert_to_tensor", "GraphKeys", "name_scope"}


@pytest.mark.parametrize("path", ["", *NAMESPACES])
def test_completion_shows_the_names_that_work(path):
    space = namespace(path) if path else tw
    module_name = "thalweg." + path if path else "thalweg"
    shown = dir(space)
    assert len(shown) == len(set(shown)) and len(shown) > 0
    for name in shown:
        getattr(space, name)
    if names.public(module_name) and path not in ("compat", "estimator", "keras"):
        works = {n for n in names.public(module_name) if hasattr(space, n)
                 and not getattr(getattr(space, n), "_is_missing", False)
                 and not (isinstance(getattr(space, n), types.ModuleType) and not dir(getattr(space, n)))}
        assert works <= set(shown)
    assert not set(shown) & {"apply", "array_ops", "checks", "np", "names", "importlib"}


def test_completion_in_numbers():
    assert len(dir(tw.nn)) >= 105 and "relu" in dir(tw.nn) and len(dir(tw.math)) >= 120 and len(dir(tw.train)) >= 105
    assert {"Optimizer", "LBFGSOptimizer", "BoundedStalenessOptimizer"} <= set(dir(tw.train)) and len(dir(tw.random)) >= 20


@pytest.mark.parametrize("path", sorted(names.ABSENT))
def test_what_programs_probe_for_is_absent_until_it_works(path):
    parent, _, name = path.rpartition(".")
    assert not hasattr(namespace(parent) if parent else tw, name) and name not in dir(namespace(parent) if parent else tw)
    done = python(f"import thalweg.as_tensorflow\ntry:\n    import tensorflow.{path}\nexcept ImportError as e:\n    print(e)\n")
    assert "not implemented in Thalweg" in done.stdout, done.stdout + done.stderr


def test_every_operation_can_be_made_into_a_function():
    from thalweg import raw_ops
    for name in dir(raw_ops):
        assert callable(getattr(raw_ops, name))
    import inspect
    defaults = [p.default for p in inspect.signature(raw_ops.DebugNumericSummary).parameters.values()]
    assert -np.inf in defaults and np.inf in defaults


def test_the_functions_of_operations_take_the_arguments_of_tensorflows():
    import inspect
    from thalweg import raw_ops
    facts = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "tf_facts")
    with open(os.path.join(facts, "raw_ops.txt")) as file:
        lines = [line.split() for line in file]
    for name, *arguments in lines:
        assert list(inspect.signature(getattr(raw_ops, name)).parameters) == arguments, name
    assert len(lines) > 1460


def test_a_function_of_an_operation_takes_names_of_the_api(graph):
    from thalweg import raw_ops
    with tw.Session() as sess:
        total = raw_ops.Sum(input=[[1.0, 2.0], [3.0, 4.0]], axis=[0])
        wider = raw_ops.ExpandDims(input=total, axis=0)
        assert sess.run(wider).tolist() == [[4.0, 6.0]]
        assert sess.run(raw_ops.Select(condition=[True, False], x=[1, 2], y=[3, 4])).tolist() == [1, 4]
        assert sess.run(raw_ops.Where(condition=[False, True])).tolist() == [[1]]


# ---- what things look like ----
def test_graphs_and_sessions_have_a_repr(graph):
    assert repr(graph) == "<tf.Graph of 0 operations>"
    tw.placeholder(tw.float32, [None, 3], name="x")
    assert repr(graph) == "<tf.Graph of 1 operation>" and "<td>x</td><td>float32</td><td>(?, 3)</td>" in graph._repr_html_()
    sess = tw.Session()
    assert repr(sess) == f"<tf.Session of {graph!r}>" and sess.sess_str == b"" and len(sess.graph_def.node) == 1
    sess.close()
    assert repr(sess) == "<tf.Session closed>"
    graph.finalize()
    assert repr(graph) == "<tf.Graph of 1 operation, finalized>"


# ---- messages ----
def test_a_mistyped_fetch_is_told_the_nearest_name(graph):
    tw.constant(1.0, name="loss")
    with tw.Session() as sess:
        with pytest.raises(ValueError, match=r"'los' cannot be interpreted as a Tensor.*does not exist in the graph. Nearest: 'loss'"):
            sess.run("los")
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor.*Nearest: 'loss'"):
            sess.run("loss:0", {"lost:0": 1})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: The name 'loss' refers to an Operation, "
                                            "not a Tensor.*its first output is 'loss:0'"):
            sess.run("loss:0", {"loss": 1})
        with pytest.raises(TypeError, match="it has no outputs"):
            sess.run("loss:0", {tw.no_op("nothing").name: 1})
    for find in (graph.get_operation_by_name, graph.get_tensor_by_name):
        with pytest.raises(KeyError, match="Nearest: 'loss'"):
            find("lss" if find == graph.get_operation_by_name else "lss:0")
    with pytest.raises(KeyError) as error:
        graph.get_tensor_by_name("something_else_altogether:0")
    assert "Nearest" not in str(error.value)


def test_what_tensorflow_2_does_is_answered_with_what_to_do(tmp_path):
    t = tw.constant(1)
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'numpy'.*sess.run"):
        t.numpy()
    with pytest.raises(AttributeError, match="'Variable' object has no attribute 'numpy'.*sess.run"):
        tw.Variable(1).numpy()
    assert not hasattr(t, "numpy") and not hasattr(t, "assign")
    with pytest.raises(TypeError, match="loaded into a session.*serving_default"):
        tw.saved_model.load(str(tmp_path))
    with pytest.raises(TypeError, match="missing 1 required"):
        tw.saved_model.load(None, ["serve"])


FUSED = {
    "elementwise": ("tf.tanh((x - y) * 2.0)", "Sub 'sub'"),
    "reduction": ("tf.reduce_mean(tf.square(x - y))", "Sub 'sub'"),
    "product": ("tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.transpose(y)), tf.placeholder_with_default([1.0, 2.0], [None])))", "'BiasAdd'"),
}


@pytest.mark.parametrize("kind", sorted(FUSED))
def test_errors_name_what_the_user_made_also_after_fusion(kind):
    text, label = FUSED[kind]
    done = python("import thalweg as tf, numpy as np\n"
                  "x, y = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])\n"
                  f"z = {text}\n"
                  "try:\n    tf.Session().run(z, {x: np.ones([3, 4]), y: np.ones([5, 4])})\n"
                  "except tf.errors.InvalidArgumentError as e:\n    print(e, '|', e.op.type)\n")
    assert "_Fused" not in done.stdout and label in done.stdout and "created at <string>:3" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("created at") == 1 and not done.stdout.rstrip().endswith("None"), done.stdout


def test_the_graph_of_a_program_grows_with_a_warning_and_that_of_a_library_without(tmp_path):
    (tmp_path / "site-packages").mkdir()
    loop = ("import thalweg as tf\ndef run():\n    with tf.Session() as s:\n        for i in range(9):\n            s.run(tf.constant(i) + 1)\n")
    (tmp_path / "site-packages" / "library.py").write_text(loop)
    (tmp_path / "mine.py").write_text(loop)
    program = "import sys\nsys.path[:0] = [%r, %r]\nimport %s\n%s.run()\n"
    where = (str(tmp_path), str(tmp_path / "site-packages"))
    mine = python(program % (*where, "mine", "mine"))
    assert mine.stderr.count("the graph has grown") == 1 and "mine.py:5" in mine.stderr and "TF_CPP_MIN_LOG_LEVEL=2" in mine.stderr
    assert python(program % (*where, "library", "library")).stderr == ""
    quiet = subprocess.run([sys.executable, "-c", program % (*where, "mine", "mine")], capture_output=True, text=True, check=False,
                           env={**os.environ, "PYTHONPATH": ROOT, "TF_CPP_MIN_LOG_LEVEL": "2"})
    assert (quiet.returncode, quiet.stderr) == (0, "")


# ---- the launcher ----
def test_code_on_the_command_line():
    done = launch("-c", "import sys, tensorflow as tf\ndef main(argv): print(argv, sys.argv, __name__, tf.__version__)\ntf.app.run()", "a", "b")
    assert done.stdout == "['-c', 'a', 'b'] ['-c', 'a', 'b'] __main__ 1.15.0\n", done.stderr


def test_a_missing_program_is_one_line(tmp_path):
    done = launch("no_such.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "thalweg.as_tensorflow: can't open file 'no_such.py': No such file or directory\n")
    done = launch("-m", "no_such_module", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "thalweg.as_tensorflow: No module named no_such_module\n")
    assert launch("-c").returncode == 2


def test_old_names_come_back_in_a_notebook_too():
    done = python("import thalweg.as_tensorflow\nimport collections, inspect, numpy as np\n"
                  "print(np.float is float, np.Inf, collections.Mapping.__name__, inspect.getargspec(lambda a: a).args)")
    assert done.stdout == "True inf Mapping ['a']\n", done.stderr
    assert python("import thalweg, numpy as np\nprint(hasattr(np, 'Inf'))").stdout == "False\n"


def test_a_launched_program_may_import_the_launcher():
    assert launch("-c", "import tensorflow, thalweg.as_tensorflow\nprint('fine')").stdout == "fine\n"


def test_graphs_of_programs_of_tensorflow_keep_its_rules():
    """An axis that is given twice counts once in 1.15."""
    done = python("import thalweg.as_tensorflow\nimport tensorflow as tf\nprint(tf.Graph().graph_def_versions.producer)\n"
                  "print(tf.Session().run(tf.reduce_sum(tf.ones([2, 3]), [0, 0])))\n")
    assert done.stdout.split("\n")[:2] == ["134", "[2. 2. 2.]"], done.stdout + done.stderr
