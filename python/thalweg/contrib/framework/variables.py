# SPDX-License-Identifier: Apache-2.0
"""Variables of models: made, listed, and set from checkpoints and arrays."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg import dtypes, train
from thalweg.contrib.framework.arg_scopes import add_arg_scope
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys
from thalweg.saving.checkpoint_utils import load_checkpoint
from thalweg.training.global_steps import create_global_step, get_global_step
from thalweg.variables import variable_scopes, variables as all_variables
from thalweg.variables.partitioners import PartitionedVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import ArrayLike, Device, DTypeLike, Getter, Initializer, Partitioner, PathLike, Regularizer, ShapeLike, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.variables.variable_scopes import VariableScope
    from thalweg.variables.variables import Variable


def assert_global_step(global_step_tensor: Tensor | Variable) -> None:
    """It is a whole number without dimensions."""
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f"Existing \"global_step\" does not have integer type: {global_step_tensor.dtype}")
    if global_step_tensor.get_shape().ndims not in (0, None):
        raise TypeError(f"Existing \"global_step\" is not scalar: {global_step_tensor.get_shape()}")


def assert_or_get_global_step(graph: Graph | None = None,
                              global_step_tensor: Tensor | Variable | None = None) -> Tensor | Variable | None:
    """The variable that counts steps: the one given, which is checked, or the graph's."""
    if global_step_tensor is None:
        global_step_tensor = get_global_step(graph)
    if global_step_tensor is not None:
        assert_global_step(global_step_tensor)
    return global_step_tensor


get_or_create_global_step = train.get_or_create_global_step


@add_arg_scope
def variable(name: str, shape: ShapeLike = None, dtype: DTypeLike | None = None,
             initializer: Initializer | TensorLike | None = None, regularizer: Regularizer | None = None, trainable: bool = True,
             collections: str | Sequence[str] | None = None, caching_device: Device = None, device: Device = None,
             partitioner: Partitioner | None = None, custom_getter: Getter | None = None, use_resource: bool | None = None,
             synchronization: object = None, aggregation: object = None) -> Variable:
    """get_variable on a device, in GLOBAL_VARIABLES and the collections."""
    collections = list(dict.fromkeys([*(collections or []), GraphKeys.GLOBAL_VARIABLES]))
    getter = variable_scopes.get_variable
    if custom_getter is not None:
        def getter(name, **kwargs):
            return custom_getter(variable_scopes.get_variable, name, **kwargs)
    place = device(graph) if callable(device) else device
    with graph.device(place or ""):
        return getter(name, shape=shape, dtype=dtype or dtypes.float32, initializer=initializer, regularizer=regularizer,
                      trainable=trainable, collections=collections, caching_device=caching_device, partitioner=partitioner,
                      use_resource=use_resource)


