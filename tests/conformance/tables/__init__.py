# SPDX-License-Identifier: Apache-2.0
"""Cases of every family; each module has a list CASES."""
