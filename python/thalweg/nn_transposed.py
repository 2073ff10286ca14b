# SPDX-License-Identifier: Apache-2.0
"""Functions of tw.nn: transposed convolutions, pooling of any rank, losses of batches that are cut in parts."""
from thalweg import array_ops, math_ops, nn
from thalweg.graph import name_scope
from thalweg.ops import apply, convert_to_tensor


def _each(values, rank):
    values = [1] if values is None else [values] if isinstance(values, int) else [int(v) for v in values]
    if len(values) == rank + 2:
        return None
    if len(values) not in (1, rank):
        raise ValueError(f"expected 1, {rank} or {rank + 2} numbers, found {values}")
    return values * rank if len(values) == 1 else values


def _along(values, rank, data_format):
    """One number for each of all dimensions."""
    each = _each(values, rank)
    if each is None:
        return [int(v) for v in values]
    return [1, 1, *each] if data_format.startswith("NC") else [1, *each, 1]


def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC",  # noqa: A002
                     dilations=None, name=None):
    """The gradient of conv1d as an operation of its own; filters are [width, out, in]."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        data_format = data_format or "NWC"
        if data_format not in ("NWC", "NCW", "NHWC", "NCHW"):
            raise ValueError(f"data_format must be \"NWC\" or \"NCW\", got {data_format!r}")
        first = data_format.startswith("NC")
        axis, wide = (2, "NCHW") if first else (1, "NHWC")
        steps, rates = (_along(v, 1, data_format) for v in (strides, dilations))
        sizes = array_ops._shape_argument(output_shape)
        sizes = array_ops.concat([sizes[:axis], [1], sizes[axis:]], 0)
        made = apply("Conv2DBackpropInput", [sizes, array_ops.expand_dims(filters, 0), array_ops.expand_dims(input, axis)],
                     {"strides": steps[:axis] + [1] + steps[axis:], "dilations": rates[:axis] + [1] + rates[axis:],
                      "padding": padding, "data_format": wide})
        return array_ops.squeeze(made, [axis], name=scope)


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None,  # noqa: A002
                   name=None):
    """The transposed convolution of one, two or three dimensions, as the length of output_shape says."""
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        shape = array_ops._shape_argument(output_shape)
        if shape.shape.ndims != 1:
            raise ValueError("output_shape must be a vector")
        rank = shape.shape[0].value - 2
        if rank not in (1, 2, 3):
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {rank + 2}.")
        make = {1: conv1d_transpose, 2: nn.conv2d_transpose, 3: nn.conv3d_transpose}[rank]
        data_format = data_format or {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank]
        return make(input, filters, shape, _along(strides, rank, data_format), padding=padding, data_format=data_format,
                    dilations=_along(dilations, rank, data_format), name=scope)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """The gradient of atrous_conv2d as an operation of its own."""
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        if padding not in ("SAME", "VALID"):
            raise ValueError("`padding` must be either \"VALID\" or \"SAME\"")
        return apply("Conv2DBackpropInput", [array_ops._shape_argument(output_shape), filters, value],
                     {"strides": [1, 1, 1, 1], "dilations": [1, rate, rate, 1], "padding": padding}, name=scope)


def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None):  # noqa: A002
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
    import thalweg
    pads, crops = thalweg.required_space_to_batch_paddings(sizes, blocks, pads)
    parts = op(apply("SpaceToBatchND", [x, blocks, pads]), len(rates), "VALID")
    return apply("BatchToSpaceND", [parts, blocks, crops])


def avg_pool_v2(input, ksize, strides, padding, data_format=None, name=None):  # noqa: A002
    """The mean of each window of one, two or three dimensions, as the input has them."""
    x = convert_to_tensor(input)
    rank = len(data_format) - 2 if data_format is not None else None if x.shape.ndims is None else x.shape.ndims - 2
    if rank not in (1, 2, 3):
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {x.shape.ndims}.")
    make = {1: nn.avg_pool1d, 2: nn.avg_pool, 3: nn.avg_pool3d}[rank]
    return make(x, ksize, strides, padding, data_format=data_format or {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank], name=name)


def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None,
                                         scale_after_normalization=None, name=None, input=None, mean=None,  # noqa: A002
                                         variance=None):
    """batch_normalization, of which gamma counts only where it is asked for."""
    x, m, v = (new if old is None else old for old, new in ((t, input), (m, mean), (v, variance)))
    return nn.batch_normalization(x, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of the losses of examples over the size of the whole batch."""
    loss = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        loss = loss * math_ops.cast(sample_weight, loss.dtype.base_dtype)
    count = array_ops.shape(loss)[0] if global_batch_size is None else global_batch_size
    return math_ops.reduce_sum(loss) / math_ops.cast(count, loss.dtype.base_dtype)


def scale_regularization_loss(regularization_loss):
    """The sum of the losses; there is one replica."""
    return math_ops.reduce_sum(regularization_loss)
