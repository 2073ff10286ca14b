# SPDX-License-Identifier: Apache-2.0
"""What defines flags and checks them, as own_flags.py has them: DEFINE_string and its like."""
import inspect
import shutil
import textwrap

from thalweg.base import own_flags as flags
from thalweg.base.own_flags import FLAGS


def _calling_module():
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("thalweg."):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame is not None else ""


class FlagHolder:
    """What a DEFINE gives: the flag, without its name in FLAGS."""

    def __init__(self, flag_values, flag, ensure_non_none_value=False):
        self._values, self.name, self._must_be = flag_values, flag.name, ensure_non_none_value

    @property
    def value(self):
        found = getattr(self._values, self.name)
        if found is None and self._must_be:
            raise flags.IllegalFlagValueError(f"Unexpected None value for flag {self.name}")
        return found

    @property
    def default(self):
        return self._values[self.name].default

    @property
    def present(self):
        return self._values[self.name].present


def DEFINE_flag(flag, flag_values=FLAGS, module_name=None, required=False):  # noqa: N802
    """Adds a flag that was made before."""
    flag.module = module_name or _calling_module()
    flag_values[flag.name] = flag
    if required:
        mark_flag_as_required(flag.name, flag_values)
    return FlagHolder(flag_values, flag)


def DEFINE(parser, name, default, help, flag_values=FLAGS, serializer=None, module_name=None,  # noqa: A002, N802
           required=False, **args):
    """A flag with a parser of its own."""
    return DEFINE_flag(flags.Flag(parser, serializer, name, default, help, **args), flag_values, module_name, required)


def DEFINE_string(name, default, help, flag_values=FLAGS, required=False, **args):  # noqa: A002, N802
    """A flag that is text."""
    return DEFINE(flags.ArgumentParser(), name, default, help, flag_values, required=required, **args)


def DEFINE_bool(name, default, help, flag_values=FLAGS, module_name=None, required=False, **args):  # noqa: A002, N802
    """A flag that is true or false: --name, --noname, --name=true."""
    return DEFINE_flag(flags.BooleanFlag(name, default, help, **args), flag_values, module_name, required)


DEFINE_boolean = DEFINE_bool


def DEFINE_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS,  # noqa: A002, N802
                   required=False, **args):
    """A flag that is a whole number."""
    return DEFINE(flags.IntegerParser(lower_bound, upper_bound), name, default, help, flag_values, required=required, **args)


def DEFINE_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS,  # noqa: A002, N802
                 required=False, **args):
    """A flag that is a number."""
    return DEFINE(flags.FloatParser(lower_bound, upper_bound), name, default, help, flag_values, required=required, **args)


def DEFINE_enum(name, default, enum_values, help, flag_values=FLAGS, module_name=None, required=False,  # noqa: A002, N802
                **args):
    """A flag with one of some texts."""
    return DEFINE_flag(flags.EnumFlag(name, default, help, enum_values, **args), flag_values, module_name, required)


def DEFINE_enum_class(name, default, enum_class, help, flag_values=FLAGS, module_name=None,  # noqa: A002, N802
                      case_sensitive=False, required=False, **args):
    """A flag with a member of an enum."""
    parser = flags.EnumClassParser(enum_class, case_sensitive)
    return DEFINE(parser, name, default, help, flag_values, None, module_name, required, **args)


def DEFINE_list(name, default, help, flag_values=FLAGS, required=False, **args):  # noqa: A002, N802
    """A flag with values between commas."""
    return DEFINE(flags.ListParser(), name, default, help, flag_values, required=required, **args)


def DEFINE_spaceseplist(name, default, help, comma_compat=False, flag_values=FLAGS, required=False,  # noqa: A002, N802
                        **args):
    """A flag with values between blanks."""
    parser = flags.WhitespaceSeparatedListParser(comma_compat)
    return DEFINE(parser, name, default, help, flag_values, required=required, **args)


def DEFINE_multi(parser, serializer, name, default, help, flag_values=FLAGS, module_name=None,  # noqa: A002, N802
                 required=False, **args):
    """A flag that may be given many times."""
    return DEFINE_flag(flags.MultiFlag(parser, serializer, name, default, help, **args), flag_values, module_name, required)


