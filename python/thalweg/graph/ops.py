# SPDX-License-Identifier: Apache-2.0
"""New operations: arguments to tensors, attributes to the core's, under the current scopes of the graph."""
from __future__ import annotations

import importlib
import re
import warnings
from typing import TYPE_CHECKING

import numpy as np

from thalweg import _core, dtypes
from thalweg.graph import constant_values, graph as graph_module
from thalweg.graph.graph import create_node
from thalweg.graph.schemas import _schemas, schema_of
from thalweg.graph.shapes import Dimension, TensorShape, dims_of
from thalweg.graph.tensor import IndexedSlices, Operation, Tensor, has_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, Element, ShapeLike, TensorLike
    from thalweg.graph.sparse_tensor import SparseTensor


_composites: dict[type[Any], str] = {}  # classes of several tensors: the module whose `make` makes operations of them


def register_composite(kind: type[Any], module: str) -> None:
    """Operations that get values of this class are made by `module.make(op, inputs, attrs, name)`, which is imported for the first one.
    The class has an `_as_tensor` that gives the value itself, so that functions hand it on to the operations that they are made of, and
    `_map_values(function)` for those that look at shapes."""
    _composites[kind] = module


def convert_to_tensor(value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None,
                      preferred_dtype: DTypeLike | None = None, dtype_hint: DTypeLike | None = None) -> Tensor:
    """A tensor of a value: itself, what a variable holds, or a constant.

    Parameters
    ----------
    value : Tensor, variable, IndexedSlices, number, string, array, or lists of them
        A list with tensors in it becomes their stack.
    dtype : DType, optional
        That it must have; a tensor is not converted.
    name : str, optional
        Of the operation.
    preferred_dtype, dtype_hint : DType, optional
        That it gets where it fits and `dtype` is not given.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        The value cannot become a tensor of this type.
    ValueError
        A tensor is of another type than `dtype`, or lists are of unequal length.

    Examples
    --------
    >>> tw.convert_to_tensor([1.0, 2.0])
    <tf.Tensor 'Const:0' shape=(2,) dtype=float32>
    >>> x = tw.constant(1)
    >>> tw.convert_to_tensor(x) is x
    True
    """
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
    if not isinstance(value, Tensor):
        convert = getattr(value, "_as_tensor", None)
        if convert is not None:
            value = convert()
        elif isinstance(value, IndexedSlices):
            value = densify(value)
        elif isinstance(value, (list, tuple)) and any(_has_tensor(v) for v in value):
            parts = [convert_to_tensor(v, dtype=_dtype_of(value) or dtype) for v in value]
            value = apply("Pack", [parts], {"axis": 0}, name=name or "packed")
        elif isinstance(value, Dimension):
            if dtype is not None and dtype not in (dtypes.int32, dtypes.int64):
                raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype!r}")
            if value.value is None:
                raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
            value = constant(value.value, dtype or dtypes.int32, name=name or "shape_as_tensor")
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


def densify(slices: IndexedSlices) -> Tensor:
    """IndexedSlices as a tensor; large ones get a warning, once for each line."""
    if not isinstance(slices, IndexedSlices):
        return slices
    if slices.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {slices}")
    rows = slices.dense_shape[0]
    static = slices.values.shape
    if static.ndims is None or not static[1:].is_fully_defined() or static[1:].num_elements() > 10**8:
        warnings.warn("Converting sparse IndexedSlices to a dense Tensor of unknown shape. This may consume a large amount "
                      "of memory.", stacklevel=3)
    return apply("UnsortedSegmentSum", [slices.values, slices.indices, rows])


def is_dense(value: object) -> bool:
    """Whether a value is a tensor, or a variable, which is one where it is used."""
    return isinstance(value, Tensor) or hasattr(value, "_as_tensor")


def _has_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(_has_tensor(v) for v in value)
    return is_dense(value)


