# SPDX-License-Identifier: Apache-2.0
"""Checkpoint: variables saved by the attributes that lead to them, in TensorFlow's files.

What is no list, dictionary, module or optimizer of `tf.train` says itself what it leads to: `_checkpoint_parts()` gives {name: value}. An
optimizer of another kind has `_checkpoint_slots()`, [(name of the slot, variable, its value)], and `_make_checkpoint_slots(variables)`,
which makes them where it was not used yet."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, errors, messages
from thalweg.graph import graph as graph_module
from thalweg.graph.default_session import get_default_session
from thalweg.graph.ops import apply
from thalweg.graph.session import Session
from thalweg.operations.array_ops import placeholder
from thalweg.saving import checkpoint_files, checkpoint_utils
from thalweg.training.optimizer import Optimizer
from thalweg.variables.module import Module
from thalweg.variables.variables import Variable, is_variable_initialized

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
    return isinstance(value, (Variable, Module, Optimizer, Checkpoint)) or hasattr(value, "_checkpoint_parts")


def _is_optimizer(value):
    return isinstance(value, Optimizer) or hasattr(value, "_checkpoint_slots")


def _parts(value):
    """{name: what a value leads to}, in order."""
    if isinstance(value, Variable):
        return {}
    if isinstance(value, Optimizer):
        return {name: v for (name, _), v in value._non_slot_dict.items()}
    if isinstance(value, (list, tuple)):
        return {str(i): v for i, v in enumerate(value) if _is_kept(v)}
    if hasattr(value, "_checkpoint_parts"):
        return value._checkpoint_parts()
    items = value if isinstance(value, dict) else vars(value)
    return {str(name): items[name] for name in sorted(items, key=str) if _is_kept(items[name])}


class _Node:
    """A value, the names that lead to it, and what it leads to."""

    def __init__(self, value: Any, path: str, number: int) -> None:
        self.value, self.path, self.number = value, path, number
        self.parts = _parts(value)  # once: some of them may be made in that moment
        self.key = f"{path}/.ATTRIBUTES/{_VALUE}" if isinstance(value, Variable) else None


def _nodes(root):
    """All that a checkpoint leads to, nearest first, and the slots of its optimizers: (nodes, [(optimizer, slot, variable, node)])."""
    found = [_Node(root, "", 0)]
    known = {id(root): found[0]}
    for node in found:
        for name, value in node.parts.items():
            if id(value) not in known:
                path = f"{node.path}/{_escaped(name)}" if node.path else _escaped(name)
                known[id(value)] = _Node(value, path, len(found))
                found.append(known[id(value)])
    slots = []
    for optimizer in [n for n in found if _is_optimizer(n.value)]:
        for slot, variable, value in _slots_of(optimizer.value, [n.value for n in found if isinstance(n.value, Variable)]):
            original = known.get(id(variable))
            if original is not None and id(value) not in known:
                path = f"{original.path}/.OPTIMIZER_SLOT/{optimizer.path}/{_escaped(slot)}"
                node = known[id(value)] = _Node(value, path, len(found))
                found.append(node)
                slots.append((optimizer, slot, original, node))
    return found, slots, known


def _slots_of(optimizer, variables):
    """[(name, variable, value)] of an optimizer's slots."""
    if not isinstance(optimizer, Optimizer):
        return optimizer._checkpoint_slots()
    rows = [(slot, v, optimizer.get_slot(v, slot)) for slot in optimizer.get_slot_names() for v in variables]
    return [row for row in rows if row[2] is not None]


def _message(found, slots, known):
    made = messages.TrackableObjectGraph()
    for node in found:
        row = made.nodes.add()
        if node.key is not None:
            row.attributes.add(name=_VALUE, full_name=node.value._shared_name, checkpoint_key=node.key)
        for name, value in node.parts.items():
            row.children.add(node_id=known[id(value)].number, local_name=name)
    for optimizer, slot, variable, node in slots:
        made.nodes[optimizer.number].slot_variables.add(original_variable_node_id=variable.number, slot_name=slot,
                                                        slot_variable_node_id=node.number)
    return made


