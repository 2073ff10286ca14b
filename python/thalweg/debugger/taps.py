# SPDX-License-Identifier: Apache-2.0
"""Taps: nodes that look at others in the runs that ask for it.

A tap is an operation `_Tap` that comes behind the operation at which it looks and behind what reads that one's outputs for it. In a run that has it
as a target, all that come behind the operation come behind the tap as well, in each iteration of a loop; in others, nothing has changed.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import create_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.graph.tensor import Operation


def tap(op: Operation, behind: Sequence[Operation], name: str) -> Operation:
    """A tap that looks at `op` and comes behind other operations, which come behind `op`."""
    return create_node("_Tap", name, [], [], controls=[op, *behind])
