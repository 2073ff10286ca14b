# SPDX-License-Identifier: Apache-2.0
"""What a run asks for, as names, and the operations that it needs."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg.graph import op_definitions, session as session_module
from thalweg.graph.device_specs import DeviceSpec
from thalweg.graph.tensor import Operation, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session

# They hand on what others compute, and belong to loops and branches.
_CONTROL_FLOW = frozenset("Switch RefSwitch Merge RefMerge Enter RefEnter Exit RefExit NextIteration RefNextIteration LoopCond".split())
VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))
# They have an effect, or are part of a state inside of the step: from what they read they give the same again.
REPEATABLE = ("Assert", "CheckNumerics", "Debug", "Print", "Stack", "TensorArray")


def check_session(session: object) -> None:
    """Raises for what is none, as a MonitoredSession."""
    if not isinstance(session, session_module.Session):
        raise TypeError(f"expected a Session, got a {type(session).__name__}")


def flat_fetches(graph: Graph, fetches: Fetches) -> list[Tensor | Operation]:
    """The tensors and operations among the fetches of a run."""
    if fetches is None:
        return []
    if isinstance(fetches, (Tensor, Operation)):
        return [fetches]
    if isinstance(fetches, (str, bytes)):
        return [graph.as_graph_element(fetches.decode() if isinstance(fetches, bytes) else fetches)]
    if isinstance(fetches, (list, tuple)):
        return [one for part in fetches for one in flat_fetches(graph, part)]
    return flat_fetches(graph, session_module._expand_fetch(fetches)[0])


def flat_feeds(graph: Graph, feed_dict: FeedDict | None) -> dict[Tensor, object]:
    """What is fed, by tensors of the graph."""
    plain = session_module._expand_feeds(feed_dict or {})
    return {graph.as_graph_element(key, allow_operation=False): value for key, value in plain.items()}


def needed(fetches: Iterable[Tensor | Operation], feeds: Iterable[Tensor]) -> list[Operation]:
    """The operations that a run needs, each behind those that it reads; loops are cut where they go back."""
    fed = set(feeds)
    found, order, going_back = set(), [], []
    waiting = [(one.op if isinstance(one, Tensor) else one, False) for one in fetches if one not in fed]
    while waiting or going_back:
        op, is_done = waiting.pop() if waiting else (going_back.pop(), False)
        if is_done:
            order.append(op)
        elif op not in found:
            found.add(op)
            waiting.append((op, True))
            for x in op.inputs:
                if x in fed:
                    continue
                if x.op.type in ("NextIteration", "RefNextIteration"):
                    going_back.append(x.op)
                else:
                    waiting.append((x.op, False))
            waiting.extend((c, False) for c in op.control_inputs)
    return order


def loops(ops: Sequence[Operation]) -> dict[Operation, tuple[Operation, ...]]:
    """An Enter of each loop that each of the operations lies in, the outer ones first; in an order of `needed`."""
    found: dict[Operation, tuple[Operation, ...]] = {}
    for op in ops:
        before = [found[b] for b in [*(x.op for x in op.inputs), *op.control_inputs] if b in found]
        here = max(before, default=(), key=len)
        found[op] = (*here, op) if op.type in ("Enter", "RefEnter") else here[:-1] if op.type in ("Exit", "RefExit") else here
    return found


def inside_loops(ops: Sequence[Operation]) -> set[Operation]:
    """Those of the operations, in an order of `needed`, that run once an iteration."""
    return {op for op, around in loops(ops).items() if around}


def frame_of(enter: Operation) -> str:
    """The name of the loop that an Enter leads into."""
    name = enter.get_attr("frame_name")
    return name.decode() if isinstance(name, bytes) else name


def may_overtake(around: Iterable[Operation]) -> bool:
    """Whether iterations of some of these loops may run at once, so that the order in which they are seen says nothing."""
    return any(enter.get_attr("parallel_iterations") > 1 for enter in around)


def nesting(ops: Sequence[Operation]) -> dict[Operation, int]:
    """In how many loops and branches each of the operations lies, in an order of `needed`: not every step computes what lies in one."""
    depth: dict[Operation, int] = {}
    for op in ops:
        kind, sources = op.type.removeprefix("Ref"), [*(x.op for x in op.inputs), *op.control_inputs]
        here = max([depth[b] for b in sources if b in depth], default=0)
        closes_loop = any(b.type.endswith("NextIteration") for b in sources)
        change = {"Enter": 1, "Switch": 1, "Merge": 0 if closes_loop else -1, "Exit": -2}.get(kind, 0)
        depth[op] = max(here + change, 0)
    return depth


def can_be_looked_at(op: Operation) -> bool:
    """Whether a tap may look at an operation: it is none of those that make loops and branches."""
    return op.type not in _CONTROL_FLOW


def has_value(tensor: Tensor) -> bool:
    """Whether a tensor is a value that can be kept: no handle and no reference to a variable."""
    return not tensor.dtype._is_ref_dtype and tensor.dtype.name not in ("resource", "variant")


def can_be_shown(tensor: Tensor) -> bool:
    """Whether a tensor has a value that can be written when its operation has run: a variable that is made has none yet."""
    return tensor.dtype.base_dtype.name not in ("resource", "variant") and tensor.op.type not in (
        *VARIABLES, "TemporaryVariable", "DestroyTemporaryVariable")


def is_stateful(op: Operation) -> bool:
    """Whether an operation gives other values at another time, or has an effect."""
    return op_definitions.is_stateful(op.type)


def may_differ(op: Operation) -> bool:
    """Whether an operation may give other values in another run for the same inputs: random ones, iterators, queues, functions of the program."""
    return op.type != "ReadVariableOp" and not op.type.startswith(REPEATABLE) and can_be_looked_at(op) and is_stateful(op) and \
        any(map(has_value, op.outputs))


@contextlib.contextmanager
def adding_to(graph: Graph, device: str = "") -> Iterator[None]:
    """What is made meanwhile goes to the graph outside of all scopes of the program, also where the graph is finalized; sessions do not take it for
    a graph that grows."""
    was_final, first = graph.finalized, graph._num_nodes()
    graph._unsafe_unfinalize()
    try:
        with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None), graph.colocate_with(None), graph.device(None), \
                graph.device(device):
            yield
    finally:
        graph._set_aside(first)
        if was_final:
            graph.finalize()


def processor_beside(op: Operation) -> str:
    """The device of an operation; where that is no processor, the one of its task."""
    spec = DeviceSpec.from_string(op.device)
    if spec.device_type in (None, "CPU"):
        return op.device
    return DeviceSpec(spec.job, spec.replica, spec.task, "CPU", 0).to_string()


def place_of(session: Session, op: Operation) -> str:
    """The processor of the operation's task, where it names one: queues do not go to other tasks."""
    if not session._target:
        return ""
    asked = DeviceSpec.from_string(op.device)
    if asked.job is not None and asked.task is not None:
        return DeviceSpec(asked.job, 0, asked.task, "CPU", 0).to_string()
    return next(d.name for d in session.list_devices() if d.device_type == "CPU")
