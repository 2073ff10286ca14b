# SPDX-License-Identifier: Apache-2.0
"""Variables where operations run at once: they have their value when they are made."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.eager.context import EagerOperation
from thalweg.eager.tapes import tapes
from thalweg.eager.tensor import EagerTensor, value_text
from thalweg.graph import graph, ops
from thalweg.graph.shapes import TensorShape
from thalweg.variables.variable_modes import modes
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn, Self

    from thalweg.base.typing import Array, Constraint, Device, DTypeLike, ShapeLike, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_modes import VariableAggregation, VariableSynchronization

_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"  # of which every run makes a new one, which lives as long as its handles


class EagerVariable(Variable):
    """A variable that has its value at once."""

    _is_eager = True

    def __init__(self, initial_value: Any = None, trainable: bool | None = None, collections: Sequence[str] | None = None,
                 validate_shape: bool = True, caching_device: Device = None, name: str | None = None, variable_def: object = None,
                 dtype: DTypeLike | None = None, expected_shape: ShapeLike = None, import_scope: str | None = None,
                 constraint: Constraint | None = None, use_resource: bool | None = None,
                 synchronization: VariableSynchronization | None = None, aggregation: VariableAggregation | None = None,
                 shape: ShapeLike = None) -> None:
        if variable_def is not None:
            raise ValueError("Creating Variable from variable_def is not supported when eager execution is enabled.")
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self._synchronization, self._aggregation, self._trainable = modes(name, synchronization, aggregation, trainable)
        self._graph = graph.get_default_graph()
        self._resource, self.constraint, self._save_slice_info = True, constraint, None
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        with graph.name_scope(name, "Variable") as scope:
            with graph.name_scope("Initializer"):
                value = ops.convert_to_tensor(initial_value() if callable(initial_value) else initial_value, dtype=dtype)
        self._name = scope[:-1]
        self._dtype = value.dtype.base_dtype
        self._shape = TensorShape(shape) if shape is not None else value.shape if validate_shape else TensorShape(None)
        self._handle = ops.apply("VarHandleOp", [], {"dtype": self._dtype, "shape": self._shape, "shared_name": _ANONYMOUS})
        ops.apply("AssignVariableOp", [self._handle, value])
        self._graph.add_to_collections(collections or [], self)

    # ---- what it is ----
    @property
    def name(self) -> str: return f"{self._name}:0"
    @property
    def _shared_name(self): return self._name
    @property
    def shape(self) -> TensorShape: return self._shape

    @property
    def op(self) -> EagerOperation: return EagerOperation("VarHandleOp", [], [self._handle], [], self._name)
    @property
    def graph(self) -> Graph: return self._graph
    @property
    def _unique_id(self): return self._handle._id
    @property
    def device(self) -> str: return self._handle.device

    @property
    def handle(self) -> Tensor:
        """What operations know it by."""
        self._is_read()
        return self._handle

    @property
    def initializer(self) -> None: return None

    @property
    def initial_value(self) -> NoReturn:
        raise RuntimeError("initial_value not supported in EAGER mode.")

    @property
    def create(self) -> NoReturn:
        raise RuntimeError("Calling create is not supported when eager execution is enabled.")

    def set_shape(self, shape: ShapeLike) -> None:
        self._shape = self._shape.merge_with(shape)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether it has a value."""
        return ops.apply("VarIsInitializedOp", [self._handle], name=name)

    # ---- its value ----
    @property
    def _ref_tensor(self):
        body = graph.get_default_graph()
        return self._handle if body._captures is None else body.inside(self._handle)

    def _is_read(self):
        body = graph.get_default_graph()
        if body._captures is not None:  # who calls the function reads it then
            body.__dict__.setdefault("_variables_read", {})[id(self)] = self
        elif self._trainable and tapes.stack:
            tapes.read(self)

    def _as_tensor(self) -> Tensor:
        self._is_read()
        return ops.apply("ReadVariableOp", [self._handle], {"dtype": self._dtype})

    def _as_graph_element(self):
        return self._as_tensor()

    def _ref(self):
        return self._handle

    def read_value(self) -> Tensor:
        """The value now."""
        return self._as_tensor()

    def initialized_value(self) -> Tensor:
        """The value."""
        return self._as_tensor()

    def numpy(self) -> Any:
        """The value as a numpy array or scalar of the caller's own."""
        return self._as_tensor().numpy()

    def eval(self, session: object = None) -> NoReturn:
        raise RuntimeError("Trying to eval in EAGER mode")

    def load(self, value: TensorLike, session: object = None) -> None:
        """Sets the value."""
        self.assign(value)

    def _update(self, ref_op, resource_op, delta, use_locking, name, read_value):
        delta = ops.convert_to_tensor(delta, dtype=self._dtype)
        if resource_op == "AssignVariableOp":
            self._shape.assert_is_compatible_with(delta.shape)
        ops.apply(resource_op, [self._handle, delta], name=name)
        return self._updated() if read_value else None

    def _updated(self) -> Self:
        """What an update gives: the variable under another name."""
        made = EagerVariable.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._name = "UnreadVariable"
        return made

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        self._is_read()
        return super().sparse_read(indices, name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        self._is_read()
        return super().gather_nd(indices, name)

    def count_up_to(self, limit: int) -> Tensor:
        return ops.apply("ResourceCountUpTo", [self._handle], {"limit": limit, "T": self._dtype})

    def to_proto(self, export_scope: str | None = None) -> NoReturn:
        raise RuntimeError("to_proto not supported in EAGER mode.")

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        return self._as_tensor().__array__(dtype)

    def __bool__(self) -> bool:
        return bool(self._as_tensor())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._as_tensor())

    def __float__(self) -> float:
        return float(self._as_tensor())

    def __complex__(self) -> complex:
        return complex(self._as_tensor())

    def __index__(self) -> int:
        return self._as_tensor().__index__()

    def __copy__(self) -> EagerVariable:
        return self

    def __deepcopy__(self, memo: object) -> EagerVariable:
        return EagerVariable(self._as_tensor(), trainable=self._trainable, constraint=self.constraint, name=self._name)

    def __repr__(self) -> str:
        value = ops.apply("ReadVariableOp", [self._handle], {"dtype": self._dtype})
        assert isinstance(value, EagerTensor)
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self._dtype.name}, numpy={value_text(value, True)}>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other
