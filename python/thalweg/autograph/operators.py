# SPDX-License-Identifier: Apache-2.0
"""What converted code calls by the name ag__: each does Python's own where no tensor is looked at."""
from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

from thalweg.autograph import branching, functions_of_python, lists, looping, state, status
from thalweg.graph import ops
from thalweg.operations import checks, math_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from thalweg.autograph.features import Feature

_COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
                "is": operator.is_, "is not": operator.is_not, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b}
_EQUALITIES = {"==": math_ops.equal, "!=": math_ops.not_equal}


class Operators:
    """The operators of code that was converted with some features."""

    value = staticmethod(state.value_of)
    made = staticmethod(status.leave_alone)  # a function that is defined in converted code: it is converted already
    typed, append, pop = staticmethod(lists.typed), staticmethod(lists.append), staticmethod(lists.pop)

    def __init__(self, features: frozenset[Feature], convert: Callable[[Any], Any] | None) -> None:
        self._convert = convert
        self._functions = functions_of_python.table(features)
        self._compares_values = "EQUALITY_OPERATORS" in {f.value for f in features}

    def converted(self, function: Any) -> Any:
        """What is called where the user's code calls `function`."""
        try:
            found = self._functions.get(function)
        except TypeError:  # has no hash
            found = None
        if found is not None:
            return found
        return function if self._convert is None else self._convert(function)

    @staticmethod
    def is_undefined(value: object) -> bool:
        return isinstance(value, state.Undefined) and not value.is_return

    @staticmethod
    def no_return() -> state.Undefined:
        return state.Undefined("return", is_return=True)

    @staticmethod
    def end() -> state.Undefined:
        """What a function returns that ends without a return statement."""
        return state.Undefined("return", is_return=True, is_end=True)

    @staticmethod
    def returned(value: Any) -> Any:
        return None if isinstance(value, state.Undefined) else value

    def and_(self, *parts: Callable[[], Any]) -> Any:
        value = parts[0]()
        if len(parts) == 1:
            return value
        if state.is_tensor(value):
            return branching.choose(value, lambda: self.and_(*parts[1:]), lambda: value)
        return value and self.and_(*parts[1:])

    def or_(self, *parts: Callable[[], Any]) -> Any:
        value = parts[0]()
        if len(parts) == 1:
            return value
        if state.is_tensor(value):
            return branching.choose(value, lambda: value, lambda: self.or_(*parts[1:]))
        return value or self.or_(*parts[1:])

    @staticmethod
    def none_of(*flags: Any) -> Any:
        """Whether no flag of a jump is set."""
        tensors = [flag for flag in flags if state.is_tensor(flag)]
        if any(not state.is_tensor(flag) and flag for flag in flags):
            return False
        if not tensors:
            return True
        return ops.apply("LogicalNot", [functools.reduce(lambda a, b: ops.apply("LogicalOr", [a, b]), tensors)])

    @staticmethod
    def not_(value: Any) -> Any:
        return ops.apply("LogicalNot", [value]) if state.is_tensor(value) else not value

    @staticmethod
    def if_expression(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        if state.is_tensor(test):
            return branching.choose(test, body, orelse)
        return body() if test else orelse()

    def compare(self, names: Sequence[str], left: Any, *later: Callable[[], Any]) -> Any:
        """`a < b <= c`: each operand is evaluated once, and only where what stands before it holds."""
        right = later[0]()
        compare = _COMPARISONS[names[0]]
        if self._compares_values and names[0] in _EQUALITIES and (state.is_tensor(left) or state.is_tensor(right)):
            compare = _EQUALITIES[names[0]]
        if len(later) == 1:
            return compare(left, right)
        return self.and_(lambda: compare(left, right), lambda: self.compare(names[1:], right, *later[1:]))

    @staticmethod
    def assert_(test: Any, message: Callable[[], Any]) -> None:
        if not state.is_tensor(test):
            if not test:
                said = message()
                raise AssertionError(*(() if said == "Assertion error" else (said,)))
            return
        said = message()
        checks.Assert(test, list(said) if isinstance(said, (list, tuple)) else [said])

    def if_statement(self, test: Any, body: Callable[[], None], orelse: Callable[[], None], *state_of: Any) -> None:
        if state.is_tensor(test):
            branching.if_statement(test, body, orelse, *state_of)
        elif test:
            body()
        else:
            orelse()

    def while_statement(self, test: Callable[[], Any], body: Callable[[], None], *state_of: Any) -> None:
        """A loop whose condition becomes a tensor only in some turn, by a break that looks at one, goes on as a loop in the graph."""
        while True:
            going = test()
            if state.is_tensor(going):
                looping.while_statement(test, body, *state_of)
                return
            if not going:
                return
            body()

    def for_statement(self, over: Iterable[Any], extra: Callable[[], Any] | None, body: Callable[[Any], None], get: Callable[[], Any],
                      put: Callable[[Any], None], names: Sequence[str], outputs: int, options: Any) -> None:
        if hasattr(over, "_for_statement") and not state.runs_at_once():
            over._for_statement(extra, body, get, put, names, outputs, options)
            return
        if state.is_tensor(over):
            looping.for_statement(over, extra, body, get, put, names, outputs, options)
            return
        for item in over:
            going = True if extra is None else extra()
            if state.is_tensor(going):  # a break that looks at a tensor: what follows it happens where it has not come
                branching.if_statement(going, lambda item=item: body(item), lambda: None, get, put, names, outputs, (False, True))
            elif going:
                body(item)
            else:
                break
