# SPDX-License-Identifier: Apache-2.0
"""What defines flags and checks them, as own_flags.py has them: DEFINE_string and its like."""
from __future__ import annotations

import inspect
import shutil
import textwrap
from typing import TYPE_CHECKING

from thalweg.base import own_flags as flags
from thalweg.base.own_flags import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from enum import Enum
    from typing import Any

    from thalweg.base.own_flags import ArgumentParser, Flag, FlagValues
    from thalweg.base.typing import F


def _calling_module():
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("thalweg."):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame is not None else ""


class FlagHolder:
    """What a DEFINE gives: the flag, without its name in FLAGS."""

    def __init__(self, flag_values: FlagValues, flag: Flag, ensure_non_none_value: bool = False) -> None:
        self._values, self.name, self._must_be = flag_values, flag.name, ensure_non_none_value

    @property
    def value(self) -> Any:
        found = getattr(self._values, self.name)
        if found is None and self._must_be:
            raise flags.IllegalFlagValueError(f"Unexpected None value for flag {self.name}")
        return found

    @property
    def default(self) -> Any:
        return self._values[self.name].default

    @property
    def present(self) -> int:
        return self._values[self.name].present


def DEFINE_flag(flag: Flag, flag_values: FlagValues = FLAGS, module_name: str | None = None,
                required: bool = False) -> FlagHolder:
    """Adds a flag that was made before."""
    flag.module = module_name or _calling_module()
    flag_values[flag.name] = flag
    if required:
        mark_flag_as_required(flag.name, flag_values)
    return FlagHolder(flag_values, flag)


def DEFINE(parser: ArgumentParser, name: str, default: object, help: str, flag_values: FlagValues = FLAGS,
           serializer: object = None, module_name: str | None = None, required: bool = False, **args: object) -> FlagHolder:
    """A flag with a parser of its own."""
    return DEFINE_flag(flags.Flag(parser, serializer, name, default, help, **args), flag_values, module_name, required)


def DEFINE_string(name: str, default: object, help: str, flag_values: FlagValues = FLAGS, required: bool = False,
                  **args: object) -> FlagHolder:
    """A flag that is text.

    Parameters
    ----------
    name : str
    default : str or None
        Its value where the command line has none.
    help : str
    flag_values : FlagValues, optional
        Where the flag goes.
    required : bool, optional
        Whether the command line must have it; there is no default then.

    Returns
    -------
    FlagHolder
        Its `value` is the flag's.

    Raises
    ------
    DuplicateFlagError
        There is a flag of this name already.

    Examples
    --------
    >>> name = tw.flags.DEFINE_string("name_of_example", "no name", "Whom to greet.")
    >>> tw.flags.FLAGS(["program", "--name_of_example=world"])
    ['program']
    >>> tw.flags.FLAGS.name_of_example
    'world'
    >>> delattr(tw.flags.FLAGS, "name_of_example")
    """
    return DEFINE(flags.ArgumentParser(), name, default, help, flag_values, required=required, **args)


def DEFINE_bool(name: str, default: object, help: str, flag_values: FlagValues = FLAGS, module_name: str | None = None,
                required: bool = False, **args: object) -> FlagHolder:
    """A flag that is true or false: --name, --noname, --name=true."""
    return DEFINE_flag(flags.BooleanFlag(name, default, help, **args), flag_values, module_name, required)


DEFINE_boolean = DEFINE_bool


def DEFINE_integer(name: str, default: object, help: str, lower_bound: float | None = None, upper_bound: float | None = None,
                   flag_values: FlagValues = FLAGS, required: bool = False, **args: object) -> FlagHolder:
    """A flag that is a whole number."""
    return DEFINE(flags.IntegerParser(lower_bound, upper_bound), name, default, help, flag_values, required=required, **args)


