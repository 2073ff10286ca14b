# SPDX-License-Identifier: Apache-2.0
"""What cannot become part of a graph, and says so. autograph_cases.py says how to read it."""
from autograph_case import case, t


# ---- mistakes ----
@case((3,))
def only_in_one_branch(x):
    if x > 0:
        y = x
    return y


@case((3,))
def only_in_the_else_branch(x):
    if x > 0:
        z = 1
    else:
        y = x
        z = 2
    return y + z


@case((3,))
def types_of_branches(x):
    if x > 0:
        y = 1
    else:
        y = 1.0
    return y


@case((3,))
def no_return_in_one_branch(x):
    if x > 0:
        return x


@case((3,))
def none_in_one_branch(x):
    y = None
    if x > 0:
        y = x
    return y


@case((3,))
def structures_of_branches(x):
    if x > 0:
        y = [x]
    else:
        y = [x, x]
    return y


@case((3,))
def type_changes_in_loop(x):
    y = 1
    while x > 0:
        x -= 1
        y = 1.5
    return y


@case((3,))
def shape_changes_in_loop(x):
    y = t.constant([1])
    while x > 0:
        x -= 1
        y = t.concat([y, y], 0)
    return y


@case((3,))
def structure_changes_in_loop(x):
    y = (x, x)
    while x > 0:
        x -= 1
        y = (x,)
    return y


@case((3,))
def loop_over_scalar(x):
    total = 0
    for e in x:
        total += e
    return total


@case((3,))
def condition_is_a_number(x):
    if x:
        return 1
    return 2


@case((3,))
def raises_in_a_branch(x):
    if x > 0:
        raise ValueError("told so")
    return x


@case((3,))
def unbound_name(x):
    if x > 0:
        x = nowhere + 1  # noqa: F821
    return x
