# SPDX-License-Identifier: Apache-2.0
"""Graph: names, scopes, devices, control dependencies and collections over the core's graph."""
import contextlib
import re
import threading

from thalweg import _core, errors
from thalweg.tensor import Operation, Tensor

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class GraphKeys:
    """Names of the collections that the package itself uses."""
    GLOBAL_VARIABLES = VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    TRAIN_OP = "train_op"
    EVAL_STEP = "eval_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


_environments = {}


def environment(threads=-1, cpu_devices=1):
    """The process' environment of this size, made at its first use; the default one knows all loaded operations."""
    made = _environments.get((threads, cpu_devices))
    if made is None:
        made = _environments.setdefault((threads, cpu_devices),
                                        _core.Environment(threads=threads, cpu_devices=cpu_devices))
    return made


def _parts_of_device(text):
    """{"job": .., "device": ..} of a device string in any of its forms."""
    parts = {}
    for part in (text or "").split("/"):
        kind, _, value = part.partition(":")
        if kind.lower() in ("cpu", "gpu"):
            parts["device"] = f"{kind.upper()}:{value or '*'}"
        elif kind == "device":
            parts["device"] = value
        elif kind:
            parts[kind] = value
    return parts


def merge_devices(inner, outer):
    """What `inner` leaves open is taken from `outer`."""
    if not inner:
        return outer or ""
    parts = {**_parts_of_device(outer), **_parts_of_device(inner)}
    return "".join(f"/{kind}:{parts[kind]}" for kind in ("job", "replica", "task", "device") if kind in parts)


class _State(threading.local):
    """Where a thread is within the scopes of a graph."""

    def __init__(self):
        self.scope = ""
        self.device = ""
        self.device_functions = ()  # when there are any: all device scopes, functions and names, the innermost first
        self.controls = []
        self.colocate = None
        self.overrides = None  # of gradients: see custom_gradients.py
        self.context = None  # of control flow: see control_flow.py


