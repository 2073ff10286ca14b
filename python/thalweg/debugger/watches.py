# SPDX-License-Identifier: Apache-2.0
"""Watches: which tensors of a run are written to a folder, and how."""
from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging, messages
from thalweg.debugger import dump_dir, steps, taps
from thalweg.graph.device_specs import DeviceSpec
from thalweg.graph.graph import create_node
from thalweg.graph.session import Session
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunMetadata, RunOptions

_ATTRIBUTES = {"gated_grpc": "b", "lower_bound": "f", "upper_bound": "f", "mute_if_healthy": "b"}
_FILE = "file://"


class WatchOptions:
    """Which tensors are watched, as regular expressions of names of nodes, kinds of operations and types, all of which must match; and by what.

    Parameters
    ----------
    debug_ops : str or list of str, optional
        "DebugIdentity" by default; "DebugNumericSummary(lower_bound=-10;upper_bound=10)".
    node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist : str, optional
    tolerate_debug_op_creation_failures : bool
        Whether a tensor that such an operation does not take is left out.
    """

    def __init__(self, debug_ops: str | Sequence[str] | None = None, node_name_regex_whitelist: str | None = None,
                 op_type_regex_whitelist: str | None = None, tensor_dtype_regex_whitelist: str | None = None,
                 tolerate_debug_op_creation_failures: bool = False) -> None:
        self.debug_ops = debug_ops or ["DebugIdentity"]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self):
        return (f"WatchOptions(debug_ops={self.debug_ops!r}, node_name_regex_whitelist={self.node_name_regex_whitelist!r}, "
                f"op_type_regex_whitelist={self.op_type_regex_whitelist!r}, tensor_dtype_regex_whitelist={self.tensor_dtype_regex_whitelist!r}, "
                f"tolerate_debug_op_creation_failures={self.tolerate_debug_op_creation_failures!r})")

    def watches(self, tensor: Tensor) -> bool:
        """Whether a tensor is among them."""
        return all(regex is None or re.match(regex, text) for regex, text in (
            (self.node_name_regex_whitelist, tensor.op.name), (self.op_type_regex_whitelist, tensor.op.type),
            (self.tensor_dtype_regex_whitelist, tensor.dtype.base_dtype.name)))


def add_debug_tensor_watch(run_options: RunOptions, node_name: str, output_slot: int = 0, debug_ops: str | Sequence[str] = "DebugIdentity",
                           debug_urls: str | Sequence[str] | None = None, tolerate_debug_op_creation_failures: bool = False,
                           global_step: int = -1) -> None:
    """Adds a watch of one tensor to the options of a run: it is written to the folders that `debug_urls` names, as "file:///tmp/here"."""
    Session.run = _run_with_watches  # not before: looking at options costs each run a microsecond
    run_options.debug_options.debug_tensor_watch_opts.add(
        node_name=node_name, output_slot=output_slot, debug_ops=_listed(debug_ops), debug_urls=_listed(debug_urls or []),
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures)
    run_options.debug_options.global_step = global_step


def _listed(texts):
    return [texts] if isinstance(texts, str) else list(texts)


def _watch(run_options, graph, is_watched: Callable[[Tensor], bool], debug_ops, debug_urls, tolerates, global_step, reset_disk_byte_usage):
    for op in graph.get_operations():
        for x in op.outputs:
            if is_watched(x):
                add_debug_tensor_watch(run_options, op.name, x.value_index, debug_ops, debug_urls, tolerates, global_step)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def watch_graph(run_options: RunOptions, graph: Graph, debug_ops: str | Sequence[str] = "DebugIdentity",
                debug_urls: str | Sequence[str] | None = None, node_name_regex_whitelist: str | None = None,
                op_type_regex_whitelist: str | None = None, tensor_dtype_regex_whitelist: str | None = None,
                tolerate_debug_op_creation_failures: bool = False, global_step: int = -1, reset_disk_byte_usage: bool = False) -> None:
    """Adds watches of all tensors of a graph that match to the options of a run."""
    wanted = WatchOptions(debug_ops, node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist)
    _watch(run_options, graph, wanted.watches, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step, reset_disk_byte_usage)


