# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools of one, two or three dimensions, as their arguments say."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.nn import windows
from thalweg.operations import array_ops
from thalweg.operations.array_layout import required_space_to_batch_paddings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def _channels_first(data_format):
    return data_format is not None and data_format.startswith("NC")


def _layout(rank, data_format):
    return ({2: "NHWC", 3: "NDHWC"}, {2: "NCHW", 3: "NCDHW"})[_channels_first(data_format)][rank]


def _each(values, rank):
    return [1] * rank if values is None else [int(values)] * rank if isinstance(values, int) else [int(v) for v in values]


def convolution(input: TensorLike, filter: TensorLike, padding: str, strides: int | Sequence[int] | None = None,
                dilation_rate: int | Sequence[int] | None = None, name: str | None = None, data_format: str | None = None,
                filters: TensorLike | None = None, dilations: int | Sequence[int] | None = None) -> Tensor:
    """A convolution of one, two or three dimensions, as the filter says."""
    filters = filter if filters is None else filters
    with name_scope(name, "convolution", [input, filters]) as scope:
        x, filters = convert_to_tensor(input, name="input"), convert_to_tensor(filters, name="filter")
        rank = filters.shape.ndims - 2
        steps = _each(strides, rank)
        rates = _each(dilation_rate if dilations is None else dilations, rank)
        if any(s > 1 for s in steps) and any(r > 1 for r in rates):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        if rank == 1:
            return windows.conv1d(x, filters, steps[0], padding, data_format="NCW" if _channels_first(data_format) else "NWC",
                             dilations=rates[0], name=scope)
        convolve = windows.conv2d if rank == 2 else windows.conv3d

        def around(v):
            return [1, 1, *v] if _channels_first(data_format) else [1, *v, 1]
        return convolve(x, filters, around(steps), padding, data_format=_layout(rank, data_format), dilations=around(rates),
                        name=scope)


def pool(input: TensorLike, window_shape: Sequence[int], pooling_type: str, padding: str,
         dilation_rate: int | Sequence[int] | None = None, strides: int | Sequence[int] | None = None, name: str | None = None,
         data_format: str | None = None, dilations: int | Sequence[int] | None = None) -> Tensor:
    """The largest or the mean of each window of one, two or three dimensions.

    Parameters
    ----------
    input : tensor_like
        Of shape [batch, *space, channels].
    window_shape : sequence of int
        A size for each dimension of space.
    pooling_type : str
        "MAX" or "AVG".
    padding : str
        "SAME" or "VALID".
    dilation_rate : int or sequence of int, optional
        1; others are not there yet.
    strides : int or sequence of int, optional
        Distance of the windows; 1 by default.
    name : str, optional
        Name of the scope.
    data_format : str, optional
        Begins with "NC" where the channels come second.
    dilations : int or sequence of int, optional
        Other name of `dilation_rate`.

    Returns
    -------
    Tensor
        Of the rank and type of `input`.

    Raises
    ------
    ValueError
        If `pooling_type` is neither of the two.
    NotImplementedError
        If `dilation_rate` is not 1.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     x = tw.reshape(tw.range(4.0), [1, 4, 1])
    ...     sess.run(tw.nn.pool(x, [2], "AVG", "VALID", strides=[2])).squeeze()
    array([0.5, 2.5], dtype=float32)
    """
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        x, rank = convert_to_tensor(input, name="input"), len(window_shape)
        if any(r != 1 for r in _each(dilation_rate if dilations is None else dilations, rank)):
            raise NotImplementedError("pool with a dilation_rate is not there yet")
        if pooling_type not in ("MAX", "AVG"):
            raise ValueError(f"pooling_type must be either MAX or AVG, got {pooling_type}")
        window, steps = list(window_shape), _each(strides, rank)
        axis = 3 if _channels_first(data_format) else 2
        if rank == 1:
            x, window, steps = array_ops.expand_dims(x, axis), [*window, 1], [*steps, 1]
        pools = {(2, "MAX"): windows.max_pool, (2, "AVG"): windows.avg_pool, (3, "MAX"): windows.max_pool3d, (3, "AVG"): windows.avg_pool3d}

        def around(v):
            return [1, 1, *v] if _channels_first(data_format) else [1, *v, 1]
        y = pools[max(rank, 2), pooling_type](x, around(window), around(steps), padding,
                                              data_format=_layout(max(rank, 2), data_format), name=scope)
        return array_ops.squeeze(y, [axis]) if rank == 1 else y


def with_space_to_batch(input: TensorLike, dilation_rate: int | Sequence[int], padding: str,
                        op: Callable[[Tensor, int, str], Tensor], filter_shape: int | Sequence[int] | None = None,
                        spatial_dims: int | Sequence[int] | None = None, data_format: str | None = None) -> Tensor:
    """op(input, number of dimensions of space, padding) on the places that each rate leaves, put together again."""
    x = convert_to_tensor(input, name="input")
    rates = [int(r) for r in dilation_rate]
    if any(r < 1 for r in rates):
        raise ValueError("dilation_rate must be positive")
    if all(r == 1 for r in rates):
        return op(x, len(rates), padding)
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Invalid padding method {padding!r}")
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    dims = list(range(first, first + len(rates))) if spatial_dims is None else sorted(spatial_dims)
    base = [[0, 0]] * len(rates)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for padding='SAME'")
        more = [(int(f) - 1) * r for f, r in zip(list(filter_shape)[:len(rates)], rates)]
        base = [[m // 2, m - m // 2] for m in more]
    blocks = [1] * (dims[-1] - dims[0] + 1) if dims[0] == 1 else [1] * dims[-1]
    pads, begin = [[0, 0]] * len(blocks), 1
    for dim, rate, pad in zip(dims, rates, base):
        blocks[dim - begin], pads[dim - begin] = rate, pad
    sizes = array_ops.shape(x)[1:1 + len(blocks)]
    pads, crops = required_space_to_batch_paddings(sizes, blocks, pads)
    parts = op(apply("SpaceToBatchND", [x, blocks, pads]), len(rates), "VALID")
    return apply("BatchToSpaceND", [parts, blocks, crops])


def avg_pool_v2(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
                data_format: str | None = None, name: str | None = None) -> Tensor:
    """The mean of each window of one, two or three dimensions, as the input has them."""
    x = convert_to_tensor(input)
    rank = len(data_format) - 2 if data_format is not None else None if x.shape.ndims is None else x.shape.ndims - 2
    if rank not in (1, 2, 3):
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {x.shape.ndims}.")
    make = {1: windows.avg_pool1d, 2: windows.avg_pool, 3: windows.avg_pool3d}[rank]
    return make(x, ksize, strides, padding, data_format=data_format or {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank], name=name)
