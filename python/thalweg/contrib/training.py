# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.training: HParams, and which parameter server gets a variable."""
from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.base import names, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from thalweg.graph.tensor import Operation
    from thalweg.messages import HParamDef


def _parsed(name, kind, text):
    """A value of text as the type that the hyperparameter has."""
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if kind is int and not re.fullmatch(r"[-+]?\d+", text.strip()):
            raise ValueError
        return kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"Could not parse hparam '{name}' of type '{kind.__name__}' with value {text!r}") from None


def _field_of(kind, is_list):
    """The field of an HParamType for values of a Python type."""
    for base, name in ((bool, "bool"), (int, "int64"), ((str, bytes), "bytes"), (float, "float")):
        if issubclass(kind, base):
            return f"{name}_{'list' if is_list else 'value'}"
    raise ValueError(f"Unsupported parameter type: {kind}")


def _values_of(hparam_def):
    """{name: value} of an HParamDef."""
    found = {}
    for name, message in hparam_def.hparam.items():
        field = message.WhichOneof("kind")
        if field is None:
            raise ValueError(f"hyperparameter {name} has no value")
        value = getattr(message, field)
        value = list(value.value) if field.endswith("_list") else value
        if field.startswith("bytes"):
            value = [text.as_str(v) for v in value] if isinstance(value, list) else text.as_str(value)
        found[name] = value
    return found


class HParams:
    """Hyperparameters by name; their types are those of their first values.

    Parameters
    ----------
    hparam_def : HParamDef, optional
        A message that has them.
    model_structure : object, optional
        Kept for get_model_structure().
    **kwargs
        Names and values.

    Raises
    ------
    ValueError
        If both `hparam_def` and values are given.

    Examples
    --------
    >>> hparams = tw.contrib.training.HParams(learning_rate=0.1, layers=[64, 32])
    >>> hparams.parse("learning_rate=0.2,layers=[8,4]").values()
    {'learning_rate': 0.2, 'layers': [8, 4]}
    """

    def __init__(self, hparam_def: HParamDef | None = None, model_structure: object = None, **kwargs: object) -> None:
        self._hparam_types, self._model_structure = {}, model_structure
        if hparam_def is not None:
            if kwargs:
                raise ValueError("hparam_def and initialization values are mutually exclusive")
            kwargs = _values_of(hparam_def)
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'HParams' object has no attribute {name!r}")  # the others are hyperparameters

    def add_hparam(self, name: str, value: object) -> None:
        """A new one; its type is that of the value."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def _known(self, name):
        if name not in self._hparam_types:
            raise KeyError(name)
        return self._hparam_types[name]

    def set_hparam(self, name: str, value: object) -> None:
        """Another value of the type that it has."""
        kind, is_list = self._known(name)
        if isinstance(value, list) != is_list:
            raise ValueError(f"Must {'not ' if not is_list else ''}pass a list for {'multi' if is_list else 'single'}-valued "
                             f"parameter: {name}")

        def cast(v):
            if kind is type(None) or isinstance(v, kind):
                return v
            if isinstance(v, bool) or kind is bool or isinstance(v, str) != (kind is str) or kind is int and isinstance(v, float):
                raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {v!r}")
            return kind(v)
        setattr(self, name, [cast(v) for v in value] if is_list else cast(value))

    def del_hparam(self, name: str) -> None:
        """Forgets a hyperparameter."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> Self:
        """Sets values from text: name=value,other=[1,2,3],third[2]=4."""
        pattern = re.compile(r"\s*(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*((\[(?P<list>[^\]]*)\])|(?P<value>"
                             r"[^,\[]*))\s*(,|$)")
        place = 0
        while place < len(values):
            match = pattern.match(values, place)
            if match is None:
                raise ValueError(f"Malformed hyperparameter value: {values[place:]}")
            place = match.end()
            name = match["name"]
            if name not in self._hparam_types:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            kind, is_list = self._hparam_types[name]
            if match["list"] is not None:
                if not is_list:
                    raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
                setattr(self, name, [_parsed(name, kind, v) for v in re.split(r"\s*,\s*", match["list"].strip())])
            elif match["index"] is not None:
                if not is_list:
                    raise ValueError(f"Must pass a value for single-valued parameter: {name}")
                items = list(getattr(self, name))
                items[int(match["index"])] = _parsed(name, kind, match["value"])
                setattr(self, name, items)
            elif is_list:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}")
            else:
                setattr(self, name, _parsed(name, kind, match["value"]))
        return self

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> Self:
        """Sets values by names; itself."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> Self:
        """The older name of override_from_dict."""
        return self.override_from_dict(values_map)

    def to_proto(self, export_scope: str | None = None) -> HParamDef:
        """The values as an HParamDef message."""
        made = messages.HParamDef()
        for name, (kind, is_list) in self._hparam_types.items():
            field = _field_of(kind, is_list)
            values = getattr(self, name) if is_list else [getattr(self, name)]
            values = [text.as_bytes(v) for v in values] if issubclass(kind, (str, bytes)) else list(values)
            if is_list:
                getattr(made.hparam[name], field).value.extend(values)
            else:
                setattr(made.hparam[name], field, values[0])
        return made

    @staticmethod
    def from_proto(hparam_def: HParamDef, import_scope: str | None = None) -> HParams:
        """What to_proto wrote."""
        return HParams(hparam_def=hparam_def)

    def parse_json(self, values_json: str) -> Self:
        """Sets values from the text of a JSON object; itself."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: int | str | None = None, separators: tuple[str, str] | None = None, sort_keys: bool = False) -> str:
        """The values as the text of a JSON object."""
        shown = {k: v for k, v in self.values().items() if not callable(v)}
        return json.dumps(shown, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """{name: value}."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: object = None) -> Any:
        """The value of a name, or the default."""
        return getattr(self, key) if key in self._hparam_types else default

    def get_model_structure(self) -> Any:
        """What the constructor was given."""
        return self._model_structure

    def set_model_structure(self, model_structure: object) -> None:
        """Keeps something for get_model_structure()."""
        self._model_structure = model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self):
        return ",".join(f"{k}={v}" for k, v in sorted(self.values().items()))

    def __repr__(self):
        return f"HParams({self})"


# ---- which parameter server gets a variable: ps_strategy of replica_device_setter ----
class RandomStrategy:
    """One by the hash of a variable's name and the seed: all replicas agree."""

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Operation) -> int:
        import hashlib
        return int(hashlib.md5(f"{op.name}_{self._seed}".encode()).hexdigest(), 16) % self._tasks


class GreedyLoadBalancingStrategy:
    """The one that has least so far, by what load_fn says of an operation: a number, or a vector whose sum counts."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        import numpy
        self._load_fn, self._ps_loads = load_fn, numpy.zeros(num_tasks)

    def __call__(self, op: Operation) -> int:
        task = self._ps_loads.argmin()
        self._ps_loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """How many bytes a variable has; a resource counts as 1, as in TensorFlow."""
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    output.shape.assert_is_fully_defined()
    return output.dtype.base_dtype.size * output.shape.num_elements()


names.complete(globals())
