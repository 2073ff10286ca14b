# SPDX-License-Identifier: Apache-2.0
"""The graph and its session: tensors, operations as nodes, names, devices."""
from thalweg.graph import operators, session
