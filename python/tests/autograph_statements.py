# SPDX-License-Identifier: Apache-2.0
"""`if`, expressions, `while` and `for` on tensors. autograph_cases.py says how to read it."""
from autograph_case import case, t

limit = 3

# ---- if ----
@case((3,), (-3,))
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = -x
    return y


@case((3,), (-3,))
def if_alone(x):
    if x > 0:
        x = x + 10
    return x


@case((3,), (-3,), (0,))
def elif_chain(x):
    if x > 0:
        sign = 1
    elif x < 0:
        sign = -1
    else:
        sign = 0
    return sign


@case((7, 2), (2, 7), (-1, 2))
def if_nested(x, y):
    if x > y:
        if x > 5:
            z = x
        else:
            z = y
    else:
        z = x + y
        if x < 0:
            z = z * 100
    return z


@case((3,), (-3,))
def return_in_branches(x):
    if x > 0:
        return x * 2
    return -x


@case((3,), (-3,))
def return_in_else(x):
    if x > 0:
        x = x + 1
    else:
        return x - 1
    return x * 100


@case((3,), (-3,), (30,))
def return_early_twice(x):
    if x < 0:
        return -1
    if x > 10:
        return 10
    return x


@case((3,), (-3,))
def temporary_in_one_branch(x):
    if x > 0:
        double = x * 2
        y = double + 1
    else:
        y = x
    return y


@case((3,), (-3,))
def several_outputs(x):
    a, b = 0, x
    if x > 0:
        a, b = b, a
    else:
        a += 5
    return a, b


@case((3,), (-3,))
def structure_in_branches(x):
    if x > 0:
        pair = {"a": x, "b": (x, 1)}
    else:
        pair = {"a": -x, "b": (0, x)}
    return pair["a"], pair["b"][0], pair["b"][1]


@case((3.0,), (-3.0,))
def float_branches(x):
    if x > 0.0:
        y = t.sqrt(x)
    else:
        y = t.exp(x)
    return y


@case(([1, -2, 3],))
def shapes_of_branches_differ(x):
    if t.reduce_sum(x) > 0:
        x = x[:2]
    return x


@case((3,), (-3,))
def python_condition(x):
    if limit > 2:
        x = x * 7
    else:
        x = x + "never"
    return x


@case((3,), (-3,))
def pass_in_a_branch(x):
    if x > 0:
        pass
    else:
        x = 0
    return x


@case((3,), (-3,))
def with_scope(x):
    with t.name_scope("inner"):
        if x > 0:
            return x * 3
        return x * 5


# ---- expressions ----
@case((3,), (-3,))
def ternary(x):
    return x * 2 if x > 0 else -x


@case((3, 4), (3, -4), (-3, -4))
def and_(x, y):
    return x > 0 and y > 0


@case((3, 4), (3, -4), (-3, -4))
def or_(x, y):
    return x > 0 or y > 0


@case((3,), (-3,))
def not_(x):
    return not x > 0


@case((3, 4, 5), (-3, 4, 5), (3, -4, 5))
def three_and(x, y, z):
    return x > 0 and y > 0 and z > 0 or not z > 4


@case((3,), (8,))
def chained(x):
    return 1 < x < 7


@case((3,), (-3,))
def and_with_python(x):
    return limit > 2 and x > 0


@case((3,),)
def equality_is_identity(x):
    return x == 3, x != 3


@case((3,), (4,), features="EQUALITY_OPERATORS")
def equality_by_value(x):
    if x == 3:
        return 1
    return 0 if x != 4 else 2


# ---- while ----
@case((10,), (0,))
def while_counts(n):
    total = 0
    while n > 0:
        total += n
        n -= 1
    return total


@case((6,), (7,))
def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 > 0:
            n = 3 * n + 1
        else:
            n = n // 2
        steps += 1
    return steps


@case((10,), (3,))
def while_break(n):
    i = 0
    while i < n:
        if i * i > 20:
            break
        i += 1
    return i


@case((10,), (3,))
def while_continue(n):
    i, total = 0, 0
    while i < n:
        i += 1
        if i % 2 > 0:
            continue
        total += i
    return total


@case((10,), (3,))
def break_and_continue(n):
    i, total = 0, 0
    while i < n:
        i += 1
        if i % 3 < 1:
            continue
        if i > 7:
            break
        total += i
    return total, i


@case((4,), (0,))
def nested_while(n):
    i, total = 0, 0
    while i < n:
        j = 0
        while j < i:
            total += i * j
            j += 1
        i += 1
    return total


