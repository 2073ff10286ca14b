# SPDX-License-Identifier: Apache-2.0
"""New operations: arguments to tensors, attributes to the core's, under the current scopes of the graph."""
import collections
import json
import os
import sys

import numpy as np

from thalweg import _core, dtypes
from thalweg import graph as graph_module
from thalweg.shapes import TensorShape, dims_of
from thalweg.tensor import IndexedSlices, Operation, Tensor

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSIDE = {}  # file name -> whether it is one of the package's

Argument = collections.namedtuple("Argument", "name is_ref number_attr type_list_attr type_attr dtype")
Attribute = collections.namedtuple("Attribute", "name kind has_default default")


class Schema:
    """What an operation takes and gives, as _schemas.py has it."""

    __slots__ = ("op", "inputs", "outputs", "attrs", "inferred", "several_lists", "simple", "result")

    def __init__(self, op, text):
        inputs, outputs, *attrs = text.split("\n")
        self.op = op
        self.inputs = [_argument(a) for a in inputs.split("\t") if a]
        self.outputs = [_argument(a) for a in outputs.split("\t") if a]
        self.attrs = {}
        for row in attrs:
            name, kind, *default = row.split("\t")
            self.attrs[name] = Attribute(name, kind, bool(default), json.loads(default[0]) if default else None)
        self.inferred = {a for i in self.inputs for a in (i.number_attr, i.type_list_attr, i.type_attr) if a}
        self.several_lists = len({i.type_list_attr for i in self.inputs if i.type_list_attr}) > 1
        self.simple = not any(i.number_attr or i.type_list_attr for i in self.inputs)
        self.result = None
        if len(self.outputs) > 1:
            self.result = collections.namedtuple(op, [o.name for o in self.outputs], rename=True)

    def parameters(self):
        """Attributes that a caller gives, those without a default first."""
        given = [a for a in self.attrs.values() if a.name not in self.inferred]
        return [a for a in given if not a.has_default] + [a for a in given if a.has_default]


def _argument(text):
    name, _, spec = text.partition(":")
    is_ref = spec.startswith("&")
    spec = spec[1:] if is_ref else spec
    if spec.startswith("["):
        return Argument(name, is_ref, None, spec[1:-1], None, None)
    number, star, kind = spec.rpartition("*")
    fixed = dtypes.as_dtype(int(kind[1:])) if kind.startswith("=") else None
    return Argument(name, is_ref, number if star else None, None, None if fixed else kind, fixed)


_schemas = {}


def schema_of(op):
    found = _schemas.get(op)
    if found is None:
        from thalweg._schemas import SCHEMAS
        if op not in SCHEMAS:
            found = _loaded_schema(op)
        else:
            found = Schema(op, SCHEMAS[op])
        _schemas[op] = found
    return found


def _loaded_schema(op):
    """The schema of an operation that came with load_op_library."""
    from thalweg import attributes, messages
    for definition in messages.OpList.FromString(graph_module.environment().op_list(False)).op:
        if definition.name == op:
            return Schema(op, attributes.schema_text(definition))
    raise ValueError(f"Op type not registered '{op}'")


def site():
    """The line of the caller outside the package: "train.py:41 in build"."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        inside = _INSIDE.get(name)
        if inside is None:
            inside = _INSIDE[name] = name.startswith(_PACKAGE) or name in (_CONTEXTLIB, "<thalweg>")
        if not inside:
            return f"{name}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return ""


_CONTEXTLIB = sys.modules["contextlib"].__file__


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """A tensor of `value`: itself, a variable's value, or a constant."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
    if not isinstance(value, Tensor):
        convert = getattr(value, "_as_tensor", None)
        if convert is not None:
            value = convert()
        elif isinstance(value, IndexedSlices):
            from thalweg.gradient_ops import densify
            value = densify(value)
        elif isinstance(value, (list, tuple)) and any(_has_tensor(v) for v in value):
            from thalweg.array_ops import stack
            value = stack([convert_to_tensor(v, dtype=_dtype_of(value) or dtype) for v in value], name=name or "packed")
        elif isinstance(value, TensorShape):
            value = constant(value.as_list(), dtype or dtypes.int32, name=name or "shape_as_tensor")
        else:
            preferred = preferred_dtype or dtype_hint
            if dtype is None and preferred is not None:
                try:
                    return constant(value, preferred, name=name or "Const")
                except (TypeError, ValueError):
                    pass
            return constant(value, dtype, name=name or "Const")
    if dtype is not None and value.dtype.base_dtype is not dtype:
        raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                         f"{value.dtype.base_dtype.name}: {value!r}")
    return value


