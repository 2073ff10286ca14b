# SPDX-License-Identifier: Apache-2.0
"""Servers and clusters of tasks."""
