# SPDX-License-Identifier: Apache-2.0
"""Trees of nodes by scope and by line, and lists by kind of operation: what is shown, and sums of it."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg.profiler.profile_nodes import FIGURES, GraphNodeProto, MultiGraphNodeProto

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from thalweg.profiler.node_statistics import NodeStatistics

ROOT = "_TFProfRoot"
_MINIMA = {"min_micros": "exec_micros", "min_accelerator_micros": "accelerator_exec_micros", "min_cpu_micros": "cpu_exec_micros",
           "min_bytes": "requested_bytes", "min_peak_bytes": "peak_bytes", "min_residual_bytes": "residual_bytes",
           "min_output_bytes": "output_bytes", "min_params": "parameters", "min_float_ops": "float_ops"}
ORDERS = {"micros": "exec_micros", "accelerator_micros": "accelerator_exec_micros", "cpu_micros": "cpu_exec_micros",
          "bytes": "requested_bytes", "peak_bytes": "peak_bytes", "residual_bytes": "residual_bytes", "output_bytes": "output_bytes",
          "params": "parameters", "float_ops": "float_ops"}


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in patterns)


class _Choice:
    """Which nodes the options count and show."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self.minima = [(figure, options.get(name, 0)) for name, figure in _MINIMA.items() if options.get(name, 0) > 0]

    def counts(self, node: NodeStatistics) -> bool:
        """Whether it is one of the types that are asked for."""
        return any(_matches(kind, self._options["account_type_regexes"]) for kind in node.types)

    def names(self, name: str) -> bool:
        """Whether a name is to be shown."""
        return _matches(name, self._options["show_name_regexes"]) and not _matches(name, self._options["hide_name_regexes"])

    def starts(self, name: str) -> bool:
        """Whether a tree begins here."""
        return _matches(name, self._options["start_name_regexes"])

    def ends(self, name: str) -> bool:
        """Whether nothing below is shown."""
        return _matches(name, self._options["trim_name_regexes"])

    def reaches(self, figures: dict[str, int]) -> bool:
        """Whether it has as much as is asked for; memory or time is enough where both are."""
        wanted = [figures[figure] >= least for figure, least in self.minima]
        return not wanted or any(wanted)


