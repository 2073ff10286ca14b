# SPDX-License-Identifier: Apache-2.0
"""Images whose pixels are moved: by a flow that is given, or by one that takes some points to others."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.contrib.image.splines import interpolate_spline
from thalweg.graph.graph import control_dependencies, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_layout, array_ops, checks, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


def _corner(places, size):
    """The pixels before places along one axis, as integers, and how far behind them the places are."""
    last = math_ops.cast(size - 2, places.dtype)
    before = apply("Minimum", [apply("Maximum", [apply("Floor", [places]), 0]), last])
    return math_ops.cast(before, dtypes.int32), apply("Minimum", [apply("Maximum", [places - before, 0]), 1])


def _at(image, places):
    """The image [batch, rows, columns, channels] at places [batch, n, 2] of rows and columns, between four pixels each."""
    shape = array_ops.shape(image)
    batch, rows, columns, channels = (shape[i] for i in range(4))
    enough = [checks.assert_greater_equal(rows, 2, message="Grid height must be at least 2."),
              checks.assert_greater_equal(columns, 2, message="Grid width must be at least 2.")]
    with control_dependencies([check for check in enough if check is not None]):
        row, down = _corner(places[..., 0], rows)
    column, right = _corner(places[..., 1], columns)
    pixels = array_ops.reshape(image, array_ops.stack([batch * rows * columns, channels]))
    first = math_ops.range_(batch)[:, None] * rows * columns

    def pixel(below, beside):
        return array_ops.gather(pixels, first + (row + below) * columns + column + beside)
    right, down = (math_ops.cast(x, image.dtype)[..., None] for x in (right, down))
    top = right * (pixel(0, 1) - pixel(0, 0)) + pixel(0, 0)
    bottom = right * (pixel(1, 1) - pixel(1, 0)) + pixel(1, 0)
    return down * (bottom - top) + top


def dense_image_warp(image: TensorLike, flow: TensorLike, name: str = "dense_image_warp") -> Tensor:
    """Images whose pixel at (row, column) is taken from (row, column) - flow[row, column].

    Parameters
    ----------
    image : tensor_like
        Floats [batch, rows, columns, channels], of two rows and columns at least.
    flow : tensor_like
        [batch, rows, columns, 2]: by how many rows and columns; what lies outside is taken from the edge, NaN is the first one.
    name : str
        Of the operations.

    Returns
    -------
    Tensor
        Of the shape of `image`; values lie between those of four pixels. It has a gradient with respect to both.

    Raises
    ------
    ValueError
        The shapes are of another rank, or do not fit. InvalidArgumentError: there is one row or column only.

    Examples
    --------
    >>> image = tw.reshape(tw.range(4.), [1, 2, 2, 1])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.contrib.image.dense_image_warp(image, [[[[0., .5]] * 2] * 2])[0, ..., 0]).tolist())
    [[0.0, 0.5], [2.0, 2.5]]
    """
    with name_scope(name):
        image, flow = convert_to_tensor(image, name="image"), convert_to_tensor(flow, name="flow")
        for what, tensor in (("image", image), ("flow", flow)):
            if tensor.shape.ndims is not None and tensor.shape.ndims != 4:
                raise ValueError(f"{what} must have rank 4, got shape {tensor.shape}")
        shape = array_ops.shape(image)
        grid = array_layout.meshgrid(*(math_ops.cast(math_ops.range_(shape[i]), flow.dtype) for i in (1, 2)), indexing="ij")
        places = array_ops.stack(grid, axis=2)[None] - flow
        places = array_ops.where(apply("IsNan", [places]), array_ops.zeros_like(places), places)
        made = _at(image, array_ops.reshape(places, array_ops.stack([shape[0], -1, 2])))
        made = array_ops.reshape(made, shape)
        made.set_shape(image.shape)
        return made


def _edge_points(rows, columns, pieces):
    """The points that divide each edge of a rectangle into so many pieces, [n, 2]."""
    y, x = np.meshgrid(np.linspace(0, rows - 1, pieces + 1), np.linspace(0, columns - 1, pieces + 1), indexing="ij")
    at_edge = (y == 0) | (y == rows - 1) | (x == 0) | (x == columns - 1)
    return np.stack([y[at_edge], x[at_edge]], -1).astype(np.float32)


def sparse_image_warp(image: TensorLike, source_control_point_locations: TensorLike, dest_control_point_locations: TensorLike,
                      interpolation_order: int = 2, regularization_weight: float = 0.0, num_boundary_points: int = 0,
                      name: str = "sparse_image_warp") -> tuple[Tensor, Tensor]:
    """Images in which some points are moved to others, and all between them by a spline.

    Parameters
    ----------
    image : tensor_like
        float32 [batch, rows, columns, channels]; rows and columns must be known.
    source_control_point_locations, dest_control_point_locations : tensor_like
        float32 [batch, n, 2], rows and columns: where points are, and where they shall be.
    interpolation_order, regularization_weight
        Of the spline: see `interpolate_spline`.
    num_boundary_points : int
        Into how many pieces points divide each edge that shall stay where they are: 0 for no points, 1 for the four corners.
    name : str
        Of the operations.

    Returns
    -------
    tuple of two Tensors
        The images, and the flow [batch, rows, columns, 2]: see `dense_image_warp`.

    Raises
    ------
    ValueError
        If rows or columns are not known, or the shapes do not fit.

    Examples
    --------
    >>> image = tw.reshape(tw.range(9.), [1, 3, 3, 1])
    >>> warped, flow = tw.contrib.image.sparse_image_warp(image, [[[1., 1.]]], [[[1., 0.]]], num_boundary_points=1)
    >>> with tw.Session() as sess:
    ...     print([round(float(x), 2) for x in sess.run(warped[0, 1, :2, 0])])
    [4.0, 4.55]
    """
    image = convert_to_tensor(image)
    source, target = convert_to_tensor(source_control_point_locations), convert_to_tensor(dest_control_point_locations)
    moves = target - source
    with name_scope(name):
        _, rows, columns, _ = image.shape.as_list()
        if rows is None or columns is None:
            raise ValueError(f"rows and columns of the images must be known, got shape {image.shape}")
        if num_boundary_points > 0:
            edge = np.tile(_edge_points(rows, columns, num_boundary_points)[None], [image.shape[0].value or 1, 1, 1])
            edge = convert_to_tensor(edge)
            if image.shape[0].value is None:
                edge = array_ops.tile(edge, array_ops.stack([array_ops.shape(image)[0], 1, 1]))
            target = array_ops.concat([target, edge], 1)
            moves = array_ops.concat([moves, array_ops.zeros_like(edge)], 1)
        grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), -1).astype(np.float32).reshape(1, -1, 2)
        places = array_ops.tile(convert_to_tensor(grid), array_ops.stack([array_ops.shape(image)[0], 1, 1]))
        flow = interpolate_spline(target, moves, places, interpolation_order, regularization_weight)
        flow = array_ops.reshape(flow, [-1, rows, columns, 2])
        return dense_image_warp(image, flow), flow
