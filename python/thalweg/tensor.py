# SPDX-License-Identifier: Apache-2.0
"""Tensor and Operation: handles of what the core holds, with operators."""
from thalweg import _core, dtypes
from thalweg.shapes import TensorShape, dims_of


def _ops():
    from thalweg import ops
    return ops


class Operation(_core.Operation):
    """A node of a graph. tw.Operation(node_def, graph, inputs) adds one as its message says."""

    def __new__(cls, node_def, g, inputs=None, output_types=None, control_inputs=None, input_types=None, original_op=None,
                op_def=None):
        from thalweg import messages
        if not isinstance(node_def, messages.NodeDef):
            raise TypeError(f"node_def needs to be a NodeDef: {node_def}")
        inputs = [] if inputs is None else inputs
        if not isinstance(inputs, list) or not all(isinstance(i, Tensor) for i in inputs):
            raise TypeError(f"input needs to be a Tensor: {inputs}")
        attrs = [(name, "p", value.SerializeToString()) for name, value in node_def.attr.items()]
        with g.as_default(), g.device(node_def.device or ""):
            return _ops()._create(node_def.op, node_def.name + "/", list(inputs), attrs, list(control_inputs or []))

    @property
    def node_def(self):
        from thalweg import messages
        return messages.NodeDef.FromString(self._node_def())

    @property
    def traceback(self):
        return [self.site]

    def get_attr(self, name):
        """The attribute as a Python value: a number, bytes, DType, TensorShapeProto, TensorProto or a list of them."""
        from thalweg import attributes, messages
        return attributes.value_of_attr(messages.AttrValue.FromString(self._attr(name)))

    def values(self):
        return tuple(self.outputs)

    def run(self, feed_dict=None, session=None):
        """Runs the operation in `session`, or the default one."""
        _session(session, self, "run operation").run(self, feed_dict)

    def colocation_groups(self):
        try:
            return self.get_attr("_class")
        except ValueError:
            return [f"loc:@{self.name}".encode()]

    def _set_device(self, device):
        raise NotImplementedError("the device of an operation is set where it is made: with tw.device(...)")

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


def _session(session, what, purpose):
    if session is None:
        from thalweg.session import get_default_session
        session = get_default_session()
        if session is None:
            raise ValueError(f"Cannot {purpose} using `{'run' if isinstance(what, Operation) else 'eval'}()`: No default "
                             "session is registered. Use `with sess.as_default()` or pass an explicit session.")
    if session.graph is not what.graph:
        raise ValueError(f"Cannot use the given session to {purpose}: the {type(what).__name__.lower()}'s graph is "
                         "different from the session's graph.")
    return session


def _refuse(what, instead):
    from thalweg.errors import OperatorNotAllowedInGraphError
    raise OperatorNotAllowedInGraphError(f"{what} is not allowed in Graph execution. {instead}")


