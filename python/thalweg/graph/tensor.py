# SPDX-License-Identifier: Apache-2.0
"""Tensor and Operation: handles of what the core holds, with operators."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from thalweg import _core, dtypes, errors
from thalweg.graph.default_session import session_of
from thalweg.graph.shapes import TensorShape, dims_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from thalweg.base.typing import Array, DTypeLike, Element, FeedDict, Operators, ShapeLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.messages import NodeDef, OpDef
else:
    Operators = object  # operators.py adds them


class Operation(_core.Operation):
    """A node of a graph. tw.Operation(node_def, graph, inputs) adds one as its message says."""

    def __new__(cls, node_def: NodeDef, g: Graph, inputs: list[Tensor] | None = None,
                output_types: Sequence[DTypeLike] | None = None, control_inputs: Sequence[Element] | None = None,
                input_types: Sequence[DTypeLike] | None = None, original_op: Operation | None = None,
                op_def: OpDef | None = None) -> Operation:
        from thalweg import messages
        if not isinstance(node_def, messages.NodeDef):
            raise TypeError(f"node_def needs to be a NodeDef: {node_def}")
        inputs = [] if inputs is None else inputs
        if not isinstance(inputs, list) or not all(isinstance(i, Tensor) for i in inputs):
            raise TypeError(f"input needs to be a Tensor: {inputs}")
        return g._create_of(node_def, inputs, list(control_inputs or []))

    @property
    def node_def(self) -> NodeDef:
        """The operation as a message."""
        from thalweg import messages
        return messages.NodeDef.FromString(self._node_def())

    @property
    def op_def(self) -> OpDef | None:
        """The OpDef of the kind of operation."""
        from thalweg.graph import op_definitions
        return op_definitions.definition_of(self.type)

    @property
    def traceback(self) -> list[str]:
        """The line that made it."""
        return [self.site]

    def get_attr(self, name: str) -> Any:
        """The attribute as a Python value: a number, bytes, DType, TensorShapeProto, TensorProto or a list of them."""
        from thalweg import messages
        from thalweg.graph import attributes
        return attributes.value_of_attr(messages.AttrValue.FromString(self._attr(name)))

    def values(self) -> tuple[Tensor, ...]:
        """The tensors it makes."""
        return tuple(self.outputs)

    def run(self, feed_dict: FeedDict | None = None, session: Session | None = None) -> None:
        """Runs the operation in `session`, or the default one."""
        session_of(session, self, "execute operation").run(self, feed_dict)

    def colocation_groups(self) -> list[bytes]:
        """The names of what it runs beside, as b"loc:@name"."""
        try:
            return self.get_attr("_class")
        except ValueError:
            return [f"loc:@{self.name}".encode()]

    def _set_device(self, device):
        """Before a session has seen the operation: libraries do it."""
        self.graph._set_device(self, device.to_string() if hasattr(device, "to_string") else device or "")

    def _set_attr(self, attr_name, attr_value):
        """An attribute that begins with _, from an AttrValue; as above."""
        self.graph._set_annotation(self, attr_name, attr_value.SerializeToString())

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self):
        return str(self.node_def)


def has_value(value: object) -> bool:
    """Whether it is a tensor that has its value, as all have where operations run at once."""
    return isinstance(value, _core.EagerTensor)


def name_of(tensor: Tensor) -> str:
    """The name of a tensor for a message; nothing where it has a value instead."""
    return getattr(tensor, "name", "")


def op_name_of(tensor: Tensor) -> str:
    """The name of what makes a tensor; nothing where it has a value instead."""
    return "" if has_value(tensor) else tensor.op.name


def _refuse(what: str, instead: str) -> NoReturn:
    raise errors.OperatorNotAllowedInGraphError(f"{what} is not allowed in Graph execution. {instead}")


def no_value(attribute: str) -> str:
    """What to do where TensorFlow 2 has values at once."""
    return ": a graph's tensor has a value only in a session: with tf.Session() as sess: sess.run(tensor)" \
        if attribute == "numpy" else ""


class Tensor(_core.Tensor, Operators):
    """An output of an operation: a value in every step."""

    def __new__(cls, op: Operation, value_index: int, dtype: DTypeLike) -> Tensor:
        if not isinstance(op, Operation):
            raise TypeError(f"op needs to be an Operation: {op}")
        found = op.outputs[value_index]
        if dtypes.as_dtype(dtype) != found.dtype:
            raise TypeError(f"{found} has not the type {dtypes.as_dtype(dtype).name}")
        return found

    __array_priority__ = 100  # so that array + tensor asks the tensor

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return dtypes._BY_NUMBER[self._dtype]

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known before a step."""
        return TensorShape(self._dims)

    def get_shape(self) -> TensorShape:
        """The shape, as far as it is known before a step. The same as `shape`.

        Returns
        -------
        TensorShape

        Examples
        --------
        >>> tw.placeholder(tw.float32, [None, 3]).get_shape()
        TensorShape([Dimension(None), Dimension(3)])
        """
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Tells more about the shape than the graph does; what is made of the tensor from now on knows it too.

        Parameters
        ----------
        shape : TensorShape or list of int or None

        Raises
        ------
        ValueError
            It contradicts what is known.

        Examples
        --------
        >>> x = tw.placeholder(tw.float32)
        >>> x.set_shape([None, 3])
        >>> (x * 2.0).shape.as_list()
        [None, 3]
        """
        self.graph._set_shape(self, TensorShape(shape)._dims)

    @property
    def device(self) -> str:
        """The device that its operation asks for, "" for any."""
        return self.op.device

    def consumers(self) -> list[Operation]:
        """The operations that read this tensor."""
        return [op for op in self.graph._nodes(self.op._id + 1) + self.graph._nodes(0, self.op._id + 1)
                if self in op.inputs]

    def eval(self, feed_dict: FeedDict | None = None, session: Session | None = None) -> Any:
        """The value, in a step of its own.

        Parameters
        ----------
        feed_dict : dict, optional
            Tensors, or their names, and the values they have in the step.
        session : Session, optional
            The default one unless given.

        Returns
        -------
        numpy array or scalar
            Of strings: bytes, or an array of objects.

        Raises
        ------
        ValueError
            There is no session, or it is one of another graph.

        Examples
        --------
        >>> x = tw.constant([1, 2]) * 2
        >>> with tw.Session():
        ...     print(x.eval())
        [2 4]
        """
        return session_of(session, self, "evaluate tensor").run(self, feed_dict)

    def _as_graph_element(self):
        return self

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        shape = "" if self.shape.ndims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __iter__(self) -> NoReturn:
        _refuse("iterating over `tf.Tensor`", "To iterate, use tf.map_fn or tf.unstack.")

    def __len__(self) -> NoReturn:
        raise TypeError(f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` rather than "
                        "`len(x)` for shape information.")

    def __bool__(self) -> NoReturn:
        _refuse("using a `tf.Tensor` as a Python `bool`", "Use `if t is not None:` to test if a tensor is defined, and "
                "tf.cond to run parts of the graph by the value of a tensor.")

    __nonzero__ = __bool__

    # The operators that classes which stand for tensors hand on.
    OVERLOADABLE_OPERATORS = {f"__{name}__" for name in (
        "abs add and div eq floordiv ge getitem gt invert le lt matmul mod mul ne neg or pow radd rand rdiv rfloordiv rmatmul rmod "
        "rmul ror rpow rsub rtruediv rxor sub truediv xor").split()}

    if not TYPE_CHECKING:  # which know what there is
        def __getattr__(self, name: str):
            raise AttributeError(f"'Tensor' object has no attribute '{name}'" + no_value(name))

    def __array__(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")


class IndexedSlicesValue(NamedTuple):
    """What a session gives for IndexedSlices."""

    values: Array
    indices: Array
    dense_shape: Array | None = None


class IndexedSlices:
    """Rows of a tensor: values[i] belongs at row indices[i]. What the gradient of a gather is."""

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.values.dtype

    @property
    def name(self) -> str:
        """The name of its values."""
        return self.values.name

    @property
    def op(self) -> Operation:
        """The operation that makes its values."""
        return self.values.op

    @property
    def graph(self) -> Graph:
        """The graph of its values."""
        return self.values.graph

    @property
    def device(self) -> str:
        """The device of its values."""
        return self.values.device

    def __repr__(self):
        dense = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{dense})"


__all__ = ["IndexedSlices", "Operation", "Tensor", "dims_of"]
