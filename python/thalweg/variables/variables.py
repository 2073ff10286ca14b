# SPDX-License-Identifier: Apache-2.0
"""Variable: a tensor that lives on between steps; what initializes and lists them."""
from __future__ import annotations

import contextlib
import functools
import importlib
from typing import TYPE_CHECKING, overload

from thalweg import dtypes, messages
from thalweg.control.control_flow import cond
from thalweg.graph import graph, ops, proto_functions
from thalweg.graph.default_session import get_default_session
from thalweg.graph.graph import GraphKeys
from thalweg.graph.operators import add_operators, strided_slice_of
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import IndexedSlices, Tensor, no_value
from thalweg.operations import array_ops
from thalweg.variables.save_slices import SaveSliceInfo
from thalweg.variables.scattering import batch_scatter_update, scatter, scatter_nd
from thalweg.variables.variable_modes import Reference, VariableAggregation, VariableSynchronization, modes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Literal

    from thalweg.base.typing import Constraint, Device, DTypeLike, Operators, ShapeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation
    from thalweg.messages import VariableDef
else:
    Operators = object  # add_operators gives them

_AT_ONCE = "thalweg.variables.eager_variables"
_use_resource = False


def enable_resource_variables() -> None:
    """New variables are resources from now on, unless they say otherwise."""
    global _use_resource
    _use_resource = True


def disable_resource_variables() -> None:
    """New variables are references from now on, unless they say otherwise."""
    global _use_resource
    _use_resource = False


def are_made_at_once() -> bool:
    """Whether variables made here have their values at once."""
    body = graph.get_default_graph()
    return (body if body._lift_variable is None else body.outermost())._executes


class _Made(type):
    """Variables are made by the functions of variable_creator_scope, where there are any."""

    def __call__(cls, *args: object, **kwargs: object):
        if cls is Variable and are_made_at_once():
            body = graph.get_default_graph()
            if body._lift_variable is not None:  # of a tf.function: variables live outside
                body._lift_variable()
                with body.outermost().as_default():
                    return cls(*args, **kwargs)
            cls = importlib.import_module(_AT_ONCE).EagerVariable  # derived from Variable, and few programs run operations at once
        creators = graph.get_default_graph().__dict__.get("_variable_creators") if cls is Variable or cls._is_eager else None
        if not creators:
            return super().__call__(*args, **kwargs)
        given = dict(zip(_ARGUMENTS, args), **kwargs)
        for name in _ARGUMENTS:
            given.setdefault(name, _DEFAULTS.get(name))

        def make(**kwargs):
            return super(_Made, cls).__call__(**{n: v for n, v in kwargs.items() if n in _ARGUMENTS})
        for creator in creators:
            make = functools.partial(creator, make)
        return make(**given)


_ARGUMENTS = ("initial_value trainable collections validate_shape caching_device name variable_def dtype expected_shape import_scope "
              "constraint use_resource synchronization aggregation shape").split()
_DEFAULTS = {"validate_shape": True, "synchronization": VariableSynchronization.AUTO, "aggregation": VariableAggregation.NONE}


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., object]) -> Iterator[None]:
    """Variables that are made meanwhile are what variable_creator(next_creator, **arguments) gives; the innermost scope is
    asked first, and next_creator asks the one around it."""
    target = graph.get_default_graph()
    before = target.__dict__.get("_variable_creators", ())
    target._variable_creators = (*before, variable_creator)
    try:
        yield
    finally:
        target._variable_creators = before


