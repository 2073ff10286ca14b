# SPDX-License-Identifier: Apache-2.0
"""EagerGraph: stands where a thread's default graph stands, and runs each operation instead of keeping it.

    graph_module.make_global_with(EagerGraph)   # what enable_eager_execution() does
    with EagerGraph().as_default(): ...         # the same for a block

Scopes of names and devices are those of a graph. Control dependencies and colocation mean nothing: what was made before has run before.
"""
from __future__ import annotations

import contextlib
import itertools
import random
from typing import TYPE_CHECKING

from thalweg import _core, dtypes, errors
from thalweg.eager.arguments import tensors_of
from thalweg.eager.plans import CONSTANT_INPUTS, Plan, Room, preparing
from thalweg.eager.tapes import tapes
from thalweg.eager.tensor import EagerTensor
from thalweg.eager.words import told, told_of_refusal, told_of_values
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import Graph, GraphKeys
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from thalweg.base.typing import Element, Text
    from thalweg.graph.schemas import Schema
    from thalweg.messages import ConfigProto


class EagerOperation:
    """What stands for an operation that has run."""

    __slots__ = ("type", "inputs", "outputs", "name", "_attrs")
    graph = None
    device = ""
    control_inputs = ()

    def __init__(self, op: str, inputs: list[EagerTensor], outputs: list[EagerTensor], attrs: list[tuple[str, str, Any]],
                 name: str = "") -> None:
        self.type, self.inputs, self.outputs, self._attrs, self.name = op, inputs, outputs, attrs, name

    def _output(self, i: int) -> EagerTensor:
        return self.outputs[i]

    def get_attr(self, name: str) -> Any:
        """An attribute that was given."""
        for key, kind, value in self._attrs:
            if key == name:
                return [dtypes.as_dtype(v) for v in value] if kind == "T" else dtypes.as_dtype(value) if kind == "t" else value
        raise ValueError(f"Operation '{self.type}' has no attr named '{name}'.")


class _Shared:
    """What the eager graphs of the process share: where operations are prepared."""

    def __init__(self) -> None:
        self.config: ConfigProto | None = None
        self.room: Room | None = None
        self.library: dict[bytes, None] = {}  # the functions, as an ordered set

    def plan(self, key: tuple[Any, ...], op: str, attrs: list[tuple[str, str, Any]], types: Sequence[int], device: str,
             constants: dict[int, Any]) -> Plan:
        with preparing:
            if self.room is None or self.room.is_full:
                self.room = Room(self.config, self.library)
            found = self.room.plans.get(key)
            if found is None:
                found = self.room.plans[key] = self.room.prepare(op, attrs, types, device, constants)
            return found

    def forget_random(self) -> None:
        """Operations with seeds are prepared anew, and begin again."""
        with preparing:
            if self.room is not None:
                self.room.plans = {key: plan for key, plan in self.room.plans.items() if all(name != "seed" for name, *_ in key[1])}


shared = _Shared()
_numbers = itertools.count()
_NOT_HERE = {"Placeholder": "tf.placeholder() is not compatible with eager execution.",
             "PlaceholderV2": "tf.placeholder() is not compatible with eager execution."}


