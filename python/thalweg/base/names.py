# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow 1.15: its aliases, its functions that are one operation, and what to say of a name that is missing.

A module that is a public namespace ends with names.complete(globals()): what it has not itself is looked up here, and it
shows and exports the names of 1.15 that it can give, and those of its own that its `__all__` names. The tables of names,
`_api_v1.py`, are made at build time from tools/tf_facts/*_api_v1.json and loaded when first needed.
"""
from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING

from thalweg.base import later
from thalweg.base.later import NotYetImplementedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType
    from typing import Any

_own = {}  # module name -> its own __getattr__, or None

# Namespaces for which programs look before they choose a way (hasattr(tf, "lite")): each stays absent as a whole until it
# works, and cannot be imported. Where a program's text takes a name of it, tf.lite.Interpreter, later.py serves that.
ABSENT = frozenset("contrib.distributions.bijectors contrib.learn.monitors "
                   "contrib.lite experimental layers.experimental lite random.experimental "
                   "saved_model.experimental sysconfig tpu train.experimental xla".split())


def is_absent(path: str) -> bool:
    """Whether "lite" or "lite.constants" lies in a namespace that is absent."""
    parts = path.split(".")
    return any(".".join(parts[:count]) in ABSENT for count in range(1, len(parts) + 1))


def _path(module_name):
    """"tf.math" of "thalweg.math"."""
    return "tf" + module_name.removeprefix("thalweg")


def _in_places(scope, places):
    """A module's __getattr__ for names that live in other modules."""
    rows = [(module, *entry.partition("=")[::2]) for module, listed in places.items() for entry in listed.split()]
    homes = {name: (module, other or name) for module, name, other in rows}
    before = scope.get("__getattr__")

    def find(name):
        if name in homes:
            module, other = homes[name]
            value = scope[name] = getattr(importlib.import_module("thalweg." + module), other)
            return value
        if before is not None:
            return before(name)
        raise AttributeError(f"module '{scope['__name__']}' has no attribute '{name}'")
    return find


def complete(scope: dict[str, Any], places: Mapping[str, str] | None = None) -> None:
    """Gives a module the names that 1.15 has under its name, after its own ones. `places`: {module below thalweg: names of the
    namespace that live there}, which is imported when one of them is asked for; "name=other" is `other` there."""
    if places:
        scope["__getattr__"] = _in_places(scope, places)
    module_name = scope["__name__"]
    own = scope.get("__getattr__")
    more = scope.pop("__all__", ())
    _own[module_name] = own

    def find(name):
        if name == "__all__":
            return exported(module_name, more)
        if own is not None:
            try:
                return own(name)
            except NotYetImplementedError:
                raise
            except AttributeError as error:
                missing = error
        else:
            missing = None
        if name.startswith("__"):
            raise missing or AttributeError(f"module '{module_name}' has no attribute '{name}'")
        path = f"{_path(module_name)}.{name}"
        if is_absent(path.removeprefix("tf.")):
            return later.module_asked_for(path)
        value = lookup(module_name, name, missing)
        if not later.is_stand_in(value):
            scope[name] = value
        return value

    scope["__getattr__"], scope["__dir__"] = find, lambda: shown(module_name, more)


def public(module_name: str) -> list[str]:
    """The names that 1.15 has in a namespace; of one that the tables do not know, what is defined there."""
    from thalweg import _api_v1
    prefix = _path(module_name) + "."
    table = _api_v1.CONTRIB if prefix.startswith(("tf.contrib.", "tf.keras.", "tf.estimator.")) else _api_v1.KINDS
    found = [p[len(prefix):] for p in table if p.startswith(prefix) and "." not in p[len(prefix):]]
    return found or [n for n, v in vars(sys.modules[module_name]).items()
                     if not n.startswith("_") and getattr(v, "__module__", None) == module_name]


def exported(module_name: str, more: Iterable[str] = ()) -> list[str]:
    """What `from module import *` brings: the names that the module can give."""
    module = sys.modules[module_name]
    return sorted(n for n in {*public(module_name), *more} if hasattr(module, n))


def shown(module_name: str, more: Iterable[str] = (), known: Iterable[str] = frozenset()) -> list[str]:
    """What dir() of a namespace lists: the names that work; of those in `known` that is so."""
    module = sys.modules[module_name]
    if "thalweg.as_tensorflow" in sys.modules and module_name in ("thalweg", "thalweg.train"):
        more, known = (), known & set(public(module_name))  # libraries go through these names and know what each must be

    def works(name):
        try:
            found = getattr(module, name)
        except AttributeError:
            return False
        if isinstance(found, types.ModuleType) and not hasattr(found, "__file__"):  # a namespace that is made of other names
            return bool(dir(found))
        return not getattr(found, "_is_missing", False)
    return sorted(n for n in {*public(module_name), *more, *known} if n in known or works(n))


def single(module_name: str) -> set[str]:
    """The names of a namespace that are single operations."""
    from thalweg.base import operation_paths
    prefix = _path(module_name) + "."
    return {p[len(prefix):] for p in operation_paths.table() if p.startswith(prefix) and "." not in p[len(prefix):]}


def namespace(name: str) -> ModuleType:
    """The module of a namespace, made when it has no file."""
    full = "thalweg." + name
    if full in sys.modules and sys.modules[full].__spec__ is None:
        return sys.modules[full]
    try:  # also where it is there: another thread may be importing it
        return importlib.import_module("thalweg." + _FILES.get(name, name))
    except ModuleNotFoundError as error:
        if not f"{full}.".startswith(f"{error.name}."):
            raise
    made = types.ModuleType(full, f"tw.{name}: other names of what is elsewhere.")
    complete(made.__dict__)
    return sys.modules.setdefault(full, made)


# Where names live whose namespace has no file of its own; "file=other" is `other` there.
_PLACES = {
    "tf.io.parse_sequence_example": "operations.parsing",
    "tf.random.categorical": "operations.random_ops",
    "tf.random.stateless_categorical": "operations.math_statistics",
    "tf.random.stateless_normal": "operations.math_statistics=stateless_random_normal",
    "tf.random.stateless_truncated_normal": "operations.math_statistics",
    "tf.random.stateless_uniform": "operations.math_statistics=stateless_random_uniform",
    "tf.saved_model.builder.SavedModelBuilder": "saved_model.writer",
    "tf.saved_model.loader.load": "saved_model.reader",
    "tf.saved_model.loader.maybe_saved_model_directory": "saved_model.reader",
    "tf.saved_model.main_op.main_op": "saved_model.writer",
    "tf.saved_model.main_op.main_op_with_restore": "saved_model.writer",
    "tf.saved_model.signature_def_utils.build_signature_def": "saved_model.signatures",
    "tf.saved_model.signature_def_utils.classification_signature_def": "saved_model.signatures",
    "tf.saved_model.signature_def_utils.is_valid_signature": "saved_model.signatures",
    "tf.saved_model.signature_def_utils.predict_signature_def": "saved_model.signatures",
    "tf.saved_model.signature_def_utils.regression_signature_def": "saved_model.signatures",
    "tf.saved_model.utils.build_tensor_info": "saved_model.signatures",
    "tf.saved_model.utils.get_tensor_from_tensor_info": "saved_model.signatures",
    "tf.version.COMPILER_VERSION": "compatibility.versions",
    "tf.version.GIT_VERSION": "compatibility.versions",
    "tf.version.GRAPH_DEF_VERSION": "compatibility.versions",
    "tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER": "compatibility.versions",
    "tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER": "compatibility.versions",
    "tf.version.VERSION": "compatibility.versions",
}
_SINGLE_OPERATIONS = "graph.single_operations"  # makes the functions that are one operation
_FILES = {"io.gfile": "files.file_names", "saved_model.constants": "saved_model.constants",
          "saved_model.signature_constants": "saved_model.constants", "saved_model.tag_constants": "saved_model.constants"}


def lookup(module_name: str, name: str, missing: AttributeError | None = None) -> Any:
    """What 1.15 has as `name` in the namespace, by another of its names or as one operation."""
    from thalweg import _api_v1
    from thalweg.base import operation_paths
    path = f"{_path(module_name)}.{name}"
    kind = later.kind(path)
    if kind is not None and is_absent(path.removeprefix("tf.")):
        raise NotYetImplementedError(f"{path} of TensorFlow 1.15 is not implemented in Thalweg")
    if kind is None:
        raise missing or AttributeError(f"module '{module_name}' has no attribute '{name}'")
    if path in _PLACES:
        place, _, there = _PLACES[path].partition("=")
        return getattr(importlib.import_module("thalweg." + place), there or name)
    first = _api_v1.ALIASES.get(path, path)
    others = [p for p in [first, *_api_v1.SAME.get(first, "").split()] if p != path]
    for other in others:
        try:
            return direct(other)
        except AttributeError:
            pass
    for other in [path, *others]:
        if other in operation_paths.table():
            return importlib.import_module("thalweg." + _SINGLE_OPERATIONS).function(other)
    if kind == "module":
        return namespace(path.removeprefix("tf."))
    found = later.public(path)
    if found is not None:
        return found
    raise NotYetImplementedError(f"{path} of TensorFlow 1.15 is not implemented in Thalweg")


def direct(path: str) -> Any:
    """The symbol where it is defined under this very name; AttributeError when it is not."""
    module_name, _, name = ("thalweg" + path.removeprefix("tf")).rpartition(".")
    module = sys.modules.get(module_name)
    if module is None:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError:
            raise AttributeError(path) from None
    if name in vars(module):
        return vars(module)[name]
    own = vars(module)["_own"] if module_name == "thalweg" else _own.get(module_name)
    if own is None:
        raise AttributeError(path)
    return own(name)
