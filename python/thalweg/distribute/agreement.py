# SPDX-License-Identifier: Apache-2.0
"""Numbers that workers which train in step must have alike, or they would wait for each other: compared before they begin."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg import dtypes, errors
from thalweg.graph import graph
from thalweg.graph.session import Session
from thalweg.messages import ConfigProto
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from thalweg.distribute.strategy import Strategy


@contextlib.contextmanager
def of_all_workers(strategy: Strategy, target: str, config: ConfigProto, count: int) -> Iterator[Callable[[Sequence[int]], list[list[int]]]]:
    """A function that takes `count` numbers of this worker, waits for all, and gives for each number those of all workers, in their order."""
    with graph.Graph().as_default(), graph.device(strategy.extended.worker_devices[0]):
        own = array_ops.placeholder(dtypes.int64, [count])
        every = strategy.extended._group.compared(own)
        with Session(target, config=config) as session:
            yield lambda numbers: session.run(every, {own: numbers}).reshape(-1, count).T.tolist()


def check_alike(strategy: Strategy, numbers: Sequence[tuple[str, int]]) -> None:
    """Waits for all workers of a strategy that has several, and compares their numbers, each with what it counts; 0 goes with any.

    Raises
    ------
    errors.FailedPreconditionError
        A number differs, in each of the workers.
    """
    if strategy.extended._group.size == 1:
        return
    with of_all_workers(strategy, strategy.extended._session_target(), strategy.update_config_proto(ConfigProto()), len(numbers)) as compared:
        found = compared([number for _, number in numbers])
    for (what, _), counts in zip(numbers, found):
        if len({*counts} - {0}) > 1:
            told = ", ".join(f"worker {number} has {count}" for number, count in enumerate(counts))
            raise errors.FailedPreconditionError(None, None, f"workers that train in step have as many {what} each, but {told} (the chief is "
                                                 "worker 0)")
