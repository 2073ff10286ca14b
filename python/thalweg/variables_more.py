# SPDX-License-Identifier: Apache-2.0
"""More ways to change variables, to make them and to share them."""
import contextlib

from thalweg import dtypes, graph, ops, partitioners, variable_scopes
from thalweg.graph import GraphKeys, name_scope
from thalweg.shapes import as_shape
from thalweg.variables import VariableAggregation, VariableSynchronization, scatter


# ---- rows and elements ----
def _scatter(kind):
    def change(ref, indices, updates, use_locking=False, name=None):
        return scatter(kind, ref, indices, updates, use_locking, name)
    change.__name__ = change.__qualname__ = "scatter_" + kind.lower()
    change.__doc__ = f"Rows of a variable: {kind.lower()} with the updates; gives the variable."
    return change


scatter_div, scatter_max, scatter_min, scatter_mul = (_scatter(kind) for kind in ("Div", "Max", "Min", "Mul"))


def _scatter_nd(kind, ref, indices, updates, use_locking, name):
    if getattr(ref, "_resource", False):
        updates = ops.convert_to_tensor(updates, dtype=ref._dtype)
        op = ops.apply(f"ResourceScatterNd{kind}", [ref.handle, indices, updates], {"use_locking": use_locking}, name)
        with graph.control_dependencies([op]):
            return ref._as_tensor()
    return ops.apply(f"ScatterNd{kind}", [ref, indices, updates], {"use_locking": use_locking}, name)


def scatter_nd_add(ref, indices, updates, use_locking=False, name=None):
    """Adds to elements of a variable by full indices."""
    return _scatter_nd("Add", ref, indices, updates, use_locking, name)


def scatter_nd_sub(ref, indices, updates, use_locking=False, name=None):
    """Subtracts from elements of a variable by full indices."""
    return _scatter_nd("Sub", ref, indices, updates, use_locking, name)


def scatter_nd_update(ref, indices, updates, use_locking=True, name=None):
    """Sets elements of a variable by full indices."""
    return _scatter_nd("Update", ref, indices, updates, use_locking, name)


def batch_scatter_update(ref, indices, updates, use_locking=True, name=None):
    """Row i of the indices chooses within part i of the variable what is set."""
    from thalweg import array_ops
    with name_scope(name, "batch_scatter_update"):
        indices = ops.convert_to_tensor(indices, name="indices")
        sizes, rank = array_ops.shape(indices), indices.shape.ndims
        if rank is None:
            raise ValueError("batch_scatter_update needs indices of a known rank")
        grids = []
        for i in range(rank - 1):
            line = array_ops.reshape(ops.apply("Range", [0, sizes[i], 1]), [-1 if j == i else 1 for j in range(rank)])
            grids.append(ops.apply("Cast", [array_ops.broadcast_to(line, sizes)], {"DstT": indices.dtype}))
        return scatter_nd_update(ref, array_ops.stack([*grids, indices], -1), updates, use_locking, name)


# ---- what is there ----
def assert_variables_initialized(var_list=None):
    """An operation that fails unless the variables have values."""
    found = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(GraphKeys.LOCAL_VARIABLES) \
        if var_list is None else list(var_list)
    if not found:
        return None
    checks = [ops.apply("ReadVariableOp", [v.handle], {"dtype": v._dtype}).op if v._resource else
              ops.apply("Identity", [v._ref_tensor]).op for v in found]
    return ops.group(*checks)


def get_local_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False, collections=None,
                       caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                       constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
    """get_variable for a variable of this process alone: in the collection of local ones, and not trained."""
    collections = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    return variable_scopes.get_variable(name, shape, dtype, initializer, regularizer, False, collections, caching_device,
                                        partitioner, validate_shape, use_resource, custom_getter, constraint,
                                        synchronization, aggregation)


def create_partitioned_variables(shape, slicing, initializer, dtype=dtypes.float32, trainable=True, collections=None, name=None,
                                 reuse=None):
    """A variable cut along one dimension, as a list of its parts."""
    if len(shape) != len(slicing):
        raise ValueError(f"The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: {shape}, "
                         f"slicing: {slicing}")
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scopes.variable_scope(name, "PartitionedVariable", reuse=reuse):
        counts = partitioners.parts_of(slicing, as_shape(shape), dtypes.as_dtype(dtype))

        def part(name, shape, initializer):
            return variable_scopes.get_variable(name.rpartition("/")[2], shape, dtype, initializer, trainable=trainable,
                                                collections=collections)
        whole = partitioners.get({}, variable_scopes.get_variable_scope().name, as_shape(shape), counts, initializer, part)
    return list(whole)


# ---- scopes of old ----
@contextlib.contextmanager
def op_scope(values, name, default_name=None):
    """The old name_scope."""
    with name_scope(name, default_name, values) as scope:
        yield scope


@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, initializer=None, regularizer=None, caching_device=None,
                      partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None):
    """The old variable_scope."""
    with variable_scopes.variable_scope(name_or_scope, default_name, values, initializer, regularizer, caching_device,
                                        partitioner, custom_getter, reuse, dtype, use_resource, constraint) as scope:
        yield scope


def no_regularizer(_):
    """A regularizer that keeps that of the scope from being used."""
    return None


# ---- templates ----
def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    """A function whose variables are made by its first call and shared by all others."""
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class Template:
    """What make_template gives."""

    def __init__(self, name, func, create_scope_now, unique_name, custom_getter, arguments):
        if name is None:
            raise ValueError("name cannot be None.")
        self._name, self._func, self._unique_name, self._arguments = name, func, unique_name, arguments
        self._custom_getter, self._scope, self._called = custom_getter, None, False
        if create_scope_now:
            self._make_scope()

    def _make_scope(self):
        with variable_scopes.variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter,
                                            auxiliary_name_scope=False) as scope:
            self._scope = scope

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            self._make_scope()
        reuse = True if self._called else None
        with variable_scopes.variable_scope(self._scope, reuse=reuse):
            known = set(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
            found = self._func(*args, **{**self._arguments, **kwargs})
        made = set(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)) - known
        if self._called and made:
            raise ValueError("New variable(s) created when calling a template after variables were created: "
                             f"{sorted(v.name for v in made)}; use tf.get_variable in {self._name}, not tf.Variable")
        self._called = True
        return found

    name = property(lambda self: self._name)
    func = property(lambda self: self._func)

    @property
    def variable_scope(self):
        return self._scope

    @property
    def variable_scope_name(self):
        """The name of its variables' scope, with a / at its end."""
        return self._scope.name.rstrip("/") + "/" if self._scope is not None else None

    def _collection(self, key):
        return graph.get_collection(key, self.variable_scope_name) if self._scope is not None else []

    variables = property(lambda self: self._collection(GraphKeys.GLOBAL_VARIABLES) +
                         self._collection(GraphKeys.LOCAL_VARIABLES))
    weights = variables
    global_variables = property(lambda self: self._collection(GraphKeys.GLOBAL_VARIABLES))
    local_variables = property(lambda self: self._collection(GraphKeys.LOCAL_VARIABLES))
    trainable_variables = property(lambda self: self._collection(GraphKeys.TRAINABLE_VARIABLES))
    trainable_weights = trainable_variables

