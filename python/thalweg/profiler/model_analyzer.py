# SPDX-License-Identifier: Apache-2.0
"""profile and Profiler: what a graph's nodes are and cost."""
from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from thalweg import errors, logging
from thalweg.graph.graph import get_default_graph
from thalweg.profiler import profile_tree
from thalweg.profiler.node_statistics import add_steps, statistics_of_graph
from thalweg.profiler.option_builder import ProfileOptionBuilder
from thalweg.profiler.profile_text import profile_text

if TYPE_CHECKING:
    from typing import Any

    from thalweg.graph.graph import Graph
    from thalweg.messages import RunMetadata
    from thalweg.profiler.profile_nodes import GraphNodeProto, MultiGraphNodeProto

_TREES = {"scope": profile_tree.by_scope, "op": profile_tree.by_operation, "code": profile_tree.by_line}
_PATTERNS = ("account_type_regexes", "start_name_regexes", "trim_name_regexes", "show_name_regexes", "hide_name_regexes")


def _checked(options):
    options = {**ProfileOptionBuilder().build(), **(options or ProfileOptionBuilder.trainable_variables_parameter())}
    order = options["order_by"]
    if order not in {"name", "occurrence", *profile_tree.ORDERS}:
        raise ValueError(f"order_by is one of name, occurrence, {', '.join(profile_tree.ORDERS)}; got {order!r}")
    unknown = set(options["select"]) - {*profile_tree.ORDERS, "occurrence", "device", "op_types", "input_shapes", "tensor_value"}
    if unknown:
        raise ValueError(f"select takes {', '.join(profile_tree.ORDERS)}, occurrence, device; got {', '.join(sorted(unknown))}")
    for name in _PATTERNS:
        for pattern in options[name]:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{name} takes regular expressions; {pattern!r} is none: {error}") from error
    return options


def _write(text, output):
    kind, _, rest = output.partition(":")
    if kind == "stdout":
        sys.stdout.write(text)
    elif kind == "file" and rest.startswith("outfile="):
        with open(rest.removeprefix("outfile="), "w", encoding="utf-8") as file:
            file.write(text)
    elif kind in ("timeline", "pprof"):
        raise errors.UnimplementedError(None, None, f"a profile is written as text, not as {kind}: `thalweg trace view` shows steps by "
                                                    "time, `thalweg trace export` writes them for Chrome and Perfetto")
    elif kind != "none":
        raise ValueError(f"output is stdout, none or file:outfile=NAME; got {output!r}")


class Profiler:
    """Profiles of one graph, whose steps are added one by one.

    Parameters
    ----------
    graph : Graph, optional
        The default graph without it.
    op_log : optional
        Not read: types and float operations are the graph's own.
    """

    def __init__(self, graph: Graph | None = None, op_log: object = None) -> None:
        self._graph = graph or get_default_graph()
        self._steps: dict[int, RunMetadata] = {}
        if op_log is not None:
            logging.warning("tf.profiler does not read op_log: types and float operations are the graph's own.")

    def add_step(self, step: int, run_meta: RunMetadata) -> None:
        """Adds what a traced step has left."""
        self._steps[step] = run_meta

    def _profile(self, cmd: str, options: dict[str, Any] | int | None) -> Any:
        options = _checked(options)
        nodes, unknown = statistics_of_graph(self._graph)
        wanted = options["step"]
        if wanted >= 0 and wanted not in self._steps:
            raise errors.NotFoundError(None, None, f"step {wanted} was not added; there are: {sorted(self._steps)}")
        steps = list(self._steps.values()) if wanted < 0 else [self._steps[wanted]]
        add_steps(nodes, steps)
        if steps and any(kind.endswith("bytes") for kind in options["select"]) and not any(
                node.requested_bytes or node.peak_bytes or node.output_bytes for node in nodes.values()):
            logging.log_first_n(logging.WARN, "Bytes are shown as 0: no traced step tells of memory.", 1)
        if unknown and "float_ops" in options["select"]:
            logging.info("%d nodes have shapes that are not known, so their float operations are not counted.", unknown)
        root = _TREES[cmd](nodes.values(), options)
        _write(profile_text(root, options), options["output"])
        return root

    def profile_name_scope(self, options: dict[str, Any] | int | None) -> GraphNodeProto:
        """A tree by the names of nodes."""
        return self._profile("scope", options)

    def profile_operations(self, options: dict[str, Any] | int | None) -> MultiGraphNodeProto:
        """A list of kinds of operations."""
        return self._profile("op", options)

    def profile_python(self, options: dict[str, Any] | int | None) -> GraphNodeProto:
        """The lines of the program that made the nodes."""
        return self._profile("code", options)

    def profile_graph(self, options: dict[str, Any] | int | None) -> GraphNodeProto:
        """Is not there: by scope, operation and line it is."""
        raise errors.UnimplementedError(None, None, "profiles by edges of the graph are not there; by scope (profile_name_scope), kind "
                                                    "(profile_operations) and line (profile_python) they are")


def profile(graph: Graph | None = None, run_meta: RunMetadata | None = None, op_log: object = None, cmd: str = "scope",
            options: dict[str, Any] | int = 0) -> GraphNodeProto | MultiGraphNodeProto:
    """Shows, and gives, parameters, float operations, times and memory of a graph's nodes.

    Parameters
    ----------
    graph : Graph, optional
        The default graph without it.
    run_meta : RunMetadata, optional
        Of a step with `trace_level=FULL_TRACE`, where times or memory are asked for.
    op_log : optional
        Not read: types and float operations are the graph's own.
    cmd : {"scope", "op", "code"}
        By names, kinds of operations, or lines of the program.
    options : dict, optional
        Of `ProfileOptionBuilder`; without it, or with 0, the parameters of trainable variables.

    Returns
    -------
    GraphNodeProto or MultiGraphNodeProto
        The root; by kinds of operations the latter, each the only child of the one before it.

    Raises
    ------
    ValueError
        Where `cmd` or an option is none of those.
    UnimplementedError
        For `cmd="graph"`, and output as timeline or pprof.

    Examples
    --------
    >>> import thalweg as tf
    >>> w = tf.get_variable("profiled/w", [3, 4])
    >>> options = tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
    >>> tf.profiler.profile(tf.get_default_graph(), options=options).total_parameters
    node name | # parameters
    _TFProfRoot (--/12 params)
      profiled (--/12 params)
        profiled/w (3x4, 12/12 params)
    12
    """
    profiler = Profiler(graph, op_log)
    if run_meta is not None:
        profiler.add_step(0, run_meta)
    if cmd == "graph":
        return profiler.profile_graph(options)
    if cmd not in _TREES:
        raise ValueError(f"cmd is one of scope, op, code; got {cmd!r}")
    return profiler._profile(cmd, options)
