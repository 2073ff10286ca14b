# SPDX-License-Identifier: Apache-2.0
"""Modules that Python 3.12 took away, of which programs of TensorFlow 1's time use a few names: `imp` and `distutils`. They are found only
where nothing else has them; setuptools, for one, brings a whole distutils."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import shutil
import sys
import types

_PY_SOURCE, _PY_COMPILED, _C_EXTENSION, _PKG_DIRECTORY, _C_BUILTIN = 1, 2, 3, 5, 6


def _module_of(spec):
    """The module of a spec, which is loaded anew."""
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return sys.modules[spec.name]


def _load_source(name, pathname, file=None):
    """The module of a file, whatever its name ends in."""
    loader = importlib.machinery.SourceFileLoader(name, pathname)
    return _module_of(importlib.util.spec_from_file_location(name, pathname, loader=loader))


def _load_dynamic(name, path, file=None):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    return _module_of(importlib.util.spec_from_file_location(name, path, loader=loader))


def _get_suffixes():
    kinds = ((importlib.machinery.EXTENSION_SUFFIXES, "rb", _C_EXTENSION), (importlib.machinery.SOURCE_SUFFIXES, "r", _PY_SOURCE),
             (importlib.machinery.BYTECODE_SUFFIXES, "rb", _PY_COMPILED))
    return [(suffix, mode, kind) for suffixes, mode, kind in kinds for suffix in suffixes]


def _find_module(name, path=None):
    """(an open file or None, where it is, (suffix, mode, kind)) of a module; ImportError where there is none."""
    if path is None and name in sys.builtin_module_names:
        return None, None, ("", "", _C_BUILTIN)
    for folder in sys.path if path is None else path:
        whole = os.path.join(folder, name)
        if os.path.isfile(os.path.join(whole, "__init__.py")):
            return None, whole, ("", "", _PKG_DIRECTORY)
        for suffix, mode, kind in _get_suffixes():
            if os.path.isfile(whole + suffix):
                return open(whole + suffix, mode, encoding=None if "b" in mode else "utf-8"), whole + suffix, (suffix, mode, kind)
    raise ImportError(f"No module named {name!r}", name=name)


def _load_module(name, file, filename, details):
    """What _find_module found, loaded."""
    kind = details[2]
    if kind == _PKG_DIRECTORY:
        start = os.path.join(filename, "__init__.py")
        return _module_of(importlib.util.spec_from_file_location(name, start, submodule_search_locations=[filename]))
    if kind == _C_BUILTIN:
        return importlib.import_module(name)
    if kind == _C_EXTENSION:
        return _load_dynamic(name, filename)
    if kind == _PY_SOURCE:
        return _load_source(name, filename)
    raise ImportError(f"cannot load {name!r}: modules of kind {kind} are not implemented", name=name)


def _strtobool(val):
    """1 or 0 of a text that says yes or no."""
    known = {**dict.fromkeys(("y", "yes", "t", "true", "on", "1"), 1), **dict.fromkeys(("n", "no", "f", "false", "off", "0"), 0)}
    if val.lower() not in known:
        raise ValueError(f"invalid truth value {val.lower()!r}")
    return known[val.lower()]


class LooseVersion:
    """Numbers and words of a version, in order: 1.10 is later than 1.9."""

    def __init__(self, vstring=None):
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Takes a version apart."""
        self.vstring = vstring
        self.version = [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", vstring)]

    def __str__(self):
        return self.vstring

    def __repr__(self):
        return f"{type(self).__name__} ('{self}')"

    def _ordered(self, other):
        return self.version, (other if isinstance(other, LooseVersion) else type(self)(other)).version

    def __eq__(self, other):
        mine, its = self._ordered(other)
        return mine == its

    def __lt__(self, other):
        mine, its = self._ordered(other)
        return mine < its

    def __le__(self, other):
        mine, its = self._ordered(other)
        return mine <= its

    def __gt__(self, other):
        mine, its = self._ordered(other)
        return mine > its

    def __ge__(self, other):
        mine, its = self._ordered(other)
        return mine >= its

    __hash__ = None


class StrictVersion(LooseVersion):
    """Two or three numbers, and a or b with a number for what came before the release."""

    def parse(self, vstring: str) -> None:
        """Takes a version apart; ValueError where it is none."""
        found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", vstring, re.ASCII)
        if not found:
            raise ValueError(f"invalid version number '{vstring}'")
        self.vstring = vstring
        first, second, third, kind, number = found.groups()
        self.version = (int(first), int(second), int(third or 0), (kind, int(number)) if kind else ("final", 0))


_NAMES = {
    "imp": {"PY_SOURCE": _PY_SOURCE, "PY_COMPILED": _PY_COMPILED, "C_EXTENSION": _C_EXTENSION, "PKG_DIRECTORY": _PKG_DIRECTORY,
            "C_BUILTIN": _C_BUILTIN, "load_source": _load_source, "load_dynamic": _load_dynamic, "get_suffixes": _get_suffixes,
            "find_module": _find_module, "load_module": _load_module, "new_module": types.ModuleType, "reload": importlib.reload,
            "cache_from_source": importlib.util.cache_from_source, "source_from_cache": importlib.util.source_from_cache,
            "acquire_lock": lambda: None, "release_lock": lambda: None, "lock_held": lambda: False},
    "distutils": {}, "distutils.version": {"LooseVersion": LooseVersion, "StrictVersion": StrictVersion},
    "distutils.util": {"strtobool": _strtobool},
    "distutils.spawn": {"find_executable": lambda executable, path=None: shutil.which(executable, path=path)},
    "distutils.dir_util": {
        "mkpath": lambda name, mode=0o777, verbose=1, dry_run=0: os.makedirs(name, mode, exist_ok=True),
        "remove_tree": lambda directory, verbose=1, dry_run=0: shutil.rmtree(directory),
        "copy_tree": lambda src, dst, *args, **kwargs: shutil.copytree(src, dst, dirs_exist_ok=True)}}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands last among the finders."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _NAMES or "." in fullname and not isinstance(getattr(sys.modules.get("distutils"), "__loader__", None), _Finder):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == "distutils")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        vars(module).update(_NAMES[module.__name__])


def restore() -> None:
    """Makes them importable where they are not."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
