# SPDX-License-Identifier: Apache-2.0
"""Arguments that have an old name and a new one."""


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    """The one that is given of two values of an argument, or None. ValueError where both are."""
    if old_value is not None:
        if new_value is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
        return old_value
    return new_value