def DEFINE_float(name: str, default: object, help: str, lower_bound: float | None = None, upper_bound: float | None = None,
                 flag_values: FlagValues = FLAGS, required: bool = False, **args: object) -> FlagHolder:
    """A flag that is a number."""
    return DEFINE(flags.FloatParser(lower_bound, upper_bound), name, default, help, flag_values, required=required, **args)


def DEFINE_enum(name: str, default: object, enum_values: Sequence[str], help: str, flag_values: FlagValues = FLAGS,
                module_name: str | None = None, required: bool = False, **args: object) -> FlagHolder:
    """A flag with one of some texts."""
    return DEFINE_flag(flags.EnumFlag(name, default, help, enum_values, **args), flag_values, module_name, required)


def DEFINE_enum_class(name: str, default: object, enum_class: type[Enum], help: str, flag_values: FlagValues = FLAGS,
                      module_name: str | None = None, case_sensitive: bool = False, required: bool = False,
                      **args: object) -> FlagHolder:
    """A flag with a member of an enum."""
    parser = flags.EnumClassParser(enum_class, case_sensitive)
    return DEFINE(parser, name, default, help, flag_values, None, module_name, required, **args)


def DEFINE_list(name: str, default: object, help: str, flag_values: FlagValues = FLAGS, required: bool = False,
                **args: object) -> FlagHolder:
    """A flag with values between commas."""
    return DEFINE(flags.ListParser(), name, default, help, flag_values, required=required, **args)


def DEFINE_spaceseplist(name: str, default: object, help: str, comma_compat: bool = False, flag_values: FlagValues = FLAGS,
                        required: bool = False, **args: object) -> FlagHolder:
    """A flag with values between blanks."""
    parser = flags.WhitespaceSeparatedListParser(comma_compat)
    return DEFINE(parser, name, default, help, flag_values, required=required, **args)


def DEFINE_multi(parser: ArgumentParser, serializer: object, name: str, default: object, help: str,
                 flag_values: FlagValues = FLAGS, module_name: str | None = None, required: bool = False,
                 **args: object) -> FlagHolder:
    """A flag that may be given many times."""
    return DEFINE_flag(flags.MultiFlag(parser, serializer, name, default, help, **args), flag_values, module_name, required)


