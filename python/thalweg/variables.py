# SPDX-License-Identifier: Apache-2.0
"""Variable: a tensor that lives on between steps; what initialises and lists them."""
from thalweg import dtypes, graph, ops
from thalweg.graph import GraphKeys
from thalweg.shapes import TensorShape
from thalweg.tensor import IndexedSlices, add_operators, strided_slice_of

_use_resource = False


def enable_resource_variables():
    """New variables are resources from now on, unless they say otherwise."""
    global _use_resource
    _use_resource = True


def disable_resource_variables():
    global _use_resource
    _use_resource = False


class VariableSynchronization:
    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation:
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


class Variable:
    """Variable(initial_value): state of the session, set by its `initializer` and by assign and optimizers.

    `use_resource` chooses the kind: a reference edge (TF1's default), where a read sees the value at the moment it is
    used, or a resource, whose reads are operations of their own.
    """

    __array_priority__ = 100

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                 use_resource=None, synchronization=VariableSynchronization.AUTO,
                 aggregation=VariableAggregation.NONE, shape=None):
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        body = graph.get_default_graph()
        if body._lift_variable is not None:  # of a tf.function: variables live outside, as resources
            body._lift_variable()
            with body.outermost().as_default():
                self.__init__(initial_value, trainable, collections, validate_shape, caching_device, name, variable_def, dtype,
                              expected_shape, import_scope, constraint, True, synchronization, aggregation, shape)
            return
        self._trainable = True if trainable is None else trainable
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
        made._handle, made._initializer, made._snapshot = handle, initializer, value
        made._resource = handle.op.type == "VarHandleOp"
        made._dtype = value.dtype.base_dtype if value is not None else handle.dtype.base_dtype
        made._trainable, made.constraint, made._save_slice_info = False, None, None
        made._initial_value = initializer.inputs[1]
        return made

    # ---- what it is ----
    name = property(lambda self: f"{self._handle.op.name}:0")
    op = property(lambda self: self._handle.op)
    graph = property(lambda self: self._handle.graph)
    device = property(lambda self: self._handle.device)
    initializer = property(lambda self: self._initializer)
    initial_value = property(lambda self: self._initial_value)
    trainable = property(lambda self: self._trainable)
    handle = property(lambda self: self._handle)

    @property
    def dtype(self):
        return self._dtype if self._resource else self._dtype._as_ref

    @property
    def shape(self):
        return self._snapshot.shape

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
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

    def _as_tensor(self):
        if not self._resource:
            return self._snapshot
        with graph.colocate_with(self._handle.op, ignore_existing=True), graph.device(""):
            return ops.apply("ReadVariableOp", [self._handle], {"dtype": self._dtype},
                             name="ReadVariableOp")

    def _as_graph_element(self):
        return self._snapshot

    def value(self):
        """The value, the same read for all where that makes no difference."""
        return self._as_tensor()

    def read_value(self):
        """A read of its own, which sees what comes before it."""
        return ops.apply("Identity", [self._as_tensor() if self._resource else self._handle], name="read")

    def initialized_value(self):
        """The value, or the initial one as long as there is none: for initialising other variables by it."""
        from thalweg.control_flow import cond
        with self.graph.control_dependencies(None):
            return cond(is_variable_initialized(self), self.read_value, lambda: self._initial_value)

    def eval(self, session=None):
        return self._snapshot.eval(session=session)

    def load(self, value, session=None):
        """Sets the value now, in `session` or the default one."""
        from thalweg.session import get_default_session
        session = session or get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established.")
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    # ---- changes ----
    def _update(self, ref_op, resource_op, delta, use_locking, name, read_value):
        if not self._resource:
            return ops.apply(ref_op, [self._handle, delta], {"use_locking": use_locking}, name=name)
        delta = ops.convert_to_tensor(delta, dtype=self._dtype)
        op = ops.apply(resource_op, [self._handle, delta], name=name)
        if not read_value:
            return op
        with graph.control_dependencies([op]):
            return self._as_tensor()

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Sets the value; gives it."""
        if not self._resource:
            return ops.apply("Assign", [self._handle, value], {"use_locking": use_locking}, name=name)
        return self._update("Assign", "AssignVariableOp", value, use_locking, name, read_value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Adds to the value; gives the sum."""
        return self._update("AssignAdd", "AssignAddVariableOp", delta, use_locking, name, read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Subtracts from the value; gives the difference."""
        return self._update("AssignSub", "AssignSubVariableOp", delta, use_locking, name, read_value)

    def _scatter(self, kind, slices, use_locking, name):
        if not isinstance(slices, IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {slices}")
        return scatter(kind, self, slices.indices, slices.values, use_locking, name)

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("Add", sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("Sub", sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("Update", sparse_delta, use_locking, name)

    def count_up_to(self, limit):
        return ops.apply("CountUpTo", [self._handle], {"limit": limit})

    # ---- saving ----
    def to_proto(self, export_scope=None):
        from thalweg import messages
        return messages.VariableDef(variable_name=self.name, initializer_name=self._initializer.name,
                                    snapshot_name=self._snapshot.name, is_resource=self._resource,
                                    trainable=self._trainable, initial_value_name=self._initial_value.name)

    def __getitem__(self, key):
        return strided_slice_of(self._as_tensor(), key)

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


add_operators(Variable)


def scatter(kind, ref, indices, updates, use_locking=False, name=None):
    """Rows of a variable: Update, Add, Sub, Mul ..."""
    if getattr(ref, "_resource", False):
        updates = ops.convert_to_tensor(updates, dtype=ref._dtype)
        op = ops.apply(f"ResourceScatter{kind}", [ref.handle, indices, updates], {"dtype": ref._dtype}, name=name)
        with graph.control_dependencies([op]):
            return ref._as_tensor()
    return ops.apply(f"Scatter{kind}", [ref, indices, updates], {"use_locking": use_locking}, name=name)


def scatter_update(ref, indices, updates, use_locking=True, name=None):
    return scatter("Update", ref, indices, updates, use_locking, name)


def scatter_add(ref, indices, updates, use_locking=False, name=None):
    return scatter("Add", ref, indices, updates, use_locking, name)


def scatter_sub(ref, indices, updates, use_locking=False, name=None):
    return scatter("Sub", ref, indices, updates, use_locking, name)


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """Sets a variable; gives its value."""
    if isinstance(ref, Variable) and ref._resource:
        return ref.assign(value, name=name)
    return ops.apply("Assign", [ref, value], {"validate_shape": validate_shape, "use_locking": use_locking}, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    """Adds to a variable; gives the sum."""
    if isinstance(ref, Variable):
        return ref.assign_add(value, bool(use_locking), name)
    return ops.apply("AssignAdd", [ref, value], {"use_locking": use_locking}, name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    """Subtracts from a variable; gives the difference."""
    if isinstance(ref, Variable):
        return ref.assign_sub(value, bool(use_locking), name)
    return ops.apply("AssignSub", [ref, value], {"use_locking": use_locking}, name=name)


def global_variables(scope=None):
    """Variables that are shared by all tasks."""
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables():
    """The old name of global_variables."""
    return global_variables()


def initialize_all_variables():
    """The old name of global_variables_initializer."""
    return global_variables_initializer()


def initialize_local_variables():
    """The old name of local_variables_initializer."""
    return local_variables_initializer()


def initialize_variables(var_list, name="init"):
    """The old name of variables_initializer."""
    return variables_initializer(var_list, name)


def local_variables(scope=None):
    return graph.get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None):
    return graph.get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope=None):
    """Variables that an optimizer changes unless it is told which."""
    return graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope=None):
    return graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list, name="init"):
    """An operation that gives variables their initial values."""
    return ops.group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer():
    """An operation that gives all global variables their initial values."""
    return variables_initializer(global_variables())


def local_variables_initializer():
    return variables_initializer(local_variables())


def is_variable_initialized(variable):
    if variable._resource:
        return ops.apply("VarIsInitializedOp", [variable.handle])
    return ops.apply("IsVariableInitialized", [variable])


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """The names of variables that have no value yet, as a string vector."""
    from thalweg import array_ops
    var_list = global_variables() + local_variables() if var_list is None else var_list
    if not var_list:
        return ops.constant([], dtypes.string)
    missing = ops.apply("LogicalNot", [array_ops.stack([is_variable_initialized(v) for v in var_list])])
    return array_ops.boolean_mask(ops.constant([v.op.name for v in var_list]), missing, name=name)
