# SPDX-License-Identifier: Apache-2.0
"""A profile as text: a line a node."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.profiler.profile_nodes import GraphNodeProto, MultiGraphNodeProto
from thalweg.profiler.profile_tree import ORDERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_HEADS = {"params": "# parameters", "float_ops": "# float_ops", "bytes": "requested bytes", "peak_bytes": "peak bytes",
          "residual_bytes": "residual bytes", "output_bytes": "output bytes", "micros": "total execution time",
          "accelerator_micros": "accelerator execution time", "cpu_micros": "cpu execution time"}
_UNITS = {"params": " params", "float_ops": " float_ops"}


def number_text(value: int) -> str:
    """950, 69.12k, 1.50m, 2.00b."""
    for least, unit in ((10**9, "b"), (10**6, "m"), (10**3, "k")):
        if value >= least:
            return f"{value / least:.2f}{unit}"
    return str(value)


def bytes_text(value: int) -> str:
    """16B, 1.28KB, 49.81MB."""
    for least, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if value >= least:
            return f"{value / least:.2f}{unit}"
    return f"{value}B"


def micros_text(value: int) -> str:
    """73us, 1.46ms, 2.00sec."""
    for least, unit in ((10**6, "sec"), (10**3, "ms")):
        if value >= least:
            return f"{value / least:.2f}{unit}"
    return f"{value}us"


def _value_text(kind: str, value: int) -> str:
    if kind.endswith("micros"):
        return micros_text(value)
    return bytes_text(value) if kind.endswith("bytes") else number_text(value)


def _shown(options: dict[str, Any]) -> list[str]:
    return [kind for kind in _HEADS if kind in options["select"]]


def _tree_lines(node: GraphNodeProto, options: dict[str, Any], depth: int = 0) -> Iterator[str]:
    parts = []
    for kind in _shown(options):
        own, total = (_value_text(kind, getattr(node, prefix + ORDERS[kind])) for prefix in ("", "total_"))
        parts.append(f"{'--' if node.is_scope else own}/{total}{_UNITS.get(kind, '')}")
    if "params" in options["select"] and node.shapes:
        parts.insert(0, "x".join(map(str, node.shapes[0])) or "scalar")
    if "device" in options["select"] and node.devices:
        parts.append("|".join(node.devices))
    if "occurrence" in options["select"]:
        parts.append(f"{node.run_count}/{node.total_run_count}|{node.total_definition_count}")
    yield f"{'  ' * depth}{node.name} ({', '.join(parts)})"
    for child in node.children:
        yield from _tree_lines(child, options, depth + 1)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:.2f}%"


def _list_lines(root: MultiGraphNodeProto, options: dict[str, Any]) -> Iterator[str]:
    rows = []
    node = root
    while node.children and len(rows) < options["max_depth"]:
        node = node.children[0]
        row = [node.name]
        for kind in _shown(options):
            figure = ORDERS[kind]
            whole = getattr(root, "total_" + figure)
            row.append(f"{_value_text(kind, getattr(node, figure))}{_UNITS.get(kind, '')} "
                       f"({_share(getattr(node, 'total_' + figure), whole)}, {_share(getattr(node, figure), whole)})")
        if "occurrence" in options["select"]:
            row.append(str(len(node.graph_nodes)))
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))])


def profile_text(root: GraphNodeProto | MultiGraphNodeProto, options: dict[str, Any]) -> str:
    """The lines of a tree or a list, below a line that names its columns."""
    heads = [_HEADS[kind] for kind in _shown(options)] + (["# occurrence"] if "occurrence" in options["select"] else [])
    lines = _list_lines(root, options) if isinstance(root, MultiGraphNodeProto) else _tree_lines(root, options)
    return "\n".join([" | ".join(["node name", *heads]), *lines]) + "\n"
