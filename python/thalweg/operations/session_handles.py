# SPDX-License-Identifier: Apache-2.0
"""Tensors that stay in a session between steps, and their handles."""
from thalweg import dtypes
from thalweg.graph import graph, ops
from thalweg.graph.default_session import get_default_session
from thalweg.graph.graph import name_scope
from thalweg.operations.array_ops import placeholder


class TensorHandle(str):
    """What a step gives for get_session_handle: the name of a value in the session, which may be fed."""

    handle = property(lambda self: str(self))

    def get_raw_handle(self):
        return str(self)

    def _run(self, fetch, holder):
        session = get_default_session()
        if session is None:
            raise ValueError("A handle needs the session that it is of as the default session.")
        return session.run(fetch, {holder: str(self)})

    def eval(self, dtype=dtypes.float32):
        """The value in the default session."""
        holder, value = get_session_tensor(self, dtype)
        return self._run(value, holder)

    def delete(self):
        """The value is no longer kept."""
        holder, deletion = delete_session_tensor(self)
        self._run(deletion, holder)


class _SessionHandle:
    """The fetch whose value is a TensorHandle."""

    def __init__(self, tensor):
        self._tensor = tensor

    op = property(lambda self: self._tensor.op)
    graph = property(lambda self: self._tensor.graph)
    dtype = property(lambda self: self._tensor.dtype)
    name = property(lambda self: self._tensor.name)

    def _as_tensor(self):
        return self._tensor

    def _fetch_parts(self):
        return [self._tensor], lambda values: TensorHandle(values[0].decode())


def get_session_handle(data, name=None):
    """A handle of the value, which stays in the session until the handle is deleted."""
    data = ops.convert_to_tensor(data)
    with graph.colocate_with(data):
        return _SessionHandle(ops.apply("GetSessionHandle", [data], name=name))


def delete_session_tensor(handle, name=None):
    """(a placeholder for a handle, the operation that drops its value)."""
    with name_scope(name, "DeleteSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, ops.apply("DeleteSessionTensor", [holder])


def get_session_tensor(handle, dtype, name=None):
    """(a placeholder for a handle, the tensor that it stands for)."""
    with name_scope(name, "GetSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, ops.apply("GetSessionTensor", [holder], {"dtype": dtype})