def _dtype_of(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            found = _dtype_of(v)
        else:
            found = getattr(v, "dtype", None) if is_dense(v) else None
            found = getattr(found, "base_dtype", None)
        if found is not None:
            return found
    return None


def constant(value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str = "Const",
             verify_shape: bool = False) -> Tensor:
    """A tensor whose value stands in the graph.

    Parameters
    ----------
    value : number, string, array, or lists of them
    dtype : DType, optional
        That of `value` unless given: int32 for int, float32 for float, that of an array.
    shape : list of int, optional
        Of the tensor; where `value` has fewer elements, the last one fills it up.
    name : str, optional
        Of the operation.
    verify_shape : bool, optional
        Whether `value` must have this very shape.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        `value` does not fit `dtype`, or has not the shape that `verify_shape` asks for.
    ValueError
        `value` has more elements than `shape`, or its lists are of unequal length.

    Examples
    --------
    >>> tw.constant([[1, 2], [3, 4]])
    <tf.Tensor 'Const:0' shape=(2, 2) dtype=int32>
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.constant(7.0, shape=[2])))
    [7. 7.]
    """
    if value is None:
        raise ValueError("None values not supported.")
    if has_value(value):
        if dtype is not None and dtypes.as_dtype(dtype).base_dtype is not value.dtype:
            raise TypeError(f"Expected tensor with type {dtypes.as_dtype(dtype)!r} not {value.dtype!r}")
        if shape is None and graph_module.get_default_graph()._executes:
            return value
        value = value.numpy()
    number = 0 if dtype is None else dtypes.as_dtype(dtype).base_dtype._number
    if dtype is not None or type(value) not in (float, int, bool, str):
        constant_values.check(value, dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype)
    if shape is not None:
        number, array = _core.to_numpy(value, number)
        wanted = tuple(int(d) for d in (shape.as_list() if isinstance(shape, TensorShape) else np.ravel(shape)))
        value = _filled(np.asarray(array), wanted, verify_shape)
    return create_node("Const", name or "Const", [], [("value", "v", (number, value))])._output(0)


def _filled(array, shape, verify_shape):
    """TF1's rule: too few values are filled up with the last one."""
    count = int(np.prod(shape, dtype=np.int64))
    if array.size == count and (not verify_shape or array.shape == shape):
        return array.reshape(shape)
    if verify_shape or array.size > count or array.size == 0:
        if array.size > count and not verify_shape:
            raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
        raise (TypeError if verify_shape else ValueError)(f"Expected Tensor's shape: {shape}, got {array.shape}.")
    flat = array.ravel()
    return np.concatenate([flat, np.full(count - flat.size, flat[-1], flat.dtype)]).reshape(shape)


def apply(op: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None, name: str | None = None) -> Any:
    """A new `op`; inputs in the schema's order, attrs by name (None: left at the default). Gives the operation, its
    tensor, or a named tuple of its outputs."""
    schema = _schemas.get(op) or schema_of(op)
    if len(inputs) != len(schema.inputs):
        raise TypeError(f"{schema.op} takes {len(schema.inputs)} inputs, got {len(inputs)}")
    graph = graph_module.get_default_graph()
    if graph._executes:
        return graph._apply(schema, inputs, attrs or {}, name)
    if schema.several_lists:
        inputs, attrs = _with_list_types(schema, inputs, attrs)
    rows = [_attr_row(schema, key, value) for key, value in attrs.items() if value is not None] if attrs else []
    flat = _as_they_are(schema, inputs)
    if flat is None and _composites:
        module = _composite_among(schema, inputs)
        if module is not None:
            return made_of_composites(module, op, inputs, attrs or {}, name)
    try:
        if flat is not None:
            made = create_node(op, name or op, flat, rows)
        else:
            made = _create_with_values(schema, inputs, attrs, rows, name or op)
    except ValueError as error:
        _explain_types(schema, inputs, error)
        _explain_choice(schema, error)
        raise
    outputs = schema.outputs
    if len(outputs) == 1 and not outputs[0].number_attr and not outputs[0].type_list_attr:
        return made._output(0)
    return _packed(schema, made, attrs or {}) if outputs else made


def made_of_composites(module: str, op: str, inputs: Sequence[Any], attrs: Mapping[str, Any], name: str | None) -> Any:
    """What the module of a registered class makes of an operation."""
    return importlib.import_module(module).make(op, inputs, attrs, name)


def _composite_among(schema, inputs):
    """The module for the first input that is of a registered class, alone or in a list of inputs."""
    for argument, value in zip(schema.inputs, inputs):
        parts = value if (argument.number_attr or argument.type_list_attr) and isinstance(value, (list, tuple)) else (value,)
        for part in parts:
            if type(part) in _composites:
                return _composites[type(part)]
    return None


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
        return create_node(schema.op, state.scope + "/", _flat_inputs(schema, inputs, attrs), rows)
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
        except TypeError as error:
            if wanted is None:
                raise
            raise TypeError(f"Expected {wanted.base_dtype.name} passed to parameter '{argument.name}' of op '{schema.op}', got "
                            f"{value!r} of type '{type(value).__name__}' instead. Error: {error}") from None
        except ValueError as error:
            raise ValueError(f"Tried to convert '{argument.name}' to a tensor and failed. Error: {error}") from None
    if argument.type_attr and argument.type_attr not in types:
        types[argument.type_attr] = value.dtype.base_dtype
    return value


def _explain_types(schema, inputs, error):
    """TF1 raises a TypeError where types clash."""
    types = {}
    for argument, value in zip(schema.inputs, inputs):
        parts = value if isinstance(value, (list, tuple)) else [value]
        found = [part.dtype.base_dtype.name for part in parts if isinstance(part, Tensor)]
        if argument.number_attr and argument.type_attr and len(set(found)) > 1:
            raise TypeError(f"Tensors in list passed to '{argument.name}' of '{schema.op}' Op have types [{', '.join(found)}] "
                            f"that don't all match. {error}") from None
        for part in parts:
            part = getattr(part, "_ref_tensor", part)
            if not isinstance(part, Tensor) or argument.type_list_attr:
                continue
            found = part.dtype.base_dtype
            wanted, first = types.setdefault(argument.type_attr, (found, argument.name)) \
                if argument.type_attr else (argument.dtype, None)
            if found is not wanted:
                reason = f"type {wanted.name} of argument '{first}'" if first else f"expected type of {wanted.name}"
                raise TypeError(f"Input '{argument.name}' of '{schema.op}' Op has type {found.name} that does not match "
                                f"{reason}. {error}") from None


def _explain_choice(schema, error):
    """And where an operation has no such type; of texts and lengths of lists its words are these."""
    found = re.search(r"attribute '(\w+)' must be one of ('[^;]*'); got '([^']*)'", str(error))
    if found:
        choice = found[2].replace("'", '"')
        raise ValueError(f"Attr '{found[1]}' of '{schema.op}' Op passed string '{found[3]}' not in: {choice}. ({error})") from None
    found = re.search(r"attribute '(\w+)' must be at least (\d+); got (\d+)", str(error))
    for argument in schema.inputs if found else ():
        if argument.number_attr == found[1]:
            raise ValueError(f"List argument '{argument.name}' to '{schema.op}' Op with length {found[3]} shorter than minimum length "
                             f"{found[2]}. ({error})") from None
    found = re.search(r"attribute '(\w+)' must be one of ([\w, ]+); got (\w+)", str(error))
    for argument in schema.inputs if found else ():
        if argument.type_attr == found[1]:
            raise TypeError(f"Value passed to parameter '{argument.name}' has DataType {found[3]} not in list of allowed values: "
                            f"{found[2]} ({error})") from None


def _attr_row(schema, key, value):
    attr = schema.attrs.get(key)
    if attr is None:
        if key.startswith("_"):
            return key, "b" if isinstance(value, bool) else "S" if isinstance(value, (list, tuple)) else "s", value
        raise TypeError(f"{schema.op} has no attribute '{key}'; it has {sorted(schema.attrs)}")
    kind = attr.kind
    if kind in "th":
        return key, kind, _type_number(key, value) if kind == "t" else _dims(key, value)
    try:
        if kind == "T":
            return key, kind, [dtypes.as_dtype(v).base_dtype._number for v in value]
        if kind in "isfb":
            return key, kind, value
        if kind in "IF":
            return key, kind, list(value)
        if kind == "S":
            return key, kind, [value] if isinstance(value, (str, bytes)) else list(value)
        from thalweg.graph import attributes
        return key, "p", attributes.attr_of_value(kind, value).SerializeToString()
    except TypeError as error:
        raise TypeError(f"Attribute '{key}' of {schema.op}: {error}") from None


def _type_number(key, value):
    try:
        return dtypes.as_dtype(value).base_dtype._number
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{key}' not {value!r}.") from None


def _dims(key, value):
    try:
        return dims_of(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Error converting {key} to a TensorShape: {error}.") from None


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


def group(*inputs: Element | IndexedSlices | SparseTensor | Sequence[Any] | None, **kwargs: str | None) -> Operation:
    """An operation that has run when all inputs have.

    Parameters
    ----------
    *inputs : Operation, Tensor, variable, IndexedSlices, or lists of them
        None counts for nothing.
    name : str, optional
        Of the operation.

    Returns
    -------
    Operation

    Raises
    ------
    TypeError
        An input is none of these.

    Examples
    --------
    >>> a, b = tw.Variable(1), tw.Variable(2)
    >>> both = tw.group(a.initializer, b.initializer)
    >>> with tw.Session() as sess:
    ...     sess.run(both)
    ...     print(sess.run([a, b]))
    [...1..., ...2...]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = graph_module.get_default_graph()
    if graph._executes:
        return None
    before = []
    pending = list(inputs)
    while pending:
        item = pending.pop(0)
        if isinstance(item, (list, tuple)):
            pending[:0] = item
        elif all(hasattr(item, part) for part in ("values", "indices", "dense_shape")):  # IndexedSlices, SparseTensor
            pending[:0] = [item.values, item.indices, item.dense_shape]
        elif item is not None:
            if not isinstance(item, (Tensor, Operation)) and not hasattr(item, "_as_graph_element") and \
                    not isinstance(item, (str, bytes)):
                raise TypeError(f"Expected tf.group() expected Tensor arguments not '{item}' with type '{type(item)}'")
            item = graph.as_graph_element(item)
            before.append(item.op if isinstance(item, Tensor) else item)
    return create_node("NoOp", name or "group_deps", [], [], controls=list(dict.fromkeys(before)))


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing: a place for control dependencies.

    Parameters
    ----------
    name : str, optional
        Of the operation.

    Returns
    -------
    Operation

    Raises
    ------
    RuntimeError
        Where the graph is finalized.

    Examples
    --------
    >>> v = tw.Variable(1)
    >>> with tw.control_dependencies([v.initializer]):
    ...     ready = tw.no_op()
    >>> with tw.Session() as sess:
    ...     sess.run(ready)
    ...     print(sess.run(v))
    1
    """
    return apply("NoOp", [], name=name)


def op_scope_name(name: str | None, default: str) -> str:
    return name if name else default


__all__ = ["Operation", "apply", "constant", "convert_to_tensor", "group", "no_op", "schema_of"]
