# SPDX-License-Identifier: Apache-2.0
"""Graph: names, scopes, devices, control dependencies and collections over the core's graph."""
from __future__ import annotations

import collections
import contextlib
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

from thalweg import _core, dtypes
from thalweg.graph.device_specs import DeviceSpec, check_device, merge_devices
from thalweg.graph.environment import environment
from thalweg.graph.schemas import schema_of
from thalweg.graph.shapes import as_shape
from thalweg.graph.tensor import IndexedSlices, Operation, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Self

    from thalweg.base.typing import Device, DTypeLike, Element, Text
    from thalweg.dtypes import DType
    from thalweg.graph.shapes import TensorShape
    from thalweg.messages import AttrValue, GraphDef, OpDef, VersionDef

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


_SHOWN_KINDS = 10


class GraphKeys:
    """The names of collections that the package itself uses.

    Examples
    --------
    >>> v = tw.Variable(1.0, name="v")
    >>> [w.name for w in tw.get_collection(tw.GraphKeys.TRAINABLE_VARIABLES)]
    ['v:0']
    """
    GLOBAL_VARIABLES = VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    TRAIN_OP = "train_op"
    EVAL_STEP = "eval_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class _State(threading.local):
    """Where a thread is within the scopes of a graph."""

    def __init__(self) -> None:
        self.scope = ""
        self.device = ""
        self.device_functions = ()  # when there are any: all device scopes, functions and names, the innermost first
        self.controls = []
        self.colocate = None
        self.overrides = None  # of gradients: see custom_gradients.py
        self.context = None  # of control flow: see control_flow.py
        self.gradient_place = None  # where a gradient function is called: see custom_gradients.py
        self.effects = None  # whose order is that in which they are made: see graph_functions.py
        self.replication = None  # the distribution strategy that code runs under, and for which replica: see control/replicas.py


