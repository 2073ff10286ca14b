# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.tfprof.model_analyzer: the older function, and its three usual options."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.profiler.model_analyzer import Profiler, profile  # noqa: F401
from thalweg.profiler.option_builder import ProfileOptionBuilder

if TYPE_CHECKING:
    from typing import Any

    from thalweg.graph.graph import Graph
    from thalweg.messages import RunMetadata
    from thalweg.profiler.profile_nodes import GraphNodeProto, MultiGraphNodeProto

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory()).order_by("name").build()


def print_model_analysis(graph: Graph | None, run_meta: RunMetadata | None = None, op_log: object = None, tfprof_cmd: str = "scope",
                         tfprof_options: dict[str, Any] = TRAINABLE_VARS_PARAMS_STAT_OPTIONS) -> GraphNodeProto | MultiGraphNodeProto:
    """As `tw.profiler.profile`."""
    options = dict(tfprof_options)
    file = options.pop("dump_to_file", "")
    return profile(graph, run_meta, op_log, tfprof_cmd, {**options, "output": f"file:outfile={file}"} if file else options)