class EagerGraph(Graph):
    """Runs operations at once. See above."""
    _executes = True

    def __init__(self) -> None:
        self._seed: int | None = None
        self._beside: Graph | None = None
        super().__init__()

    @property
    def seed(self) -> int | None:
        """The seed of operations that have none. Where it is set, random operations begin again."""
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        if value is None and self._seed is None:
            return
        self._seed, self._random = value, random.Random(value)
        shared.forget_random()

    def _operation_seed(self) -> int:
        return self._random.randint(0, 2**31 - 1)

    def __repr__(self) -> str:
        return "<tf.Graph of operations that run at once>"

    # ---- what graphs have and this does not ----
    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        scope = self._state.scope
        return f"{scope}/{name}" if scope else name

    def name_scope(self, name: Text | None) -> _Scope:
        return _Scope(self._state, name.decode() if isinstance(name, bytes) else name)

    def control_dependencies(self, control_inputs: Sequence[Any] | None) -> AbstractContextManager[None]:
        for control in control_inputs or ():
            if callable(control):
                control()
        return contextlib.nullcontext()

    def colocate_with(self, op: Element | None, ignore_existing: bool = False) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def add_to_collection(self, name: str, value: object) -> None:
        """Tensors and variables are in no collections, but for the global step: they go when nobody has them any more."""
        if name == GraphKeys.GLOBAL_STEP or not (value is None or isinstance(value, Tensor) or hasattr(value, "_as_tensor")):
            super().add_to_collection(name, value)

    def beside(self) -> Graph:
        """The graph of sessions that name none."""
        if self._beside is None:
            self._beside = Graph()
        return self._beside

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        convert = getattr(obj, "_as_graph_element", None)
        obj = obj if convert is None else convert()
        if isinstance(obj, (EagerTensor, EagerOperation)):
            return obj
        return super().as_graph_element(obj, allow_tensor, allow_operation)

    def _import(self, data: bytes, *args: Any) -> Any:
        made = super()._import(data, *args)
        with preparing:
            if data not in shared.library:
                shared.library[data] = None
                if shared.room is not None:
                    shared.room.graph._import(data, *args)
        return made

    # ---- operations ----
    def _at_once(self, op: str, flat: Sequence[Tensor], attrs: list[tuple[str, str, Any]], name: str | None = None) -> EagerOperation:
        """Runs an operation of tensors."""
        if op == "Const":
            return EagerOperation(op, [], [_core.eager_tensor(attrs[0][2][1], attrs[0][2][0])], attrs)
        return EagerOperation(op, list(flat), self._run(op, flat, attrs, _key_of(attrs), name), attrs)

    def _run(self, op: str, flat: Sequence[Tensor], attrs: list[tuple[str, str, Any]], attrs_key: tuple[Any, ...],
             name: str | None) -> list[EagerTensor]:
        key = op, attrs_key, tuple([t._dtype for t in flat]), self._state.device
        constants = {}
        if op in CONSTANT_INPUTS:
            constants = {i: flat[i]._numpy() for i in CONSTANT_INPUTS[op] if flat[i].dtype.is_integer}
            key = *key, *((i, v.tobytes()) for i, v in constants.items())
            flat = [t for i, t in enumerate(flat) if i not in constants]
        room = shared.room
        plan = room.plans.get(key) if room is not None else None
        if plan is None:
            plan = _prepared(key, op, flat, attrs, constants)
        try:
            outputs = plan.run(*flat)
        except errors.OpError as error:
            raise told(error, op, name) from None
        except TypeError:
            _check(flat)
            raise
        if tapes.stack:
            tapes.record(plan, flat, outputs)
        return outputs

    def _apply(self, schema: Schema, inputs: Sequence[Any], attrs: Mapping[str, Any], name: str | None) -> Any:
        """An operation of values and tensors: what `ops.apply` gives."""
        if schema.several_lists:
            inputs, attrs = ops._with_list_types(schema, inputs, attrs)
        if "shared_name" in schema.attrs and not attrs.get("shared_name"):  # each call makes a resource of its own
            attrs = {**attrs, "shared_name": f"at_once_{next(_numbers)}"}
        rows, rows_key = _rows_of(schema, attrs)
        flat = tensors_of(schema, inputs)
        if flat is None:
            if ops._composites:
                module = ops._composite_among(schema, inputs)
                if module is not None:
                    return ops.made_of_composites(module, schema.op, inputs, attrs, name)
            try:
                flat = ops._flat_inputs(schema, inputs, attrs)
            except TypeError as error:
                raise told_of_values(schema, inputs, name) or error from None
        try:
            made = self._run(schema.op, flat, rows, rows_key, name)
        except ValueError as error:
            raise told_of_refusal(schema, flat, error, name) from None
        outputs = schema.outputs
        if len(outputs) == 1 and not outputs[0].number_attr and not outputs[0].type_list_attr:
            return made[0]
        return ops._packed(schema, EagerOperation(schema.op, flat, made, rows), attrs) if outputs else None


class _Scope:
    """with graph.name_scope("layer") as scope: names are counted in no scope here."""

    __slots__ = ("_state", "_name", "_old")

    def __init__(self, state: Any, name: str | None) -> None:
        self._state, self._name = state, name

    def __enter__(self) -> str:
        old = self._old = self._state.scope
        name = self._name
        if not name:
            self._state.scope = ""
            return ""
        scope = self._state.scope = name[:-1] if name[-1] == "/" else f"{old}/{name}" if old else name
        return scope + "/"

    def __exit__(self, *error: object) -> None:
        self._state.scope = self._old


def _prepared(key, op, flat, attrs, constants):
    if op in _NOT_HERE:
        raise RuntimeError(_NOT_HERE[op])
    _check(flat)
    return shared.plan(key, op, attrs, key[2], key[3], constants)


def _check(flat):
    for t in flat:
        if not isinstance(t, EagerTensor):
            raise TypeError("An op outside of the function building code is being passed a \"Graph\" tensor. It is possible to have "
                            f"Graph tensors leak out of the function building context: {t!r}")


# ---- attributes ----
_MOST_ROWS = 10000
_rows: dict[Any, tuple[list[tuple[str, str, Any]], tuple[Any, ...]]] = {}


def _key_of(rows):
    return tuple([(name, kind, tuple(value) if type(value) is list else value) for name, kind, value in rows])


def _rows_of(schema, attrs):
    """(attributes as the core takes them, the same as a key)."""
    try:
        key = schema.op, *attrs.items()
        found = _rows.get(key)
    except TypeError:  # lists
        key = found = None
    if found is None:
        rows = [ops._attr_row(schema, name, value) for name, value in attrs.items() if value is not None]
        found = rows, _key_of(rows)
        if key is not None and all(kind != "p" for _, kind, _ in rows):  # messages hold functions
            if len(_rows) >= _MOST_ROWS:
                _rows.clear()
            _rows[key] = found
    return found


def enable(config: ConfigProto | None = None) -> None:
    """The graph that is there from the start runs operations at once from now on."""
    if graph_module.make_global is EagerGraph:
        return
    if graph_module._global is not None and graph_module._global._num_nodes():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    shared.config = config
    graph_module.make_global_with(EagerGraph)
