# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.slim: the layers and arg_scope under slim's name."""
from thalweg import losses, metrics
from thalweg.base import names
from thalweg.contrib.framework import (
    add_arg_scope,
    arg_scope,
    arg_scope_func_key,
    arg_scoped_arguments,
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
    create_global_step,
    current_arg_scope,
    filter_variables,
    get_global_step,
    get_local_variables,
    get_model_variables,
    get_or_create_global_step,
    get_trainable_variables,
    get_unique_variable,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    global_variable,
    has_arg_scope,
    local_variable,
    model_variable,
    variable,
)
from thalweg.contrib.layers import *  # noqa: F403

__all__ = ["add_arg_scope", "arg_scope", "arg_scope_func_key", "arg_scoped_arguments", "assign_from_checkpoint",
           "assign_from_checkpoint_fn", "assign_from_values", "assign_from_values_fn", "create_global_step",
           "current_arg_scope", "filter_variables", "get_global_step", "get_local_variables", "get_model_variables",
           "get_or_create_global_step", "get_trainable_variables", "get_unique_variable", "get_variables",
           "get_variables_by_name", "get_variables_by_suffix", "get_variables_to_restore", "global_variable", "has_arg_scope",
           "local_variable", "losses", "metrics", "model_variable", "variable"]

names.complete(globals())
