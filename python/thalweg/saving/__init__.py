# SPDX-License-Identifier: Apache-2.0
"""Graphs and variables in files: checkpoints and MetaGraphs. Public as tw.train."""