class Graph(_core.Graph):
    """A dataflow graph. New operations go to the default one: the graph of the innermost `with graph.as_default()`, else one that is
    there from the start.

    Examples
    --------
    >>> graph = tw.Graph()
    >>> with graph.as_default():
    ...     y = tw.constant(2.0, name="two") * 3.0
    >>> y.graph is graph, [op.name for op in graph.get_operations()]
    (True, ['two', 'mul/y', 'mul'])
    >>> with tw.Session(graph=graph) as sess:
    ...     print(sess.run("mul:0"))
    6.0
    """
    _executes = False  # whether operations run at once, and none is kept: see eager/context.py
    _site = ""  # where its nodes are made, if that is no line of the program
    _captures = None  # of a function's body: see functions.py
    _lift_variable = None  # of a tf.function's body: see graph_functions.py
    _restricted = False  # whether something may not be fed or fetched
    _made_as = b""  # an empty GraphDef of the version that new graphs are of; the core's own without one

    def __new__(cls):
        return _core.Graph.__new__(cls, environment())

    def __init__(self) -> None:
        self._state = _State()
        self._names = {}
        self._collections = {}
        self._contexts = {}   # id of a node -> its control-flow context
        self._finalized = False
        self._kept_from_feeds, self._kept_from_fetches = set(), set()
        self._container = ""
        self.seed = None
        self._lock = threading.RLock()
        if self._made_as:
            self._import(self._made_as, False, "", [], [], [], [])

    def __repr__(self):
        count = self._num_nodes()
        return f"<tf.Graph of {count} operation{'' if count == 1 else 's'}{', finalized' if self._finalized else ''}>"

    def _repr_html_(self):
        """For notebooks: what is fed, what the variables are, and how many operations there are of each kind."""
        import html
        nodes = self._nodes()
        rows = [f"<tr><td>{html.escape(op.name)}</td><td>{op.outputs[0].dtype.base_dtype.name}</td>"
                f"<td>{html.escape(str(op.outputs[0].shape))}</td></tr>" for op in nodes if op.type == "Placeholder"]
        counts = collections.Counter(op.type for op in nodes).most_common(_SHOWN_KINDS)
        kinds = ", ".join(f"{count} {html.escape(kind)}" for kind, count in counts)
        table = f"<table><tr><th>placeholder</th><th>type</th><th>shape</th></tr>{''.join(rows)}</table>" if rows else ""
        return f"<p>{html.escape(repr(self)[1:-1])}: {kinds}</p>{table}"

    def _operation_seed(self):
        """The seed of an operation that has none, where the graph has one."""
        return self._num_nodes()

    # ---- names ----
    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Gives a name that no operation has, under the scope that is open: with _1, _2 ... where it is taken.

        Parameters
        ----------
        name : str
        mark_as_used : bool
            Whether it counts as taken from now on.

        Returns
        -------
        str

        Examples
        --------
        >>> graph = tw.get_default_graph()
        >>> graph.unique_name("x"), graph.unique_name("x")
        ('x', 'x_1')
        """
        scope = self._state.scope
        if scope:
            name = f"{scope}/{name}"
        key = name.lower()
        used = self._names.get(key, 0)
        if mark_as_used:
            self._names[key] = used + 1
        if used == 0 and not self._has(name):
            return name
        base = name
        used = max(used, 1)
        while True:
            name = f"{base}_{used}"
            used += 1
            if name.lower() not in self._names and not self._has(name):
                break
        if mark_as_used:
            self._names[key] = used
            self._names[name.lower()] = 1
        return name

    @contextlib.contextmanager
    def name_scope(self, name: Text | None) -> Iterator[str]:
        """with graph.name_scope("layer") as scope: names of new operations begin with "layer/". See tw.name_scope."""
        if name:
            if isinstance(name, bytes):
                name = name.decode()
            valid = _VALID_SCOPE if self._state.scope else _VALID_NAME
            if not valid.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self._state.scope
        if not name:
            self._state.scope = ""
        else:
            self._state.scope = name[:-1] if name.endswith("/") else self.unique_name(name)
        try:
            yield self._state.scope + "/" if self._state.scope else ""
        finally:
            self._state.scope = old

    def get_name_scope(self) -> str:
        """The scope that is open, without a / at its end."""
        return self._state.scope

    # ---- scopes ----
    @contextlib.contextmanager
    def device(self, device_name_or_function: Device) -> Iterator[None]:
        """with graph.device("/cpu:1"): new operations are to run there. See tw.device."""
        state = self._state
        old = state.device, state.device_functions
        if callable(device_name_or_function):
            state.device_functions = (device_name_or_function,) + (state.device_functions or (state.device,))
        elif device_name_or_function is None:
            state.device, state.device_functions = "", ()
        else:
            text = str(device_name_or_function)
            check_device(text)
            state.device = merge_devices(text, state.device)
            if state.device_functions:
                state.device_functions = (text,) + state.device_functions
        try:
            yield
        finally:
            state.device, state.device_functions = old

    @contextlib.contextmanager
    def container(self, container_name: Text) -> Iterator[str]:
        """Variables, queues, tables ... that are made meanwhile and name no container are of this one, for Session.reset."""
        if not isinstance(container_name, (str, bytes)):
            raise TypeError(f"container_name must be a string, got {container_name!r}")
        old = self._container
        self._container = container_name if isinstance(container_name, str) else container_name.decode()
        try:
            yield self._container
        finally:
            self._container = old

    def _get_control_flow_context(self):
        """The branch or loop body that is being built, or None: libraries ask so."""
        return self._state.context

    def _apply_device_functions(self, op):
        """Tells an object that stands for an operation where one made now would be put: libraries ask so."""
        if self._state.device:
            op._set_device(DeviceSpec.from_string(self._state.device))

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Sequence[Element | IndexedSlices] | None) -> Iterator[None]:
        """with graph.control_dependencies([op]): new operations run after these. See tw.control_dependencies."""
        state = self._state
        old = state.controls, state.context
        if control_inputs is None:
            state.controls, state.context = [], None
        else:
            more = [self.as_graph_element(c.op if isinstance(c, IndexedSlices) else c) for c in control_inputs]
            more = [c.op if isinstance(c, Tensor) else c for c in more]
            if state.context is not None:
                more = state.context.controls_inside(more)
            state.controls = list(dict.fromkeys([*state.controls, *more]))
        try:
            yield
        finally:
            state.controls, state.context = old

    @contextlib.contextmanager
    def colocate_with(self, op: Element | None, ignore_existing: bool = False) -> Iterator[None]:
        """with graph.colocate_with(op): new operations run where `op` does."""
        state = self._state
        old = state.colocate, state.device, state.device_functions
        if op is not None:
            op = self.as_graph_element(op)
            op = op.op if isinstance(op, Tensor) else op
            state.colocate = (() if ignore_existing or old[0] is None else old[0]) + (f"loc:@{op.name}",)
            state.device, state.device_functions = op.device or "", ()  # where the other is, whatever the scopes around say
        else:
            state.colocate = None
        try:
            yield
        finally:
            state.colocate, state.device, state.device_functions = old

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Self]:
        """with graph.as_default(): new operations of this thread go to the graph.

        Returns
        -------
        context manager
            Which gives the graph.

        Examples
        --------
        >>> with tw.Graph().as_default() as graph:
        ...     print(tw.constant(1).graph is graph)
        True
        """
        _default.stack.append(self)
        try:
            yield self
        finally:
            if not _default.stack or _default.stack[-1] is not self:
                raise AssertionError("Nesting violated for default stack of Graph objects")
            _default.stack.pop()

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> AbstractContextManager[None]:
        """with g.gradient_override_map({"Identity": "Name"}): new Identity operations have the gradient registered so."""
        if not isinstance(op_type_map, dict) or not all(isinstance(v, str) for kv in op_type_map.items() for v in kv):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        return self._overriding(op_type_map)

    @contextlib.contextmanager
    def _overriding(self, op_type_map):
        state = self._state
        old = state.overrides
        state.overrides = {**(old or {}), **op_type_map}
        try:
            yield
        finally:
            state.overrides = old

    # ---- elements ----
    def _element_of_name(self, name):
        """An Operation for "name", a Tensor for "name:0"; KeyError for one that is not there."""
        op_name, colon, index = name.partition(":")
        op = self._find(op_name)
        if op is None:
            raise KeyError(
                f"The name '{name}' refers to {'a Tensor' if colon else 'an Operation'} which does not exist. "
                f"The operation, '{op_name}', does not exist in the graph.{self._nearest(op_name)}")
        if not colon:
            return op
        if not index.isdigit():
            raise ValueError(f"The name '{name}' looks a like a Tensor name, but is not a valid one. "
                             "Tensor names must be of the form \"<op_name>:<output_index>\".")
        if int(index) >= op._num_outputs:
            raise KeyError(f"The name '{name}' refers to a Tensor which does not exist. The operation, '{op_name}', "
                           f"exists but only has {op._num_outputs} outputs.")
        return op._output(int(index))

    def _fetched_by_name(self, name):
        try:
            return self._element_of_name(name)
        except (KeyError, ValueError) as error:
            raise ValueError(f"Fetch argument {name!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None

    def _fed_by_name(self, name):
        try:
            found = self._element_of_name(name)
        except (KeyError, ValueError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        if isinstance(found, Operation):
            hint = f"its first output is '{name}:0'" if found._num_outputs else "it has no outputs"
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {_no_tensor(name)} (Of this operation: {hint}.)")
        return found

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Gives the Tensor or Operation that a name or an object stands for.

        Parameters
        ----------
        obj : str, Tensor, Operation, Variable, or what stands for a tensor
            "x:0" names a tensor, "x" an operation.
        allow_tensor, allow_operation : bool
            What it may be.

        Returns
        -------
        Tensor or Operation

        Raises
        ------
        KeyError
            The graph has no such name.
        ValueError
            It belongs to another graph, or the name is of the other kind.
        TypeError
            It stands for nothing that is allowed.

        Examples
        --------
        >>> x = tw.constant(1.0, name="x")
        >>> tw.get_default_graph().as_graph_element("x:0").name
        'x:0'
        """
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, (str, bytes)):
            obj = obj.decode() if isinstance(obj, bytes) else obj
            found = self._element_of_name(obj)
            if isinstance(found, Tensor) and not allow_tensor:
                raise ValueError(f"Name {obj!r} appears to refer to a Tensor, not a Operation.")
            if isinstance(found, Operation) and not allow_operation:
                raise ValueError(_no_tensor(obj))
            return found
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        wanted = " or ".join(n for n, a in (("Tensor", allow_tensor), ("Operation", allow_operation)) if a)
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def get_operation_by_name(self, name: str) -> Operation:
        """Gives the operation of a name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Operation

        Raises
        ------
        KeyError
            There is none.

        Examples
        --------
        >>> x = tw.constant(1.0, name="x")
        >>> tw.get_default_graph().get_operation_by_name("x").type
        'Const'
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        if ":" not in name and self._find(name) is None:
            raise KeyError(f"The name '{name}' refers to an Operation not in the graph.{self._nearest(name)}")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The Tensor of a name such as "mul:0"; a KeyError where there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def get_operations(self) -> list[Operation]:
        """Gives all operations, in the order in which they were made.

        Returns
        -------
        list of Operation

        Examples
        --------
        >>> x = tw.constant(1.0, name="x")
        >>> [op.name for op in tw.get_default_graph().get_operations()]
        ['x']
        """
        return self._nodes()

    # ---- messages ----
    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Gives the graph as a message.

        Parameters
        ----------
        from_version : int, optional
            Of no effect: all of the graph is told.
        add_shapes : bool
            Of no effect: shapes are inferred where the graph is read.

        Returns
        -------
        GraphDef

        Examples
        --------
        >>> x = tw.constant(1.0, name="x")
        >>> [node.name for node in tw.get_default_graph().as_graph_def().node]
        ['x']
        """
        from thalweg import messages
        return messages.GraphDef.FromString(self._export(False))

    @property
    def version(self) -> int:
        """A number that grows with every operation."""
        return self._num_nodes()

    @property
    def graph_def_versions(self) -> VersionDef:
        """The versions that as_graph_def() tells."""
        from thalweg import messages
        return messages.GraphDef.FromString(Graph()._export(False)).versions

    # ---- collections ----
    def add_to_collection(self, name: str, value: object) -> None:
        """Puts an object into a collection.

        Parameters
        ----------
        name : str
            The key of the collection.
        value : object

        Examples
        --------
        >>> graph = tw.get_default_graph()
        >>> graph.add_to_collection("mine", 1)
        >>> graph.get_collection("mine")
        [1]
        """
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: str | Sequence[str], value: object) -> None:
        """Puts an object into several collections."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """A collection itself, to be changed; made when it is not there."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """Gives what is in a collection, as a new list.

        Parameters
        ----------
        name : str
            The key of the collection.
        scope : str, optional
            A regular expression: only items whose name begins so.

        Returns
        -------
        list

        Examples
        --------
        >>> graph = tw.get_default_graph()
        >>> graph.add_to_collection("mine", 1)
        >>> graph.get_collection("mine")
        [1]
        """
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        matches = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and matches(item.name)]

    def get_all_collection_keys(self) -> list[str]:
        """The names of the collections."""
        return [name for name in self._collections if isinstance(name, str)]

    @property
    def collections(self) -> list[str]:
        """The names of the collections."""
        return self.get_all_collection_keys()

    def clear_collection(self, name: str) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)

    # ---- state ----
    @property
    def finalized(self) -> bool:
        """Whether the graph may not be changed any more."""
        return self._finalized

    def finalize(self) -> None:
        """Lets the graph stay as it is: making an operation is an error from now on.

        Examples
        --------
        >>> graph = tw.get_default_graph()
        >>> graph.finalize()
        >>> try:
        ...     tw.constant(1.0)
        ... except RuntimeError:
        ...     print("finalized")
        finalized
        """
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    def _device_of(self, op):
        """The device that an operation gets from the scopes around the caller: a name fills in what those within it leave
        open, a function says the whole device."""
        for scope in self._state.device_functions or (self._state.device,):
            op.device = scope(op) or "" if callable(scope) else merge_devices(op.device, scope)
        return str(op.device)

    def _adopt(self, first, prefix):
        """Operations that the core has made since node `first`, under `prefix`, belong to where the caller is: they run on
        the device of its scopes, unless they are colocated with others, and wait for its control dependencies, directly or
        by one that they read."""
        state = self._state
        if self._container:
            for op in self._nodes(first):
                self._set_container(op, self._container)
        if state.context is not None:
            state.context.adopt(self, first)
        if state.device or state.device_functions:
            for op in self._nodes(first):
                if op.name.startswith(prefix) and op.colocation_groups() == [f"loc:@{op.name}".encode()]:
                    self._set_device(op, self._device_of(NodeView(op.type, op.name, {}, op.device)))
        if not state.controls:
            return
        waiting = set()
        for op in self._nodes(first):
            if not op.name.startswith(prefix):
                continue
            if not any(i.op._id in waiting for i in op.inputs) and not any(c._id in waiting for c in op.control_inputs):
                for before in state.controls:
                    self._add_control_input(op, before)
            waiting.add(op._id)

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def prevent_feeding(self, tensor: Tensor) -> None:
        """No session may feed the tensor from now on; runs of a kind that came before go on."""
        self._kept_from_feeds.add(tensor)
        self._restricted = True

    def prevent_fetching(self, op: Operation) -> None:
        """No session may fetch the operation or its outputs from now on; runs of a kind that came before go on."""
        self._kept_from_fetches.add(op)
        self._restricted = True

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a session may feed the tensor."""
        return tensor not in self._kept_from_feeds

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Whether a session may fetch the tensor or operation."""
        return getattr(tensor_or_op, "op", tensor_or_op) not in self._kept_from_fetches

    def _check_feed(self, tensor):
        if not self.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor} may not be fed.")

    def _check_fetch(self, element):
        if not self.is_fetchable(element):
            raise ValueError(f"Operation {getattr(element, 'op', element).name!r} has been marked as not fetchable.")

    @property
    def building_function(self) -> bool:
        """Whether this is the body of a function."""
        return self._captures is not None

    def switch_to_thread_local(self) -> None:
        """Scopes belong to threads here from the start."""

    def create_op(self, op_type: str, inputs: Sequence[Tensor], dtypes: Sequence[DTypeLike] | None = None,
                  input_types: Sequence[DTypeLike] | None = None, name: str | None = None,
                  attrs: Mapping[str, AttrValue] | None = None, op_def: OpDef | None = None, compute_shapes: bool = True,
                  compute_device: bool = True) -> Operation:
        """An operation of tensors and AttrValue messages; its types and shapes are inferred."""
        for item in inputs:
            if not isinstance(item, Tensor):
                raise TypeError(f"Input #{list(inputs).index(item)} is not a tensor: {item}")
        rows = [(key, "p", value.SerializeToString()) for key, value in (attrs or {}).items()]
        with self.as_default():
            return create_node(op_type, name or op_type, list(inputs), rows)

    def _create_of(self, node_def, inputs, control_inputs):
        """The operation that a NodeDef says."""
        attrs = [(name, "p", value.SerializeToString()) for name, value in node_def.attr.items()]
        with self.as_default(), self.device(node_def.device or ""):
            return create_node(node_def.op, node_def.name + "/", inputs, attrs, control_inputs)


class NodeOutput(NamedTuple):
    """What a device function sees of an output."""

    shape: TensorShape
    dtype: DType


class NodeView:
    """What a device function sees of an operation. `attrs`: those that are given, by name; of variables they say what their
    output is."""

    def __init__(self, op: str, name: str, attrs: Mapping[str, tuple[str, Any]], device: str = "") -> None:
        self.type, self.name, self._attrs, self.device = op, name, attrs, device

    def get_attr(self, name: str) -> Any:
        """An attribute by its name; a ValueError where it was not given."""
        if name not in self._attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        kind, value = self._attrs[name]
        return dtypes._BY_NUMBER[value] if kind == "t" else value

    @property
    def outputs(self) -> list[NodeOutput]:
        """Of a variable: what has a type and a shape."""
        if self.type in ("Variable", "VariableV2"):
            return [NodeOutput(as_shape(self.get_attr("shape")), self.get_attr("dtype"))]
        return [NodeOutput(as_shape([]), dtypes.resource)] if self.type == "VarHandleOp" else []


def _no_tensor(name):
    return f"The name '{name}' refers to an Operation, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\"."


class _Default(threading.local):
    def __init__(self) -> None:
        self.stack = []


_default = _Default()
_global = None
make_global = Graph  # what makes the graph that is there from the start


def get_default_graph() -> Graph:
    """The graph that new operations of this thread go to.

    Returns
    -------
    Graph

    Examples
    --------
    >>> tw.constant(1).graph is tw.get_default_graph()
    True
    """
    global _global
    if _default.stack:
        return _default.stack[-1]
    if _global is None:
        _global = make_global()
    return _global


def make_global_with(make: Callable[[], Graph]) -> None:
    """The graph that is there from the start is one that `make` gives from now on."""
    global _global, make_global
    _global, make_global = None, make


def reset_default_graph() -> None:
    """The default graph is a new, empty one from now on.

    What was made before stays in its graph; close the sessions of it first.

    Raises
    ------
    AssertionError
        Inside `with graph.as_default()`.

    Examples
    --------
    >>> before = tw.get_default_graph()
    >>> before is tw.get_default_graph()
    True
    """
    global _global
    if _default.stack:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
                             "exit the nesting and create a new graph.")
    _global = None


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSIDE = {}  # file name -> whether it is one of the package's


def site() -> str:
    """The line of the caller outside the package: "train.py:41 in build"."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        inside = _INSIDE.get(name)
        if inside is None:
            inside = _INSIDE[name] = name.startswith(_PACKAGE) or name in (_CONTEXTLIB, "<thalweg>")
        if not inside:
            return f"{name}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return ""


