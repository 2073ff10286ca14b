# SPDX-License-Identifier: Apache-2.0
"""Control flow: conditionals, loops, functions of the graph."""