def _has_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(_has_tensor(v) for v in value)
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def _dtype_of(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            found = _dtype_of(v)
        else:
            found = getattr(v, "dtype", None) if isinstance(v, Tensor) or hasattr(v, "_as_tensor") else None
            found = getattr(found, "base_dtype", None)
        if found is not None:
            return found
    return None


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A node that gives `value`."""
    if value is None:
        raise ValueError("None values not supported.")
    number = 0 if dtype is None else dtypes.as_dtype(dtype).base_dtype._number
    if isinstance(value, (str, bytes)) and number and dtypes.as_dtype(dtype).base_dtype is not dtypes.string:
        raise TypeError(f"Expected {dtypes.as_dtype(dtype).base_dtype.name}, got {value!r} of type 'str' instead.")
    if shape is not None:
        number, array = _core.to_numpy(value, number)
        wanted = tuple(int(d) for d in (shape.as_list() if isinstance(shape, TensorShape) else np.ravel(shape)))
        value = _filled(np.asarray(array), wanted, verify_shape)
    return _create("Const", name or "Const", [], [("value", "v", (number, value))])._output(0)


def _filled(array, shape, verify_shape):
    """TF1's rule: too few values are filled up with the last one."""
    count = int(np.prod(shape, dtype=np.int64))
    if array.size == count and (not verify_shape or array.shape == shape):
        return array.reshape(shape)
    if verify_shape or array.size > count or array.size == 0:
        raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}"
                         if array.size > count else f"Expected Tensor's shape: {shape}, got {array.shape}.")
    flat = array.ravel()
    return np.concatenate([flat, np.full(count - flat.size, flat[-1], flat.dtype)]).reshape(shape)


def _create(op, name, flat, attrs, controls=()):
    """A node under the scopes of the default graph; `name` that ends in / is used as it is."""
    stack = graph_module._default.stack
    if stack and stack[-1]._captures is not None:  # the body of a function
        graph = stack[-1]
        flat = [t if t is None else graph.inside(t) for t in flat]
        controls = [c for c in controls if c.graph is graph]
    else:
        graph = flat[0].graph if flat and isinstance(flat[0], Tensor) else graph_module.get_default_graph()
    if graph._finalized:
        graph._check_not_finalized()
    state = graph._state
    before = [*state.controls, *controls] if state.controls or controls else []
    if before and flat:  # what an operation reads, it waits for anyway
        read = {t.op for t in flat if t is not None}
        before = [c for c in before if c not in read]
    context = state.context
    if context is not None:
        flat, before = context.enter(op, flat, before)
    name = name[:-1] if name.endswith("/") else graph.unique_name(name)
    if state.colocate is not None and not any(a[0] == "_class" for a in attrs):
        attrs = attrs + [("_class", "S", state.colocate)]
    device = state.device
    if device or state.device_functions:
        of_reference = flat and flat[0] is not None and flat[0].dtype._is_ref_dtype and schema_of(op).inputs[0].is_ref
        if of_reference:  # what changes a variable runs where the variable is, whatever the scopes say
            device = flat[0].op.device
            if not any(a[0] == "_class" for a in attrs):
                attrs = attrs + [("_class", "S", (f"loc:@{flat[0].op.name}",))]
        elif state.device_functions:
            device = graph._device_of(graph_module.NodeView(op, name, {a[0]: a[1:] for a in attrs}))
    try:
        made = graph._add_node(op, name, flat, before, attrs, device, site())
    except ValueError as error:
        if "is no valid node name" in str(error):
            raise ValueError(f"'{name}' is not a valid node name. {error}") from None
        raise
    if state.overrides is not None:
        from thalweg import custom_gradients
        custom_gradients.made(graph, made)
    if context is not None:
        graph._contexts[made._id] = context
        context.made(made)
    return made


def apply(op, inputs, attrs=None, name=None):
    """A new `op`; inputs in the schema's order, attrs by name (None: left at the default). Gives the operation, its
    tensor, or a named tuple of its outputs."""
    schema = _schemas.get(op) or schema_of(op)
    if len(inputs) != len(schema.inputs):
        raise TypeError(f"{schema.op} takes {len(schema.inputs)} inputs, got {len(inputs)}")
    if schema.several_lists:
        inputs, attrs = _with_list_types(schema, inputs, attrs)
    rows = [_attr_row(schema, key, value) for key, value in attrs.items() if value is not None] if attrs else []
    flat = _as_they_are(schema, inputs)
    try:
        if flat is not None:
            made = _create(op, name or op, flat, rows)
        else:
            made = _create_with_values(schema, inputs, attrs, rows, name or op)
    except ValueError as error:
        _explain_types(schema, inputs, error)
        raise
    outputs = schema.outputs
    if len(outputs) == 1 and not outputs[0].number_attr and not outputs[0].type_list_attr:
        return made._output(0)
    return _packed(schema, made, attrs or {}) if outputs else made