_CONTEXTLIB = sys.modules["contextlib"].__file__


def create_node(op: str, name: str, flat: list[Tensor], attrs: list[tuple[str, str, Any]],
                controls: Sequence[Operation] = ()) -> Operation:
    """A node under the scopes of the default graph; `name` that ends in / is used as it is."""
    stack = _default.stack
    if stack and stack[-1]._captures is not None:  # the body of a function
        graph = stack[-1]
        flat = [t if t is None else graph.inside(t) for t in flat]
        controls = [c for c in controls if c.graph is graph]
    else:
        graph = get_default_graph()
        if graph._executes:
            return graph._at_once(op, flat, attrs, name)
        if flat and type(flat[0]) is Tensor:
            graph = flat[0].graph
    if graph._finalized:
        graph._check_not_finalized()
    state = graph._state
    before = [*state.controls, *controls] if state.controls or controls else []
    if before and flat:  # what an operation reads, it waits for anyway
        read = {t.op for t in flat if t is not None}
        before = [c for c in before if c not in read]
    context = state.context
    if context is not None:
        flat, before = context.enter(op, flat, before)
    effects = state.effects
    if effects is not None:
        before = effects.before(op, flat, before, context)
    name = name[:-1] if name.endswith("/") else graph.unique_name(name)
    if state.colocate is not None and not any(a[0] == "_class" for a in attrs):
        attrs = attrs + [("_class", "S", state.colocate)]
    device = state.device
    if device or state.device_functions:
        of_reference = flat and flat[0] is not None and flat[0].dtype._is_ref_dtype and schema_of(op).inputs[0].is_ref
        if of_reference:  # what changes a variable runs where the variable is, whatever the scopes say
            device = flat[0].op.device
            if not any(a[0] == "_class" for a in attrs):
                attrs = attrs + [("_class", "S", (f"loc:@{flat[0].op.name}",))]
        elif state.device_functions:
            device = graph._device_of(NodeView(op, name, {a[0]: a[1:] for a in attrs}))
    try:
        made = graph._add_node(op, name, flat, before, attrs, device, graph._site or site())
    except ValueError as error:
        if "is no valid node name" in str(error):
            raise ValueError(f"'{name}' is not a valid node name. {error}") from None
        raise
    if graph._container:
        graph._set_container(made, graph._container)
    if state.overrides is not None:
        override = state.overrides.get(made.type)
        if override is not None:
            graph.__dict__.setdefault("_overridden", {})[made._id] = override
    if context is not None:
        graph._contexts[made._id] = context
        context.made(made)
    if effects is not None:
        effects.made(made, context)
    return made


