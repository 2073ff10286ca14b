# SPDX-License-Identifier: Apache-2.0
"""tensor_statistics: what all tensors of a step are like."""
from __future__ import annotations

import collections
import dataclasses
import json
import math
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.debugger import steps
from thalweg.debugger.recorder import Recorder
from thalweg.graph.graph import create_node
from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import Array, FeedDict, Fetches
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Tensor
    from thalweg.messages import RunOptions

_COUNTED = 14  # numbers of a summary before the dimensions


@dataclasses.dataclass(frozen=True)
class TensorStatistics:
    """What a tensor was like, each time that it was computed.

    `min`, `max`, `mean` and `std` are of the finite elements, None where there are none, or no real numbers; `zeros`, `nans` and `infinities` count.
    `iteration` says how often its operation had run before in the step; None in loops whose iterations may run at once (`parallel_iterations`
    above 1, as by default): their rows come in any order.
    """

    tensor: str
    op: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    zeros: int
    nans: int
    infinities: int
    iteration: int | None = 0


class StepStatistics:
    """What tensor_statistics gives: `rows`, in the order in which the tensors were computed, and `values` of the fetches."""

    def __init__(self, rows: list[TensorStatistics], values: Any) -> None:
        self.rows, self.values = rows, values

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, tensor: str) -> TensorStatistics:
        """The row of a tensor; in a loop, the one that came last."""
        for row in reversed(self.rows):
            if row.tensor == tensor:
                return row
        raise KeyError(f"'{tensor}' is none of the {len(self.rows)} tensors of the step that were looked at")

    def text(self) -> str:
        """A table for people."""
        heads = ["tensor", "op", "type and shape", "min", "max", "mean", "std", "zeros", "NaN", "Inf"]
        rows = [[_named(row), row.op, f"{row.dtype}[{','.join(map(str, row.shape))}]",
                 *map(_number, (row.min, row.max, row.mean, row.std)), f"{row.zeros:,}", str(row.nans), str(row.infinities)] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        return "\n".join("  ".join(cell.ljust(width) if i < 3 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
                         for row in [heads, *rows])

    __str__ = text

    def json(self) -> str:
        """The same for programs: a list of objects with the fields of TensorStatistics."""
        return json.dumps([dataclasses.asdict(row) for row in self.rows])

    def plot(self, path: str) -> None:
        """Draws mean, standard deviation and bounds of all tensors into a picture; needs matplotlib.

        Raises
        ------
        ImportError
            It is not installed.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        rows = [row for row in self.rows if row.mean is not None]
        figure = Figure(figsize=(10, max(2.0, 0.22 * len(rows) + 1)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        places = range(len(rows))
        axes.hlines(places, [row.min for row in rows], [row.max for row in rows], color="0.8", linewidth=4)
        axes.errorbar([row.mean for row in rows], places, xerr=[row.std for row in rows], fmt="o", markersize=3)
        axes.set_yticks(places, [_named(row) for row in rows], fontsize=6)
        axes.set_xscale("symlog")
        axes.invert_yaxis()
        axes.set_xlabel("mean, standard deviation; gray: smallest to largest")
        figure.savefig(path)


def _named(row):
    return row.tensor + (" (some iteration)" if row.iteration is None else f" #{row.iteration}" if row.iteration else "")


def _number(value):
    return "-" if value is None else f"{value:.4g}"


def tensor_statistics(session: Session, fetches: Fetches, feed_dict: FeedDict | None = None, *, only: Callable[[Tensor], object] | None = None,
                      options: RunOptions | None = None) -> StepStatistics:
    """Runs a step and tells what each of its tensors was like: shape, type, bounds, mean, standard deviation, zeros, NaN and infinities.

    The step runs once, with its updates. Each tensor is counted where it is computed, in loops and branches and on other tasks, too; no values are
    kept or sent. In a loop it has a row an iteration, with the iteration's number where no two of them may run at once. What is inside of functions
    that are called by name is not looked at.

    Parameters
    ----------
    session : Session
    fetches, feed_dict
        Of the step.
    only : callable, optional
        Of the tensors, those for which it says yes.
    options : RunOptions, optional

    Returns
    -------
    StepStatistics
        Its text is a table, `json()` is for programs, `plot(path)` draws it, `values` are those of the fetches.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [4], name="x")
    >>> y = tw.log(x, name="y")
    >>> with tw.Session() as session:
    ...     found = tw.debugging.tensor_statistics(session, y, {x: [0, 1, 1, 1]})
    >>> print(found)
    tensor  op           type and shape  min  max  mean  std    zeros  NaN  Inf
    x:0     Placeholder  float32[4]        0    1  0.75  0.433      1    0    0
    y:0     Log          float32[4]        0    0     0  0          3    0    1
    """
    steps.check_session(session)
    flat, feeds = steps.flat_fetches(session.graph, fetches), steps.flat_feeds(session.graph, feed_dict)
    needed = steps.needed(flat, feeds)
    around = steps.loops(needed)
    ops = [op for op in needed if only is None or any(map(only, op.outputs))]
    recorder = session.__dict__.setdefault("_statistics_recorder", Recorder(session, _summary))
    rows = [_of_array(x, value) for x, value in feeds.items() if only is None or only(x)]
    values, told = recorder.run(ops, fetches, feed_dict, options)
    counts: collections.Counter[str] = collections.Counter()
    for x, numbers in told:
        if only is None or only(x):
            rows.append(_row(x, numbers, None if steps.may_overtake(around[x.op]) else counts[x.name]))
            counts[x.name] += 1
    return StepStatistics(rows, values)


def _summary(x: Tensor) -> Tensor:
    """What is told of a tensor: of real numbers their summary, of others the shape."""
    kind, name = x.dtype.base_dtype, x.name
    if kind in (dtypes.float16, dtypes.bfloat16):
        x = apply("Cast", [x], {"DstT": dtypes.float32})
    if kind.is_floating or kind.is_integer or kind.is_bool:
        return create_node("DebugNumericSummary", "recorder/summary", [x], [("tensor_name", "s", name)]).outputs[0]
    return apply("Shape", [x], {"out_type": dtypes.int64})


def _row(x: Tensor, numbers: Array, iteration: int | None) -> TensorStatistics:
    kind, name, op = x.dtype.base_dtype.name, x.name, x.op.type
    if numbers.dtype != np.float64:
        shape = tuple(map(int, numbers))
        return TensorStatistics(name, op, kind, shape, int(np.prod(shape, dtype=np.int64)), None, None, None, None, 0, 0, 0, iteration)
    size, nans, below, zeros, above = (int(numbers[i]) for i in (1, 2, 3, 5, 7))
    low, high, mean, variance = (float(numbers[i]) for i in (8, 9, 10, 11))
    bounds = (low, high, mean, math.sqrt(variance)) if math.isfinite(low) else (None, None, None, None)
    return TensorStatistics(name, op, kind, tuple(map(int, numbers[_COUNTED:])), size, *bounds, zeros, nans, below + above, iteration)


def _of_array(x: Tensor, value: object) -> TensorStatistics:
    """Of a feed."""
    array = np.asarray(value, None if x.dtype.base_dtype.name == "string" else x.dtype.base_dtype.as_numpy_dtype)
    bounds: tuple[Any, ...] = (None, None, None, None)
    zeros = nans = infinities = 0
    if array.dtype.kind in "fiub" or x.dtype.is_floating:
        exact = array.astype(np.float64)
        finite = exact[np.isfinite(exact)]
        zeros, nans, infinities = int(np.sum(exact == 0)), int(np.sum(np.isnan(exact))), int(np.sum(np.isinf(exact)))
        if finite.size:
            bounds = float(finite.min()), float(finite.max()), float(finite.mean()), float(finite.std())
    return TensorStatistics(x.name, x.op.type, x.dtype.base_dtype.name, array.shape, array.size, *bounds, zeros, nans, infinities)