def _with_list_types(schema, inputs, attrs):
    """Inputs and attributes, in which it says where each of several lists ends: their types."""
    inputs = [[convert_to_tensor(v) for v in value] if argument.type_list_attr else value
              for argument, value in zip(schema.inputs, inputs)]
    types = {argument.type_list_attr: [v.dtype.base_dtype for v in value]
             for argument, value in zip(schema.inputs, inputs) if argument.type_list_attr}
    return inputs, {**types, **{key: value for key, value in (attrs or {}).items() if value is not None}}


def _create_with_values(schema, inputs, attrs, rows, name):
    """A node of values as well as tensors; what values become is named under it: "add/y"."""
    graph = graph_module.get_default_graph()
    state = graph._state
    outer = state.scope
    state.scope = name[:-1] if name.endswith("/") else graph.unique_name(name)  # as name_scope, for a hot path
    try:
        return _create(schema.op, state.scope + "/", _flat_inputs(schema, inputs, attrs), rows)
    finally:
        state.scope = outer


def _as_they_are(schema, inputs):
    """The inputs in a row when all are tensors or variables to be changed; None when a value is to become a tensor."""
    flat = []
    for argument, value in zip(schema.inputs, inputs):
        if type(value) is Tensor:
            flat.append(value)
        elif argument.is_ref and hasattr(value, "_ref_tensor"):
            flat.append(value._ref_tensor)
        elif (argument.number_attr or argument.type_list_attr) and type(value) in (list, tuple) and \
                all(type(v) is Tensor for v in value):
            flat.extend(value)
        else:
            return None
    return flat


def _flat_inputs(schema, inputs, attrs):
    types = {}
    for key, value in (attrs or {}).items():
        if value is not None and key in schema.attrs and schema.attrs[key].kind == "t":
            types[key] = dtypes.as_dtype(value).base_dtype
    for argument, value in zip(schema.inputs, inputs):
        if argument.type_attr and argument.type_attr not in types:
            found = _dtype_of(value if argument.number_attr and isinstance(value, (list, tuple)) else [value])
            if found is not None:
                types[argument.type_attr] = found
    flat = []
    for argument, value in zip(schema.inputs, inputs):
        if argument.number_attr or argument.type_list_attr:
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"Expected list for '{argument.name}' argument to '{schema.op}' Op, not {value!r}.")
            flat.extend(_converted(schema, argument, v, types, f"{argument.name}_{i}") for i, v in enumerate(value))
        else:
            flat.append(_converted(schema, argument, value, types, argument.name))
    return flat


def _converted(schema, argument, value, types, name):
    if argument.is_ref:
        value = getattr(value, "_ref_tensor", value)
        if not isinstance(value, Tensor):
            raise TypeError(f"'{schema.op}' Op requires that input '{argument.name}' be a mutable tensor "
                            f"(e.g.: a tf.Variable), got {value!r}")
        return value
    wanted = argument.dtype or types.get(argument.type_attr)
    if wanted is not None and wanted.base_dtype.name == "resource" and hasattr(value, "handle"):
        return value.handle
    preferred = None
    if wanted is None and argument.type_attr:
        attr = schema.attrs[argument.type_attr]
        preferred = dtypes.as_dtype(attr.default) if attr.has_default and attr.default else None
    if not isinstance(value, Tensor):
        try:
            value = convert_to_tensor(value, dtype=wanted, preferred_dtype=preferred, name=name)
        except (TypeError, ValueError) as error:
            found = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
            kind = TypeError if isinstance(value, (str, bytes)) else type(error)
            raise kind(f"Input '{argument.name}' of '{schema.op}' Op cannot be made from a value of type {found}: "
                              f"{error}") from None
    if argument.type_attr and argument.type_attr not in types:
        types[argument.type_attr] = value.dtype.base_dtype
    return value


