# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow 1.15 that Thalweg has not yet, for programs that only take them.

Libraries name far more of TensorFlow than they use: base classes, default values of arguments, isinstance tests, imports. So a
class, exception or function that is missing is one that can be taken, and says its name when it is used:

    class Mine(tf.keras.layers.Layer): ...      # fine
    Mine()                                      # NotImplementedError: tf.keras.layers.Layer of TensorFlow 1.15 is not ...

Modules are another matter. Programs ask whether TensorFlow has one (`hasattr(tf, "lite")`, `import tensorflow.lite` inside a
try), and do without when it has not. Those in names.ABSENT, and modules of contrib of which nothing works, are therefore not
there for whoever asks; but the text `tf.lite.Interpreter` in a program, which asks nothing, takes the class: see `asked_in_text`.
"""
from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any



class NotYetImplementedError(AttributeError):
    """A symbol that TensorFlow 1.15 has and Thalweg has not yet."""


_TAKING = ("LOAD_ATTR", "LOAD_METHOD")


_more = {}  # "tf.keras.": a function that gives what is said behind the name of a symbol below it


def says_more(prefix: str, more: Callable[[], str]) -> None:
    """Of missing symbols below a namespace, what `more` gives is said as well."""
    _more[prefix] = more


def _says(path):
    return f"{path} of TensorFlow 1.15 is not implemented in Thalweg" + "".join(m() for p, m in _more.items() if path.startswith(p))


def _refuses(path):
    def refuse(*args, **kwargs):
        raise NotImplementedError(_says(path))
    return refuse


def stand_in(path: str, kind: str, static: Sequence[str] = ()) -> Any:
    """What is taken for the missing class, exception or function `path`. `static`: methods of the class that need no object."""
    name = path.rpartition(".")[2]
    refuse = _refuses(path)
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = _says(path) + "."
    if kind == "function":
        refuse._is_missing = True
        return refuse
    members = {"__new__": refuse, "__doc__": _says(path) + ".", "__module__": "tensorflow", "_is_missing": True}
    members.update((n, staticmethod(_refuses(f"{path}.{n}"))) for n in static)
    return type(name, (Exception,) if kind == "exception" else (), members)


def is_stand_in(value: object) -> bool:
    """Whether a value is what programs take for a missing name."""
    return "_is_missing" in getattr(value, "__dict__", ())


def kind(path: str) -> str | None:
    """class, function, module ... of a public name of 1.15; None when it has none of that name."""
    from thalweg import _api_v1
    return _api_v1.KINDS.get(path) or _api_v1.CONTRIB.get(path)


def public(path: str) -> Any:
    """The stand-in of a public name of 1.15, one object each; None when 1.15 has no class or function of that name."""
    if path not in _made:
        from thalweg import _api_v1
        first = _api_v1.ALIASES.get(path, path)
        if kind(path) not in ("class", "exception", "function"):
            return None
        _made[path] = stand_in(path, kind(path), _api_v1.STATIC.get(first, "").split())
    return _made[path]


_made = {}


def private(module_name: str, name: str) -> Any:
    """The stand-in of a class or function that TensorFlow defines in a module that is not public, or below it where it is a
    package; None when it does not."""
    from thalweg import _modules_v1
    where = module_name.removeprefix("tensorflow.").replace(".", "/")
    below = where + "/"
    places = [where, *(p for p in _modules_v1.DEFINED if p.startswith(below))] if where in _modules_v1.MODULES else [where]
    for place in places:
        classes, _, functions = (set(part.split()) for part in _modules_v1.DEFINED.get(place, "|").partition("|"))
        if name in classes or name in functions:
            path = f"tensorflow.{place.replace('/', '.')}.{name}"
            if path not in _made:
                _made[path] = stand_in(path, "class" if name in classes else "function")
            return _made[path]
    return None


class _Absent(types.ModuleType):
    """What the text `tf.lite` gives while tf.lite is absent."""

    def __getattr__(self, name: str):
        path = f"{self.__name__}.{name}"
        found = absent(path) if kind(path) == "module" else public(path)
        if found is None:
            raise AttributeError(f"{self.__name__} has no {name!r}") if kind(path) is None else NotYetImplementedError(_says(path))
        setattr(self, name, found)
        return found


def absent(path: str) -> Any:
    """The module of an absent path, for a program whose text takes names of it."""
    if path not in _modules:
        _modules[path] = _Absent(path, _says(path) + ".")
    return _modules[path]


_modules = {}


def _instruction():
    """The name of the instruction at which the program stands."""
    import dis  # only few programs come here
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == "thalweg":
        frame = frame.f_back
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def asked_in_text(more: Iterable[str] = ()) -> bool:
    """Whether the program stands at an attribute in its text, `tf.lite`, or at an instruction of `more`; not in hasattr, getattr
    or an import."""
    return _instruction() in (*_TAKING, *more)


def module_asked_for(path: str) -> types.ModuleType:
    """What a program gets for a module that is absent. Its text takes names of it; `from tensorflow import lite` is an import that
    fails, and says why; who asks by hasattr is told that there is none."""
    instruction = _instruction()
    if instruction in _TAKING:
        return absent(path)
    if instruction == "IMPORT_FROM":
        raise ModuleNotFoundError(_says(path), name=path)
    raise NotYetImplementedError(_says(path))
