# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow 1.15: its aliases, its functions that are one operation, and what to say of a name that is missing.

A module that is a public namespace ends with names.complete(globals()): what it has not itself is looked up here. The
table of names, `_api_v1.py`, is made at build time from tools/tf_facts/python_api_v1.json and loaded when first needed.
"""
import importlib
import sys
import types

_own = {}  # module name -> its own __getattr__, or None


class NotYetImplementedError(AttributeError):
    """A symbol that TensorFlow 1.15 has and Thalweg has not yet."""


def missing_below(path):
    """The __getattr__ of a module: every public name that it does not have is one of 1.15 that is missing."""
    def missing(name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotYetImplementedError(f"{path}.{name} of TensorFlow 1.15 is not implemented in Thalweg")
    return missing


def _path(module_name):
    """"tf.math" of "thalweg.math"."""
    return "tf" + module_name.removeprefix("thalweg")


def complete(scope):
    """Gives a module the names that 1.15 has under its name, after its own ones."""
    module_name = scope["__name__"]
    own, own_dir = scope.get("__getattr__"), scope.get("__dir__")
    _own[module_name] = own

    def find(name):
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
        value = scope[name] = lookup(module_name, name, missing)
        return value

    def listed():
        return sorted({n for n in (own_dir() if own_dir else scope) if not n.startswith("__")} | available(module_name))

    scope["__getattr__"], scope["__dir__"] = find, listed


def namespace(name):
    """The module of a namespace, made when it has no file."""
    full = "thalweg." + name
    if full not in sys.modules:
        try:
            return importlib.import_module("thalweg." + _FILES.get(name, name))
        except ModuleNotFoundError as error:
            if not f"{full}.".startswith(f"{error.name}."):
                raise
        made = types.ModuleType(full, f"tw.{name}: other names of what is elsewhere.")
        complete(made.__dict__)
        sys.modules[full] = made
    return sys.modules[full]


def available(module_name):
    """Names of single operations in a namespace."""
    single_operations = importlib.import_module("thalweg.single_operations")
    prefix = _path(module_name) + "."
    return {p[len(prefix):] for p in single_operations.table() if p.startswith(prefix) and "." not in p[len(prefix):]}


# Where names live whose namespace has no file of its own; "file=other" is `other` there.
_PLACES = {
    "tf.random.categorical": "math_more",
    "tf.random.stateless_categorical": "math_statistics",
    "tf.random.stateless_normal": "math_statistics=stateless_random_normal",
    "tf.random.stateless_truncated_normal": "math_statistics",
    "tf.random.stateless_uniform": "math_statistics=stateless_random_uniform",
    "tf.saved_model.builder.SavedModelBuilder": "saved_model_writer",
    "tf.saved_model.loader.load": "saved_model_reader",
    "tf.saved_model.loader.maybe_saved_model_directory": "saved_model_reader",
    "tf.saved_model.main_op.main_op": "saved_model_writer",
    "tf.saved_model.main_op.main_op_with_restore": "saved_model_writer",
    "tf.saved_model.signature_def_utils.build_signature_def": "saved_model_signatures",
    "tf.saved_model.signature_def_utils.classification_signature_def": "saved_model_signatures",
    "tf.saved_model.signature_def_utils.is_valid_signature": "saved_model_signatures",
    "tf.saved_model.signature_def_utils.predict_signature_def": "saved_model_signatures",
    "tf.saved_model.signature_def_utils.regression_signature_def": "saved_model_signatures",
    "tf.saved_model.utils.build_tensor_info": "saved_model_signatures",
    "tf.saved_model.utils.get_tensor_from_tensor_info": "saved_model_signatures",
    "tf.version.COMPILER_VERSION": "versions",
    "tf.version.GIT_VERSION": "versions",
    "tf.version.GRAPH_DEF_VERSION": "versions",
    "tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER": "versions",
    "tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER": "versions",
    "tf.version.VERSION": "versions",
}
_FILES = {"io.gfile": "file_names", "saved_model.constants": "saved_model_names",
          "saved_model.signature_constants": "saved_model_names", "saved_model.tag_constants": "saved_model_names"}


def lookup(module_name, name, missing=None):
    """What 1.15 has as `name` in the namespace, by another of its names or as one operation."""
    # Not "from thalweg import", which asks thalweg.__getattr__, which asks here.
    _api_v1, single_operations = (importlib.import_module("thalweg." + m) for m in ("_api_v1", "single_operations"))
    path = f"{_path(module_name)}.{name}"
    if path not in _api_v1.KINDS:
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
        if other in single_operations.table():
            return single_operations.function(other)
    if _api_v1.KINDS[path] == "module":
        return namespace(path.removeprefix("tf."))
    raise NotYetImplementedError(f"{path} of TensorFlow 1.15 is not implemented in Thalweg")


def direct(path):
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
