# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each canonical code, as tf.errors names them."""
import re

from thalweg.base import names


class OpError(Exception):
    """A step or a call failed: `message`, `error_code`, and the operation where known (`op`, `node_def`)."""

    error_code = 2

    def __init__(self, node_def, op, message, error_code=None):
        super().__init__(message)
        self._node_def, self._op, self.message = node_def, op, message
        if error_code is not None:
            self.error_code = error_code
        self._graph = None

    @property
    def op(self):
        """The operation that failed, or None."""
        if self._op is None and self._graph is not None:
            for name in re.findall(r"\[\[[^' ]+ '([^']+)'", self.message) + re.findall(r"'([^']+)'", self.message):
                self._op = self._graph._find(name)
                if self._op is not None:
                    break
        return self._op

    @property
    def node_def(self):
        if self._node_def is None and self.op is not None:
            self._node_def = self.op.node_def
        return self._node_def

    def __reduce__(self):
        return type(self), (None, None, self.message)

    def __str__(self):
        return self.message


_CODES = ("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
          "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
          "UNAUTHENTICATED").split()
globals().update((name, number) for number, name in enumerate(_CODES))
_CLASS_BY_CODE = {}


for _number, _name in enumerate(_CODES[1:], 1):
    _class_name = "".join(part.capitalize() for part in _name.split("_")) + "Error"
    globals()[_class_name] = _CLASS_BY_CODE[_number] = type(
        _class_name, (OpError,), {"error_code": _number, "__module__": __name__, "__doc__": f"The code {_name}."})


def _make(code, message, graph=None):
    """What the extension raises for a status."""
    error = _CLASS_BY_CODE.get(code, UnknownError)(None, None, message)  # noqa: F821
    error._graph = graph
    return error


class OperatorNotAllowedInGraphError(TypeError):
    """Python's own truth, iteration and the like of a tensor, whose value is not known when the graph is built."""


def exception_type_from_error_code(error_code):
    """The class of a code."""
    return _CLASS_BY_CODE[error_code]


def error_code_from_exception_type(cls):
    """The code of a class."""
    try:
        return next(code for code, found in _CLASS_BY_CODE.items() if found is cls)
    except StopIteration:
        import logging
        logging.getLogger("thalweg").warning("Unknown class exception")
        return UnknownError(None, None, "Unknown class exception", None)  # noqa: F821


class raise_exception_on_not_ok_status:  # noqa: N801
    """There are no status objects here: calls raise by themselves."""

    def __enter__(self):
        raise NotImplementedError("raise_exception_on_not_ok_status is not there: calls raise their errors themselves")

    def __exit__(self, *error):
        return False


names.complete(globals())