class name_scope:
    """with tw.name_scope("layer") as scope: names of new operations begin with "layer/".

    A scope whose name is taken is called layer_1, layer_2 ...; a name that ends in / enters that very scope again.

    Parameters
    ----------
    name : str or None
    default_name : str, optional
        The name where `name` is None.
    values : list, optional
        The arguments of the function that opens the scope.

    Raises
    ------
    ValueError
        It is no valid name, or there is neither name while there are `values`.

    Examples
    --------
    >>> with tw.name_scope("layer") as scope:
    ...     x = tw.constant(1, name="x")
    >>> scope, x.name
    ('layer/', 'layer/x:0')
    """

    def __init__(self, name: Text | None, default_name: str | None = None, values: Iterable[object] | None = None) -> None:
        self._name = default_name if name is None else name
        self._values = values

    @property
    def name(self) -> Text | None:
        """The name that was asked for."""
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError(f"At least one of name ({self._name}) and default_name must be provided.")
        self._context = get_default_graph().name_scope(self._name)
        return self._context.__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._context.__exit__(*error)


def device(device_name_or_function: Device) -> AbstractContextManager[None]:
    """with tw.device("/cpu:1"): new operations are to run there.

    Parameters
    ----------
    device_name_or_function : str, callable or None
        Such as "/job:worker/task:1" or "/cpu:0"; what it leaves open is as outside. A function is asked for the device of each operation.
        None: inside, nothing that is said outside holds.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        It is no name of a device.

    Examples
    --------
    >>> with tw.device("/job:worker"), tw.device("/cpu:0"):
    ...     x = tw.constant(1)
    >>> x.device
    '/job:worker/device:CPU:0'
    """
    return get_default_graph().device(device_name_or_function)


