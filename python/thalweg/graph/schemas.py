# SPDX-License-Identifier: Apache-2.0
"""What operations take and give."""
from __future__ import annotations

import collections

from thalweg import dtypes

Argument = collections.namedtuple("Argument", "name is_ref number_attr type_list_attr type_attr dtype")
Attribute = collections.namedtuple("Attribute", "name kind has_default default")

# The values that attributes of a kind take.
_TYPES = {"i": "int", "f": "float", "b": "bool", "t": "DTypeLike", "s": "Text", "h": "ShapeLike", "V": "TensorValue", "p": "object",
          "I": "Sequence[int]", "F": "Sequence[float]", "B": "Sequence[bool]", "T": "Sequence[DTypeLike]", "S": "Sequence[Text]",
          "H": "Sequence[ShapeLike]", "L": "Sequence[TensorValue]", "P": "Sequence[object]"}


class Schema:
    """What an operation takes and gives, as _schemas.py has it."""

    __slots__ = ("op", "inputs", "outputs", "attrs", "inferred", "several_lists", "simple", "result")

    def __init__(self, op: str, text: str) -> None:
        inputs, outputs, *attrs = text.split("\n")
        self.op = op
        self.inputs = [_argument(a) for a in inputs.split("\t") if a]
        self.outputs = [_argument(a) for a in outputs.split("\t") if a]
        self.attrs = {}
        import json  # not at the top: `import thalweg` is light
        for row in attrs:
            name, kind, *default = row.split("\t")
            self.attrs[name] = Attribute(name, kind, bool(default), json.loads(default[0]) if default else None)
        self.inferred = {a for i in self.inputs for a in (i.number_attr, i.type_list_attr, i.type_attr) if a}
        self.several_lists = len({i.type_list_attr for i in self.inputs if i.type_list_attr}) > 1
        self.simple = not any(i.number_attr or i.type_list_attr for i in self.inputs)
        self.result = None
        if len(self.outputs) > 1:
            self.result = collections.namedtuple(op, [o.name for o in self.outputs], rename=True)

    def annotations(self) -> dict[str, str]:
        """{input or attribute: its type as text}, and what the operation gives as "return". The names are those of base/typing.py."""
        found = {i.name: "Sequence[TensorLike]" if i.number_attr or i.type_list_attr else "Variable | Tensor" if i.is_ref else "TensorLike"
                 for i in self.inputs}
        found.update((a.name, _TYPES[a.kind]) for a in self.parameters())
        lists = [bool(o.number_attr or o.type_list_attr) for o in self.outputs]
        kinds = ["list[Tensor]" if is_list else "Tensor" for is_list in lists]
        found["return"] = f"tuple[{', '.join(kinds)}]" if len(kinds) > 1 else kinds[0] if kinds else "Operation"
        return found

    def parameters(self) -> list[Attribute]:
        """Attributes that a caller gives, those without a default first."""
        given = [a for a in self.attrs.values() if a.name not in self.inferred]
        return [a for a in given if not a.has_default] + [a for a in given if a.has_default]


def _argument(text):
    name, _, spec = text.partition(":")
    is_ref = spec.startswith("&")
    spec = spec[1:] if is_ref else spec
    if spec.startswith("["):
        return Argument(name, is_ref, None, spec[1:-1], None, None)
    number, star, kind = spec.rpartition("*")
    fixed = dtypes.as_dtype(int(kind[1:])) if kind.startswith("=") else None
    return Argument(name, is_ref, number if star else None, None, None if fixed else kind, fixed)


_schemas = {}


def schema_of(op: str) -> Schema:
    found = _schemas.get(op)
    if found is None:
        from thalweg._schemas import SCHEMAS  # large, and not all programs make operations
        if op not in SCHEMAS:
            found = _loaded_schema(op)
        else:
            found = Schema(op, SCHEMAS[op])
        _schemas[op] = found
    return found


def _loaded_schema(op):
    """The schema of an operation that came with load_op_library."""
    from thalweg.graph import attributes, op_definitions
    definition = op_definitions.loaded_definition_of(op)
    if definition is None:
        raise ValueError(f"Op type not registered '{op}'")
    return Schema(op, attributes.schema_text(definition))