@case((4,), (9,))
def nested_break(n):
    total = 0
    for i in t.range(n):
        for j in t.range(n):
            if j > i:
                break
            total += j
        if total > 20:
            break
    return total


@case((10,), (2,))
def return_in_while(n):
    i = 0
    while i < n:
        if i > 4:
            return i * 100
        i += 1
    return -1


@case((10,), (2,))
def return_in_nested_loops(n):
    for i in t.range(n):
        for j in t.range(n):
            if i * j > 10:
                return i * 100 + j
    return -1


@case((10,))
def condition_with_and(n):
    i, total = 0, 0
    while i < n and total < 12:
        total += i
        i += 1
    return i, total


@case((5,))
def while_true_with_break(n):
    while True:
        n -= 1
        if n < 3:
            break
    return n


@case((3,))
def python_while(n):
    i = 0
    while i < limit:
        n = n * 2
        i += 1
    return n


@case((5,))
def defined_in_the_loop(n):
    while n > 0:
        last = n * 10
        n -= 1
    return last


@case((5,))
def none_before_the_loop(n):
    last = None
    while n > 0:
        last = n * 10
        n -= 1
    return last


@case((3.0,))
def newton(x):
    guess = x
    while t.abs(guess * guess - x) > 1e-3:
        guess = (guess + x / guess) / 2.0
    return t.round(guess * 100.0)


@case((4,))
def temporary_in_a_loop(n):
    total = 0
    while n > 0:
        square = n * n
        total += square
        n -= 1
    return total


@case(([1, 2],))
def growing_shape(x):
    i = 0
    while i < 3:
        t.autograph.experimental.set_loop_options(maximum_iterations=2)
        i += 1
        x = x + 1
    return x, i


@case((6,))
def maximum_iterations(n):
    total = 0
    for i in t.range(n):
        t.autograph.experimental.set_loop_options(maximum_iterations=4, parallel_iterations=2)
        total += i
    return total


# ---- for ----
@case((5,), (0,))
def for_range(n):
    total = 0
    for i in t.range(n):
        total += i
    return total


@case((5,), (0,))
def for_python_range(n):
    total = 0
    for i in range(n):
        total += i
    return total


@case((2, 11, 3), (11, 2, -3), (5, 5, 1))
def for_range_by_steps(start, stop, step):
    total = 0
    for i in t.range(start, stop, step):
        total = total * 10 + i
    return total


@case(([3, 1, 2],))
def for_elements(x):
    total = 0
    for e in x:
        total = total * 10 + e
    return total


@case(([[3, 1], [2, 5]],))
def for_rows(x):
    total = t.constant([0, 0])
    for row in x:
        total += row * row
    return total


@case((3,))
def for_python_list(x):
    total = x
    for e in [1, 2, 3]:
        if x > e:
            total += e
    return total


@case((5,), (2,))
def for_break(n):
    total = 0
    for i in t.range(n):
        if i > 3:
            break
        total += i
    return total


@case((5,), (2,))
def for_continue(n):
    total = 0
    for i in t.range(n):
        if i % 2 < 1:
            continue
        total += i
    return total


@case((5,), (2,))
def for_else(n):
    total = 0
    for i in t.range(n):
        if i > 3:
            break
        total += i
    else:
        total = -total
    return total


@case((5,), (1,))
def break_from_python_loop(n):
    total = 0
    for i in range(4):
        if n < i:
            break
        total += i
    return total


@case((5,))
def for_defines_its_name(n):
    for i in t.range(n):  # noqa: B007
        pass
    return i


@case((4,))
def for_dataset(n):
    total = t.constant(0, t.int64)
    for x in t.data.Dataset.range(10).batch(2):
        total += t.reduce_sum(x) * t.cast(n, t.int64)
    return total


@case((4,))
def dataset_break(n):
    total = t.constant(0, t.int64)
    for x in t.data.Dataset.range(10):
        if x > t.cast(n, t.int64):
            break
        total += x
    return total


@case((4,))
def dataset_of_pairs(n):
    total = t.constant(0, t.int64)
    for x, y in t.data.Dataset.zip((t.data.Dataset.range(5), t.data.Dataset.range(5, 10))):
        if x > 1:
            total += x * y
    return total


@case((4,))
def tensor_array(n):
    squares = t.TensorArray(t.int32, size=0, dynamic_size=True)
    for i in t.range(n):
        squares = squares.write(i, i * i)
    return squares.stack()


@case((5,))
def tensor_array_in_branches(n):
    found = t.TensorArray(t.int32, size=0, dynamic_size=True)
    at = 0
    for i in t.range(n):
        if i % 2 < 1:
            found = found.write(at, i)
            at += 1
    return found.stack()
