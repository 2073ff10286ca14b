# SPDX-License-Identifier: Apache-2.0
"""tw.flags and tw.app.run, as absl.flags reads command lines."""
import enum

import pytest
import thalweg as tw
from thalweg import flag_definitions as define
from thalweg import flags


@pytest.fixture
def values():
    return flags.FlagValues()


def test_kinds_of_flags(values):
    class Colour(enum.Enum):
        RED = 1
        BLUE = 2
    define.DEFINE_string("text", None, "", values)
    define.DEFINE_integer("number", 3, "", flag_values=values)
    define.DEFINE_float("rate", "0.5", "", flag_values=values)
    define.DEFINE_boolean("quick", True, "", values)
    define.DEFINE_bool("loud", False, "", values)
    define.DEFINE_enum("mode", "a", ["a", "b"], "", values)
    define.DEFINE_enum_class("colour", Colour.RED, Colour, "", values)
    define.DEFINE_list("names", "x, y", "", values)
    define.DEFINE_spaceseplist("words", [], "", flag_values=values)
    define.DEFINE_multi_integer("many", [7], "", flag_values=values)
    rest = values(["prog", "--text=a=b", "-number", "0x10", "one", "--noquick", "--loud", "--mode", "b", "--colour=BLUE",
                   "--words=p q", "--many=1", "--many=2", "--", "--rate=9"])
    assert rest == ["prog", "one", "--rate=9"]
    assert (values.text, values.number, values.rate, values.quick, values.loud) == ("a=b", 16, 0.5, False, True)
    assert (values.mode, values.colour, values.names, values.words) == ("b", Colour.BLUE, ["x", "y"], ["p", "q"])
    assert values.many == [1, 2]


def test_names_of_arguments_that_tf1_had(values):
    define.DEFINE_string(flag_name="s", default_value="d", docstring="doc", flag_values=values)
    values(["prog"])
    assert values.s == "d" and values["s"].help == "doc"


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


def test_run_reads_flags_and_ends_with_what_main_gives():
    tw.flags.DEFINE_integer("flag_of_this_test", 1, "")
    seen = []

    def main(argv):
        seen.append((argv, tw.flags.FLAGS.flag_of_this_test))
        return 3
    with pytest.raises(SystemExit) as end:
        tw.app.run(main, ["prog", "--flag_of_this_test=4", "rest"])
    assert end.value.code == 3 and seen == [(["prog", "rest"], 4)]


def test_run_says_which_flag_is_wrong(capsys):
    with pytest.raises(SystemExit) as end:
        tw.app.run(lambda argv: None, ["prog", "--flag_of_this_test=x"])
    assert end.value.code == 1 and "flag --flag_of_this_test=x" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        tw.app.run(lambda argv: None, ["prog", "--help"])
    assert "--flag_of_this_test" in capsys.readouterr().out
    tw.flags.FLAGS["help"].unparse()
