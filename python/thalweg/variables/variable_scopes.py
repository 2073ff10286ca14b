# SPDX-License-Identifier: Apache-2.0
"""variable_scope and get_variable: variables by name, made once and shared."""
from __future__ import annotations

import contextlib
import enum
import functools
import inspect
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.shapes import as_shape
from thalweg.variables import init_ops, partitioners
from thalweg.variables.variables import Variable, VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

    from thalweg.base.typing import Constraint, Device, DTypeLike, Getter, Initializer, Partitioner, Regularizer, ShapeLike, TensorLike


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE


class VariableScope:
    """Defaults of get_variable within a scope."""

    def __init__(self, reuse: bool | _ReuseMode | None, name: str = "", initializer: Initializer | TensorLike | None = None,
                 regularizer: Regularizer | None = None, caching_device: Device = None, partitioner: Partitioner | None = None,
                 custom_getter: Getter | None = None, name_scope: str = "", dtype: DTypeLike = dtypes.float32,
                 use_resource: bool | None = None, constraint: Constraint | None = None) -> None:
        self.name, self.reuse, self.initializer, self.regularizer = name, reuse, initializer, regularizer
        self.custom_getter, self.dtype, self.use_resource, self.constraint = custom_getter, dtype, use_resource, constraint
        self.original_name_scope, self.caching_device, self.partitioner = name_scope, caching_device, partitioner

    def reuse_variables(self) -> None:
        """Lets get_variable give variables that are there, from now on and until the scope ends.

        Examples
        --------
        >>> with tw.variable_scope("layer") as scope:
        ...     first = tw.get_variable("w", [2])
        ...     scope.reuse_variables()
        ...     print(tw.get_variable("w", [2]) is first)
        True
        """
        self.reuse = True

    def set_initializer(self, initializer: Initializer | TensorLike | None) -> None:
        """Sets the initializer of variables that name none."""
        self.initializer = initializer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the type of variables that name none."""
        self.dtype = dtype

    def set_regularizer(self, regularizer: Regularizer | None) -> None:
        """Sets the regularizer of variables that name none."""
        self.regularizer = regularizer

    def set_use_resource(self, use_resource: bool) -> None:
        """Sets the kind of variables that name none."""
        self.use_resource = use_resource

    def set_caching_device(self, caching_device: Device) -> None:
        """Sets where reads of variables are kept."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Partitioner | None) -> None:
        """Sets how variables are cut."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        """Sets what get_variable calls in its place."""
        self.custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """What is in a collection under the names of this scope."""
        return graph.get_collection(name, self.name + "/" if self.name else None)

    def trainable_variables(self) -> list[Variable]:
        """The variables of this scope that optimizers change."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Variable]:
        """The variables of this scope that all tasks share."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Variable]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def _copy(self, **changes):
        made = VariableScope.__new__(VariableScope)
        made.__dict__.update(self.__dict__, **{k: v for k, v in changes.items() if v is not None})
        return made


class _Store:
    """The variables of a graph by name, and the scope its code is in."""

    def __init__(self) -> None:
        self.variables = {}
        self.kept = None  # where operations run at once: the variables of the EagerVariableStore that is the default one
        self.scope = VariableScope(False)
        self.scope_counts = {}


def _store():
    g = graph.get_default_graph()
    made = g.__dict__.get("_variable_store")
    if made is None:
        made = g._variable_store = _Store()
    return made


def get_variable_scope() -> VariableScope:
    """The variable scope that is open.

    Returns
    -------
    VariableScope

    Examples
    --------
    >>> with tw.variable_scope("layer"):
    ...     print(tw.get_variable_scope().name)
    layer
    """
    return _store().scope


def _nested(inner, outer):
    """A getter that asks `inner`, which asks `outer` where it would ask the store."""
    if inner is None or outer is None or inner is outer:
        return inner

    def getter(store_getter, *args, **kwargs):
        return inner(functools.partial(outer, store_getter), *args, **kwargs)
    return getter


class variable_scope:
    """with tw.variable_scope("layer"): names of variables, and of operations, begin with "layer/"; get_variable takes its defaults there.

    Parameters
    ----------
    name_or_scope : str, VariableScope or None
    default_name : str, optional
        Where the name is None; made unique.
    values : list, optional
        The arguments of the function that opens the scope.
    initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint : optional
        Defaults of get_variable inside; those of the scope outside unless given.
    reuse : bool or AUTO_REUSE, optional
        True: variables must be there. AUTO_REUSE: they are made where they are not.
    auxiliary_name_scope : bool, optional
        Whether names of operations begin so too.

    Raises
    ------
    TypeError
        There is no name.

    Examples
    --------
    >>> def layer(x):
    ...     with tw.variable_scope("layer", reuse=tw.AUTO_REUSE):
    ...         return x * tw.get_variable("w", [])
    >>> a, b = layer(tw.constant(1.0)), layer(tw.constant(2.0))
    >>> [v.name for v in tw.global_variables()]
    ['layer/w:0']
    """

    def __init__(self, name_or_scope: str | VariableScope | None, default_name: str | None = None, values: Sequence[Any] | None = None,
                 initializer: Initializer | TensorLike | None = None, regularizer: Regularizer | None = None,
                 caching_device: Device = None, partitioner: Partitioner | None = None, custom_getter: Getter | None = None,
                 reuse: bool | _ReuseMode | None = None, dtype: DTypeLike | None = None, use_resource: bool | None = None,
                 constraint: Constraint | None = None, auxiliary_name_scope: bool = True) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        self._given, self._default_name = name_or_scope, default_name
        self._reuse = reuse or None  # False inherits too
        self._auxiliary = auxiliary_name_scope
        self._changes = dict(initializer=initializer, regularizer=regularizer, caching_device=caching_device,
                             partitioner=partitioner, custom_getter=custom_getter, dtype=dtype, use_resource=use_resource,
                             constraint=constraint)

    def _unique(self, store, prefix):
        """The default name, with _1, _2 ... when this scope has had one."""
        full = f"{store.scope.name}/{prefix}" if store.scope.name else prefix
        number = 0
        while store.scope_counts.get(f"{full}_{number}" if number else full, 0) > 0:
            number += 1
        return f"{prefix}_{number}" if number else prefix

    def __enter__(self) -> VariableScope:
        store = _store()
        old = store.scope
        g = graph.get_default_graph()
        changes = dict(self._changes, custom_getter=_nested(self._changes["custom_getter"], (
            self._given if isinstance(self._given, VariableScope) else old).custom_getter))
        if isinstance(self._given, VariableScope):
            made = self._given._copy(**changes)
            made.reuse = self._reuse if self._reuse is not None else self._given.reuse
            scope_name = made.name.split("/")[-1] if made.name else None
        else:
            part = self._given if self._given is not None else self._unique(store, self._default_name)
            made = old._copy(**changes)
            made.name = f"{old.name}/{part}" if old.name and part else old.name or part
            made.reuse = self._reuse if self._reuse is not None else old.reuse
            store.scope_counts[made.name] = store.scope_counts.get(made.name, 0) + 1
            scope_name = part
        self._old, self._store = old, store
        self._counts = {k: v for k, v in store.scope_counts.items() if k.startswith(made.name + "/")}
        for k in self._counts:
            store.scope_counts[k] = 0
        self._names = g.name_scope(scope_name) if self._auxiliary and scope_name else None
        if self._names is not None:
            entered = self._names.__enter__()
            if not isinstance(self._given, VariableScope):
                made.original_name_scope = entered
        elif not isinstance(self._given, VariableScope):
            made.original_name_scope = g.get_name_scope() + "/" if g.get_name_scope() else ""
        store.scope = made
        return made

    def __exit__(self, *error: object) -> None:
        self._store.scope = self._old
        self._store.scope_counts.update(self._counts)
        if self._names is not None:
            self._names.__exit__(*error)


def get_variable(name: str, shape: ShapeLike = None, dtype: DTypeLike | None = None,
                 initializer: Initializer | TensorLike | None = None, regularizer: Regularizer | None = None,
                 trainable: bool | None = None, collections: Sequence[str] | None = None, caching_device: Device = None,
                 partitioner: Partitioner | None = None, validate_shape: bool = True, use_resource: bool | None = None,
                 custom_getter: Getter | None = None, constraint: Constraint | None = None,
                 synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                 aggregation: VariableAggregation = VariableAggregation.NONE) -> Variable:
    """The variable of a name within the current scope: made when it is first asked for, or, where the scope reuses, the one that is there.

    What is not given comes from the scope.

    Parameters
    ----------
    name : str
    shape : list of int, optional
        Not needed with an initializer that is a value.
    dtype : DType, optional
        float32, or what the scope says.
    initializer : initializer, tensor or value, optional
        glorot_uniform_initializer unless given; zeros for integers and bool.
    regularizer : callable, optional
        Gives a tensor of the variable, which goes to GraphKeys.REGULARIZATION_LOSSES.
    trainable : bool, optional
        Whether optimizers change it.
    collections : list of str, optional
        GraphKeys.GLOBAL_VARIABLES unless given.
    caching_device : str or callable, optional
        Where reads are kept.
    partitioner : callable, optional
        Into how many parts each dimension is cut. What is given then is a PartitionedVariable.
    validate_shape : bool, optional
        Whether the shape must be known.
    use_resource : bool, optional
        Which kind of variable it is: see Variable.
    custom_getter : callable, optional
        Called in the place of this function, with it as its first argument.
    constraint : callable, optional
        What optimizers apply to the value after a change.
    synchronization, aggregation : VariableSynchronization, VariableAggregation, optional

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        It is there and the scope does not reuse, it is not there and the scope does, or shape or type is another one.

    Examples
    --------
    >>> with tw.variable_scope("layer"):
    ...     w = tw.get_variable("w", [2, 3])
    >>> with tw.variable_scope("layer", reuse=True):
    ...     print(tw.get_variable("w") is w, w.name)
    True layer/w:0
    """
    given = dict(locals())
    body = graph.get_default_graph()
    if body._captures is not None:  # of a function: variables live outside
        if body._lift_variable is not None:
            given["use_resource"] = True
        with body.outermost().as_default():
            return get_variable(**given)
    if trainable is None:
        trainable = synchronization != VariableSynchronization.ON_READ
    scope = get_variable_scope()
    getter = custom_getter or scope.custom_getter
    arguments = dict(shape=shape, dtype=dtype or scope.dtype, initializer=scope.initializer if initializer is None else initializer,
                     regularizer=scope.regularizer if regularizer is None else regularizer, reuse=scope.reuse,
                     trainable=trainable, collections=collections, caching_device=caching_device or scope.caching_device,
                     partitioner=scope.partitioner if partitioner is None else partitioner, validate_shape=validate_shape,
                     use_resource=scope.use_resource if use_resource is None else use_resource)
    full_name = f"{scope.name}/{name}" if scope.name else name
    constraint = constraint or scope.constraint
    if getter is None:
        return _get(full_name, constraint=constraint, synchronization=synchronization, aggregation=aggregation, **arguments)
    if _takes(getter, "constraint"):
        arguments["constraint"] = constraint
    if _takes(getter, "synchronization"):
        arguments.update(synchronization=synchronization, aggregation=aggregation)
    return getter(_get, name=full_name, **arguments)


def _known(reuse):
    """(the variables that are there by name, what is done with them)."""
    store = _store()
    if not graph.get_default_graph()._executes:
        return store.variables, reuse
    if store.kept is not None:
        return store.kept, AUTO_REUSE
    if reuse:
        raise RuntimeError("When eager execution is enabled variable reuse is only supported when an EagerVariableStore is active. See the "
                           "documentation on EagerVariableStore for example usage.")
    return {}, reuse


class EagerVariableStore:
    """Keeps what get_variable makes where operations run at once, so that its variables are shared by name.

    Examples
    --------
    >>> store = EagerVariableStore()  # doctest: +SKIP
    >>> with store.as_default():  # doctest: +SKIP
    ...     x = tw.get_variable("x", [])
    """

    def __init__(self) -> None:
        self._variables: dict[str, Variable] = {}

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Self]:
        """with store.as_default(): get_variable looks here."""
        store = _store()
        before, store.kept = store.kept, self._variables
        try:
            yield self
        finally:
            store.kept = before

    def variables(self) -> list[Variable]:
        """All of them, by name."""
        return sorted(self._variables.values(), key=lambda v: v.name)

    def trainable_variables(self) -> list[Variable]:
        """Those that optimizers change, by name."""
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list[Variable]:
        """The others, by name."""
        return [v for v in self.variables() if not v.trainable]


def _takes(function, name):
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _get(name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, trainable=None, collections=None,
         validate_shape=True, constraint=None, use_resource=None, reuse=False, partitioner=None, caching_device=None,
         synchronization=None, aggregation=None, partition_info=None, **_):
    known, reuse = _known(reuse)
    if partitioner is not None and shape is None and initializer is not None and not callable(initializer):
        initializer = ops.convert_to_tensor(initializer)
        shape, dtype = initializer.shape, initializer.dtype
    if partitioner is not None and shape is not None and as_shape(shape).ndims:
        counts = partitioners.parts_of(partitioner, as_shape(shape), dtypes.as_dtype(dtype))
        if name in known:
            raise ValueError(f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}.  Perhaps "
                             "a variable of the same name was already created without partitioning?")
        return partitioners.get(known, name, as_shape(shape), counts, initializer,
                                functools.partial(_get, dtype=dtype, regularizer=regularizer, trainable=trainable,
                                                  collections=collections, constraint=constraint,
                                                  use_resource=use_resource, reuse=reuse, synchronization=synchronization,
                                                  aggregation=aggregation))
    if f"{name}/part_0" in known:
        raise ValueError(f"No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. Perhaps "
                         "a variable of the same name was already created with partitioning?")
    dtype = dtypes.as_dtype(dtype).base_dtype
    found = known.get(name)
    if found is not None:
        if reuse is False or reuse is None:
            raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                             f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at: {found.op.site}")
        if shape is not None and not as_shape(shape).is_compatible_with(found.shape):
            raise ValueError(f"Trying to share variable {name}, but specified shape {as_shape(shape)} and found shape "
                             f"{found.shape}.")
        if not dtype.is_compatible_with(found._dtype):
            raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                             f"{found.dtype.name}.")
        return found
    if reuse is True:
        raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                         "reuse=tf.AUTO_REUSE in VarScope?")
    value = _first_value(name, shape, dtype, initializer, partition_info)
    with graph.get_default_graph().name_scope(None):
        made = Variable(value, trainable=trainable, collections=collections, validate_shape=validate_shape, name=name,
                        dtype=None if initializer is not None and shape is None else dtype, use_resource=use_resource,
                        constraint=constraint, synchronization=synchronization, aggregation=aggregation)
    known[name] = made
    if regularizer is not None:
        with graph.colocate_with(made.op), graph.name_scope(name + "/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _first_value(name, shape, dtype, initializer, partition_info):
    if initializer is None:
        if dtype.is_floating:
            initializer = init_ops.glorot_uniform_initializer()
        elif dtype.is_integer or dtype.is_bool or dtype.is_unsigned or dtype is dtypes.string:
            initializer = init_ops.zeros_initializer()
        else:
            raise ValueError(f"An initializer for variable {name} of {dtype!r} is required")
    if not callable(initializer):
        if shape is not None and as_shape(shape).ndims is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return initializer
    if isinstance(initializer, type):
        initializer = initializer()
    if shape is None or not as_shape(shape).is_fully_defined():
        if not isinstance(initializer, init_ops.Initializer) and not inspect.signature(initializer).parameters:
            return initializer
        raise ValueError("The initializer passed is not valid. It should be a callable with no arguments and the shape should "
                         "not be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined. "
                         f"The shape of {name} is {as_shape(shape)}.")
    more = {"partition_info": partition_info} if partition_info is not None and _takes(initializer, "partition_info") else {}
    return lambda: initializer(as_shape(shape).as_list(), dtype=dtype, **more)


def get_local_variable(name: str, shape: ShapeLike = None, dtype: DTypeLike | None = None,
                       initializer: Initializer | TensorLike | None = None, regularizer: Regularizer | None = None,
                       trainable: bool = False, collections: Sequence[str] | None = None, caching_device: Device = None,
                       partitioner: Partitioner | None = None, validate_shape: bool = True, use_resource: bool | None = None,
                       custom_getter: Getter | None = None, constraint: Constraint | None = None,
                       synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                       aggregation: VariableAggregation = VariableAggregation.NONE) -> Variable:
    """get_variable for a variable of this process alone: in the collection of local ones, and not trained."""
    collections = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, collections, caching_device,
                                        partitioner, validate_shape, use_resource, custom_getter, constraint,
                                        synchronization, aggregation)


def create_partitioned_variables(shape: Sequence[int], slicing: Sequence[int], initializer: Initializer | TensorLike,
                                 dtype: DTypeLike = dtypes.float32, trainable: bool = True,
                                 collections: Sequence[str] | None = None, name: str | None = None,
                                 reuse: bool | _ReuseMode | None = None) -> list[Variable]:
    """A variable cut along one dimension, as a list of its parts."""
    if len(shape) != len(slicing):
        raise ValueError(f"The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: {shape}, "
                         f"slicing: {slicing}")
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        counts = partitioners.checked(list(slicing), as_shape(shape))

        scope = get_variable_scope()
        part = functools.partial(_get, dtype=dtype, trainable=trainable, collections=collections, reuse=scope.reuse,
                                 use_resource=scope.use_resource)
        whole = partitioners.get({}, scope.name, as_shape(shape), counts, initializer, part)
    return list(whole)


@contextlib.contextmanager
def op_scope(values: Sequence[Any], name: str, default_name: str | None = None) -> Iterator[Any]:
    """The old name_scope."""
    with name_scope(name, default_name, values) as scope:
        yield scope


@contextlib.contextmanager
def variable_op_scope(values: Sequence[Any], name_or_scope: str | VariableScope | None, default_name: str | None = None,
                      initializer: Initializer | TensorLike | None = None, regularizer: Regularizer | None = None,
                      caching_device: Device = None, partitioner: Partitioner | None = None, custom_getter: Getter | None = None,
                      reuse: bool | _ReuseMode | None = None, dtype: DTypeLike | None = None, use_resource: bool | None = None,
                      constraint: Constraint | None = None) -> Iterator[VariableScope]:
    """The old variable_scope."""
    with variable_scope(name_or_scope, default_name, values, initializer, regularizer, caching_device,
                                        partitioner, custom_getter, reuse, dtype, use_resource, constraint) as scope:
        yield scope


def no_regularizer(_: object) -> None:
    """A regularizer that keeps that of the scope from being used."""
    return None