class Variable(Operators, metaclass=_Made):
    """A tensor that lives on between the steps of a session, set by its `initializer`, by assign and by optimizers.

    Parameters
    ----------
    initial_value : tensor, value, or callable that gives one
    trainable : bool, optional
        Whether optimizers change it; True unless given.
    collections : list of str, optional
        GraphKeys.GLOBAL_VARIABLES unless given.
    validate_shape : bool, optional
        Whether the shape must be known.
    caching_device : str or callable, optional
        Where reads are kept.
    name : str, optional
        Made unique.
    variable_def : VariableDef, optional
        Instead of all others but `import_scope`: the variable that it names.
    dtype : DType, optional
        To which the value is converted.
    expected_shape : optional
        Has no effect.
    import_scope : str, optional
    constraint : callable, optional
        What optimizers apply to the value after a change.
    use_resource : bool, optional
        False, 1.15's default: a reference, where a read sees the value at the moment it is used. True: a resource, whose reads are
        operations of their own.
    synchronization, aggregation : VariableSynchronization, VariableAggregation, optional
    shape : optional
        Has no effect.

    Raises
    ------
    ValueError
        There is no initial value, or its shape is not known and `validate_shape`.

    Examples
    --------
    >>> v = tw.Variable([1.0, 2.0], name="v")
    >>> twice = v.assign(v * 2.0)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     _ = sess.run(twice)
    ...     print(sess.run(v))
    [2. 4.]
    """

    __array_priority__ = 100
    SaveSliceInfo = SaveSliceInfo
    _is_eager = False

    def __init__(self, initial_value: TensorLike | Callable[[], TensorLike] | None = None, trainable: bool | None = None,
                 collections: Sequence[str] | None = None, validate_shape: bool = True, caching_device: Device = None,
                 name: str | None = None, variable_def: VariableDef | None = None, dtype: DTypeLike | None = None,
                 expected_shape: ShapeLike = None, import_scope: str | None = None, constraint: Constraint | None = None,
                 use_resource: bool | None = None, synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                 aggregation: VariableAggregation = VariableAggregation.NONE, shape: ShapeLike = None) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        body = graph.get_default_graph()
        if body._lift_variable is not None:  # of a tf.function: variables live outside, as resources
            body._lift_variable()
            with body.outermost().as_default():
                self.__init__(initial_value, trainable, collections, validate_shape, caching_device, name, variable_def, dtype,
                              expected_shape, import_scope, constraint, True, synchronization, aggregation, shape)
            return
        self._synchronization, self._aggregation, self._trainable = modes(name, synchronization, aggregation, trainable)
        self._resource = _use_resource if use_resource is None else use_resource
        self.constraint = constraint
        self._save_slice_info = None
        dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(GraphKeys.TRAINABLE_VARIABLES)
        target = graph.get_default_graph()
        # A variable is made once, whatever the code around it runs under.
        with target.control_dependencies(None):
            with graph.name_scope(name, "Variable", [] if callable(initial_value) else [initial_value]) as scope:
                self._make(initial_value, dtype, validate_shape, scope, caching_device)
        target.add_to_collections(collections, self)

    def _make(self, initial_value, dtype, validate_shape, scope, caching_device):
        place = scope[:-1]
        with graph.name_scope("Initializer") if callable(initial_value) else graph.name_scope(scope):
            value = initial_value() if callable(initial_value) else initial_value
            self._initial_value = value = ops.convert_to_tensor(value, dtype=dtype, name="initial_value")
        self._dtype = value.dtype.base_dtype
        shape = value.shape if validate_shape else TensorShape(None)
        if validate_shape and not shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")
        if self._resource:
            self._handle = ops.apply("VarHandleOp", [], {"dtype": self._dtype, "shape": shape, "shared_name": place}, scope)
            with graph.colocate_with(self._handle.op):
                self._initializer = ops.apply("AssignVariableOp", [self._handle, value], name=place + "/Assign/")
                self._snapshot = ops.apply("ReadVariableOp", [self._handle], {"dtype": self._dtype},
                                           name=place + "/Read/ReadVariableOp/")
        else:
            self._handle = ops.apply("VariableV2", [], {"dtype": self._dtype, "shape": shape}, scope)
            with graph.colocate_with(self._handle.op):
                assign = ops.apply("Assign", [self._handle, value], {"validate_shape": validate_shape, "use_locking": True},
                                   name=place + "/Assign/")
                self._initializer = assign.op
                self._snapshot = ops.apply("Identity", [self._handle], name=place + "/read/")

    @classmethod
    def _of(cls, handle, initializer, value):
        """A variable whose nodes the core has made."""
        made = cls.__new__(cls)
        made._stand_for(handle, initializer, value)
        return made

    def _stand_for(self, handle, initializer, value):
        """Is the variable of nodes that are there."""
        self._handle, self._initializer, self._snapshot = handle, initializer, value
        self._resource = handle.op.type == "VarHandleOp"
        self._dtype = value.dtype.base_dtype if value is not None else handle.dtype.base_dtype
        self._synchronization, self._aggregation, self._trainable = modes(None, None, None, False)
        self.constraint = self._save_slice_info = None
        self._initial_value = initializer.inputs[1]

    # ---- what it is ----
    @property
    def name(self) -> str: return f"{self._handle.op.name}:0"
    @property
    def op(self) -> Operation: return self._handle.op
    @property
    def graph(self) -> Graph: return self._handle.graph
    @property
    def device(self) -> str: return self._handle.device
    @property
    def initializer(self) -> Operation: return self._initializer
    @property
    def initial_value(self) -> Tensor: return self._initial_value
    @property
    def trainable(self) -> bool: return self._trainable
    @property
    def synchronization(self) -> VariableSynchronization: return self._synchronization
    @property
    def aggregation(self) -> VariableAggregation: return self._aggregation
    @property
    def handle(self) -> Tensor: return self._handle

    @property
    def dtype(self) -> DType:
        """The type of its elements; of a reference, the reference's."""
        return self._dtype if self._resource else self._dtype._as_ref

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known before a step."""
        return self._snapshot.shape

    def get_shape(self) -> TensorShape:
        """The shape, as far as it is known before a step."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Tells more about the shape than the graph does."""
        self._handle.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def _ref_tensor(self):
        return self._handle

    def _ref(self):
        return self._handle

    @property
    def _shared_name(self):
        return self._handle.op.name

    def _as_tensor(self) -> Tensor:
        if not self._resource:
            return self._snapshot
        with graph.colocate_with(self._handle.op, ignore_existing=True), graph.device(""):
            value = ops.apply("ReadVariableOp", [self._handle], {"dtype": self._dtype}, name="ReadVariableOp")
        if value._dims is None:  # in the body of a function the handle is an argument, which does not know it
            value.set_shape(self.shape)
        return value

    def _as_graph_element(self):
        return self._snapshot

    def value(self) -> Tensor:
        """The value, the same read for all where that makes no difference."""
        return self._as_tensor()

    def read_value(self) -> Tensor:
        """A read of its own, which sees what comes before it."""
        return ops.apply("Identity", [self._as_tensor() if self._resource else self._handle], name="read")

    def initialized_value(self) -> Tensor:
        """The value, or the initial one as long as there is none: for initializing other variables by it."""
        with self.graph.control_dependencies(None):
            return cond(is_variable_initialized(self), self.read_value, lambda: self._initial_value)

    def eval(self, session: Session | None = None) -> Any:
        """The value in `session`, or the default one."""
        return self._snapshot.eval(session=session)

    def load(self, value: TensorLike, session: Session | None = None) -> None:
        """Sets the value now, in `session` or the default one."""
        session = session or get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established.")
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    # ---- changes ----
    def _update(self, ref_op, resource_op, delta, use_locking, name, read_value):
        if not self._resource:
            updated = ops.apply(ref_op, [self._handle, delta], {"use_locking": use_locking}, name=name)
            return updated if read_value else updated.op
        delta = ops.convert_to_tensor(delta, dtype=self._dtype)
        if ref_op == "Assign":
            self.shape.assert_is_compatible_with(delta.shape)
        op = ops.apply(resource_op, [self._handle, delta], name=name)
        if not read_value:
            return op
        with graph.control_dependencies([op]):
            return self._as_tensor()

    @overload
    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: Literal[True] = True) -> Tensor: ...
    @overload
    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None,
               read_value: bool = True) -> Tensor | Operation: ...
    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor | Operation:
        """An operation that sets the value.

        Parameters
        ----------
        value : tensor or value
            Of the type and shape of the variable.
        use_locking : bool, optional
            Whether changes at the same time come one after the other.
        name : str, optional
            Of the operation.
        read_value : bool, optional
            Whether the new value is given, or the operation alone.

        Returns
        -------
        Tensor or Operation
            The value after it.

        Raises
        ------
        ValueError
            The shape is another one.

        Examples
        --------
        >>> v = tw.Variable(1)
        >>> with tw.Session() as sess:
        ...     print(sess.run(v.assign(5)))
        5
        """
        return self._update("Assign", "AssignVariableOp", value, use_locking, name, read_value)

    @overload
    def assign_add(self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: Literal[True] = True) -> Tensor: ...
    @overload
    def assign_add(self, delta: TensorLike, use_locking: bool = False, name: str | None = None,
               read_value: bool = True) -> Tensor | Operation: ...
    def assign_add(self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor | Operation:
        """Adds to the value; gives the sum."""
        return self._update("AssignAdd", "AssignAddVariableOp", delta, use_locking, name, read_value)

    @overload
    def assign_sub(self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: Literal[True] = True) -> Tensor: ...
    @overload
    def assign_sub(self, delta: TensorLike, use_locking: bool = False, name: str | None = None,
               read_value: bool = True) -> Tensor | Operation: ...
    def assign_sub(self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor | Operation:
        """Subtracts from the value; gives the difference."""
        return self._update("AssignSub", "AssignSubVariableOp", delta, use_locking, name, read_value)

    def _assign_part(self, places, masks, value, name):
        """Sets variable[...] for begin, end and strides; gives the whole value."""
        if not self._resource:
            return ops.apply("StridedSliceAssign", [self._handle, *places, value], masks, name=name)
        value = ops.convert_to_tensor(value, dtype=self._dtype)
        op = ops.apply("ResourceStridedSliceAssign", [self._handle, *places, value], masks, name=name)
        with graph.control_dependencies([op]):
            return self._as_tensor()

    def _scatter(self, kind, slices, use_locking, name):
        if not isinstance(slices, IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {slices}")
        return scatter(kind, self, slices.indices, slices.values, use_locking, name)

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Adds to rows; gives the value."""
        return self._scatter("Add", sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Subtracts from rows; gives the value."""
        return self._scatter("Sub", sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Sets rows; gives the value."""
        return self._scatter("Update", sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Divides rows; gives the value."""
        return self._scatter("Div", sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Raises rows to what is larger; gives the value."""
        return self._scatter("Max", sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Lowers rows to what is smaller; gives the value."""
        return self._scatter("Min", sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Multiplies rows; gives the value."""
        return self._scatter("Mul", sparse_delta, use_locking, name)

    def batch_scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Row i of the indices chooses within part i of the variable what is set."""
        if not isinstance(sparse_delta, IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return batch_scatter_update(self, sparse_delta.indices, sparse_delta.values, use_locking, name)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Adds to elements by full indices; gives the value."""
        return scatter_nd("Add", self, indices, updates, True, name)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Subtracts from elements by full indices; gives the value."""
        return scatter_nd("Sub", self, indices, updates, True, name)

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Sets elements by full indices; gives the value."""
        return scatter_nd("Update", self, indices, updates, True, name)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Rows."""
        if self._resource:
            return ops.apply("ResourceGather", [self._handle, indices], {"dtype": self._dtype}, name or "Gather")
        return array_ops.gather(self, indices, name=name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Elements, or parts, by full indices."""
        if self._resource:
            return ops.apply("ResourceGatherNd", [self._handle, indices], {"dtype": self._dtype}, name or "GatherNd")
        return array_ops.gather_nd(self, indices, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """Adds one and gives what was there; at `limit` a step ends with errors.OutOfRangeError."""
        return ops.apply("CountUpTo", [self._handle], {"limit": limit})

    def experimental_ref(self) -> Reference:
        """What stands for the variable in sets and dictionaries."""
        return Reference(self)

    # ---- saving ----
    def _set_save_slice_info(self, save_slice_info):
        """Says which part of a larger tensor the variable is, for a Saver."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self):
        return self._save_slice_info

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """A VariableDef, or None for a variable that is not within the scope."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        names = [graph.strip_name_scope(n, export_scope) for n in (
            self.name, self._initializer.name, self._snapshot.name, self._initial_value.name)]
        made = messages.VariableDef(variable_name=names[0], initializer_name=names[1], snapshot_name=names[2],
                                    initial_value_name=names[3], is_resource=self._resource, trainable=self._trainable,
                                    synchronization=self._synchronization.value, aggregation=self._aggregation.value)
        if self._save_slice_info is not None:
            made.save_slice_info_def.CopyFrom(self._save_slice_info.to_proto(export_scope))
        return made

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """The variable that a VariableDef names, of nodes in the default graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def _from_proto(self, variable_def, import_scope):
        target = graph.get_default_graph()
        handle, initializer, value = (target.as_graph_element(graph.prepend_name_scope(name, import_scope)) for name in (
            variable_def.variable_name, variable_def.initializer_name, variable_def.snapshot_name))
        self._stand_for(handle, initializer, value)
        self._synchronization, self._aggregation, self._trainable = modes(
            self.name, variable_def.synchronization, variable_def.aggregation, variable_def.trainable)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope)

    def __getattr__(self, name: str):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'" + no_value(name))

    def __getitem__(self, key: object) -> Any:
        return strided_slice_of(self._as_tensor(), key, self)

    def __iter__(self) -> None:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


add_operators(Variable)
for _collection in proto_functions.VARIABLES:
    proto_functions.register_proto_function(_collection, messages.VariableDef, proto_functions.to_proto, Variable.from_proto)


def assign(ref: Variable | Tensor, value: TensorLike, validate_shape: bool | None = None, use_locking: bool | None = None,
           name: str | None = None) -> Tensor:
    """An operation that sets a variable.

    Parameters
    ----------
    ref : Variable, or part of one
        v or v[1:3].
    value : tensor or value
        Of its type and shape.
    validate_shape : bool, optional
        Whether the shape must be the variable's; True unless given.
    use_locking : bool, optional
        Whether changes at the same time come one after the other.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        The value after it.

    Raises
    ------
    ValueError
        The shape is another one.

    Examples
    --------
    >>> v = tw.Variable([1, 2, 3])
    >>> with tw.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(tw.assign(v, [4, 5, 6])))
    [4 5 6]
    """
    if isinstance(ref, Variable) and ref._resource:
        return ref.assign(value, name=name)
    if isinstance(ref, Tensor) and not ref.dtype._is_ref_dtype:  # a part of a variable, v[1:3]; others have no `assign`
        return ref.assign(value, name=name)
    return ops.apply("Assign", [ref, value], {"validate_shape": validate_shape, "use_locking": use_locking}, name=name)


def assign_add(ref: Variable | Tensor, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Adds to a variable; gives the sum."""
    if isinstance(ref, Variable):
        return ref.assign_add(value, bool(use_locking), name)
    return ops.apply("AssignAdd", [ref, value], {"use_locking": use_locking}, name=name)


def assign_sub(ref: Variable | Tensor, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Tensor:
    """Subtracts from a variable; gives the difference."""
    if isinstance(ref, Variable):
        return ref.assign_sub(value, bool(use_locking), name)
    return ops.apply("AssignSub", [ref, value], {"use_locking": use_locking}, name=name)


def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that all tasks share.

    Parameters
    ----------
    scope : str, optional
        A regular expression: only those whose names begin so.

    Returns
    -------
    list of Variable

    Examples
    --------
    >>> v = tw.Variable(1.0, name="v")
    >>> [v.name for v in tw.global_variables()]
    ['v:0']
    """
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """Gives all variables of the default graph. This is the old name of tw.global_variables.

    Returns
    -------
    list of Variable

    Examples
    --------
    >>> w = tw.get_variable("w", [2])
    >>> [variable.name for variable in tw.all_variables()]
    ['w:0']
    """
    return global_variables()


def initialize_all_variables() -> Operation:
    """The old name of global_variables_initializer.

    Returns
    -------
    Operation

    Examples
    --------
    >>> v = tw.Variable(3.0)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.initialize_all_variables())
    ...     print(sess.run(v))
    3.0
    """
    return global_variables_initializer()


def initialize_local_variables() -> Operation:
    """The old name of local_variables_initializer."""
    return local_variables_initializer()


def initialize_variables(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """The old name of variables_initializer."""
    return variables_initializer(var_list, name)


def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables that each task has for itself."""
    return graph.get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables that say what a model computes, as layers of contrib mark them."""
    return graph.get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables that an optimizer changes unless it is told which.

    Parameters
    ----------
    scope : str, optional
        A regular expression: only those whose names begin so.

    Returns
    -------
    list of Variable

    Examples
    --------
    >>> w, step = tw.Variable(1.0, name="w"), tw.Variable(0, trainable=False)
    >>> [v.name for v in tw.trainable_variables()]
    ['w:0']
    """
    return graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables of which there are moving averages."""
    return graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives variables their initial values."""
    return ops.group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """An operation that gives all global variables of the default graph their initial values.

    Returns
    -------
    Operation
        Of the variables that there are now: make it last.

    Raises
    ------
    RuntimeError
        Where the graph is finalized.

    Examples
    --------
    >>> v = tw.Variable(3.0)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     print(sess.run(v))
    3.0
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An operation that gives all local variables of the default graph their initial values: counts of metrics and of epochs, which each
    task has for itself.

    Returns
    -------
    Operation

    Raises
    ------
    RuntimeError
        Where the graph is finalized.

    Examples
    --------
    >>> v = tw.get_local_variable("v", initializer=4.0)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.local_variables_initializer())
    ...     print(sess.run(v))
    4.0
    """
    return variables_initializer(local_variables())


def is_variable_initialized(variable: Variable) -> Tensor:
    """Whether a variable has a value, as a bool scalar."""
    if variable._resource:
        return ops.apply("VarIsInitializedOp", [variable.handle])
    return ops.apply("IsVariableInitialized", [variable])


def report_uninitialized_variables(var_list: Sequence[Variable] | None = None,
                                   name: str = "report_uninitialized_variables") -> Tensor:
    """The names of variables that have no value yet, as a string vector."""
    var_list = global_variables() + local_variables() if var_list is None else var_list
    if not var_list:
        return ops.constant([], dtypes.string)
    missing = ops.apply("LogicalNot", [array_ops.stack([is_variable_initialized(v) for v in var_list])])
    return array_ops.boolean_mask(ops.constant([v.op.name for v in var_list]), missing, name=name)


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Operation | None:
    """An operation that fails unless the variables have values."""
    found = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(GraphKeys.LOCAL_VARIABLES) \
        if var_list is None else list(var_list)
    if not found:
        return None
    checks = [ops.apply("ReadVariableOp", [v.handle], {"dtype": v._dtype}).op if v._resource else
              ops.apply("Identity", [v._ref_tensor]).op for v in found]
    return ops.group(*checks)
