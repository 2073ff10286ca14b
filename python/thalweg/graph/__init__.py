# SPDX-License-Identifier: Apache-2.0
"""The graph and its session: tensors, operations as nodes, names, devices."""
from thalweg.graph import operators, session  # noqa: F401  (tensors have their operators, and the extension its hooks, from the start)