class Graph(_core.Graph):
    """A dataflow graph; operations are added to the default one, see as_default."""
    _captures = None  # of a function's body: see functions.py
    _lift_variable = None  # of a tf.function's body: see graph_functions.py

    def __new__(cls):
        return _core.Graph.__new__(cls, environment())

    def __init__(self):
        self._state = _State()
        self._names = {}
        self._collections = {}
        self._contexts = {}   # id of a node -> its control-flow context
        self._finalized = False
        self.seed = None
        self._lock = threading.RLock()

    # ---- names ----
    def unique_name(self, name, mark_as_used=True):
        """`name` under the current scope, with _1, _2 ... when it is taken."""
        scope = self._state.scope
        if scope:
            name = f"{scope}/{name}"
        key = name.lower()
        used = self._names.get(key, 0)
        if mark_as_used:
            self._names[key] = used + 1
        if used == 0 and not self._has(name):
            return name
        base = name
        used = max(used, 1)
        while True:
            name = f"{base}_{used}"
            used += 1
            if name.lower() not in self._names and not self._has(name):
                break
        if mark_as_used:
            self._names[key] = used
            self._names[name.lower()] = 1
        return name

    @contextlib.contextmanager
    def name_scope(self, name):
        if name:
            if isinstance(name, bytes):
                name = name.decode()
            valid = _VALID_SCOPE if self._state.scope else _VALID_NAME
            if not valid.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self._state.scope
        if not name:
            self._state.scope = ""
        else:
            self._state.scope = name[:-1] if name.endswith("/") else self.unique_name(name)
        try:
            yield self._state.scope + "/" if self._state.scope else ""
        finally:
            self._state.scope = old

    def get_name_scope(self):
        return self._state.scope

    # ---- scopes ----
    @contextlib.contextmanager
    def device(self, device_name_or_function):
        state = self._state
        old = state.device, state.device_functions
        if callable(device_name_or_function):
            state.device_functions = (device_name_or_function,) + (state.device_functions or (state.device,))
        elif device_name_or_function is None:
            state.device, state.device_functions = "", ()
        else:
            text = str(device_name_or_function)
            _check_device(text)
            state.device = merge_devices(text, state.device)
            if state.device_functions:
                state.device_functions = (text,) + state.device_functions
        try:
            yield
        finally:
            state.device, state.device_functions = old

    def _apply_device_functions(self, op):
        """Tells an object that stands for an operation where one made now would be put: libraries ask so."""
        if self._state.device:
            from thalweg.device_specs import DeviceSpec
            op._set_device(DeviceSpec.from_string(self._state.device))

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs):
        state = self._state
        old = state.controls, state.context
        if control_inputs is None:
            state.controls, state.context = [], None
        else:
            more = [self.as_graph_element(c) for c in control_inputs]
            more = [c.op if isinstance(c, Tensor) else c for c in more]
            if state.context is not None:
                more = state.context.controls_inside(more)
            state.controls = list(dict.fromkeys([*state.controls, *more]))
        try:
            yield
        finally:
            state.controls, state.context = old

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        state = self._state
        old = state.colocate, state.device, state.device_functions
        if op is not None:
            op = self.as_graph_element(op)
            op = op.op if isinstance(op, Tensor) else op
            state.colocate = (() if ignore_existing or old[0] is None else old[0]) + (f"loc:@{op.name}",)
            state.device, state.device_functions = op.device or "", ()  # where the other is, whatever the scopes around say
        else:
            state.colocate = None
        try:
            yield
        finally:
            state.colocate, state.device, state.device_functions = old

    @contextlib.contextmanager
    def as_default(self):
        _default.stack.append(self)
        try:
            yield self
        finally:
            if not _default.stack or _default.stack[-1] is not self:
                raise AssertionError("Nesting violated for default stack of Graph objects")
            _default.stack.pop()

    def gradient_override_map(self, op_type_map):
        """with g.gradient_override_map({"Identity": "Name"}): new Identity operations have the gradient registered so."""
        from thalweg import custom_gradients
        return custom_gradients.override(self, op_type_map)

    # ---- elements ----
    def _element_of_name(self, name):
        """An Operation for "name", a Tensor for "name:0"; KeyError for one that is not there."""
        op_name, colon, index = name.partition(":")
        op = self._find(op_name)
        if op is None:
            raise KeyError(
                f"The name '{name}' refers to {'a Tensor' if colon else 'an Operation'} which does not exist. "
                f"The operation, '{op_name}', does not exist in the graph.")
        if not colon:
            return op
        if not index.isdigit():
            raise ValueError(f"The name '{name}' looks a like a Tensor name, but is not a valid one. "
                             "Tensor names must be of the form \"<op_name>:<output_index>\".")
        if int(index) >= op._num_outputs:
            raise KeyError(f"The name '{name}' refers to a Tensor which does not exist. The operation, '{op_name}', "
                           f"exists but only has {op._num_outputs} outputs.")
        return op._output(int(index))

    def _fetched_by_name(self, name):
        try:
            return self._element_of_name(name)
        except (KeyError, ValueError) as error:
            raise ValueError(f"Fetch argument {name!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None

    def _fed_by_name(self, name):
        try:
            return self._element_of_name(name)
        except (KeyError, ValueError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, (str, bytes)):
            obj = obj.decode() if isinstance(obj, bytes) else obj
            found = self._element_of_name(obj)
            if isinstance(found, Tensor) and not allow_tensor:
                raise ValueError(f"Name {obj!r} appears to refer to a Tensor, not a Operation.")
            if isinstance(found, Operation) and not allow_operation:
                raise ValueError(f"The name '{obj}' refers to an Operation, not a Tensor. Tensor names must be of the "
                                 "form \"<op_name>:<output_index>\".")
            return found
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        wanted = " or ".join(n for n, a in (("Tensor", allow_tensor), ("Operation", allow_operation)) if a)
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def get_operation_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        if ":" not in name and self._find(name) is None:
            raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def get_operations(self):
        return self._nodes()

    # ---- messages ----
    def as_graph_def(self, from_version=None, add_shapes=False):
        from thalweg import messages
        return messages.GraphDef.FromString(self._export(False))

    @property
    def version(self):
        return self._num_nodes()

    # ---- collections ----
    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        matches = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and matches(item.name)]

    def get_all_collection_keys(self):
        return [name for name in self._collections if isinstance(name, str)]

    @property
    def collections(self):
        return self.get_all_collection_keys()

    def clear_collection(self, name):
        self._collections.pop(name, None)

    # ---- state ----
    @property
    def finalized(self):
        return self._finalized

    def finalize(self):
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    def _device_of(self, op):
        """The device that an operation gets from the scopes around the caller: a name fills in what those within it leave
        open, a function says the whole device."""
        for scope in self._state.device_functions or (self._state.device,):
            op.device = scope(op) or "" if callable(scope) else merge_devices(op.device, scope)
        return str(op.device)

    def _adopt(self, first, prefix):
        """Operations that the core has made since node `first`, under `prefix`, belong to where the caller is: they run on
        the device of its scopes, unless they are colocated with others, and wait for its control dependencies, directly or
        by one that they read."""
        state = self._state
        if state.context is not None:
            state.context.adopt(self, first)
        if state.device or state.device_functions:
            for op in self._nodes(first):
                if op.name.startswith(prefix) and op.colocation_groups() == [f"loc:@{op.name}".encode()]:
                    self._set_device(op, self._device_of(NodeView(op.type, op.name, {}, op.device)))
        if not state.controls:
            return
        waiting = set()
        for op in self._nodes(first):
            if not op.name.startswith(prefix):
                continue
            if not any(i.op._id in waiting for i in op.inputs) and not any(c._id in waiting for c in op.control_inputs):
                for before in state.controls:
                    self._add_control_input(op, before)
            waiting.add(op._id)

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def is_feedable(self, tensor):
        return True

    def is_fetchable(self, tensor_or_op):
        return True


