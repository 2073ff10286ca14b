# SPDX-License-Identifier: Apache-2.0
"""Functions, methods, attributes, gradients and Python's own functions in converted code. autograph_cases.py says how to read it."""
import functools

from autograph_case import case, t

limit = 3

# ---- functions ----
def _helper(x):
    if x > 0:
        return x
    return -x


@case((3,), (-3,))
def calls_a_function(x):
    return _helper(x) + _helper(-x)


@case((3,), (-3,))
def inner_function(x):
    def inner(y):
        if y > 0:
            return y + x
        return y - x
    return inner(x) * inner(-x)


@case((3,), (-3,))
def inner_lambda(x):
    relu = lambda y: y if y > 0 else 0
    return relu(x) - relu(-x)


@case((3,), (-3,))
def nonlocal_name(x):
    count = 0

    def add(y):
        nonlocal count
        if y > 0:
            count += 1
    add(x)
    add(5)
    return count


@case((3,), (-3,))
def with_partial(x):
    def scaled(scale, y):
        if y > 0:
            return y * scale
        return y
    return functools.partial(scaled, 10)(x)


@case((3,), (-3,))
def default_and_keyword_arguments(x):
    def f(a, b=2, *rest, c=3, **more):
        if a > 0:
            return a * b + c + sum(rest) + more["d"]
        return a
    return f(x, d=1) + f(x, 1, 2, 3, c=4, d=5)


class _Base(object):
    def scale(self, x):
        if x > 0:
            return x * 2
        return x


class _Derived(_Base):
    __factor = 5

    def scale(self, x):
        y = super(_Derived, self).scale(x)
        if y > 2:
            y = y * self.__factor
        return y

    def __call__(self, x):
        if x > 1:
            return self.scale(x)
        return x


@case((3,), (-3,))
def methods(x):
    return _Derived().scale(x)


@case((3,), (-3,))
def callable_objects(x):
    return _Derived()(x)


@case((3,), (-3,))
def attributes_in_branches(x):
    class Holder(object):
        pass
    holder = Holder()
    holder.value = x
    if x > 0:
        holder.value = x * 10
    return holder.value


@case((4,))
def attributes_in_loops(x):
    class Holder(object):
        pass
    holder = Holder()
    holder.value = 0
    while x > 0:
        holder.value += x
        x -= 1
    return holder.value


def _twice(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(function(x))
    return wrapper


@_twice
def _step(x):
    if x > 5:
        return x - 1
    return x + 2


@case((3,), (5,))
def decorated(x):
    return _step(x)


@case((5,))
def recursion_over_python_numbers(x):
    def power(n, y):
        if n > 0:
            return y * power(n - 1, y)
        return 1
    return power(3, x)


@case((2.0,), (-2.0,))
def gradient_of_if(x):
    def f(y):
        if y > 0.0:
            return y * y
        return -3.0 * y
    return t.gradients(f(x), x)[0]


@case((2.0,))
def gradient_of_loop(x):
    y = x
    for _ in t.range(3):
        y = y * x
    return t.gradients(y, x)[0]


@case(([1.0, 2.0, 3.0],))
def gradient_of_elements(x):
    y = 1.0
    for e in x:
        y = y * e
    return t.gradients(y, x)[0]


# ---- Python's functions ----
@case(([1, 2, 3],))
def length(x):
    return len(x) + len([1, 2])


@case((2.75,), (-2.75,))
def numbers(x):
    return int(x), float(int(x)), abs(x)


@case((2.75,))
def comprehension(x):
    return [x * i for i in range(limit) if i > 0]


@case((3,))
def python_assert(x):
    assert limit == 3, "the limit"
    return x


@case((3,), (-3,), features="ASSERT_STATEMENTS")
def tensor_assert(x):
    assert x > 0, "not positive"
    return x * 2


@case((3,))
def try_and_with(x):
    y = 0
    try:
        if x > 0:
            y = x
        raise KeyError("k")
    except KeyError as e:
        y = y + len(e.args)
    finally:
        y = y * 2
    return y


@case((3,), (-3,))
def map_in_a_function(x):
    def f(e):
        if e > 2:
            return e * 100
        return e
    values = t.data.Dataset.range(5).map(f)
    return values.reduce(t.cast(x, t.int64), lambda a, b: a + b)
