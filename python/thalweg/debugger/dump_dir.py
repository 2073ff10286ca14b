# SPDX-License-Identifier: Apache-2.0
"""DebugDumpDir: the values and graphs that a watched run has written, by this package or by TensorFlow."""
from __future__ import annotations

import collections
import glob
import json
import os
import re
from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.debugger import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from thalweg.base.typing import Array
    from thalweg.graph.graph import Graph
    from thalweg.messages import Event, GraphDef, NodeDef

PREFIX = "_tfdbg_"
DEVICE, GRAPH, METADATA, FETCHES, FEEDS = (PREFIX + kind for kind in ("device_", "graph_", "core_metadata_", "fetches_info_", "feed_keys_info_"))
COPY, DEBUG = "__copy_", "__dbg_"


class InconvertibleTensorProto:
    """In place of a value that is none: a tensor that was not initialized, or of a kind without values."""

    def __init__(self, tensor_proto: Any, initialized: bool = True) -> None:
        self._tensor_proto, self._initialized = tensor_proto, initialized

    @property
    def initialized(self) -> bool:
        """Whether there was a value at all."""
        return self._initialized

    def __str__(self):
        return str(self._tensor_proto) if self._initialized else "Uninitialized tensor:\n" + str(self._tensor_proto)


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """Nothing of such a watch was written."""


def load_tensor_from_event(event: Event) -> Any:
    """The value in an Event of a dump: an array, None, or an InconvertibleTensorProto."""
    if not event.summary.value:
        raise ValueError("the Event of a dump must have a summary with a value, and this one has none: its file is empty or cut off")
    tensor = event.summary.value[0].tensor
    if not (tensor.tensor_content or tensor.string_val or tensor.tensor_shape.dim or tensor.dtype):
        return None
    try:
        return messages.make_ndarray(tensor)
    except (ValueError, TypeError, KeyError, RuntimeError):
        return InconvertibleTensorProto(tensor, bool(tensor.tensor_content))


def load_tensor_from_event_file(event_file_path: str) -> Any:
    """The value in a file of a dump."""
    try:
        return load_tensor_from_event(_event(event_file_path))
    except ValueError as error:
        raise ValueError(f"{event_file_path}: {error}") from error


