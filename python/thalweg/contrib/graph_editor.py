# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.graph_editor: which operations lead to others, or follow from them. It does not change graphs."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.graph import graph as graph_module
from thalweg.graph.tensor import Operation, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.graph.graph import Graph


def _flat(things):
    if isinstance(things, graph_module.Graph):
        return things.get_operations()
    if not isinstance(things, (list, tuple, set, frozenset)) and not hasattr(things, "__iter__") or isinstance(things, Tensor):
        return [things]
    return [leaf for part in things for leaf in _flat(part)]


def _of(things, wanted, ignored):
    found = []
    for thing in _flat(things):
        if isinstance(thing, wanted):
            found.append(thing)
        elif not (ignored and isinstance(thing, ignored)):
            raise TypeError(f"Expected a type in ({wanted}), got: {type(thing)}")
    return found


def make_list_of_op(ops: object, check_graph: Graph | bool | None = True, allow_graph: bool = True,
                    ignore_ts: bool = False) -> list[Operation]:
    """The operations of a graph or of nested lists of them."""
    if isinstance(ops, graph_module.Graph) and not allow_graph:
        raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
    return _of(ops, Operation, Tensor if ignore_ts else None)


def make_list_of_t(ts: object, check_graph: Graph | bool | None = True, allow_graph: bool = True,
                   ignore_ops: bool = False) -> list[Tensor]:
    """The tensors of a graph or of nested lists of them."""
    if isinstance(ts, graph_module.Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return get_tensors(ts)
    return _of(ts, Tensor, Operation if ignore_ops else None)


def get_tensors(graph: Graph) -> list[Tensor]:
    """All tensors of a graph."""
    if not isinstance(graph, graph_module.Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [t for op in graph.get_operations() for t in op.outputs]


def get_generating_ops(ts: object) -> list[Operation]:
    """The operations whose outputs these tensors are."""
    return [t.op for t in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: object) -> list[Operation]:
    """The operations that read these tensors, each once."""
    return list(dict.fromkeys(op for t in make_list_of_t(ts, allow_graph=False) for op in t.consumers()))


def _walk(seeds, inclusive, within_ops, within_ops_fn, neighbors):
    """What can be reached from the seeds, the nearest first."""
    within = None if within_ops is None else set(make_list_of_op(within_ops, allow_graph=False))

    def allowed(op):
        return (within is None or op in within) and (within_ops_fn is None or within_ops_fn(op))
    reached = dict.fromkeys(op for op in seeds if allowed(op))
    pending = list(reached)
    for op in pending:
        for other in neighbors(op):
            if other not in reached and allowed(other):
                reached[other] = None
                pending.append(other)
    return [op for op in reached if inclusive or op not in seeds]


def _seeds(things, of_tensors):
    things = _flat(things)
    if things and isinstance(things[0], Tensor):
        return list(dict.fromkeys(of_tensors(things)))
    return make_list_of_op(things, allow_graph=False)


def get_backward_walk_ops(seed_ops: object, inclusive: bool = True, within_ops: object = None,
                          within_ops_fn: Callable[[Operation], bool] | None = None, stop_at_ts: object = (),
                          control_inputs: object = False) -> list[Operation]:
    """The operations that lead to the seeds, which are operations, or tensors for those that make them."""
    stops = set(make_list_of_t(stop_at_ts))

    def before(op):
        made = [t.op for t in op.inputs if t not in stops]
        return made + list(op.control_inputs) if control_inputs else made
    return _walk(_seeds(seed_ops, get_generating_ops), inclusive, within_ops, within_ops_fn, before)


def get_forward_walk_ops(seed_ops: object, inclusive: bool = True, within_ops: object = None,
                         within_ops_fn: Callable[[Operation], bool] | None = None, stop_at_ts: object = (),
                         control_outputs: object = None) -> list[Operation]:
    """The operations that follow from the seeds, which are operations, or tensors for those that read them."""
    stops = set(make_list_of_t(stop_at_ts))
    if control_outputs not in (None, False, True):
        raise NotImplementedError("control_outputs is True, False or None here")
    readers = {}
    seeds = _seeds(seed_ops, get_consuming_ops)
    for op in seeds[0].graph.get_operations() if seeds else ():
        sources = [t.op for t in op.inputs if t not in stops] + (list(op.control_inputs) if control_outputs else [])
        for source in dict.fromkeys(sources):
            readers.setdefault(source, []).append(op)
    return _walk(seeds, inclusive, within_ops, within_ops_fn, lambda op: readers.get(op, ()))


def _both(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops, within_ops_fn, control):
    forward = get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, control_outputs=control)
    return forward, get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=control)


def get_walks_intersection_ops(forward_seed_ops: object, backward_seed_ops: object, forward_inclusive: bool = True,
                               backward_inclusive: bool = True, within_ops: object = None,
                               within_ops_fn: Callable[[Operation], bool] | None = None, control_inputs: object = False,
                               control_outputs: object = None, control_ios: object = None) -> list[Operation]:
    """The operations between the two seeds."""
    forward, backward = _both(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops,
                              within_ops_fn, control_inputs or bool(control_ios))
    backward = set(backward)
    return [op for op in forward if op in backward]


def get_walks_union_ops(forward_seed_ops: object, backward_seed_ops: object, forward_inclusive: bool = True,
                        backward_inclusive: bool = True, within_ops: object = None,
                        within_ops_fn: Callable[[Operation], bool] | None = None, control_inputs: object = False,
                        control_outputs: object = None, control_ios: object = None) -> list[Operation]:
    """The operations that follow from the first seeds or lead to the second."""
    forward, backward = _both(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops,
                              within_ops_fn, control_inputs or bool(control_ios))
    return list(dict.fromkeys(forward + backward))


def _filter(positive_filter):
    if positive_filter is True:
        return lambda thing: True
    return positive_filter


def filter_ops(ops: object, positive_filter: bool | Callable[[Any], object] | None) -> list[Operation]:
    """The operations for which the filter, a function or True, holds."""
    return [op for op in make_list_of_op(ops) if _filter(positive_filter)(op)]


def filter_ops_from_regex(ops: object, regex: str | re.Pattern[str]) -> list[Operation]:
    """The operations whose names match."""
    return filter_ops(ops, lambda op: re.search(regex, op.name))


def filter_ts(ops: object, positive_filter: bool | Callable[[Any], object] | None) -> list[Tensor]:
    """The inputs and outputs of operations for which the filter, a function or True, holds; each once."""
    found = [t for op in make_list_of_op(ops) for t in [*op.inputs, *op.outputs] if _filter(positive_filter)(t)]
    return list(dict.fromkeys(found))


def filter_ts_from_regex(ops: object, regex: str | re.Pattern[str]) -> list[Tensor]:
    """The inputs and outputs of operations whose names match."""
    return filter_ts(ops, lambda t: re.search(regex, t.op.name))


__all__ = ["filter_ops", "filter_ops_from_regex", "filter_ts", "filter_ts_from_regex", "get_backward_walk_ops", "get_consuming_ops",
           "get_forward_walk_ops", "get_generating_ops", "get_tensors", "get_walks_intersection_ops", "get_walks_union_ops",
           "make_list_of_op", "make_list_of_t"]

names.complete(globals())