def object_graph(root: Any) -> tuple[messages.TrackableObjectGraph, dict[str, Variable]]:
    """What leads to what from `root`, and {key: variable} of what a checkpoint of it holds."""
    found, slots, known = _nodes(root)
    return _message(found, slots, known), {n.key: n.value for n in found if n.key is not None}


def write_objects(path: str, root: Any, session: Session | None = None) -> None:
    """Writes what `root` leads to as a checkpoint; in graphs with the values that it has in a session."""
    objects, variables = object_graph(root)
    keys = sorted(variables)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    names = [_OBJECTS, *keys]
    if graph_module.get_default_graph()._executes:
        values = [variables[key]._as_tensor() for key in keys]
        apply("SaveV2", [path, names, [""] * len(names), [np.array(objects.SerializeToString(), object), *values]])
        return
    values = session.run([variables[key] for key in keys])
    with graph_module.Graph().as_default(), Session() as writer:  # the graph of the program stays as it is
        fed = [placeholder(dtypes.string, shape=()), *(placeholder(variables[key].dtype.base_dtype) for key in keys)]
        saved = apply("SaveV2", [path, names, [""] * len(names), fed])
        writer.run(saved, dict(zip(fed, [objects.SerializeToString(), *values])))


class ObjectReader:
    """A checkpoint of objects, and what of it belongs to which variable of a program.

    Parameters
    ----------
    path : str
        The checkpoint.

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.
    ValueError
        If it was not written by objects (as `Saver` writes).
    """

    def __init__(self, path: str) -> None:
        self._reader = checkpoint_utils.NewCheckpointReader(path)
        if not self._reader.has_tensor(_OBJECTS):
            raise ValueError(f"The checkpoint {path} has variables by their names, not objects: tf.train.Saver reads it")
        self.objects = messages.TrackableObjectGraph.FromString(self._reader.get_tensor(_OBJECTS))
        self._path = path

    def values(self, root: Any) -> tuple[list[tuple[Variable, Any]], RestoreStatus]:
        """[(variable, its value)] of what `root` leads to and the checkpoint has, and how much that is. ValueError where shapes differ."""
        matched, pending = {}, [(0, root)]
        while pending:
            number, value = pending.pop(0)
            if number in matched:
                continue
            matched[number] = value
            if not _is_optimizer(value):  # they may make their variables first
                parts = _parts(value)
                pending += [(c.node_id, parts[c.local_name]) for c in self.objects.nodes[number].children if c.local_name in parts]
        for number, optimizer in [(n, v) for n, v in matched.items() if _is_optimizer(v)]:
            self._match_optimizer(number, optimizer, matched)
        found = []
        for number, value in matched.items():
            for attribute in self.objects.nodes[number].attributes:
                if isinstance(value, Variable) and attribute.name == _VALUE:
                    found.append((value, self._value(value, attribute.checkpoint_key)))
        here = {id(n.value) for n in _nodes(root)[0] if n.key is not None}
        return found, RestoreStatus({i for i, n in enumerate(self.objects.nodes) if n.attributes} - set(matched),
                                    here - set(map(id, matched.values())), len(self.objects.nodes))

    def _match_optimizer(self, number, optimizer, matched):
        """An optimizer that has not been used yet makes its variables."""
        node = self.objects.nodes[number]
        variables = [matched[row.original_variable_node_id] for row in node.slot_variables if row.original_variable_node_id in matched]
        variables = list({id(v): v for v in variables}.values())
        if isinstance(optimizer, Optimizer):
            if variables:
                optimizer._create_slots(variables)
        elif node.children:
            optimizer._make_checkpoint_slots(variables)
        parts = _parts(optimizer)
        for child in node.children:
            if child.local_name not in parts:
                continue
            matched[child.node_id] = parts[child.local_name]
            if _is_optimizer(parts[child.local_name]):
                self._match_optimizer(child.node_id, parts[child.local_name], matched)
        present = {(slot, id(v)): value for slot, v, value in _slots_of(optimizer, variables)}
        for row in node.slot_variables:
            slot = present.get((row.slot_name, id(matched.get(row.original_variable_node_id))))
            if slot is not None:
                matched[row.slot_variable_node_id] = slot

    def _value(self, variable, key):
        value = np.asarray(self._reader.get_tensor(key))
        if not variable.shape.is_compatible_with(value.shape):
            raise ValueError(f"{key} in the checkpoint {self._path} has the shape {list(value.shape)}, the variable "
                             f"{variable.name} {variable.shape.as_list()}")
        return value


