# SPDX-License-Identifier: Apache-2.0
"""Pixels that belong together, and things that belong to each other."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import math_ops

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


class BipartiteMatch(NamedTuple):
    """For each row the column that it is matched with, for each column the row; -1 for none."""

    row_to_col_match_indices: Any
    col_to_row_match_indices: Any


def bipartite_match(distance_mat: TensorLike, num_valid_rows: TensorLike, top_k: int = -1,
                    name: str = "bipartite_match") -> BipartiteMatch:
    """Matches rows with columns: the two that are nearest first, then the two that are nearest of what is left.

    Parameters
    ----------
    distance_mat : tensor_like
        float32 [rows, columns]. Of equal distances that of the first row counts, then that of the first column.
    num_valid_rows : tensor_like
        A float: how many of the first rows count; all where it is negative.
    top_k : int
        How many matches are made at most; no more than there are where it is not positive.
    name : str
        Of the operation.

    Returns
    -------
    BipartiteMatch
        Two int32 tensors, [rows] and [columns].

    Raises
    ------
    InvalidArgumentError
        In the step: there are fewer rows than `num_valid_rows`.

    Examples
    --------
    >>> matches = tw.contrib.image.bipartite_match([[.5, .1, .8], [.3, .2, .15]], -1)
    >>> with tw.Session() as sess:
    ...     print(sess.run(matches.row_to_col_match_indices))
    [1 2]
    """
    distances = convert_to_tensor(distance_mat, dtypes.float32)
    return BipartiteMatch(*apply("BipartiteMatch", [distances, convert_to_tensor(num_valid_rows, dtypes.float32)], {"top_k": top_k},
                                 name))


def connected_components(images: TensorLike) -> Tensor:
    """The number of the component that each pixel belongs to.

    Pixels of one image with equal values that touch at their sides are a component; components are numbered from 1 through all
    images, in the order of their first pixels.

    Parameters
    ----------
    images : tensor_like
        Of shape [rows, columns] or [batch, rows, columns]. What is 0, False or "" belongs to no component.

    Returns
    -------
    Tensor
        int32, of the shape of `images`; 0 where there is no component.

    Raises
    ------
    TypeError
        The images have another rank.
    ValueError
        The rank is not known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.contrib.image.connected_components([[1, 1, 0], [0, 0, 1]])).tolist())
    [[1, 1, 0], [0, 0, 2]]
    """
    with name_scope("connected_components"):
        given = convert_to_tensor(images, name="images")
        rank = given.shape.ndims
        if rank is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        if rank not in (2, 3):
            raise TypeError(f"images should have rank 2 (HW) or 3 (NHW). Static shape is {given.shape}")
        found = apply("ImageConnectedComponents", [given[None] if rank == 2 else given])
        found = math_ops.cast(found, dtypes.int32)
        return found[0] if rank == 2 else found