def container(container_name: Text) -> AbstractContextManager[str]:
    """Places variables, queues, tables and other resources that are made within a `with` statement into a container.

    Parameters
    ----------
    container_name : str
        Session.reset can empty it by this name.

    Returns
    -------
    context manager
        Gives the name.

    Examples
    --------
    >>> with tw.container("experiment"):
    ...     queue = tw.FIFOQueue(2, tw.int32)
    >>> queue.queue_ref.op.get_attr("container")
    b'experiment'
    """
    return get_default_graph().container(container_name)


def control_dependencies(control_inputs: Sequence[Element | IndexedSlices] | None) -> AbstractContextManager[None]:
    """with tw.control_dependencies([op]): new operations run after these.

    Parameters
    ----------
    control_inputs : list of Operation, Tensor or variable, or None
        What must have run. None: inside, nothing that is said outside holds.

    Returns
    -------
    context manager

    Raises
    ------
    TypeError
        Where an input is no operation, tensor or variable.

    Examples
    --------
    >>> v = tw.Variable(1)
    >>> with tw.control_dependencies([v.assign_add(5)]):
    ...     after = v.read_value()
    >>> with tw.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(after))
    6
    """
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Element | None, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """with tw.colocate_with(op): new operations run where `op` does."""
    return get_default_graph().colocate_with(op, ignore_existing)