class Tensor(_core.Tensor):
    """An output of an operation: a value in every step."""

    def __new__(cls, op, value_index, dtype):
        if not isinstance(op, Operation):
            raise TypeError(f"op needs to be an Operation: {op}")
        found = op.outputs[value_index]
        if dtypes.as_dtype(dtype) != found.dtype:
            raise TypeError(f"{found} has not the type {dtypes.as_dtype(dtype).name}")
        return found

    __array_priority__ = 100  # so that array + tensor asks the tensor

    @property
    def dtype(self):
        return dtypes._BY_NUMBER[self._dtype]

    @property
    def shape(self):
        return TensorShape(self._dims)

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        """Tells more about the shape than the graph does; what is made of the tensor from now on knows it too."""
        self.graph._set_shape(self, TensorShape(shape)._dims)

    @property
    def device(self):
        return self.op.device

    def consumers(self):
        """The operations that read this tensor."""
        return [op for op in self.graph._nodes(self.op._id + 1) + self.graph._nodes(0, self.op._id + 1)
                if self in op.inputs]

    def eval(self, feed_dict=None, session=None):
        """The value in `session`, or the default one."""
        return _session(session, self, "evaluate tensor").run(self, feed_dict)

    def _as_graph_element(self):
        return self

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        shape = "" if self.shape.ndims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __iter__(self):
        _refuse("iterating over `tf.Tensor`", "To iterate, use tf.map_fn or tf.unstack.")

    def __len__(self):
        raise TypeError(f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` rather than "
                        "`len(x)` for shape information.")

    def __bool__(self):
        _refuse("using a `tf.Tensor` as a Python `bool`", "Use `if t is not None:` to test if a tensor is defined, and "
                "tf.cond to run parts of the graph by the value of a tensor.")

    def __array__(self, *_args, **_kwargs):
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")

    def __getitem__(self, key):
        return strided_slice_of(self, key)


def strided_slice_of(tensor, key, variable=None):
    """tensor[key] as one StridedSlice; key has numbers, slices, ..., None and scalar tensors."""
    ops = _ops()
    keys = key if isinstance(key, (tuple, list)) else (key,)
    begin, end, strides = [], [], []
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    for i, k in enumerate(keys):
        bit = 1 << i
        first, last, step = 0, 0, 1
        if isinstance(k, slice):
            first, last, step = (0 if k.start is None else k.start, 0 if k.stop is None else k.stop,
                                 1 if k.step is None else k.step)
            masks["begin_mask"] |= bit if k.start is None else 0
            masks["end_mask"] |= bit if k.stop is None else 0
        elif k is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif k is None:
            masks["new_axis_mask"] |= bit
        else:
            if isinstance(k, (str, float)):
                raise TypeError(f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
                                f"tf.int32/tf.int64 tensors are valid indices, got {k!r}")
            first, last = k, k + 1
            masks["shrink_axis_mask"] |= bit
        begin.append(first)
        end.append(last)
        strides.append(step)
    from thalweg.graph import name_scope
    with name_scope(None, "strided_slice", [tensor]) as scope:
        packed = [_pack_indices(part) for part in (begin, end, strides)]
        return ops.apply("StridedSlice", [tensor, *packed], masks, name=scope)


def _pack_indices(parts):
    """A vector of the numbers, or of numbers and scalar tensors."""
    from thalweg.array_ops import stack
    if any(isinstance(p, Tensor) for p in parts):
        wanted = dtypes.int64 if any(isinstance(p, Tensor) and p.dtype == dtypes.int64 for p in parts) else dtypes.int32
        return stack([_ops().convert_to_tensor(p, dtype=wanted) for p in parts])
    return _ops().constant([int(p) for p in parts], dtypes.int32, name="stack")


class IndexedSlices:
    """Rows of a tensor: values[i] belongs at row indices[i]. What the gradient of a gather is."""

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def name(self):
        return self.values.name

    @property
    def op(self):
        return self.values.op

    @property
    def graph(self):
        return self.values.graph

    @property
    def device(self):
        return self.values.device

    def __repr__(self):
        return f"IndexedSlices(indices={self.indices}, values={self.values})"


def _binary(op, python_name):
    def operate(self, other):
        return _ops().binary(op, self, other)
    operate.__name__ = python_name
    return operate


def _reflected(op, python_name):
    def operate(self, other):
        return _ops().binary(op, other, self)
    operate.__name__ = python_name
    return operate


_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod",
              "pow": "pow", "matmul": "matmul", "and": "and", "or": "or", "xor": "xor", "div": "truediv"}


def add_operators(cls):
    """Arithmetic on anything that converts to a tensor."""
    for name, op in _OPERATORS.items():
        setattr(cls, f"__{name}__", _binary(op, f"__{name}__"))
        setattr(cls, f"__r{name}__", _reflected(op, f"__r{name}__"))
    for name in ("lt", "le", "gt", "ge"):
        setattr(cls, f"__{name}__", _binary(name, f"__{name}__"))
    cls.__neg__ = lambda self: _ops().apply("Neg", [self], {}, name="Neg")
    cls.__abs__ = lambda self: _ops().apply("Abs", [self], {}, name="Abs")
    cls.__invert__ = lambda self: _ops().apply("LogicalNot", [self], {}, name="LogicalNot")
    return cls


add_operators(Tensor)
__all__ = ["IndexedSlices", "Operation", "Tensor", "dims_of"]
