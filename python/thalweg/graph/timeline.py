# SPDX-License-Identifier: Apache-2.0
"""What a step did when, for chrome://tracing: tensorflow.python.client.timeline.

    metadata = tf.RunMetadata()
    session.run(fetches, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    text = Timeline(metadata.step_stats).generate_chrome_trace_format()
"""
from __future__ import annotations

import collections
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from thalweg.graph.graph import Graph
    from thalweg.messages import StepStats

StepStatsAnalysis = collections.namedtuple("StepStatsAnalysis", "chrome_trace allocator_maximums")
AllocationMaximum = collections.namedtuple("AllocationMaximum", "timestamp num_bytes tensors")


class _Node:
    """A node of a step: where and when it ran, what it read."""

    def __init__(self, stats: Any, process: Any, graph: Graph) -> None:
        self.stats, self.process = stats, process
        self.name = stats.node_name.partition(":")[0]
        self.start = stats.all_start_micros
        self.end = self.start + max(stats.all_end_rel_micros, 1)
        # "name = Kind", as TensorFlow's devices with "(input, input)", or whatever else the device says of the node.
        label = re.match(r"(.*) = (\w+)(?:\((.*)\))?$", stats.timeline_label)
        self.kind = label[2] if label else stats.timeline_label or self.name
        inputs = [i.strip() for i in label[3].split(",")] if label and label[3] else []
        if not inputs and graph is not None:
            try:
                op = graph.get_operation_by_name(self.name)
                self.kind, inputs = op.type, [i.op.name for i in op.inputs if i is not None]
            except KeyError:
                pass  # a node that the runtime has put in
        self.inputs = [i.lstrip("^").partition(":")[0] for i in inputs]


class Timeline:
    """The events of a step, from the statistics that a traced run leaves in its RunMetadata."""

    def __init__(self, step_stats: StepStats, graph: Graph | None = None) -> None:
        self._step_stats, self._graph = step_stats, graph

    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True) -> Any:
        """The events, and the most memory that each allocator held."""
        events, nodes = [], []
        for number, device in enumerate(self._step_stats.dev_stats):
            events.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": device.device}})
            found = sorted((_Node(stats, number, self._graph) for stats in device.node_stats), key=lambda n: n.start)
            _lanes(found)
            nodes += found
        for node in nodes:
            arguments = {"name": node.name, "op": node.kind}
            arguments.update((f"input{i}", name) for i, name in enumerate(node.inputs))
            events.append({"ph": "X", "cat": "Op", "name": node.kind, "pid": node.process, "tid": node.lane, "ts": node.start,
                           "dur": node.end - node.start, "args": arguments})
        if show_dataflow:
            events += _flows(nodes)
        maximums, counters = _memory(nodes)
        return StepStatsAnalysis(_Trace(events + (counters if show_memory else [])), maximums)

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The text of a file that chrome://tracing shows."""
        return self.analyze_step_stats(show_dataflow, show_memory).chrome_trace.format_to_string(pretty=True)


class _Trace:
    """A list of events as text."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events

    def format_to_string(self, pretty: bool = False) -> str:
        return json.dumps({"traceEvents": self._events}, indent=4 if pretty else None, separators=None if pretty else (",", ":"))


def _lanes(nodes):
    """Each node gets the first row that is free when it starts."""
    free = []
    for node in nodes:
        node.lane = next((i for i, until in enumerate(free) if until <= node.start), len(free))
        free[node.lane:node.lane + 1] = [node.end]


def _flows(nodes):
    """Arrows from each node to those that read it."""
    by_name, arrows = {}, []
    for node in nodes:
        by_name.setdefault(node.name, node)
    for node in nodes:
        for name in node.inputs:
            source = by_name.get(name)
            if source is None or (source.process, source.lane) == (node.process, node.lane):
                continue
            number = len(arrows) // 2
            common = {"name": name, "cat": "DataFlow", "id": number}
            arrows += [{**common, "ph": "s", "pid": source.process, "tid": source.lane, "ts": source.end},
                       {**common, "ph": "t", "pid": node.process, "tid": node.lane, "ts": node.start}]
    return arrows


def _memory(nodes):
    """({allocator: the most bytes it held}, an event for each change)."""
    changes = collections.defaultdict(list)
    for node in nodes:
        for memory in node.stats.memory:
            for record in memory.allocation_records:
                changes[memory.allocator_name].append((record.alloc_micros, record.alloc_bytes, node.name))
    maximums, events = {}, []
    for allocator, records in sorted(changes.items()):
        held = 0
        for when, size, name in sorted(records):
            held += size
            events.append({"ph": "C", "cat": "Memory", "name": allocator, "pid": 0, "ts": when, "args": {allocator: held}})
            if allocator not in maximums or held > maximums[allocator].num_bytes:
                maximums[allocator] = AllocationMaximum(when, held, {name})
    return maximums, events
