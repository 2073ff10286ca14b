# SPDX-License-Identifier: Apache-2.0
"""Variables: how they are made, shared, cut into parts and initialized."""
