# SPDX-License-Identifier: Apache-2.0
"""SparseTensor: indices, values and shape that are fed and fetched together."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.default_session import session_of
from thalweg.graph.graph import name_scope
from thalweg.graph.tensor_util import constant_value_as_shape

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import FeedDict, SparseLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Operation

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor:
    """A tensor of which only some elements are stored: values[i] is at indices[i], and everything else is zero.

    Parameters
    ----------
    indices : int64 matrix, [N, rank]
        The place of each element. Most operations take them in row-major order: see tw.sparse_reorder.
    values : vector of any type, [N]
    dense_shape : int64 vector, [rank]

    Raises
    ------
    ValueError
        The shapes do not fit each other.

    Examples
    --------
    >>> x = tw.SparseTensor(indices=[[0, 1], [1, 0]], values=[5, 7], dense_shape=[2, 2])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sparse_tensor_to_dense(x)))
    [[0 5]
     [7 0]]
    """

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self.indices = ops.convert_to_tensor(indices, dtype=dtypes.int64, name="indices")
            self.values = ops.convert_to_tensor(values, name="values")
            self.dense_shape = ops.convert_to_tensor(dense_shape, dtype=dtypes.int64, name="dense_shape")
        indices, sizes = self.indices.shape.with_rank(2), self.dense_shape.shape.with_rank(1)
        indices.dims[0].merge_with(self.values.shape.with_rank(1).dims[0])
        indices.dims[1].merge_with(sizes.dims[0])

    @classmethod
    def from_value(cls, value: SparseLike) -> SparseTensor:
        """The SparseTensor of a SparseTensorValue; a SparseTensor itself."""
        return value if isinstance(value, SparseTensor) else cls(*value)

    @property
    def dtype(self) -> DType: return self.values.dtype
    @property
    def op(self) -> Operation: return self.values.op
    @property
    def graph(self) -> Graph: return self.values.graph

    def get_shape(self) -> TensorShape:
        """The dense shape, as far as it is known before a step."""
        return constant_value_as_shape(self.dense_shape)

    shape = property(get_shape)

    def _fetch_parts(self):
        return [self.indices, self.values, self.dense_shape], lambda values: SparseTensorValue(*values)

    def _feed_parts(self, value):
        return dict(zip((self.indices, self.values, self.dense_shape), value))

    def eval(self, feed_dict: FeedDict | None = None, session: Session | None = None) -> Any:
        """The value in `session`, or the default one, as a SparseTensorValue."""
        return session_of(session, self.values, "evaluate tensor").run(self, feed_dict)

    def __repr__(self):
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"
