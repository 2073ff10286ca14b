# SPDX-License-Identifier: Apache-2.0
"""tw.flags and tw.app.run: absl's where it is installed, else our own, which read command lines as absl does."""
import enum
import os
import subprocess
import sys

import pytest
import thalweg as tw
from thalweg.base import flag_definitions as define
from thalweg.base import own_flags as flags


@pytest.fixture
def values():
    return flags.FlagValues()


def test_kinds_of_flags(values):
    class Color(enum.Enum):
        RED = 1
        BLUE = 2
    define.DEFINE_string("text", None, "", values)
    define.DEFINE_integer("number", 3, "", flag_values=values)
    define.DEFINE_float("rate", "0.5", "", flag_values=values)
    define.DEFINE_boolean("quick", True, "", values)
    define.DEFINE_bool("loud", False, "", values)
    define.DEFINE_enum("mode", "a", ["a", "b"], "", values)
    define.DEFINE_enum_class("color", Color.RED, Color, "", values)
    define.DEFINE_list("names", "x, y", "", values)
    define.DEFINE_spaceseplist("words", [], "", flag_values=values)
    define.DEFINE_multi_integer("many", [7], "", flag_values=values)
    rest = values(["prog", "--text=a=b", "-number", "0x10", "one", "--noquick", "--loud", "--mode", "b", "--color=BLUE",
                   "--words=p q", "--many=1", "--many=2", "--", "--rate=9"])
    assert rest == ["prog", "one", "--rate=9"]
    assert (values.text, values.number, values.rate, values.quick, values.loud) == ("a=b", 16, 0.5, False, True)
    assert (values.mode, values.color, values.names, values.words) == ("b", Color.BLUE, ["x", "y"], ["p", "q"])
    assert values.many == [1, 2]


def test_names_of_arguments_that_tf1_had():
    tw.flags.DEFINE_string(flag_name="flag_with_old_names", default_value="d", docstring="doc")
    tw.flags.FLAGS(["prog"])
    assert tw.flags.FLAGS.flag_with_old_names == "d" and tw.flags.FLAGS["flag_with_old_names"].help == "doc"


@pytest.mark.parametrize("line, error", [
    (["--number=x"], "flag --number=x"), (["--number=11"], "between"), (["--unknown"], "Unknown command line flag 'unknown'"),
    (["--number"], "Missing value"), (["--quick=perhaps"], "Non-boolean"), (["--flagfile=/nowhere/x"], "Unable to open")])
def test_bad_command_lines(values, line, error):
    define.DEFINE_integer("number", 3, "", upper_bound=10, flag_values=values)
    define.DEFINE_bool("quick", True, "", values)
    with pytest.raises(flags.Error, match=error):
        values(["prog", *line])


def test_flag_file(values, tmp_path):
    (tmp_path / "f").write_text("# comment\n--number=5\n\n")
    define.DEFINE_integer("number", 3, "", flag_values=values)
    values(["prog", f"--flagfile={tmp_path / 'f'}"])
    assert values.number == 5


def test_a_flag_is_defined_once(values):
    define.DEFINE_integer("number", 3, "one", flag_values=values)
    define.DEFINE_integer("number", 3, "one", flag_values=values)  # a module that is loaded again
    with pytest.raises(flags.DuplicateFlagError, match="defined twice"):
        define.DEFINE_integer("number", 3, "another", flag_values=values)


def test_validators(values):
    define.DEFINE_integer("even", 2, "", flag_values=values)
    define.DEFINE_string("must", None, "", values)
    define.register_validator("even", lambda v: v % 2 == 0, "must be even", values)
    define.mark_flag_as_required("must", values)
    with pytest.raises(flags.IllegalFlagValueError, match="--must"):
        values(["prog"])
    values(["prog", "--must=x"])
    with pytest.raises(flags.IllegalFlagValueError, match="must be even"):
        values.even = 3
    with pytest.raises(AttributeError):
        values.unknown = 1


_MIXED = """
import sys
if {hide}:
    sys.modules["absl"] = None
import thalweg as tf
try:
    from absl import app, flags
except ImportError:
    app, flags = tf.app, tf.flags
flags.DEFINE_integer("steps", 1, "defined by absl")
tf.flags.DEFINE_string("name", "x", "defined by tf")
def main(argv):
    print(tf.flags.FLAGS.steps, flags.FLAGS.name, argv[1:], flags.FLAGS is not None)
{run}(main, ["prog", "--steps=5", "--name", "y", "rest"])
"""


def launch(program, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.dirname(tw.__file__)), *sys.path])}
    return subprocess.run([sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, check=False)


_RUN = """
import sys
if {hide}:
    sys.modules["absl"] = None
import thalweg as tf
tf.flags.DEFINE_integer("number", 1, "a number")
def main(argv):
    print(argv, tf.flags.FLAGS.number)
    return 3
tf.app.run(main, ["prog", *sys.argv[1:]])
"""


@pytest.mark.parametrize("hide", [False, True])
def test_run_reads_flags_and_ends_with_what_main_gives(hide):
    if not hide:
        pytest.importorskip("absl")
    program = _RUN.format(hide=hide)
    done = launch(program, "--number=4", "rest")
    assert (done.returncode, done.stdout) == (3, "['prog', 'rest'] 4\n"), done.stderr
    wrong = launch(program, "--number=x")
    assert wrong.returncode == 1 and "flag --number=x" in wrong.stderr
    shown = launch(program, "--help")
    assert shown.returncode == 1 and "number" in shown.stdout


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("run", ["app.run", "tf.app.run"])
def test_flags_of_absl_and_of_tensorflow_are_the_same(hide, run):
    if not hide:
        pytest.importorskip("absl")
    done = launch(_MIXED.format(hide=hide, run=run))
    assert (done.returncode, done.stdout) == (0, "5 y ['rest'] True\n"), done.stderr


@pytest.mark.parametrize("hide", [False, True])
def test_the_command_line_is_read_when_a_flag_is_first_asked_for(hide):
    if not hide:
        pytest.importorskip("absl")
    done = launch(f"import sys\nif {hide}: sys.modules['absl'] = None\nimport thalweg as tf\n"
                  "tf.flags.DEFINE_integer('steps', default_value=1, docstring='s')\nprint(tf.flags.FLAGS.steps, len(tf.flags.FLAGS) > 0)",
                  "--steps=7", "--unknown=1")
    assert done.stdout == "7 True\n", done.stderr
