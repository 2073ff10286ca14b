# SPDX-License-Identifier: Apache-2.0
"""tw.profiler: parameters, float operations, times and memory of a graph's nodes, by scope, kind of operation and line."""
from thalweg.base import names

names.complete(globals(), {
    "profiler.model_analyzer": "Profiler profile",
    "profiler.option_builder": "ProfileOptionBuilder",
    "profiler.profile_nodes": "GraphNodeProto MultiGraphNodeProto"})
