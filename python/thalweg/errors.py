# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each canonical code, as tf.errors names them."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg import _core
from thalweg.base import names

if TYPE_CHECKING:
    from typing import Self

    from thalweg.graph.tensor import Operation
    from thalweg.messages import NodeDef


class OpError(Exception):
    """A step or a call failed: `message`, `error_code`, and the operation where known (`op`, `node_def`)."""

    error_code = 2  # UNKNOWN

    def __init__(self, node_def: NodeDef | None, op: Operation | None, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self._node_def, self._op, self.message = node_def, op, message
        if error_code is not None:
            self.error_code = error_code
        self._graph = None

    @property
    def op(self) -> Operation | None:
        """The operation that failed, or None."""
        if self._op is None and self._graph is not None:
            for name in re.findall(r"\[\[[^' ]+ '([^']+)'", self.message) + re.findall(r"'([^']+)'", self.message):
                self._op = self._graph._find(name)
                if self._op is not None:
                    break
        return self._op

    @property
    def node_def(self) -> NodeDef | None:
        if self._node_def is None and self.op is not None:
            self._node_def = self.op.node_def
        return self._node_def

    def __reduce__(self):
        return type(self), (None, None, self.message)

    def __str__(self):
        return self.message


(OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
 FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED) = range(17)


class CancelledError(OpError):
    """The step or call was cancelled, by its caller or because a part of it failed elsewhere."""

    error_code = CANCELLED


class UnknownError(OpError):
    """A failure of no other kind, such as an exception of a Python function."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError):
    """An argument, shape or value is wrong in itself."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """Time was up before it was done."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """The error of a file, variable, table or tensor of a checkpoint that is not there.

    Parameters
    ----------
    node_def : NodeDef or None
        The message of the operation that failed.
    op : Operation or None
        That operation.
    message : str
    error_code : int, optional

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     try:
    ...         sess.run(tw.read_file("/no/such/file"))
    ...     except tw.errors.NotFoundError as error:
    ...         print(error.op.type)
    ReadFile
    """

    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """What was to be made is there already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """Memory, or another resource with a limit, does not suffice."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The state is not one that this can be done in, such as a variable without a value."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """It was given up, for it met something that ran beside it: try again."""

    error_code = ABORTED


class OutOfRangeError(OpError):
    """Beyond the end: of a file, a queue that was closed, or an index.

    Input pipelines end so: the loop that trains runs until it is raised.

    Parameters
    ----------
    node_def : NodeDef or None
    op : Operation or None
        The operation that failed.
    message : str

    Examples
    --------
    >>> queue = tw.FIFOQueue(2, [tw.int32], shapes=[[]])
    >>> fill, close, take = queue.enqueue_many([[1, 2]]), queue.close(), queue.dequeue()
    >>> with tw.Session() as sess:
    ...     sess.run(fill)
    ...     sess.run(close)
    ...     try:
    ...         while True:
    ...             print(sess.run(take))
    ...     except tw.errors.OutOfRangeError as error:
    ...         print(error.error_code == tw.errors.OUT_OF_RANGE)
    1
    2
    True
    """

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """This cannot be done here."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """A mistake of the package itself."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """A task cannot be reached now: try again."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """A file or message is damaged."""

    error_code = DATA_LOSS


class UnauthenticatedError(OpError):
    """It is not known who calls."""

    error_code = UNAUTHENTICATED


_CLASS_BY_CODE: dict[int, type[OpError]] = {cls.error_code: cls for cls in OpError.__subclasses__()}


def _make(code, message, graph=None):
    """What the extension raises for a status."""
    error = _CLASS_BY_CODE.get(code, UnknownError)(None, None, message)
    error._graph = graph
    return error


class OperatorNotAllowedInGraphError(TypeError):
    """Python's own truth, iteration and the like of a tensor, whose value is not known when the graph is built."""


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of a code."""
    return _CLASS_BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int | OpError:
    """The code of a class."""
    try:
        return next(code for code, found in _CLASS_BY_CODE.items() if found is cls)
    except StopIteration:
        import logging
        logging.getLogger("thalweg").warning("Unknown class exception")
        return UnknownError(None, None, "Unknown class exception", None)


class raise_exception_on_not_ok_status:
    """There are no status objects here: calls raise by themselves."""

    def __enter__(self) -> Self:
        raise NotImplementedError("raise_exception_on_not_ok_status is not there: calls raise their errors themselves")

    def __exit__(self, *error: object) -> None:
        pass


_core.set_error_hook(_make)
names.complete(globals())