class Checkpoint:
    """Checkpoint(model=model, optimizer=optimizer): saves the variables that the attributes lead to, by the names of these.

    Attributes and items that count are variables, modules, models and layers, optimizers, checkpoints, and lists and dictionaries of them.
    What is restored must be there already, but for the slots of optimizers. In graphs the values are those of a session: the one that is
    given, or the default one.

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

    def write(self, file_prefix: PathLike, session: Session | None = None) -> str:
        """Writes the variables; gives the path, which no number is added to."""
        path = os.fsdecode(file_prefix)
        root = self._root()
        write_objects(path, root, self._counted(session))
        return path

    def _counted(self, session):
        """The session of a call, in which the counter has a value; None where operations run at once."""
        if graph_module.get_default_graph()._executes:
            return None
        session = _session_of(session)
        counter = self.save_counter
        with session.graph.as_default():
            if not session.run(is_variable_initialized(counter)):
                session.run(counter.initializer)
        return session

    def _next_number(self, session):
        session, counter = self._counted(session), self.save_counter
        if session is None:
            return int(counter.assign_add(1))
        number = int(session.run(counter)) + 1
        counter.load(number, session)
        return number

    def save(self, file_prefix: PathLike, session: Session | None = None) -> str:
        """Writes the variables to a checkpoint of the next number, which latest_checkpoint() gives from then on."""
        path = self.write(f"{os.fsdecode(file_prefix)}-{self._next_number(session)}", session)
        checkpoint_files.update_checkpoint_state(os.path.dirname(path), path, [path])
        return path

    def restore(self, save_path: PathLike | None) -> RestoreStatus:
        """Sets the variables to what a checkpoint holds; says in its result how much of it there was. In graphs they are set when
        `run_restore_ops` or `initialize_or_restore` of the result is called."""
        if save_path is None:
            return RestoreStatus(set(), set(), 0)
        root = self._root()
        values, status = ObjectReader(os.fsdecode(save_path)).values(root)
        if graph_module.get_default_graph()._executes:
            for variable, value in values:
                variable.assign(value)
        else:
            status._values, status._here = values, list(object_graph(root)[1].values())
        return status


def _session_of(session):
    session = session or get_default_session()
    if session is None:
        raise ValueError("A tf.train.Checkpoint of a graph needs a session: give `session`, or call it within `with tf.Session():`")
    return session


class RestoreStatus:
    """How much of a checkpoint was restored, and how much of what there is was in it."""

    def __init__(self, unused: set[int], untouched: set[int], count: int) -> None:
        self._unused, self._untouched, self._count = unused, untouched, count
        self._values: list[tuple[Variable, Any]] = []  # of a graph, what is set in a session later
        self._here: list[Variable] = []

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

    def run_restore_ops(self, session: Session | None = None) -> None:
        """Sets the variables of a graph in a session, the default one where none is given; where operations run at once it is done."""
        if self._values:
            session = _session_of(session)
            for variable, value in self._values:
                variable.load(value, session)

    def initialize_or_restore(self, session: Session | None = None) -> None:
        """As run_restore_ops; variables that the checkpoint has not and that have no value get their first."""
        if self._here:
            session, restored = _session_of(session), {id(variable) for variable, _ in self._values}
            with session.graph.as_default():
                rest = [v for v in self._here if id(v) not in restored]
                empty = [not has for has in session.run([is_variable_initialized(v) for v in rest])]
                session.run([v.initializer for v, is_empty in zip(rest, empty) if is_empty])
        self.run_restore_ops(session)


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
        number = self._checkpoint._next_number(None)
        path = self._checkpoint.write(f"{self._prefix}-{number if checkpoint_number is None else int(checkpoint_number)}")
        self._kept = [p for p in self._kept if p != path] + [path]
        while self._max is not None and len(self._kept) > self._max:
            try:
                checkpoint_files.remove_checkpoint(self._kept.pop(0))
            except errors.NotFoundError:
                pass
        checkpoint_files.update_checkpoint_state(self._directory, path, self._kept)
        return path
