# SPDX-License-Identifier: Apache-2.0
"""In what a checkpoint differs from what a Saver restores of it."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_MISSING, _EXTRA, _SHAPE, _TYPE = range(4)  # as the core counts them


class CheckpointDifferences(NamedTuple):
    """All in which a checkpoint differs from what a Saver restores of it.

    Parameters
    ----------
    missing : list of str
        Names that the checkpoint does not have.
    extra : list of str
        Names that only the checkpoint has.
    shape, dtype : list of (str, str, str)
        Name, shape or type in the checkpoint, shape or type in the graph.

    Examples
    --------
    >>> print(tw.train.CheckpointDifferences(["w"], [], [("v", "[2]", "[3]")], []))
    missing in the checkpoint: w
    of another shape: v is [2], not [3]
    """

    missing: list[str]
    extra: list[str]
    shape: list[tuple[str, str, str]]
    dtype: list[tuple[str, str, str]]

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, str, str, str]]) -> CheckpointDifferences:
        """Of (kind, name, in the checkpoint, in the graph)."""
        return cls([name for kind, name, _, _ in rows if kind == _MISSING], [name for kind, name, _, _ in rows if kind == _EXTRA],
                   [tuple(row[1:]) for row in rows if row[0] == _SHAPE], [tuple(row[1:]) for row in rows if row[0] == _TYPE])

    @property
    def fits(self) -> bool:
        """Whether all can be restored: what is extra is no obstacle."""
        return not (self.missing or self.shape or self.dtype)

    def __str__(self) -> str:
        rows = [("missing in the checkpoint", self.missing), ("only in the checkpoint", self.extra),
                ("of another shape", [f"{name} is {there}, not {here}" for name, there, here in self.shape]),
                ("of another type", [f"{name} is {there}, not {here}" for name, there, here in self.dtype])]
        return "\n".join(f"{title}: {', '.join(items)}" for title, items in rows if items) or "nothing differs"