class _Part:
    """A scope or a line: the nodes of exactly this name, and the parts below."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[NodeStatistics] = []
        self.parts: dict[str, _Part] = {}

    def below(self, word: str) -> _Part:
        """The part of this name, made where there is none yet."""
        name = word if self.name == ROOT else f"{self.name}/{word}"
        return self.parts.setdefault(word, _Part(name))


def _own(nodes: Iterable[NodeStatistics]) -> dict[str, int]:
    sums = dict.fromkeys(FIGURES, 0)
    for node in nodes:
        for figure, value in node.figures().items():
            sums[figure] += value
    return sums


class _Tree:
    def __init__(self, options: dict[str, Any]) -> None:
        self._choice = _Choice(options)
        self._shown_alone = options["account_displayed_op_only"]
        self._depth = options["max_depth"]
        order = options["order_by"]
        figure = ORDERS.get(order)
        self._order: Callable[[GraphNodeProto], Any] = (lambda made: -getattr(made, "total_" + figure)) if figure else (lambda made: made.name)

    def root(self, part: _Part) -> GraphNodeProto:
        """The tree of what the options choose, from its top."""
        made = GraphNodeProto(ROOT, is_scope=True)
        shown = []
        for below in part.parts.values():
            shown += self._made(below, 1, self._choice.starts(part.name), made)
        if self._depth > 0:
            made.children = sorted(shown, key=self._order)
        return made

    def _made(self, part: _Part, depth: int, started: bool, above: GraphNodeProto) -> list[GraphNodeProto]:
        """The part as nodes that are shown, one or, where it is not itself, those below it; adds sums to `above`."""
        started = started or self._choice.starts(part.name)
        counted = [node for node in part.nodes if self._choice.counts(node)]
        own = _own(counted)
        made = GraphNodeProto(part.name, **own)
        self._describe(made, counted)
        is_node = bool(part.nodes)
        made.is_scope = not is_node
        is_shown = (started and self._choice.names(part.name) and (counted or not is_node) and
                    (self._choice.reaches(own) if is_node else not self._choice.minima))
        children, sums = [], GraphNodeProto()
        if not self._choice.ends(part.name):
            for below in part.parts.values():
                children += self._made(below, depth + 1, started, sums)
        if is_shown and not is_node and not children:
            is_shown = False  # a scope of nothing that is shown
        if depth >= self._depth:  # stands for all below
            is_shown = bool(is_shown or children)
            children = []
        if is_shown or not self._shown_alone:
            self._add(sums, own, len(counted), sum(node.runs for node in counted))
        self._add(above, {figure: getattr(sums, "total_" + figure) for figure in FIGURES}, sums.total_definition_count,
                  sums.total_run_count)
        if not is_shown:
            return children
        for figure in FIGURES:
            setattr(made, "total_" + figure, getattr(sums, "total_" + figure))
        made.total_definition_count, made.total_run_count = sums.total_definition_count, sums.total_run_count
        made.children = sorted(children, key=self._order)
        return [made]

    @staticmethod
    def _describe(made: GraphNodeProto, nodes: list[NodeStatistics]) -> None:
        made.run_count = sum(node.runs for node in nodes)
        made.devices = sorted({device for node in nodes for device in node.devices})
        made.shapes = [shape for node in nodes for shape in node.shapes]

    @staticmethod
    def _add(made: GraphNodeProto, figures: dict[str, int], definitions: int, runs: int) -> None:
        for figure, value in figures.items():
            setattr(made, "total_" + figure, getattr(made, "total_" + figure) + value)
        made.total_definition_count += definitions
        made.total_run_count += runs


def by_scope(nodes: Iterable[NodeStatistics], options: dict[str, Any]) -> GraphNodeProto:
    """Nodes by their names, a/b below a."""
    top = _Part(ROOT)
    for node in nodes:
        part = top
        for word in node.name.split("/"):
            part = part.below(word)
        part.nodes.append(node)
    return _Tree(options).root(top)


def by_line(nodes: Iterable[NodeStatistics], options: dict[str, Any]) -> GraphNodeProto:
    """Nodes by the line of the program that made them; those that no line made are left out."""
    top = _Part(ROOT)
    for node in nodes:
        if node.line:
            top.parts.setdefault(node.line, _Part(node.line)).nodes.append(node)
    return _Tree(options).root(top)


def by_operation(nodes: Iterable[NodeStatistics], options: dict[str, Any]) -> MultiGraphNodeProto:
    """Kinds of operations, the greatest first, each with those after it as its only child."""
    choice = _Choice(options)
    kinds: dict[str, list[NodeStatistics]] = {}
    for node in nodes:
        for kind in node.types:
            if not kind.startswith(("/", "_trainable")) and _matches(kind, options["account_type_regexes"]) and choice.names(kind):
                kinds.setdefault(kind, []).append(node)
    made = [MultiGraphNodeProto(kind, **_own(of), graph_nodes=[GraphNodeProto(node.name, **node.figures()) for node in of])
            for kind, of in kinds.items() if len(of) >= options.get("min_occurrence", 0)]
    made = [kind for kind in made if choice.reaches({figure: getattr(kind, figure) for figure in FIGURES})]
    figure = ORDERS.get(options["order_by"])
    if options["order_by"] == "occurrence":
        made.sort(key=lambda kind: (-len(kind.graph_nodes), kind.name))
    else:
        made.sort(key=lambda kind: (-getattr(kind, figure) if figure else 0, kind.name))
    root = MultiGraphNodeProto(ROOT)
    above = root
    for i, kind in enumerate(made):
        for figure in FIGURES:
            setattr(kind, "total_" + figure, sum(getattr(other, figure) for other in made[i:]))
        above.children = [kind]
        above = kind
    for figure in FIGURES:
        setattr(root, "total_" + figure, sum(getattr(kind, figure) for kind in made))
    return root