def watch_graph_with_blacklists(run_options: RunOptions, graph: Graph, debug_ops: str | Sequence[str] = "DebugIdentity",
                                debug_urls: str | Sequence[str] | None = None, node_name_regex_blacklist: str | None = None,
                                op_type_regex_blacklist: str | None = None, tensor_dtype_regex_blacklist: str | None = None,
                                tolerate_debug_op_creation_failures: bool = False, global_step: int = -1,
                                reset_disk_byte_usage: bool = False) -> None:
    """The same for all tensors of which no expression matches."""
    def is_watched(x):
        return not any(regex is not None and re.match(regex, text) for regex, text in (
            (node_name_regex_blacklist, x.op.name), (op_type_regex_blacklist, x.op.type), (tensor_dtype_regex_blacklist, x.dtype.base_dtype.name)))
    _watch(run_options, graph, is_watched, debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step, reset_disk_byte_usage)


class Dumps:
    """What a session's watched runs write: operations that do so, made once, into a folder that is moved to its place when a run has ended."""

    def __init__(self, session: Session, staging: str) -> None:
        self._session, self._staging = session, staging
        self._made: dict[tuple[Operation, tuple[tuple[int, str], ...]], Operation] = {}
        self._watched: dict[Operation, tuple[Operation, tuple[tuple[int, str], ...]]] = {}  # by taps
        self._devices: list[str] = []

    def taps(self, ops: Sequence[Operation], wanted: Callable[[Tensor], Sequence[str]]) -> list[Operation]:
        """The taps that write what is wanted of the outputs of these operations, each by these operations of debugging."""
        found = []
        for op in ops:
            if not steps.can_be_looked_at(op):
                continue
            pairs = tuple((x.value_index, debug_op) for x in op.outputs if steps.can_be_shown(x) for debug_op in wanted(x))
            if not pairs:
                continue
            if (op, pairs) not in self._made:
                tap = self._made[op, pairs] = self._tap(op, pairs)
                self._watched[tap] = op, pairs
            found.append(self._made[op, pairs])
        return found

    def _tap(self, op, pairs):
        with steps.adding_to(op.graph, self.device_of(op)), op.graph.control_dependencies([op]):
            written = [self._writer(op.outputs[slot], debug_op) for slot, debug_op in pairs]
        with steps.adding_to(op.graph, self.device_of(op)):
            return taps.tap(op, written, f"watch/{op.name}/tap")

    def _writer(self, tensor, debug_op):
        kind, _, rest = debug_op.partition("(")
        attrs = [("device_name", "s", self.device_of(tensor.op)), ("tensor_name", "s", tensor.name), ("debug_urls", "S", [_FILE + self._staging])]
        for entry in filter(None, re.split("[;,]", rest.removesuffix(")"))):
            name, _, value = (part.strip() for part in entry.partition("="))
            if name not in _ATTRIBUTES:
                raise ValueError(f"{debug_op}: there is no attribute {name!r}, but {', '.join(_ATTRIBUTES)}")
            attrs.append((name, _ATTRIBUTES[name], float(value) if _ATTRIBUTES[name] == "f" else value.lower() in ("true", "1")))
        return create_node(kind, f"watch/{tensor.op.name}/{kind}", [tensor], attrs)

    def device_of(self, op: Operation) -> str:
        """Where a value is said to be from: the processor of the operation's task."""
        if not self._devices:
            self._devices = [d.name for d in self._session.list_devices() if d.device_type == "CPU"]
        spec = DeviceSpec.from_string(op.device)
        if spec.job is None or spec.task is None:
            return self._devices[0]
        wanted = DeviceSpec(spec.job, 0, spec.task, "CPU", spec.device_index if spec.device_type == "CPU" and spec.device_index is not None else 0)
        return wanted.to_string() if wanted.to_string() in self._devices else self._devices[0]

    def finish(self, folder: str, ops: Sequence[Operation], tapped: Iterable[Operation], page: str, fetches: object, feeds: object) -> None:
        """Writes what is told beside the values, and puts all in its place."""
        by_device: dict[str, messages.GraphDef] = {}
        pairs_of = dict(self._watched[tap] for tap in tapped)
        for op in ops:
            device = self.device_of(op)
            graph_def = by_device.setdefault(device, messages.GraphDef())
            node = graph_def.node.add()
            node.CopyFrom(op.node_def)
            node.device = device
            for number, (slot, debug_op) in enumerate(pairs_of.get(op, ())):
                copy = f"{dump_dir.COPY}{op.name}_{slot}"
                if number == 0 or pairs_of[op][number - 1][0] != slot:
                    graph_def.node.add(name=copy, op="Copy", input=[f"{op.name}:{slot}" if slot else op.name], device=device)
                kind = debug_op.partition("(")[0]
                graph_def.node.add(name=f"{dump_dir.DEBUG}{op.name}:{slot}_{number}_{kind}", op=kind, input=[copy], device=device)
        micros = int(time.time() * 1e6)
        for device, graph_def in by_device.items():
            place = os.path.join(self._staging, dump_dir.device_folder(device))
            os.makedirs(place, exist_ok=True)
            _write(os.path.join(place, f"{dump_dir.GRAPH}hash{len(graph_def.node)}_{micros}"), micros, graph_def=graph_def.SerializeToString())
        told = (f"{dump_dir.METADATA}sessionrun{0:014d}_{micros}", page), (dump_dir.FETCHES, repr(fetches)), (dump_dir.FEEDS, repr(feeds))
        for name, text in told:
            _write(os.path.join(self._staging, name), micros, log_message=messages.LogMessage(message=text))
        if folder != self._staging:
            os.replace(self._staging, folder)


