# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.eager.metrics: measures that are objects: called with values, asked for their result."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.variables.module import Module
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.graph.tensor import Tensor


class Metric(Module):
    """Base of measures: `build` makes variables with add_variable, `call` counts, `result` says what has been counted."""

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        super().__init__()
        self._title = name or type(self).__name__
        self._built, self._variables, self._starts = False, [], []

    @property
    def name(self) -> str: return self._title
    @property
    def variables(self) -> Sequence[Variable]: return self._variables

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._built:
            with name_scope(self._title):
                self.build(*args, **kwargs)
            self._built = True
        return self.call(*args, **kwargs)

    def init_variables(self) -> None:
        """Begins again."""
        for variable, start in zip(self._variables, self._starts):
            variable.assign(start(variable.shape.as_list(), dtype=variable.dtype))

    reset_variables = init_variables

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the variables."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Counts."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Tensor:
        """What has been counted."""
        raise NotImplementedError("Metrics must define a result() member function")

    def value(self) -> Tensor:
        """The older name of result()."""
        return self.result()

    def add_variable(self, name: str, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None,
                     initializer: Callable[..., TensorLike] | None = None) -> Variable:
        """A variable of the measure, in build()."""
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        start = initializer or (lambda shape, dtype: array_ops.zeros(shape, dtype))
        made = Variable(lambda: start(list(shape or []), dtype=dtypes.as_dtype(dtype or dtypes.float32)), trainable=False, name=name,
                        use_resource=True)
        self._variables.append(made)
        self._starts.append(start)
        return made


class Mean(Metric):
    """The weighted mean of all values."""

    def __init__(self, name: str | None = None, dtype: DTypeLike = dtypes.float64, use_global_variables: bool = False) -> None:
        super().__init__(name, use_global_variables)
        self.dtype = dtypes.as_dtype(dtype)

    def build(self, *args: Any, **kwargs: Any) -> None:
        self.numer = self.add_variable("numer", [], self.dtype)
        self.denom = self.add_variable("denom", [], self.dtype)

    def call(self, values: TensorLike, weights: TensorLike | None = None) -> Any:
        """Counts values; gives them back."""
        given = values = convert_to_tensor(values)
        if weights is None:
            self.denom.assign_add(math_ops.cast(array_ops.size(values), self.dtype))
            values = math_ops.cast(values, self.dtype)
        else:
            weights = math_ops.cast(weights, self.dtype)
            self.denom.assign_add(math_ops.reduce_sum(weights))
            values = math_ops.cast(values, self.dtype) * weights
        self.numer.assign_add(math_ops.reduce_sum(values))
        return given if weights is None else (given, weights)

    def result(self, write_summary: bool = True) -> Tensor:
        """The mean so far."""
        return apply("RealDiv", [self.numer._as_tensor(), self.denom._as_tensor()])


class Accuracy(Mean):
    """How many predictions are their labels."""

    def __init__(self, name: str | None = None, dtype: DTypeLike = dtypes.float64) -> None:
        super().__init__(name, dtype)

    def _right(self, labels: Tensor, predictions: Tensor) -> Tensor:
        return apply("Equal", [labels, math_ops.cast(predictions, labels.dtype)])

    def call(self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None) -> Any:
        """Counts; gives the arguments back."""
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        super().call(math_ops.cast(self._right(labels, predictions), self.dtype), weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


class CategoricalAccuracy(Accuracy):
    """How many largest predictions of a row are at its label's one."""

    def _right(self, labels: Tensor, predictions: Tensor) -> Tensor:
        return apply("Equal", [math_ops.argmax(labels, -1), math_ops.argmax(predictions, -1)])


class SparseAccuracy(Accuracy):
    """How many largest predictions of a row are at the number that its label is."""

    def _right(self, labels: Tensor, predictions: Tensor) -> Tensor:
        return apply("Equal", [math_ops.cast(labels, dtypes.int64), math_ops.argmax(predictions, -1)])


class BinaryAccuracy(Accuracy):
    """How many predictions are on their labels' side of a threshold."""

    def __init__(self, threshold: float, name: str | None = None, dtype: DTypeLike = dtypes.float64) -> None:
        super().__init__(name, dtype)
        self.threshold = threshold

    def _right(self, labels: Tensor, predictions: Tensor) -> Tensor:
        return apply("Equal", [labels, math_ops.cast(predictions > self.threshold, labels.dtype)])
