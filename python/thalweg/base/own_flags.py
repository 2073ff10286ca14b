# SPDX-License-Identifier: Apache-2.0
"""Flags of the command line where absl is not installed, with absl's behavior: see flags.py."""
from __future__ import annotations

import csv
import enum
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from enum import Enum
    from typing import Any


class Error(Exception):
    """A flag is wrong."""


class CantOpenFlagFileError(Error):
    """The file of --flagfile cannot be read."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """A value is not what the flag takes."""


class UnparsedFlagAccessError(Error):
    """A flag is read before the command line was."""


class UnrecognizedFlagError(Error):
    """There is no such flag."""

    def __init__(self, flagname: str, flagvalue: object = "", suggestions: Sequence[str] | None = None) -> None:
        self.flagname, self.flagvalue = flagname, flagvalue
        super().__init__(f"Unknown command line flag '{flagname}'")


class ValidationError(Error):
    """A validator refused a value."""


class ArgumentParser:
    """Text of the command line to a value."""

    syntactic_help = ""

    def parse(self, argument: Any) -> Any:
        return argument

    def flag_type(self) -> str:
        return "string"


class _Number(ArgumentParser):
    kind = float

    def __init__(self, lower_bound: float | None = None, upper_bound: float | None = None) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def parse(self, argument: Any) -> Any:
        value = self.convert(argument)
        if self.lower_bound is not None and value < self.lower_bound or \
                self.upper_bound is not None and value > self.upper_bound:
            raise ValueError(f"{value} is not between {self.lower_bound} and {self.upper_bound}")
        return value

    def convert(self, argument: Any) -> Any:
        if isinstance(argument, bool) or not isinstance(argument, (str, int, float)):
            raise TypeError(f"Expect argument to be a string, int, or float, found {type(argument)}")
        return float(argument)

    def flag_type(self) -> str:
        return self.kind.__name__


class FloatParser(_Number):
    """A float within bounds."""


class IntegerParser(_Number):
    """A whole number within bounds, decimal or 0x or 0o."""
    kind = int

    def convert(self, argument: Any) -> int:
        if isinstance(argument, str):
            return int(argument, {"0x": 16, "0o": 8}.get(argument.lstrip("-")[:2], 10))
        if isinstance(argument, bool) or not isinstance(argument, int):
            raise TypeError(f"Expect argument to be a string or int, found {type(argument)}")
        return argument


class BooleanParser(ArgumentParser):
    """true, t, 1 and their opposites."""

    def parse(self, argument: Any) -> bool:
        if isinstance(argument, (bool, int, float)) and argument in (0, 1):
            return bool(argument)
        found = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}.get(str(argument).lower())
        if found is None:
            raise ValueError("Non-boolean argument to boolean flag", argument)
        return found

    def flag_type(self) -> str:
        return "bool"


class EnumParser(ArgumentParser):
    """One of some texts."""

    def __init__(self, enum_values: Sequence[str], case_sensitive: bool = True) -> None:
        if not enum_values:
            raise ValueError(f"enum_values cannot be empty, found \"{enum_values}\"")
        self.enum_values, self.case_sensitive = list(enum_values), case_sensitive

    def parse(self, argument: Any) -> str:
        for value in self.enum_values:
            if value == argument or not self.case_sensitive and value.lower() == argument.lower():
                return value
        raise ValueError(f"value should be one of <{'|'.join(self.enum_values)}>")

    def flag_type(self) -> str:
        return "string enum"


class EnumClassParser(ArgumentParser):
    """A member of an enum by its name."""

    def __init__(self, enum_class: type[Enum], case_sensitive: bool = True) -> None:
        if not (isinstance(enum_class, type) and issubclass(enum_class, enum.Enum)):
            raise TypeError(f"{enum_class} is not a subclass of Enum.")
        self.enum_class, self.case_sensitive = enum_class, case_sensitive

    def parse(self, argument: Any) -> Enum:
        if isinstance(argument, self.enum_class):
            return argument
        for member in self.enum_class:
            if member.name == argument or not self.case_sensitive and member.name.lower() == argument.lower():
                return member
        raise ValueError(f"value should be one of <{'|'.join(m.name for m in self.enum_class)}>")

    def flag_type(self) -> str:
        return "enum class"


class ListParser(ArgumentParser):
    """Values between commas, as a line of CSV."""

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, list):
            return argument
        return [v.strip() for v in next(csv.reader(io.StringIO(argument), strict=True))] if argument else []

    def flag_type(self) -> str:
        return "comma separated list of strings"


class WhitespaceSeparatedListParser(ArgumentParser):
    """Values between blanks, and commas too where asked for."""

    def __init__(self, comma_compat: bool = False) -> None:
        self._commas = comma_compat

    def parse(self, argument: Any) -> list[str]:
        if isinstance(argument, list):
            return argument
        return (argument.replace(",", " ") if self._commas else argument).split()

    def flag_type(self) -> str:
        return "whitespace separated list of strings"


class Flag:
    """A flag: its value, default and help."""

    def __init__(self, parser: ArgumentParser, serializer: object, name: str, default: object, help_string: str,
                 short_name: str | None = None, boolean: bool = False, allow_override: bool = False,
                 allow_override_cpp: bool = False, allow_hide_cpp: bool = False, allow_overwrite: bool = True,
                 allow_using_method_names: bool = False) -> None:
        self.name, self.parser, self.help, self.short_name = name, parser, help_string, short_name
        self.boolean, self.multiple, self.allow_override = boolean, False, allow_override
        self.present, self.using_default_value, self.validators, self.module = 0, True, [], None
        self.default = self._of(default)
        self.value = self.default

    def _of(self, value):
        if value is None:
            return None
        try:
            return self.parser.parse(value)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {error}") from None

    def parse(self, argument: Any) -> None:
        value = self._of(argument)
        if self.multiple:
            more = value if isinstance(value, list) else [value]
            self.value = (self.value if self.present else []) + more
        else:
            self.value = value
        self.present += 1
        self.using_default_value = False

    def unparse(self) -> None:
        self.value, self.present, self.using_default_value = self.default, 0, True


class BooleanFlag(Flag):
    """A flag that needs no value; --noNAME is false."""

    def __init__(self, name: str, default: object, help: str, short_name: str | None = None, **args: object) -> None:
        super().__init__(BooleanParser(), None, name, default, help, short_name, True, **args)


class EnumFlag(Flag):
    """A flag with one of some values."""

    def __init__(self, name: str, default: object, help: str, enum_values: Sequence[str], short_name: str | None = None,
                 case_sensitive: bool = True, **args: object) -> None:
        super().__init__(EnumParser(enum_values, case_sensitive), None, name, default, help, short_name, **args)


class MultiFlag(Flag):
    """A flag that may be given again and again: a list."""

    def __init__(self, parser: ArgumentParser, serializer: object, name: str, default: object, help_string: str,
                 **args: object) -> None:
        self._parse_one = parser.parse
        super().__init__(parser, serializer, name, None, help_string, **args)
        self.multiple = True
        if default is not None:
            given = default if isinstance(default, (list, tuple)) else [default]
            self.default = self.value = [self._of(v) for v in given]


class FlagValues:
    """The values of the program's flags, as attributes, once the command line was read.

    Examples
    --------
    >>> _ = tw.flags.DEFINE_integer("batch_of_example", 32, "How many examples a step takes.")
    >>> tw.flags.FLAGS(["program", "--batch_of_example=8"])
    ['program']
    >>> tw.flags.FLAGS.batch_of_example
    8
    >>> delattr(tw.flags.FLAGS, "batch_of_example")
    """

    def __init__(self) -> None:
        self.__dict__.update(_flags={}, _parsed=False, _validators=[])

    def __getattr__(self, name: str):
        if name.startswith("__") and name.endswith("__") or name not in self._flags:
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv, known_only=True)  # TF1 reads the command line when a flag is first asked for
        return self._flags[name].value

    def __setattr__(self, name: str, value: object):
        if name not in self._flags:
            raise AttributeError(f"Unknown command line flag '{name}'")
        self._flags[name].value = value
        self._flags[name].using_default_value = False
        self._check(name)

    def __delattr__(self, name: str):
        if name not in self._flags:
            raise AttributeError(name)
        del self._flags[name]

    def __getitem__(self, name: str) -> Any:
        return self._flags[name]

    def __setitem__(self, name: str, flag: Flag) -> None:
        other = self._flags.get(name)
        if other is not None and not flag.allow_override and (other.help != flag.help or other.module != flag.module):
            raise DuplicateFlagError(f"The flag '{name}' is defined twice. First from {other.module}, Second from "
                                     f"{flag.module}.  Description from first occurrence: {other.help}")
        self._flags[name] = flag
        if flag.short_name:
            self._flags[flag.short_name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    has_key = __contains__

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self):
        return sorted(self._flags)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads argv; gives what is left, the program's name first."""
        rest, waiting = list(argv[:1]), list(argv[1:])
        while waiting:
            argument = waiting.pop(0)
            if argument == "--":
                rest += waiting
                break
            if not argument.startswith("-") or argument == "-":
                rest.append(argument)
                continue
            name, equals, value = argument.lstrip("-").partition("=")
            if name == "flagfile" and (equals or waiting):
                waiting[:0] = _flag_file(value if equals else waiting.pop(0))
                continue
            flag = self._flags.get(name)
            if flag is None and name.startswith("no") and getattr(self._flags.get(name[2:]), "boolean", False) and not equals:
                flag, equals, value = self._flags[name[2:]], "=", "false"
            if flag is None:
                if not known_only:
                    raise UnrecognizedFlagError(name, value)
                rest.append(argument)
                continue
            if not equals:
                if flag.boolean:
                    value = "true"
                elif not waiting:
                    raise Error(f"Missing value for flag --{name}")
                else:
                    value = waiting.pop(0)
            flag.parse(value)
        self.__dict__["_parsed"] = True
        self._check()
        return rest

    def _check(self, name=None):
        for flag_names, function, message in self._validators:
            if name is not None and name not in flag_names:
                continue
            values = {n: self._flags[n].value for n in flag_names if n in self._flags}
            given = values[flag_names[0]] if len(flag_names) == 1 and flag_names[0] in values else values
            if values and not function(given):
                raise IllegalFlagValueError(f"flag --{flag_names[0]}={given}: {message}")

    def is_parsed(self) -> bool:
        return self._parsed

    def mark_as_parsed(self) -> None:
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_parsed"] = False

    def flag_values_dict(self) -> dict[str, Any]:
        return {name: flag.value for name, flag in self._flags.items()}

    def main_module_help(self) -> str:
        lines = [f"  --{'[no]' if f.boolean else ''}{n}: {f.help}\n    (default: {f.default!r})"
                 for n, f in sorted(self._flags.items()) if n == f.name]
        return "\n".join(lines)

    get_help = main_module_help

    def set_default(self, name: str, value: object) -> None:
        flag = self._flags[name]
        flag.default = flag._of(value)
        if flag.using_default_value:
            flag.value = flag.default


def _flag_file(path):
    try:
        with open(path, encoding="utf-8") as f:
            lines = [line.strip() for line in f]
    except OSError as error:
        raise CantOpenFlagFileError(f"Unable to open flagfile {path}: {error}") from None
    return [line for line in lines if line and not line.startswith(("#", "//"))]


FLAGS = FlagValues()
