# SPDX-License-Identifier: Apache-2.0
"""Pooling layers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.layers.convolution import _full, layout_of, spread
from thalweg.operations import array_ops
from thalweg.variables.layer import InputSpec, Layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.graph.tensor import Tensor


class _Pooling(Layer):
    """What pooling of 1, 2 and 3 dimensions shares."""

    rank = 2
    _CONFIG = "pool_size strides padding data_format"

    def __init__(self, pool_size: int | Sequence[int], strides: int | Sequence[int], padding: str = "valid",
                 data_format: str = "channels_last", name: str | None = None, **kwargs: object) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = spread(pool_size, self.rank, "pool_size")
        self.strides = spread(self.pool_size if strides is None else strides, self.rank, "strides")
        self.padding, self.data_format = padding, data_format
        self.layout = layout_of(data_format, self.rank)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        return self._pool()(inputs, _full(self.pool_size, self.layout), _full(self.strides, self.layout), self.padding.upper(),
                            data_format=self.layout)


class _Pooling1D(_Pooling):
    rank = 1

    def call(self, inputs: Tensor) -> Tensor:
        axis, layout = (2, "NHWC") if self.data_format == "channels_last" else (3, "NCHW")
        y = self._pool()(array_ops.expand_dims(inputs, axis), _full((*self.pool_size, 1), layout),
                         _full((*self.strides, 1), layout), self.padding.upper(), data_format=layout)
        return array_ops.squeeze(y, [axis])


class MaxPooling1D(_Pooling1D):
    """The largest value of each window along one dimension."""

    def _pool(self):
        return nn.max_pool


class AveragePooling1D(_Pooling1D):
    """The mean of each window along one dimension."""

    def _pool(self):
        return nn.avg_pool


class MaxPooling2D(_Pooling):
    """The largest value of each window of an image."""

    def _pool(self):
        return nn.max_pool


class AveragePooling2D(_Pooling):
    """The mean of each window of an image."""

    def _pool(self):
        return nn.avg_pool


class MaxPooling3D(_Pooling):
    """The largest value of each window of a volume."""
    rank = 3

    def _pool(self):
        return nn.max_pool3d


class AveragePooling3D(_Pooling):
    """The mean of each window of a volume."""
    rank = 3

    def _pool(self):
        return nn.avg_pool3d


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