def _explain_types(schema, inputs, error):
    """TF1 raises a TypeError where types clash."""
    types = {}
    for argument, value in zip(schema.inputs, inputs):
        for part in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(part, Tensor) or argument.type_list_attr:
                continue
            found = part.dtype.base_dtype
            wanted, first = types.setdefault(argument.type_attr, (found, argument.name)) \
                if argument.type_attr else (argument.dtype, None)
            if found is not wanted:
                reason = f"type {wanted.name} of argument '{first}'" if first else f"expected type of {wanted.name}"
                raise TypeError(f"Input '{argument.name}' of '{schema.op}' Op has type {found.name} that does not match "
                                f"{reason}. {error}") from None


def _attr_row(schema, key, value):
    attr = schema.attrs.get(key)
    if attr is None:
        if key.startswith("_"):
            return key, "b" if isinstance(value, bool) else "S" if isinstance(value, (list, tuple)) else "s", value
        raise TypeError(f"{schema.op} has no attribute '{key}'; it has {sorted(schema.attrs)}")
    kind = attr.kind
    try:
        if kind == "t":
            return key, kind, dtypes.as_dtype(value).base_dtype._number
        if kind == "h":
            return key, kind, dims_of(value)
        if kind == "T":
            return key, kind, [dtypes.as_dtype(v).base_dtype._number for v in value]
        if kind in "isfb":
            return key, kind, value
        if kind in "IF":
            return key, kind, list(value)
        if kind == "S":
            return key, kind, [value] if isinstance(value, (str, bytes)) else list(value)
        from thalweg import attributes
        return key, "p", attributes.attr_of_value(kind, value).SerializeToString()
    except TypeError as error:
        raise TypeError(f"Attribute '{key}' of {schema.op}: {error}") from None


def _packed(schema, made, attrs):
    """The outputs as lists and tensors, in a named tuple where there are several."""
    outputs = made.outputs
    lists = [o for o in schema.outputs if o.number_attr or o.type_list_attr]
    packed, place = [], 0
    for output in schema.outputs:
        if output not in lists:
            packed.append(outputs[place])
            place += 1
            continue
        if len(lists) == 1:
            count = len(outputs) - (len(schema.outputs) - 1)
        else:
            attr = output.number_attr or output.type_list_attr
            count = attrs.get(attr)
            count = made.get_attr(attr) if count is None else count
            count = count if isinstance(count, int) else len(count)
        packed.append(outputs[place:place + count])
        place += count
    return packed[0] if len(packed) == 1 else schema.result(*packed)


_BINARY = {"add": ("Add", "add"), "sub": ("Sub", "sub"), "mul": ("Mul", "mul"), "floordiv": ("FloorDiv", "floordiv"),
           "mod": ("FloorMod", "mod"), "pow": ("Pow", "pow"), "lt": ("Less", "Less"), "le": ("LessEqual", "LessEqual"),
           "gt": ("Greater", "Greater"), "ge": ("GreaterEqual", "GreaterEqual"), "and": ("LogicalAnd", "and"),
           "or": ("LogicalOr", "or"), "xor": (None, None), "matmul": (None, None), "truediv": (None, None)}


def binary(name, x, y):
    """What x <operator> y makes; a value that is no tensor takes the other's type."""
    op, node_name = _BINARY[name]
    if op is not None:
        return apply(op, [x, y], name=node_name)
    from thalweg import math_ops
    with graph_module.name_scope(name) as scope:
        return {"xor": math_ops.logical_xor, "matmul": math_ops.matmul, "truediv": math_ops.truediv}[name](x, y, name=scope)


def group(*inputs, **kwargs):
    """An operation that has run when all inputs have."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = graph_module.get_default_graph()
    before = []
    pending = list(inputs)
    while pending:
        item = pending.pop(0)
        if isinstance(item, (list, tuple)):
            pending[:0] = item
        elif item is not None:
            if not isinstance(item, (Tensor, Operation)) and not hasattr(item, "_as_graph_element") and \
                    not isinstance(item, (str, bytes)):
                raise TypeError(f"Expected tf.group() expected Tensor arguments not '{item}' with type '{type(item)}'")
            item = graph.as_graph_element(item)
            before.append(item.op if isinstance(item, Tensor) else item)
    return _create("NoOp", name or "group_deps", [], [], controls=list(dict.fromkeys(before)))


def no_op(name=None):
    """Does nothing; a place for control dependencies."""
    return apply("NoOp", [], name=name)


def op_scope_name(name, default):
    return name if name else default


__all__ = ["Operation", "apply", "binary", "constant", "convert_to_tensor", "group", "no_op", "schema_of"]
