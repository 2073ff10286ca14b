# SPDX-License-Identifier: Apache-2.0
"""Values as tensors, more ways; tensors that stay in a session between steps; libraries and loggers."""
import logging
import os

from thalweg import dtypes, graph, math_ops, ops
from thalweg.graph import name_scope
from thalweg.tensor import IndexedSlices


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    """IndexedSlices as they are, all else as a tensor."""
    if isinstance(value, IndexedSlices):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                             f"{value.dtype.name}: {value}")
        return value
    return ops.convert_to_tensor(value, dtype=dtype, name=name)


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    """A SparseTensor of a sparse value, all else as a tensor."""
    from thalweg.sparse import SparseTensor, SparseTensorValue
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {value.dtype.name}")
        return value
    return ops.convert_to_tensor(value, dtype=dtype, name=name)


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Values of a class become tensors by conversion_func(value, dtype=None, name=None, as_ref=False)."""
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(kind, type) for kind in kinds):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    for kind in kinds:
        try:
            kind._as_tensor = lambda self: conversion_func(self, dtype=None, name=None, as_ref=False)
        except TypeError:
            raise TypeError("Cannot register conversions for Python numeric types and NumPy scalars and arrays, nor for "
                            f"classes that cannot be changed: {kind}") from None


def dimension_at_index(shape, index):
    """The dimension of a shape, unknown when its rank is."""
    from thalweg.shapes import Dimension, as_shape
    shape = as_shape(shape)
    return Dimension(None) if shape.ndims is None else shape.dims[index]


def to_complex64(x, name="ToComplex64"):
    return math_ops.cast(x, dtypes.complex64, name=name)


def to_complex128(x, name="ToComplex128"):
    return math_ops.cast(x, dtypes.complex128, name=name)


class TensorHandle(str):
    """What a step gives for get_session_handle: the name of a value in the session, which may be fed."""

    handle = property(lambda self: str(self))

    def get_raw_handle(self):
        return str(self)

    def _run(self, fetch, holder):
        from thalweg.session import get_default_session
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
        import thalweg
        holder, deletion = thalweg.delete_session_tensor(self)
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
    from thalweg.array_ops import placeholder
    with name_scope(name, "DeleteSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, ops.apply("DeleteSessionTensor", [holder])


def get_session_tensor(handle, dtype, name=None):
    """(a placeholder for a handle, the tensor that it stands for)."""
    with name_scope(name, "GetSessionTensor"):
        from thalweg.array_ops import placeholder
        holder = placeholder(dtypes.string)
        return holder, ops.apply("GetSessionTensor", [holder], {"dtype": dtype})


def get_logger():
    """The logger of this package."""
    return logging.getLogger("thalweg")


def load_library(library_location):
    """Loads a library of operations, or all in a directory."""
    from thalweg.framework import load_op_library
    if os.path.isdir(library_location):
        for file in sorted(os.listdir(library_location)):
            if file.endswith(".so"):
                load_op_library(os.path.join(library_location, file))
    elif os.path.exists(library_location):
        load_op_library(library_location)
    else:
        raise OSError(2, f"The file or folder to load kernel libraries from does not exist: {library_location}")


def load_file_system_library(library_filename):
    """TensorFlow's plugins for file systems do not fit here."""
    raise NotImplementedError("file systems by library are not there: " + str(library_filename))