def add_to_collection(name: str, value: object) -> None:
    """Puts an object into a collection of the default graph.

    Parameters
    ----------
    name : str
        Of the collection: one of GraphKeys, or any other.
    value : object

    Raises
    ------
    RuntimeError
        The graph is finalized.

    Examples
    --------
    >>> tw.add_to_collection("outputs", tw.constant(1, name="one"))
    >>> [t.name for t in tw.get_collection("outputs")]
    ['one:0']
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: str | Sequence[str], value: object) -> None:
    """Puts an object into several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """What is in a collection of the default graph.

    Parameters
    ----------
    key : str
        The name of the collection.
    scope : str, optional
        A regular expression: only what has a name that begins so.

    Returns
    -------
    list
        A new one, in the order in which things were added; empty for a collection that nobody made.

    Examples
    --------
    >>> a, b = tw.Variable(1.0, name="a/v"), tw.Variable(1.0, name="b/v")
    >>> [v.name for v in tw.get_collection(tw.GraphKeys.GLOBAL_VARIABLES, scope="a/")]
    ['a/v:0']
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """Gives a collection of the default graph itself, so that it can be changed; an empty one is made where there is none.

    Parameters
    ----------
    key : str
        The name of the collection; GraphKeys has those of the package.

    Returns
    -------
    list

    Examples
    --------
    >>> tw.get_collection_ref("mine").append("item")
    >>> tw.get_collection("mine")
    ['item']
    """
    return get_default_graph().get_collection_ref(key)


def set_random_seed(seed: int) -> None:
    """The seed of the default graph.

    Operations without a seed of their own get one that depends on it and on their place in the graph: the same program draws the same
    numbers in every session.

    Parameters
    ----------
    seed : int

    Examples
    --------
    >>> tw.set_random_seed(1)
    >>> x = tw.random_normal([])
    >>> with tw.Session() as one, tw.Session() as other:
    ...     print(one.run(x) == other.run(x))
    True
    """
    get_default_graph().seed = seed


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """A name of a graph as it is once the graph has been imported under a scope."""
    return f"{import_scope}/{name}" if import_scope else name


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """A name without the scope that it begins with."""
    return name.removeprefix(f"{export_scope}/") if export_scope else name


_DEFAULT_SEED = 87654321


def get_seed(op_seed: int) -> tuple[int | None, int | None]:
    """The two seeds that a random operation gets, by TF1's rule."""
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = graph.seed, graph._operation_seed() if op_seed is None else op_seed
    elif op_seed is not None:
        seeds = _DEFAULT_SEED, op_seed
    else:
        return None, None
    seeds = tuple(s % (2**31 - 1) if abs(s) >= 2**31 else s for s in seeds)
    return (0, 2**31 - 1) if seeds == (0, 0) else seeds