def DEFINE_multi_string(name: str, default: object, help: str, flag_values: FlagValues = FLAGS, required: bool = False,
                        **args: object) -> FlagHolder:
    return DEFINE_multi(flags.ArgumentParser(), None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_integer(name: str, default: object, help: str, lower_bound: float | None = None,
                         upper_bound: float | None = None, flag_values: FlagValues = FLAGS, required: bool = False,
                         **args: object) -> FlagHolder:
    parser = flags.IntegerParser(lower_bound, upper_bound)
    return DEFINE_multi(parser, None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_float(name: str, default: object, help: str, lower_bound: float | None = None, upper_bound: float | None = None,
                       flag_values: FlagValues = FLAGS, required: bool = False, **args: object) -> FlagHolder:
    parser = flags.FloatParser(lower_bound, upper_bound)
    return DEFINE_multi(parser, None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_enum(name: str, default: object, enum_values: Sequence[str], help: str, flag_values: FlagValues = FLAGS,
                      case_sensitive: bool = True, required: bool = False, **args: object) -> FlagHolder:
    parser = flags.EnumParser(enum_values, case_sensitive)
    return DEFINE_multi(parser, None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_enum_class(name: str, default: object, enum_class: type[Enum], help: str, flag_values: FlagValues = FLAGS,
                            module_name: str | None = None, case_sensitive: bool = False, required: bool = False,
                            **args: object) -> FlagHolder:
    parser = flags.EnumClassParser(enum_class, case_sensitive)
    return DEFINE_multi(parser, None, name, default, help, flag_values, module_name, required, **args)


def DEFINE_alias(name: str, original_name: str, flag_values: FlagValues = FLAGS, module_name: str | None = None) -> None:
    """Another name of a flag."""
    if original_name not in flag_values:
        raise flags.UnrecognizedFlagError(original_name)
    flag_values._flags[name] = flag_values[original_name]


# ---- validators ----
def register_validator(flag_name: str, checker: Callable[[Any], bool], message: str = "Flag validation failed",
                       flag_values: FlagValues = FLAGS) -> None:
    """checker(value) must hold whenever flags are read or set."""
    flag_values._validators.append(((flag_name,), checker, message))


def validator(flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues = FLAGS) -> Callable[[F], F]:
    """register_validator as a decorator."""
    def decorate(function):
        register_validator(flag_name, function, message, flag_values)
        return function
    return decorate


def register_multi_flags_validator(flag_names: Sequence[str], multi_flags_checker: Callable[[dict[str, Any]], bool],
                                   message: str = "Flags validation failed", flag_values: FlagValues = FLAGS) -> None:
    """The checker takes {name: value} of several flags."""
    flag_values._validators.append((tuple(flag_names), multi_flags_checker, message))


def multi_flags_validator(flag_names: Sequence[str], message: str = "Flag validation failed",
                          flag_values: FlagValues = FLAGS) -> Callable[[F], F]:
    """register_multi_flags_validator as a decorator."""
    def decorate(function):
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function
    return decorate


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    register_validator(flag_name, lambda value: value is not None, f"Flag --{flag_name} must have a value other than None.",
                       flag_values)


def mark_flags_as_required(flag_names: Sequence[str], flag_values: FlagValues = FLAGS) -> None:
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def _exclusive(flag_names, required, flag_values, is_set):
    def check(values):
        count = sum(map(is_set, values.values()))
        return count == 1 or count == 0 and not required
    register_multi_flags_validator(flag_names, check, f"{'Exactly' if required else 'At most'} one of "
                                   f"({', '.join(flag_names)}) must have a value other than its neutral one.", flag_values)


def mark_flags_as_mutual_exclusive(flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS) -> None:
    _exclusive(flag_names, required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(flag_names: Sequence[str], required: bool = False,
                                        flag_values: FlagValues = FLAGS) -> None:
    _exclusive(flag_names, required, flag_values, bool)


# ---- the rest ----
def set_default(flag_holder: FlagHolder | str, value: object) -> None:
    flag_holder._values.set_default(flag_holder.name, value)


def override_value(flag_holder: FlagHolder | str, value: object) -> None:
    setattr(flag_holder._values, flag_holder.name, value)


def declare_key_flag(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    if flag_name not in flag_values:
        raise flags.UnrecognizedFlagError(flag_name)


def adopt_module_key_flags(module: object, flag_values: FlagValues = FLAGS) -> None:
    """The help here shows the flags of all modules."""


def disclaim_key_flags() -> None:
    """The help here shows the flags of all modules."""


def get_help_width() -> int:
    return shutil.get_terminal_size().columns


def text_wrap(text: str, length: int | None = None, indent: str = "", firstline_indent: str | None = None) -> str:
    first = indent if firstline_indent is None else firstline_indent
    return textwrap.fill(text, length or get_help_width(), initial_indent=first, subsequent_indent=indent)


def doc_to_help(doc: str) -> str:
    return inspect.cleandoc(doc)


def flag_dict_to_args(flag_map: Mapping[str, Any], multi_flags: Sequence[str] | None = None) -> Iterator[str]:
    """The arguments of a command line that set flags so."""
    for name, value in flag_map.items():
        if value is None:
            yield f"--{name}"
        elif isinstance(value, bool):
            yield f"--{name}" if value else f"--no{name}"
        elif isinstance(value, (bytes, str)) or not hasattr(value, "__iter__"):
            yield f"--{name}={value}"
        elif multi_flags and name in multi_flags:
            yield from (f"--{name}={v}" for v in value)
        else:
            yield f"--{name}={','.join(map(str, value))}"


def define_help() -> None:
    """--help, unless the program has one of its own."""
    if "help" not in FLAGS:
        DEFINE_bool("help", False, "show this help")