@add_arg_scope
def model_variable(name: str, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32,
                   initializer: Initializer | TensorLike | None = None, regularizer: Regularizer | None = None,
                   trainable: bool = True, collections: str | Sequence[str] | None = None, caching_device: Device = None,
                   device: Device = None, partitioner: Partitioner | None = None, custom_getter: Getter | None = None,
                   use_resource: bool | None = None, synchronization: object = None, aggregation: object = None) -> Variable:
    """variable() that is also in MODEL_VARIABLES."""
    collections = [*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(name, shape, dtype, initializer, regularizer, trainable, collections, caching_device, device, partitioner,
                    custom_getter, use_resource)


def local_variable(initial_value: TensorLike, validate_shape: bool = True, name: str = "local_variable",
                   use_resource: bool | None = None) -> Variable:
    """A variable of this process."""
    return variable_scopes.get_variable(name, initializer=initial_value, trainable=False, validate_shape=validate_shape,
                                        collections=[GraphKeys.LOCAL_VARIABLES], use_resource=use_resource)


def global_variable(initial_value: TensorLike, validate_shape: bool = True, name: str = "global_variable",
                    use_resource: bool | None = None) -> Variable:
    """A variable that is not trained."""
    return variable_scopes.get_variable(name, initializer=initial_value, trainable=False, validate_shape=validate_shape,
                                        collections=[GraphKeys.GLOBAL_VARIABLES], use_resource=use_resource)


def add_model_variable(var: Variable) -> None:
    """Adds a variable to MODEL_VARIABLES."""
    if var not in graph.get_collection(GraphKeys.MODEL_VARIABLES):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# ---- lists ----
def get_variables(scope: str | VariableScope | None = None, suffix: str | None = None,
                  collection: str = GraphKeys.GLOBAL_VARIABLES) -> list[Variable]:
    """Variables whose names begin with the scope and end with the suffix."""
    if isinstance(scope, variable_scopes.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":") if ":" not in suffix else (scope or "") + ".*" + suffix
    return graph.get_collection(collection, scope)


def get_model_variables(scope: str | VariableScope | None = None, suffix: str | None = None) -> list[Variable]:
    """The variables that belong to a model, of a scope and with a suffix."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: str | VariableScope | None = None, suffix: str | None = None) -> list[Variable]:
    """The local variables of a scope, with a suffix."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: str | VariableScope | None = None, suffix: str | None = None) -> list[Variable]:
    """The variables of a scope that are trained, with a suffix."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: str | VariableScope | None = None) -> list[Variable]:
    """The variables of a scope whose names end so."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: str | VariableScope | None = None) -> list[Variable]:
    """Variables whose last name is this."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Variable:
    """The one variable of this name."""
    found = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, var_op_name) if v.op.name == var_op_name]
    if len(found) != 1:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable" if found else
                         f"Couldn't find variable {var_op_name}")
    return found[0]


def get_variable_full_name(var: Variable) -> str:
    """The name under which checkpoints have it."""
    return var._save_slice_info.full_name if getattr(var, "_save_slice_info", None) else var.op.name


def filter_variables(var_list: Sequence[Variable], include_patterns: Sequence[str] | None = None,
                     exclude_patterns: Sequence[str] | None = None, reg_search: bool = True) -> list[Variable]:
    """Variables whose names match one pattern of the first list and none of the second."""
    matches = re.search if reg_search else re.match
    kept = var_list if include_patterns is None else [v for v in var_list if any(matches(p, v.name) for p in include_patterns)]
    return [v for v in kept if not any(matches(p, v.name) for p in exclude_patterns or [])]


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Variable]:
    """All variables, or those in the scopes of `include`, without those in the scopes of `exclude`."""
    def within(scopes):
        if not isinstance(scopes, (list, tuple)):
            raise TypeError("include is provided but is not a list.")
        return [v for scope in scopes for v in get_variables(scope)]
    wanted = get_variables() if include is None else within(include)
    unwanted = set() if exclude is None else {v.name for v in within(exclude)}
    return [v for v in wanted if v.name not in unwanted]


# ---- values ----
def assign_from_values(var_names_to_values: Mapping[str, ArrayLike]) -> tuple[Operation, dict[Tensor, Any]]:
    """(operation, feed_dict) that set variables to arrays."""
    feeds, assigns = {}, []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        if not var.get_shape().is_compatible_with(value.shape):
            raise ValueError(f"The values for {name} of shape {value.shape} do not fit a variable of shape {var.get_shape()}")
        placeholder = ops.apply("Placeholder", [], {"dtype": var.dtype.base_dtype, "shape": var.get_shape()},
                                name=f"placeholder/{var.op.name}")
        assigns.append(all_variables.assign(var, placeholder))
        feeds[placeholder] = value.reshape(var.get_shape().as_list())
    return ops.group(*assigns), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, ArrayLike]) -> Callable[[Session], object]:
    """A function of a session that sets variables to arrays."""
    op, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(op, feeds)


def _by_name(var_list):
    """{name in checkpoints: variable, or the list of the parts of one}"""
    if isinstance(var_list, dict):
        return {name: list(v) if isinstance(v, (tuple, PartitionedVariable)) else v for name, v in var_list.items()}
    named = {}
    for v in var_list:
        if getattr(v, "_save_slice_info", None) is not None:
            named.setdefault(get_variable_full_name(v), []).append(v)
        else:
            named[get_variable_full_name(v)] = v
    return named


def assign_from_checkpoint(model_path: PathLike, var_list: Sequence[Variable] | Mapping[str, Variable | Sequence[Variable]],
                           ignore_missing_vars: bool = False) -> tuple[Operation, dict[Tensor, Any]]:
    """(operation, feed_dict) that set variables to what a checkpoint holds."""
    reader, values = load_checkpoint(model_path), {}
    for name, given in _by_name(var_list).items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]")
            continue
        whole = reader.get_tensor(name)
        for var in given if isinstance(given, list) else [given]:
            info = getattr(var, "_save_slice_info", None)
            values[var.op.name] = whole if info is None else \
                whole[tuple(slice(o, o + n) for o, n in zip(info.var_offset, info.var_shape))]
    return assign_from_values(values)


def assign_from_checkpoint_fn(model_path: PathLike, var_list: Sequence[Variable] | Mapping[str, Variable | Sequence[Variable]],
                              ignore_missing_vars: bool = False,
                              reshape_variables: bool = False) -> Callable[[Session], object] | None:
    """A function of a session that sets variables to what a checkpoint holds; None where there is nothing to set."""
    if not var_list:
        raise ValueError("var_list cannot be empty")
    named = _by_name(var_list)
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        named = {n: v for n, v in named.items() if reader.has_tensor(n)}
    if not named:
        return None
    saver = train.Saver(named, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


__all__ = ["add_model_variable", "assert_global_step", "assert_or_get_global_step", "assign_from_checkpoint",
           "assign_from_checkpoint_fn", "assign_from_values", "assign_from_values_fn", "create_global_step", "filter_variables",
           "get_global_step", "get_local_variables", "get_model_variables", "get_or_create_global_step", "get_trainable_variables",
           "get_unique_variable", "get_variable_full_name", "get_variables", "get_variables_by_name", "get_variables_by_suffix",
           "get_variables_to_restore", "global_variable", "local_variable", "model_variable", "variable"]
