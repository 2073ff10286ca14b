# SPDX-License-Identifier: Apache-2.0
"""What the commands of the debugger's command line say of a run's dump."""
from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

import numpy as np

from thalweg.debugger.dump_dir import InconvertibleTensorProto

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from thalweg.debugger.dump_dir import DebugDumpDir

_SORTS = {"timestamp": lambda d: d.timestamp, "dump_size": lambda d: d.dump_size_bytes, "tensor_name": lambda d: d.tensor_name}


class CommandError(ValueError):
    """A command that cannot be followed."""


class Parser(argparse.ArgumentParser):
    """Arguments of a command; a mistake is a CommandError."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(prog=name, description=about, add_help=False)

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


class Analyzer:
    """Commands over a dump: each takes its words and gives text."""

    def __init__(self, dump: DebugDumpDir, filters: dict[str, Callable[[Any, Any], object]]) -> None:
        self._dump, self._filters = dump, filters

    def lt(self, words: Sequence[str]) -> str:
        """lists the values that were written"""
        parser = Parser("lt", "lists the values that were written")
        parser.add_argument("-f", "--tensor_filter")
        parser.add_argument("-n", "--node_name_filter")
        parser.add_argument("-t", "--op_type_filter")
        parser.add_argument("-s", "--sort_by", choices=[*_SORTS, "op_type"], default="timestamp")
        parser.add_argument("-r", "--reverse", action="store_true")
        given = parser.parse_args(words)
        data = self._dump.dumped_tensor_data
        if given.tensor_filter is not None:
            data = self._dump.find(self._filter(given.tensor_filter))
        by_name, by_type = _pattern(given.node_name_filter), _pattern(given.op_type_filter)
        found = [d for d in data if by_name.match(d.node_name) and by_type.match(self._type(d.node_name))]
        found.sort(key=_SORTS.get(given.sort_by, lambda d: self._type(d.node_name)), reverse=given.reverse)
        rows = [("t (ms)", "Size (B)", "Op type", "Tensor name")]
        rows += [(f"[{(d.timestamp - self._dump.t0) / 1000:.3f}]", str(d.dump_size_bytes), self._type(d.node_name), d.tensor_name) for d in found]
        passing = f" passing filter \"{given.tensor_filter}\"" if given.tensor_filter is not None else ""
        return f"{len(found)} dumped tensor(s){passing}:\n" + _table(rows)

    def pt(self, words: Sequence[str]) -> str:
        """prints a value: pt NODE:SLOT[SLICE] [-n NUMBER]"""
        parser = Parser("pt", "prints a value")
        parser.add_argument("tensor", help="as y:0 or y:0[1,:]")
        parser.add_argument("-n", "--number", type=int, default=-1, help="of those that were written, from 0")
        parser.add_argument("-s", "--numeric_summary", action="store_true")
        parser.add_argument("-a", "--print_all", action="store_true")
        given = parser.parse_args(words)
        match = re.fullmatch(r"([^\[]+?)(?::(\d+))?(?::(Debug\w+))?(\[[\d:,\s\-.]*\])?", given.tensor)
        if match is None:
            raise CommandError(f"pt: {given.tensor!r} is no name of a tensor: NODE:SLOT or NODE:SLOT[SLICE] is expected")
        node, slot, debug_op, part = match[1], int(match[2] or 0), match[3] or "DebugIdentity", match[4]
        try:
            values = self._dump.get_tensors(node, slot, debug_op)
        except ValueError as error:
            raise CommandError(f"pt: {error}") from error
        if not -len(values) <= given.number < len(values):
            raise CommandError(f"pt: {node}:{slot} was written {len(values)} time(s), there is no {given.number}")
        value = values[given.number]
        if isinstance(value, InconvertibleTensorProto) or value is None:
            return f"Tensor \"{node}:{slot}:{debug_op}\":\n{value}"
        value = np.asarray(value)
        if part is not None:
            try:
                value = np.asarray(value[tuple(_slice(p) for p in part[1:-1].split(","))])
            except (IndexError, ValueError) as error:
                raise CommandError(f"pt: {part} of shape {value.shape}: {error}") from error
        text = f"Tensor \"{node}:{slot}:{debug_op}{part or ''}\":\n  dtype: {value.dtype}\n  shape: {value.shape}\n"
        text += f"  dumped {len(values)} times\n" if len(values) > 1 else ""
        if given.numeric_summary:
            text += _summary(value)
        with np.printoptions(threshold=value.size + 1 if given.print_all else 1000):
            return text + str(value)

    def ni(self, words: Sequence[str]) -> str:
        """says what is known of a node: ni [-a] [-d] [-t] NODE"""
        parser = Parser("ni", "says what is known of a node")
        parser.add_argument("node")
        parser.add_argument("-a", "--attributes", action="store_true")
        parser.add_argument("-d", "--dumps", action="store_true")
        parser.add_argument("-t", "--traceback", action="store_true")
        given = parser.parse_args(words)
        name = self._node(given.node)
        lines = [f"Node {name}", "", f"  Op: {self._dump.node_op_type(name)}", f"  Device: {self._dump.node_device(name)}"]
        for title, listed in (("input(s)", self._dump.node_inputs), ("recipient(s)", self._dump.node_recipients)):
            plain, control = listed(name), listed(name, is_control=True)
            lines += ["", f"  {len(plain)} {title} + {len(control)} control {title}:"]
            lines += [f"    [{self._type(n)}] {n}" for n in plain] + [f"    (Ctrl) [{self._type(n)}] {n}" for n in control]
        if given.attributes:
            lines += ["", "Node attributes:"] + [f"  {key}: {str(value).strip()}" for key, value in sorted(self._dump.node_attributes(name).items())]
        if given.dumps:
            data = [d for d in self._dump.dumped_tensor_data if d.node_name == name]
            lines += ["", f"{len(data)} dumped tensor(s):"]
            lines += [f"  Slot {d.output_slot} @ {d.debug_op} @ {(d.timestamp - self._dump.t0) / 1000:.3f} ms" for d in data]
        if given.traceback:
            try:
                lines += ["", "Traceback of node construction:"] + [f"  {entry}" for entry in self._dump.node_traceback(name)]
            except (LookupError, AttributeError) as error:
                lines.append(f"  (not known: {error})")
        return "\n".join(lines)

    def li(self, words: Sequence[str]) -> str:
        """lists the inputs of a node: li [-r] [-d DEPTH] [-c] NODE"""
        return self._tree("li", words, self._dump.node_inputs, "Inputs to")

    def lo(self, words: Sequence[str]) -> str:
        """lists who reads a node: lo [-r] [-d DEPTH] [-c] NODE"""
        return self._tree("lo", words, self._dump.node_recipients, "Recipients of")

    def _tree(self, command, words, listed, title):
        parser = Parser(command, "")
        parser.add_argument("node")
        parser.add_argument("-r", "--recursive", action="store_true")
        parser.add_argument("-d", "--depth", type=int, default=20)
        parser.add_argument("-c", "--control", action="store_true")
        parser.add_argument("-t", "--op_type", action="store_true")
        given = parser.parse_args(words)
        lines = [f"{title} node \"{given.node}\" (Depth limit = {given.depth if given.recursive else 1}"
                 f"{', control edges included' if given.control else ''}):"]
        seen = set()

        def show(name, depth):
            for is_control in (False, True) if given.control else (False,):
                for other in listed(name, is_control=is_control) if self._dump.node_exists(name) else ():
                    kind = f"[{self._type(other)}] " if given.op_type else ""
                    lines.append(f"{'|  ' * (depth - 1)}|- ({depth}) {'(Ctrl) ' if is_control else ''}{kind}{other}{' ...' if other in seen else ''}")
                    if given.recursive and depth < given.depth and other not in seen:
                        seen.add(other)
                        show(other, depth + 1)
        show(self._node(given.node), 1)
        return "\n".join(lines)

    def _filter(self, name):
        if name not in self._filters:
            raise CommandError(f"there is no tensor filter {name!r}; there are {', '.join(sorted(self._filters))}")
        return self._filters[name]

    def _node(self, name):
        name = name.rpartition(":")[0] or name
        if not self._dump.loaded_partition_graphs() or not self._dump.node_exists(name):
            raise CommandError(f"There is no node named \"{name}\" in the partition graphs")
        return name

    def _type(self, name):
        return self._dump.node_op_type(name) if self._dump.loaded_partition_graphs() and self._dump.node_exists(name) else "?"


def _slice(text):
    parts = [int(p) if p.strip() else None for p in text.split(":")] if text.strip() != "..." else [...]
    return parts[0] if len(parts) == 1 else slice(*parts)


def _pattern(text):
    """What a filter lets pass; all without one."""
    try:
        return re.compile(text or "")
    except re.error as error:
        raise CommandError(f"lt: {text!r} is no regular expression: {error}") from error


def _table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return "\n".join(" ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[-1]]) for row in rows)


def _summary(value):
    if value.dtype.kind not in "biuf" or value.size == 0:
        return "  no numbers\n"
    with np.errstate(all="ignore"):
        finite = value[np.isfinite(value)] if value.dtype.kind == "f" else value
        counts = [("nan", np.isnan(value).sum() if value.dtype.kind == "f" else 0), ("-inf", (value == -np.inf).sum()), ("-", (finite < 0).sum()),
                  ("0", (finite == 0).sum()), ("+", (finite > 0).sum()), ("+inf", (value == np.inf).sum()), ("total", value.size)]
        text = "  counts: " + ", ".join(f"{name} {int(count)}" for name, count in counts) + "\n"
        if finite.size:
            text += f"  min {finite.min()}, max {finite.max()}, mean {finite.mean()}, std {finite.std()}\n"
    return text
