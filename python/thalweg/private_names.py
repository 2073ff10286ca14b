# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow's private modules that libraries of its time use (tensorflow.python.framework.ops and others)."""
from thalweg import graph, tensor, variables


class _AnyOf(type):
    """isinstance asks for one of the classes that `_kinds` gives."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls._kinds())


class _TensorLike(metaclass=_AnyOf):
    """Tensors of every sort."""

    @staticmethod
    def _kinds():
        from thalweg import sparse
        return tensor.Tensor, tensor.IndexedSlices, sparse.SparseTensor, variables.Variable


def is_dense_tensor_like(t):
    """Whether a value is a tensor, or a variable that is one where it is used."""
    return isinstance(t, (tensor.Tensor, variables.Variable))


def _as_graph_element(obj):
    """The tensor of a variable; None of what is none."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if convert is not None else obj if isinstance(obj, (tensor.Tensor, tensor.Operation)) else None


def get_to_proto_function(collection_name=None):
    """None: collections of values other than tensors and variables are left out of files."""


def uid():
    """A number that this process has not used yet."""
    _uids[0] += 1
    return _uids[0]


_uids = [0]


def inside_function():
    """Whether a function's body is being made."""
    return graph.get_default_graph()._captures is not None


def executing_eagerly_outside_functions():
    return False
