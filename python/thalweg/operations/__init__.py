# SPDX-License-Identifier: Apache-2.0
"""Functions that add operations to the graph."""
