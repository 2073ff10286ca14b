# SPDX-License-Identifier: Apache-2.0
"""Checkpoint: variables saved by the attributes that lead to them, in TensorFlow's files, where operations run at once."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import dtypes, errors, messages
from thalweg.graph import graph as graph_module
from thalweg.graph.ops import apply, constant
from thalweg.saving import checkpoint_files
from thalweg.training.optimizer import Optimizer
from thalweg.variables.module import Module
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import PathLike

_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"


def _escaped(name):
    return name.replace(".", "..").replace("/", ".S")


def _is_kept(value):
    """Whether an attribute or item leads to variables."""
    if isinstance(value, dict):
        return any(map(_is_kept, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_kept, value))
    return isinstance(value, (Variable, Module, Optimizer, Checkpoint))


def _parts(value):
    """{name: what a value leads to}, in order."""
    if isinstance(value, Variable):
        return {}
    if isinstance(value, Optimizer):
        return {name: v for (name, _), v in value._non_slot_dict.items()}
    if isinstance(value, (list, tuple)):
        return {str(i): v for i, v in enumerate(value) if _is_kept(v)}
    items = value if isinstance(value, dict) else vars(value)
    return {str(name): items[name] for name in sorted(items, key=str) if _is_kept(items[name])}


class _Node:
    """A value, and the names that lead to it."""

    def __init__(self, value: Any, path: str, number: int) -> None:
        self.value, self.path, self.number = value, path, number
        self.key = f"{path}/.ATTRIBUTES/{_VALUE}" if isinstance(value, Variable) else None


def _nodes(root):
    """All that a checkpoint leads to, nearest first, and the slots of its optimizers: (nodes, [(optimizer, slot, variable, node)])."""
    found = [_Node(root, "", 0)]
    known = {id(root): found[0]}
    for node in found:
        for name, value in _parts(node.value).items():
            if id(value) not in known:
                path = f"{node.path}/{_escaped(name)}" if node.path else _escaped(name)
                known[id(value)] = _Node(value, path, len(found))
                found.append(known[id(value)])
    slots = []
    for optimizer in [n for n in found if isinstance(n.value, Optimizer)]:
        for slot in optimizer.value.get_slot_names():
            for variable in [n for n in found if isinstance(n.value, Variable)]:
                value = optimizer.value.get_slot(variable.value, slot)
                if value is not None and id(value) not in known:
                    node = known[id(value)] = _Node(value, f"{variable.path}/.OPTIMIZER_SLOT/{optimizer.path}/{_escaped(slot)}", len(found))
                    found.append(node)
                    slots.append((optimizer, slot, variable, node))
    return found, slots, known


def _message(found, slots, known):
    made = messages.TrackableObjectGraph()
    for node in found:
        row = made.nodes.add()
        if node.key is not None:
            row.attributes.add(name=_VALUE, full_name=node.value._shared_name, checkpoint_key=node.key)
        for name, value in _parts(node.value).items():
            row.children.add(node_id=known[id(value)].number, local_name=name)
    for optimizer, slot, variable, node in slots:
        made.nodes[optimizer.number].slot_variables.add(original_variable_node_id=variable.number, slot_name=slot,
                                                        slot_variable_node_id=node.number)
    return made


class Checkpoint:
    """Checkpoint(model=model, optimizer=optimizer): saves the variables that the attributes lead to, by the names of these.

    Attributes and items that count are variables, modules, optimizers, checkpoints, and lists and dictionaries of them. What is restored
    must be there already, but for the slots of optimizers. Only where operations run at once.

    Parameters
    ----------
    **kwargs : Variable, Module, Optimizer, Checkpoint, or lists and dictionaries of them
        Become attributes.

    Examples
    --------
    >>> checkpoint = tw.train.Checkpoint(step=tw.Variable(1))  # doctest: +SKIP
    >>> path = checkpoint.save("/tmp/model/ckpt")  # doctest: +SKIP
    >>> checkpoint.restore(path).assert_consumed()  # doctest: +SKIP
    """

    def __init__(self, **kwargs: Any) -> None:
        if not graph_module.get_default_graph()._executes:
            raise NotImplementedError("tf.train.Checkpoint works where operations run at once (tf.enable_eager_execution()); in graphs "
                                      "tf.train.Saver saves variables by their names")
        for name, value in kwargs.items():
            if not _is_kept(value) and not isinstance(value, (list, tuple, dict)):
                raise ValueError("`Checkpoint` was expecting a trackable object (an object derived from `TrackableBase`), got "
                                 f"{value}. If you believe this object should be trackable (i.e. it is part of the TensorFlow Python API "
                                 "and manages state), please open an issue.")
            setattr(self, name, value)
        self._counter: Variable | None = None

    @property
    def save_counter(self) -> Variable:
        """How often it was saved."""
        if self._counter is None:
            self._counter = Variable(0, name="save_counter", dtype=dtypes.int64, trainable=False)
        return self._counter

    def _root(self):
        made = {name: value for name, value in vars(self).items() if name != "_counter"}
        return {**made, "save_counter": self.save_counter}

    def write(self, file_prefix: PathLike, session: object = None) -> str:
        """Writes the variables; gives the path, which no number is added to."""
        path = os.fsdecode(file_prefix)
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        found, slots, known = _nodes(self._root())
        rows = sorted((n.key, n.value._as_tensor()) for n in found if n.key is not None)
        objects = constant(_message(found, slots, known).SerializeToString(), dtypes.string)
        names, values = [_OBJECTS, *(key for key, _ in rows)], [objects, *(value for _, value in rows)]
        apply("SaveV2", [path, names, [""] * len(names), values])
        return path

    def save(self, file_prefix: PathLike, session: object = None) -> str:
        """Writes the variables to a checkpoint of the next number, which latest_checkpoint() gives from then on."""
        self.save_counter.assign_add(1)
        path = self.write(f"{os.fsdecode(file_prefix)}-{int(self.save_counter)}")
        checkpoint_files.update_checkpoint_state(os.path.dirname(path), path, [path])
        return path

    def restore(self, save_path: PathLike | None) -> RestoreStatus:
        """Sets the variables to what a checkpoint holds; says in its result how much of it there was."""
        if save_path is None:
            return RestoreStatus(set(), set(), 0)
        path = os.fsdecode(save_path)
        objects = messages.TrackableObjectGraph.FromString(apply("RestoreV2", [path, [_OBJECTS], [""]], {"dtypes": [dtypes.string]})[0].numpy())
        matched, pending = {}, [(0, self._root())]
        while pending:
            number, value = pending.pop(0)
            if number in matched:
                continue
            matched[number] = value
            if not isinstance(value, Optimizer):  # they may make their variables first
                parts = _parts(value)
                pending += [(c.node_id, parts[c.local_name]) for c in objects.nodes[number].children if c.local_name in parts]
        for number, value in [(n, v) for n, v in matched.items() if isinstance(v, Optimizer)]:
            self._make_slots(objects, value, number, matched)
            parts = _parts(value)
            matched.update({c.node_id: parts[c.local_name] for c in objects.nodes[number].children if c.local_name in parts})
            for row in objects.nodes[number].slot_variables:
                variable = matched.get(row.original_variable_node_id)
                if variable is not None and value.get_slot(variable, row.slot_name) is not None:
                    matched[row.slot_variable_node_id] = value.get_slot(variable, row.slot_name)
        for number, value in matched.items():
            for attribute in objects.nodes[number].attributes:
                if isinstance(value, Variable) and attribute.name == _VALUE:
                    value.assign(apply("RestoreV2", [path, [attribute.checkpoint_key], [""]], {"dtypes": [value.dtype.base_dtype]})[0])
        here = {id(n.value) for n in _nodes(self._root())[0] if n.key is not None}
        return RestoreStatus({i for i, n in enumerate(objects.nodes) if n.attributes} - set(matched), here - set(map(id, matched.values())),
                             len(objects.nodes))

    @staticmethod
    def _make_slots(objects, optimizer, number, matched):
        """An optimizer that has not been used yet makes its variables."""
        variables = [matched[row.original_variable_node_id] for row in objects.nodes[number].slot_variables
                     if row.original_variable_node_id in matched]
        if variables:
            optimizer._create_slots(variables)


class RestoreStatus:
    """How much of a checkpoint was restored, and how much of what there is was in it."""

    def __init__(self, unused: set[int], untouched: set[int], count: int) -> None:
        self._unused, self._untouched, self._count = unused, untouched, count

    def assert_consumed(self) -> RestoreStatus:
        """An AssertionError unless all of the checkpoint was restored, and it had all that there is."""
        if self._unused:
            raise AssertionError(f"Unresolved object in checkpoint: {len(self._unused)} of its {self._count} objects are not here")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> RestoreStatus:
        """An AssertionError unless the checkpoint had all that there is."""
        if self._untouched:
            raise AssertionError(f"Object not assigned a value from checkpoint: {len(self._untouched)} variables")
        return self

    def assert_nontrivial_match(self) -> RestoreStatus:
        """An AssertionError where nothing was restored."""
        if self._count and len(self._unused) == self._count:
            raise AssertionError("Nothing except the root object matched a checkpointed value.")
        return self

    def expect_partial(self) -> RestoreStatus:
        """Nothing is said of what is missing."""
        return self

    def run_restore_ops(self, session: object = None) -> None:
        """They have run."""

    initialize_or_restore = run_restore_ops


class CheckpointManager:
    """Keeps the last checkpoints of a directory.

    Parameters
    ----------
    checkpoint : Checkpoint
    directory : str or path
    max_to_keep : int or None
        None: all.
    keep_checkpoint_every_n_hours : float, optional
        Has no effect.
    checkpoint_name : str
        Begins the names of the files.
    """

    def __init__(self, checkpoint: Checkpoint, directory: PathLike, max_to_keep: int | None, keep_checkpoint_every_n_hours: float | None = None,
                 checkpoint_name: str = "ckpt") -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        self._checkpoint, self._directory, self._max = checkpoint, os.fsdecode(directory), max_to_keep
        self._prefix = os.path.join(self._directory, checkpoint_name)
        state = checkpoint_files.get_checkpoint_state(self._directory)
        self._kept = [] if state is None else list(state.all_model_checkpoint_paths)

    @property
    def checkpoints(self) -> list[str]:
        """Those that are kept, oldest first."""
        return list(self._kept)

    @property
    def latest_checkpoint(self) -> str | None:
        """The newest one, or None."""
        return self._kept[-1] if self._kept else None

    def save(self, checkpoint_number: int | None = None) -> str:
        """Writes one more, and removes the oldest beyond `max_to_keep`."""
        counter = self._checkpoint.save_counter.assign_add(1)
        path = self._checkpoint.write(f"{self._prefix}-{int(counter) if checkpoint_number is None else int(checkpoint_number)}")
        self._kept = [p for p in self._kept if p != path] + [path]
        while self._max is not None and len(self._kept) > self._max:
            try:
                checkpoint_files.remove_checkpoint(self._kept.pop(0))
            except errors.NotFoundError:
                pass
        checkpoint_files.update_checkpoint_state(self._directory, path, self._kept)
        return path