def page_of(flat: Sequence[Tensor | Operation], feeds: Iterable[Tensor], run: int, global_step: int = -1) -> str:
    """What a folder tells of its run, as JSON."""
    return json.dumps({"global_step": global_step, "session_run_index": run, "executor_step_index": 0, "input_names": [x.name for x in feeds],
                       "output_names": [one.name for one in flat if isinstance(one, Tensor)],
                       "target_nodes": [one.name for one in flat if not isinstance(one, Tensor)]})


def _run_with_watches(session: Session, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
                      run_metadata: RunMetadata | None = None) -> Any:
    """Session.run of a program that watches tensors by options."""
    run = super(Session, session).run
    by_folder: dict[str, dict[str, list[str]]] = {}
    for watch in () if options is None else options.debug_options.debug_tensor_watch_opts:
        for url in watch.debug_urls:
            if url.startswith(_FILE):
                listed = by_folder.setdefault(url.removeprefix(_FILE), {}).setdefault(f"{watch.node_name}:{max(watch.output_slot, 0)}", [])
                listed.extend(op for op in watch.debug_ops if op not in listed)
    if not by_folder:
        return run(fetches, feed_dict, options, run_metadata)
    flat, feeds = steps.flat_fetches(session.graph, fetches), steps.flat_feeds(session.graph, feed_dict)
    ops = steps.needed(flat, feeds)
    known = session.__dict__.setdefault("_dumps", {})
    taps = {}
    for folder, watched in by_folder.items():
        dumps = known.setdefault(folder, Dumps(session, folder))
        taps[folder] = dumps.taps(ops, lambda x, watched=watched: watched.get(x.name, ()))

    def finish():
        for folder, of_folder in taps.items():
            known[folder].finish(folder, ops, of_folder, page_of(flat, feeds, 0, options.debug_options.global_step), fetches, feeds.keys())
    try:
        values = run([fetches, list(taps.values())], feed_dict, options, run_metadata)[0]
    except errors.OpError:
        after_failure(finish)
        raise
    finish()
    return values


def after_failure(finish: Callable[[], object]) -> None:
    """Finishes what a run has written that failed; what goes wrong meanwhile is told, and is not the error of the run."""
    try:
        finish()
    except Exception as why:
        tw_logging.error("What the failed run has computed could not be written: %s", why)


def _write(path, micros, **fields):
    with open(path, "wb") as file:
        file.write(messages.Event(wall_time=float(micros), **fields).SerializeToString())