def DEFINE_multi_string(name, default, help, flag_values=FLAGS, required=False, **args):  # noqa: A002, N802
    return DEFINE_multi(flags.ArgumentParser(), None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS,  # noqa: A002, N802
                         required=False, **args):
    parser = flags.IntegerParser(lower_bound, upper_bound)
    return DEFINE_multi(parser, None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS,  # noqa: A002, N802
                       required=False, **args):
    parser = flags.FloatParser(lower_bound, upper_bound)
    return DEFINE_multi(parser, None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_enum(name, default, enum_values, help, flag_values=FLAGS, case_sensitive=True,  # noqa: A002, N802
                      required=False, **args):
    parser = flags.EnumParser(enum_values, case_sensitive)
    return DEFINE_multi(parser, None, name, default, help, flag_values, None, required, **args)


def DEFINE_multi_enum_class(name, default, enum_class, help, flag_values=FLAGS, module_name=None,  # noqa: A002, N802
                            case_sensitive=False, required=False, **args):
    parser = flags.EnumClassParser(enum_class, case_sensitive)
    return DEFINE_multi(parser, None, name, default, help, flag_values, module_name, required, **args)


def DEFINE_alias(name, original_name, flag_values=FLAGS, module_name=None):  # noqa: N802
    """Another name of a flag."""
    if original_name not in flag_values:
        raise flags.UnrecognizedFlagError(original_name)
    flag_values._flags[name] = flag_values[original_name]


# ---- validators ----
def register_validator(flag_name, checker, message="Flag validation failed", flag_values=FLAGS):
    """checker(value) must hold whenever flags are read or set."""
    flag_values._validators.append(((flag_name,), checker, message))


def validator(flag_name, message="Flag validation failed", flag_values=FLAGS):
    """register_validator as a decorator."""
    def decorate(function):
        register_validator(flag_name, function, message, flag_values)
        return function
    return decorate


def register_multi_flags_validator(flag_names, multi_flags_checker, message="Flags validation failed", flag_values=FLAGS):
    """The checker takes {name: value} of several flags."""
    flag_values._validators.append((tuple(flag_names), multi_flags_checker, message))


def multi_flags_validator(flag_names, message="Flag validation failed", flag_values=FLAGS):
    """register_multi_flags_validator as a decorator."""
    def decorate(function):
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function
    return decorate


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    register_validator(flag_name, lambda value: value is not None, f"Flag --{flag_name} must have a value other than None.",
                       flag_values)


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def _exclusive(flag_names, required, flag_values, is_set):
    def check(values):
        count = sum(map(is_set, values.values()))
        return count == 1 or count == 0 and not required
    register_multi_flags_validator(flag_names, check, f"{'Exactly' if required else 'At most'} one of "
                                   f"({', '.join(flag_names)}) must have a value other than its neutral one.", flag_values)


def mark_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    _exclusive(flag_names, required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    _exclusive(flag_names, required, flag_values, bool)


# ---- the rest ----
def set_default(flag_holder, value):
    flag_holder._values.set_default(flag_holder.name, value)


def override_value(flag_holder, value):
    setattr(flag_holder._values, flag_holder.name, value)


def declare_key_flag(flag_name, flag_values=FLAGS):
    if flag_name not in flag_values:
        raise flags.UnrecognizedFlagError(flag_name)


def adopt_module_key_flags(module, flag_values=FLAGS):
    """The help here shows the flags of all modules."""


def disclaim_key_flags():
    """The help here shows the flags of all modules."""


def get_help_width():
    return shutil.get_terminal_size().columns


def text_wrap(text, length=None, indent="", firstline_indent=None):
    first = indent if firstline_indent is None else firstline_indent
    return textwrap.fill(text, length or get_help_width(), initial_indent=first, subsequent_indent=indent)


def doc_to_help(doc):
    return inspect.cleandoc(doc)


def flag_dict_to_args(flag_map, multi_flags=None):
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


def define_help():
    """--help, unless the program has one of its own."""
    if "help" not in FLAGS:
        DEFINE_bool("help", False, "show this help")