class NodeView:
    """What a device function sees of an operation. `attrs`: those that are given, by name; of variables they say what their
    output is."""

    def __init__(self, op, name, attrs, device=""):
        self.type, self.name, self._attrs, self.device = op, name, attrs, device

    def get_attr(self, name):
        from thalweg import dtypes
        if name not in self._attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        kind, value = self._attrs[name]
        return dtypes._BY_NUMBER[value] if kind == "t" else value

    @property
    def outputs(self):
        """Of a variable: what has a type and a shape."""
        from thalweg import dtypes, type_specs
        if self.type in ("Variable", "VariableV2"):
            return [type_specs.TensorSpec(self.get_attr("shape"), self.get_attr("dtype"))]
        return [type_specs.TensorSpec([], dtypes.resource)] if self.type == "VarHandleOp" else []


def _check_device(text):
    for part in text.split("/"):
        kind = part.partition(":")[0]
        if part and kind.lower() not in ("job", "replica", "task", "device", "cpu", "gpu"):
            raise ValueError(f"Unknown attribute: '{kind}' in '{text}'")


class _Default(threading.local):
    def __init__(self):
        self.stack = []


_default = _Default()
_global = None


def get_default_graph():
    global _global
    if _default.stack:
        return _default.stack[-1]
    if _global is None:
        _global = Graph()
    return _global


def reset_default_graph():
    global _global
    if _default.stack:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
                             "exit the nesting and create a new graph.")
    _global = None


class name_scope:
    """with tw.name_scope("layer"): names of new operations begin with "layer/"."""

    def __init__(self, name, default_name=None, values=None):
        self._name = default_name if name is None else name
        self._values = values

    @property
    def name(self):
        return self._name

    def __enter__(self):
        if self._name is None and self._values is not None:
            raise ValueError(f"At least one of name ({self._name}) and default_name must be provided.")
        self._context = get_default_graph().name_scope(self._name)
        return self._context.__enter__()

    def __exit__(self, *error):
        return self._context.__exit__(*error)


def device(device_name_or_function):
    """with tw.device("/cpu:1"): new operations are to run there."""
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs):
    """with tw.control_dependencies([op]): new operations run after these."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op, ignore_existing=False):
    return get_default_graph().colocate_with(op, ignore_existing)


def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def set_random_seed(seed):
    """The seed of the graph: operations without their own get one that depends on it and on their place."""
    get_default_graph().seed = seed


_DEFAULT_SEED = 87654321


def get_seed(op_seed):
    """The two seeds that a random operation gets, by TF1's rule."""
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = graph.seed, graph._num_nodes() if op_seed is None else op_seed
    elif op_seed is not None:
        seeds = _DEFAULT_SEED, op_seed
    else:
        return None, None
    seeds = tuple(s % (2**31 - 1) if abs(s) >= 2**31 else s for s in seeds)
    return (0, 2**31 - 1) if seeds == (0, 0) else seeds


def _without_default_attrs(data, producer_op_list):
    """The GraphDef without attributes that are not known here and have the default that the producer's operations give them."""
    from thalweg import messages
    graph = messages.GraphDef.FromString(data)
    if isinstance(producer_op_list, bytes):
        producer_op_list = messages.OpList.FromString(producer_op_list)
    here = {op.name: {a.name for a in op.attr} for op in messages.OpList.FromString(environment().op_list(False)).op}
    there = {op.name: {a.name: a.default_value.SerializeToString() for a in op.attr if a.HasField("default_value")} for op in producer_op_list.op}
    for node in [*graph.node, *[n for f in graph.library.function for n in f.node_def]]:
        defaults = there.get(node.op, {})
        for name in [n for n in node.attr if node.op in here and n not in here[node.op]]:
            if node.attr[name].SerializeToString() == defaults.get(name):
                del node.attr[name]
    return graph.SerializeToString()


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None):
    """Adds the nodes of a GraphDef (a message or its bytes) under the scope `name` ("import")."""
    graph = get_default_graph()
    graph._check_not_finalized()
    data = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    if producer_op_list is not None:
        data = _without_default_attrs(data, producer_op_list)
    names = [n if isinstance(n, str) else n.decode() for n in input_map or {}]
    names = [n if n.startswith("^") or ":" in n else n + ":0" for n in names]
    from thalweg.ops import convert_to_tensor
    with graph.as_default():
        tensors = [convert_to_tensor(t) for t in (input_map or {}).values()]
    prefix = "import" if name is None else name
    if prefix:
        prefix = prefix[:-1] if prefix.endswith("/") else graph.unique_name(prefix)
    wanted = [e if isinstance(e, str) else e.decode() for e in return_elements or []]
    returned = iter(graph._import(data, False, prefix, names, tensors, list(graph._state.controls),
                                  [w for w in wanted if ":" in w]))
    if return_elements is None:
        return None
    path = prefix + "/" if prefix else ""
    return [next(returned) if ":" in w else graph.get_operation_by_name(path + w) for w in wanted]


def _expand_fetch(fetch):
    from thalweg import session
    return session._expand_fetch(fetch)


def _expand_feeds(feed_dict):
    from thalweg import session
    return session._expand_feeds(feed_dict)


_core.set_hooks(Operation, Tensor, errors._make, _expand_fetch, _expand_feeds)
