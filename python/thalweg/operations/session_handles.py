# SPDX-License-Identifier: Apache-2.0
"""Tensors that stay in a session between steps, and their handles."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph, ops
from thalweg.graph.default_session import get_default_session
from thalweg.graph.graph import name_scope
from thalweg.operations.array_ops import placeholder

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import AsTensor, DTypeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Operation, Tensor


class TensorHandle(str):
    """What a step gives for get_session_handle: the name of a value in the session, which may be fed."""

    @property
    def handle(self) -> str: return str(self)

    def get_raw_handle(self) -> str:
        return str(self)

    def _run(self, fetch, holder):
        session = get_default_session()
        if session is None:
            raise ValueError("A handle needs the session that it is of as the default session.")
        return session.run(fetch, {holder: str(self)})

    def eval(self, dtype: DTypeLike = dtypes.float32) -> Any:
        """The value in the default session."""
        holder, value = get_session_tensor(self, dtype)
        return self._run(value, holder)

    def delete(self) -> None:
        """The value is no longer kept."""
        holder, deletion = delete_session_tensor(self)
        self._run(deletion, holder)


class _SessionHandle:
    """The fetch whose value is a TensorHandle."""

    def __init__(self, tensor: TensorLike) -> None:
        self._tensor = tensor

    @property
    def op(self) -> Operation: return self._tensor.op
    @property
    def graph(self) -> Graph: return self._tensor.graph
    @property
    def dtype(self) -> DType: return self._tensor.dtype
    @property
    def name(self) -> str: return self._tensor.name

    def _as_tensor(self) -> Tensor:
        return self._tensor

    def _fetch_parts(self):
        return [self._tensor], lambda values: TensorHandle(values[0].decode())


def get_session_handle(data: TensorLike, name: str | None = None) -> AsTensor:
    """A handle of the value, which stays in the session until the handle is deleted."""
    data = ops.convert_to_tensor(data)
    with graph.colocate_with(data):
        return _SessionHandle(ops.apply("GetSessionHandle", [data], name=name))


def delete_session_tensor(handle: TensorLike, name: str | None = None) -> tuple[Tensor, Operation]:
    """(a placeholder for a handle, the operation that drops its value)."""
    with name_scope(name, "DeleteSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, ops.apply("DeleteSessionTensor", [holder])


def get_session_tensor(handle: TensorLike, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(a placeholder for a handle, the tensor that it stands for)."""
    with name_scope(name, "GetSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, ops.apply("GetSessionTensor", [holder], {"dtype": dtype})