def _event(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return messages.Event.FromString(data)
    except ValueError as error:
        raise ValueError(f"{path} is no Event of a dump, or damaged: {error}") from error


def _page(path):
    try:
        return json.loads(_event(path).log_message.message)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: the metadata of a run are damaged: {error}") from error


def has_inf_or_nan(datum: DebugTensorDatum, tensor: Any) -> bool:
    """Whether a dumped value has an element that is no finite number: a filter."""
    if isinstance(tensor, InconvertibleTensorProto) or tensor is None:
        return False
    return numbers.has_inf_or_nan(tensor)


def device_folder(device: str) -> str:
    """The folder of a device's values."""
    return DEVICE + device.replace(":", "_").replace("/", ",")


def device_of_folder(folder: str) -> str:
    parts = folder.removeprefix(DEVICE).split(",")
    return "/".join(part.replace("_", ":") if part.startswith("device_") else part.replace("_", ":", 1) for part in parts)


def watch_key(node_name: str, output_slot: int, debug_op: str) -> str:
    """"scope/y:0:DebugIdentity" """
    return f"{node_name}:{output_slot}:{debug_op}"


class DebugTensorDatum:
    """A value that was written: what it is of, when, and where."""

    def __init__(self, dump_root: str, debug_dump_rel_path: str) -> None:
        folder, _, path = os.path.normpath(debug_dump_rel_path).partition(os.sep)
        parts = path.rsplit("_", 3)
        if not folder.startswith(DEVICE) or len(parts) != 4 or not (parts[1].isdigit() and parts[3].isdigit()):
            raise ValueError(f"{debug_dump_rel_path} is no file of a dump: DEVICE/NODE_SLOT_OPERATION_TIME is expected")
        self._device, self._node, self._slot, self._op, self._time = device_of_folder(folder), parts[0], int(parts[1]), parts[2], int(parts[3])
        self._path = os.path.join(dump_root, debug_dump_rel_path)
        self._root_time = 0

    node_name = property(lambda self: self._node)
    output_slot = property(lambda self: self._slot)
    debug_op = property(lambda self: self._op)
    device_name = property(lambda self: self._device)
    timestamp = property(lambda self: self._time)
    extended_timestamp = property(lambda self: self._time)
    file_path = property(lambda self: self._path)
    tensor_name = property(lambda self: f"{self._node}:{self._slot}")
    watch_key = property(lambda self: watch_key(self._node, self._slot, self._op))
    dump_size_bytes = property(lambda self: os.path.getsize(self._path))

    def get_tensor(self) -> Any:
        """The value."""
        return load_tensor_from_event_file(self._path)

    def __repr__(self):
        return f"{{DebugTensorDatum ({self._device}) {self.tensor_name} @ {self._op} @ {self._time}}}"


def reconstruct_non_debug_graph_def(debug_graph_def: GraphDef) -> GraphDef:
    """A graph without what a debugger has put into it."""
    made = messages.GraphDef()
    made.CopyFrom(debug_graph_def)
    sources = {n.name: n.input[0] for n in debug_graph_def.node if n.name.startswith(COPY)}
    del made.node[:]
    for node in debug_graph_def.node:
        if node.name.startswith((COPY, DEBUG)):
            continue
        kept = made.node.add()
        kept.CopyFrom(node)
        del kept.input[:]
        kept.input.extend(sources.get(edge, edge) for edge in node.input if not edge.startswith("^" + DEBUG))
    return made


class _DeviceGraph:
    """The graph of one device."""

    def __init__(self, graph_def: GraphDef) -> None:
        self.debug_graph_def = graph_def
        self.plain = reconstruct_non_debug_graph_def(graph_def)
        self.nodes: dict[str, NodeDef] = {n.name: n for n in self.plain.node}
        self.watches: dict[str, dict[int, list[str]]] = collections.defaultdict(lambda: collections.defaultdict(list))
        for node in graph_def.node:
            if node.name.startswith(DEBUG) and ":" in node.name:
                name, _, rest = node.name.removeprefix(DEBUG).rpartition(":")
                slot, _, op = rest.split("_", 2)
                self.watches[name][int(slot)].append(op)
        self.recipients: dict[bool, dict[str, list[str]]] = {False: collections.defaultdict(list), True: collections.defaultdict(list)}
        for node in self.plain.node:
            for is_control in (False, True):
                for name in self.inputs(node.name, is_control):
                    if node.name not in self.recipients[is_control][name]:
                        self.recipients[is_control][name].append(node.name)

    def inputs(self, name: str, is_control: bool) -> list[str]:
        edges = self.nodes[name].input
        return [_node_of(edge) for edge in edges if edge.startswith("^") == is_control]


def _node_of(edge):
    name, _, slot = edge.removeprefix("^").rpartition(":")
    return name if name and slot.isdigit() else edge.removeprefix("^")


class DebugDumpDir:
    """A run's folder of dumped values.

    Parameters
    ----------
    dump_root : str
        The folder.
    partition_graphs : list of GraphDef, optional
        The graphs, where the folder has none.
    validate : bool
        Whether all that was written must be of nodes of the graphs.

    Raises
    ------
    IOError
        There is no such folder.
    ValueError
        A file cannot be read, or is of no node.
    """

    def __init__(self, dump_root: str, partition_graphs: Sequence[GraphDef] | None = None, validate: bool = True) -> None:
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        self._root = dump_root
        self._python_graph: Graph | None = None
        self._data: dict[str, list[DebugTensorDatum]] = {}
        self._graphs: dict[str, _DeviceGraph] = {}
        for folder in sorted(glob.glob(os.path.join(glob.escape(dump_root), DEVICE + "*"))):
            self._load_device(folder)
        for graph_def in partition_graphs or ():
            device = next((n.device for n in graph_def.node if n.device), "")
            if device and device not in self._graphs:
                self._graphs[device] = _DeviceGraph(graph_def)
        if validate:
            self._validate()

    def _load_device(self, folder):
        device = device_of_folder(os.path.basename(folder))
        data = self._data.setdefault(device, [])
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                if not name.startswith(PREFIX):
                    data.append(DebugTensorDatum(self._root, os.path.relpath(path, self._root)))
                elif name.startswith(GRAPH):
                    try:
                        self._graphs[device] = _DeviceGraph(messages.GraphDef.FromString(_event(path).graph_def))
                    except ValueError as error:
                        raise ValueError(f"{path} holds no graph of a dump: {error}") from error
        data.sort(key=lambda datum: (datum.timestamp, datum.node_name, datum.output_slot))

    def _validate(self):
        for device, data in self._data.items():
            graph = self._graphs.get(device)
            for datum in data:
                if graph is not None and datum.node_name not in graph.nodes:
                    raise ValueError(f"Node name '{datum.node_name}' is not found in partition graphs of device {device}.")

    # ---- the run ----
    @property
    def core_metadata(self) -> Any:
        """Numbers of the run, its inputs, outputs and targets: a named tuple, or several in a list; None where it was not told."""
        found = []
        for path in sorted(glob.glob(os.path.join(glob.escape(self._root), METADATA + "*"))):
            page = _page(path)
            found.append(CoreMetadata(*(page.get(field) for field in CoreMetadata._fields)))
        return found[0] if len(found) == 1 else found or None

    def _told(self, name):
        path = os.path.join(self._root, name)
        return _event(path).log_message.message if os.path.exists(path) else None

    run_fetches_info = property(lambda self: self._told(FETCHES))
    run_feed_keys_info = property(lambda self: self._told(FEEDS))

    # ---- values ----
    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All that was written, in the order of time."""
        return sorted((datum for data in self._data.values() for datum in data), key=lambda datum: datum.timestamp)

    @property
    def size(self) -> int:
        """How many values were written."""
        return sum(map(len, self._data.values()))

    @property
    def t0(self) -> int | None:
        """When the first value was written, in microseconds."""
        return min((data[0].timestamp for data in self._data.values() if data), default=None)

    def find(self, predicate: Callable[[DebugTensorDatum, Any], object], first_n: int = 0, device_name: str | None = None,
             exclude_node_names: str | None = None) -> list[DebugTensorDatum]:
        """Values of which predicate(datum, value) is true, at most `first_n` where that is above 0."""
        found = []
        for datum in self.dumped_tensor_data:
            if device_name not in (None, datum.device_name) or exclude_node_names and re.match(exclude_node_names, datum.node_name):
                continue
            if predicate(datum, datum.get_tensor()):
                found.append(datum)
                if 0 < first_n == len(found):
                    break
        return found

    def watch_key_to_data(self, debug_watch_key: str, device_name: str | None = None) -> list[DebugTensorDatum]:
        """The values of a watch, one for each time that it was written."""
        devices = [device for device, data in self._data.items() if any(d.watch_key == debug_watch_key for d in data)]
        if device_name is None and len(devices) > 1:
            raise ValueError(f"'{debug_watch_key}' was written on several devices: {devices}; device_name says which is meant")
        return [datum for device, data in self._data.items() if device_name in (None, device) for datum in data if datum.watch_key == debug_watch_key]

    def _watched(self, node_name, output_slot, debug_op, device_name):
        key = watch_key(node_name, output_slot, debug_op)
        found = self.watch_key_to_data(key, device_name)
        if not found:
            raise WatchKeyDoesNotExistInDebugDumpDirError(f"Watch key \"{key}\" does not exist in the debug dump")
        return found

    def get_tensors(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[Array]:
        """The values of an output, one for each time that it was written."""
        return [datum.get_tensor() for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    def get_tensor_file_paths(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[str]:
        """The files of these values."""
        return [datum.file_path for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    def get_rel_timestamps(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int]:
        """When they were written, in microseconds after the first of all."""
        return [datum.timestamp - self.t0 for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    def get_dump_sizes_bytes(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int]:
        """How large their files are."""
        return [datum.dump_size_bytes for datum in self._watched(node_name, output_slot, debug_op, device_name)]

    # ---- graphs ----
    def devices(self) -> list[str]:
        """The devices of the run."""
        return list(dict.fromkeys([*self._data, *self._graphs]))

    def loaded_partition_graphs(self) -> bool:
        """Whether there are graphs."""
        return bool(self._graphs)

    def partition_graphs(self) -> list[GraphDef]:
        """The graphs, with what the debugger has put into them."""
        self._need_graphs()
        return [graph.debug_graph_def for graph in self._graphs.values()]

    def reconstructed_non_debug_partition_graphs(self) -> dict[str, GraphDef]:
        """{device: its graph} without that."""
        self._need_graphs()
        return {device: graph.plain for device, graph in self._graphs.items()}

    def _need_graphs(self):
        if not self._graphs:
            raise LookupError("No partition graphs have been loaded.")

    def _graph_of(self, node_name, device_name) -> _DeviceGraph:
        self._need_graphs()
        devices = [device for device, graph in self._graphs.items() if node_name in graph.nodes and device_name in (None, device)]
        if not devices:
            raise ValueError(f"Node '{node_name}' does not exist in partition graphs{f' of device {device_name}' if device_name else ''}.")
        if len(devices) > 1:
            raise ValueError(f"There are nodes named '{node_name}' on several devices: {devices}; device_name says which is meant")
        return self._graphs[devices[0]]

    def nodes(self, device_name: str | None = None) -> list[str]:
        """The names of all nodes."""
        self._need_graphs()
        self._check_device(device_name)
        return [name for device, graph in self._graphs.items() if device_name in (None, device) for name in graph.nodes]

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Whether there is such a node."""
        self._need_graphs()
        self._check_device(device_name)
        return any(node_name in graph.nodes for device, graph in self._graphs.items() if device_name in (None, device))

    def _check_device(self, device_name):
        if device_name is not None and device_name not in self._graphs:
            raise ValueError(f"Invalid device name: {device_name}")

    def node_device(self, node_name: str) -> str | list[str]:
        """The device of a node; a list where there are several."""
        self._need_graphs()
        devices = [device for device, graph in self._graphs.items() if node_name in graph.nodes]
        if not devices:
            raise ValueError(f"Node '{node_name}' does not exist in partition graphs.")
        return devices[0] if len(devices) == 1 else devices

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """The kind of a node."""
        return self._graph_of(node_name, device_name).nodes[node_name].op

    def node_attributes(self, node_name: str, device_name: str | None = None) -> Any:
        """The attributes of a node."""
        return self._graph_of(node_name, device_name).nodes[node_name].attr

    def node_inputs(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """The names of the nodes that it reads, or waits for."""
        return self._graph_of(node_name, device_name).inputs(node_name, is_control)

    def node_recipients(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """The names of the nodes that read it, or wait for it."""
        return self._graph_of(node_name, device_name).recipients[is_control][node_name]

    def transitive_inputs(self, node_name: str, include_control: bool = True, include_reversed_ref: bool = False,
                          device_name: str | None = None) -> list[str]:
        """The names of all nodes that come before it."""
        graph = self._graph_of(node_name, device_name)
        found: dict[str, None] = {}
        waiting = [node_name]
        while waiting:
            name = waiting.pop()
            for before in [*graph.inputs(name, False), *(graph.inputs(name, True) if include_control else [])]:
                if before in graph.nodes and before not in found and before != node_name:
                    found[before] = None
                    waiting.append(before)
        return list(found)

    def find_some_path(self, src_node_name: str, dst_node_name: str, include_control: bool = True, include_reversed_ref: bool = False,
                       device_name: str | None = None) -> list[str] | None:
        """Names of nodes that lead from one to another; None where none do."""
        graph = self._graph_of(src_node_name, device_name)
        came: dict[str, str | None] = {dst_node_name: None}
        waiting = collections.deque([dst_node_name])
        while waiting and src_node_name not in came:
            name = waiting.popleft()
            if name not in graph.nodes:
                continue
            for before in [*graph.inputs(name, False), *(graph.inputs(name, True) if include_control else [])]:
                if before not in came:
                    came[before] = name
                    waiting.append(before)
        if src_node_name not in came:
            return None
        path, at = [], src_node_name
        while at is not None:
            path.append(at)
            at = came[at]
        return path

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """The watches of a node."""
        found: Iterable[tuple[int, str]] = [(slot, op) for device, graph in self._graphs.items() if device_name in (None, device)
                                            for slot, listed in graph.watches.get(node_name, {}).items() for op in listed]
        return [watch_key(node_name, slot, op) for slot, op in found]

    @property
    def python_graph(self) -> Graph | None:
        """The program's graph, where set_python_graph has told it."""
        return self._python_graph

    def set_python_graph(self, python_graph: Graph) -> None:
        """Tells the graph of the program, for node_traceback."""
        self._python_graph = python_graph

    def node_traceback(self, element_name: str) -> Any:
        """Where the program has made a node or tensor."""
        if self._python_graph is None:
            raise LookupError("Python graph is not available for traceback lookup")
        return self._python_graph.get_operation_by_name(_node_of(element_name)).traceback


CoreMetadata = collections.namedtuple("CoreMetadata", "global_step session_run_index executor_step_index input_names output_names target_nodes")
