# SPDX-License-Identifier: Apache-2.0
"""ProfileOptionBuilder: which nodes a profile shows, in which order, and what of them."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_EVERYTHING: dict[str, Any] = {
    "max_depth": 100, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0, "min_occurrence": 0, "order_by": "name",
    "account_type_regexes": [".*"], "start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"],
    "hide_name_regexes": [], "account_displayed_op_only": False, "select": ["micros"], "step": -1, "output": "stdout"}


class ProfileOptionBuilder:
    """Options of `profile`, made step by step.

    Parameters
    ----------
    options : dict, optional
        What to begin with, as `build` gives it; without it, all nodes with their times.

    Examples
    --------
    >>> from thalweg.profiler import ProfileOptionBuilder
    >>> options = ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_empty_output().build()
    >>> options["select"], options["output"]
    (['float_ops'], 'none')
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = copy.deepcopy(_EVERYTHING if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that count the parameters of trainable variables."""
        return {**copy.deepcopy(_EVERYTHING), "max_depth": 10000, "account_type_regexes": ["_trainable_variables"],
                "account_displayed_op_only": True, "select": ["params"]}

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that count the float operations of nodes whose shapes are known."""
        return {**copy.deepcopy(_EVERYTHING), "max_depth": 10000, "min_float_ops": 1, "order_by": "float_ops",
                "account_displayed_op_only": True, "select": ["float_ops"]}

    @staticmethod
    def time_and_memory(min_micros: int = 1, min_bytes: int = 1, min_accelerator_micros: int = 0, min_cpu_micros: int = 0,
                        min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0) -> dict[str, Any]:
        """Options for the times and memory of nodes that took at least as much; they need RunMetadata of a traced step."""
        return {**copy.deepcopy(_EVERYTHING), "max_depth": 10000, "min_bytes": min_bytes, "min_micros": min_micros,
                "min_accelerator_micros": min_accelerator_micros, "min_cpu_micros": min_cpu_micros, "min_peak_bytes": min_peak_bytes,
                "min_residual_bytes": min_residual_bytes, "min_output_bytes": min_output_bytes, "order_by": "micros",
                "account_displayed_op_only": True, "select": ["micros", "bytes"]}

    def _with(self, **options: Any) -> ProfileOptionBuilder:
        self._options.update(options)
        return self

    def build(self) -> dict[str, Any]:
        """The options."""
        return copy.deepcopy(self._options)

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows no more levels of a tree, or places of a list, than these; the last level stands for all below. With 0 a tree is its
        root alone."""
        return self._with(max_depth=max_depth)

    def with_min_memory(self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0,
                        min_output_bytes: int = 0) -> ProfileOptionBuilder:
        """Shows nodes that asked for as many bytes."""
        return self._with(min_bytes=min_bytes, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes,
                          min_output_bytes=min_output_bytes)

    def with_min_execution_time(self, min_micros: int = 0, min_accelerator_micros: int = 0,
                                min_cpu_micros: int = 0) -> ProfileOptionBuilder:
        """Shows nodes that ran for as many microseconds."""
        return self._with(min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros)

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows nodes with as many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows kinds of operations of which the graph has as many."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows nodes with as many float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Counts nodes one of whose types matches: its kind of operation, its device, `_trainable_variables`."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(self, start_name_regexes: Sequence[str] = (".*",), show_name_regexes: Sequence[str] = (".*",),
                        hide_name_regexes: Sequence[str] = (), trim_name_regexes: Sequence[str] = ()) -> ProfileOptionBuilder:
        """Begins at names that match the first, shows those that match the second and not the third, and nothing below the last."""
        return self._with(start_name_regexes=list(start_name_regexes), show_name_regexes=list(show_name_regexes),
                          hide_name_regexes=list(hide_name_regexes), trim_name_regexes=list(trim_name_regexes))

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Whether sums leave out what is not shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the tree."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Writes the tree to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Is refused by `profile`: `thalweg trace view` shows steps by time."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Is refused by `profile`."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """The greatest first of: name, micros, bytes, params, float_ops, occurrence and the kinds of times and bytes."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """What is shown of each node: of those above, besides device, op_types and input_shapes."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Takes the step that was added by this number; -1: the mean of all."""
        return self._with(step=step)
