# SPDX-License-Identifier: Apache-2.0
"""The session that runs what names none."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:

    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor


class _Default(threading.local):
    def __init__(self) -> None:
        self.stack: list[Session] = []


_default = _Default()


def get_default_session() -> Session | None:
    """The session of the innermost `with session.as_default()` of the thread, or None."""
    return _default.stack[-1] if _default.stack else None


class DefaultSession:
    """with session.as_default()."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        _default.stack.append(self._session)
        return self._session

    def __exit__(self, *error: object) -> None:
        if not _default.stack or _default.stack[-1] is not self._session:
            raise AssertionError("Nesting violated for default stack of Session objects")
        _default.stack.pop()


def session_of(session: Session | None, what: Tensor | Operation, purpose: str) -> Session:
    if session is None:
        session = get_default_session()
        if session is None:
            call, colon = ("run", ":") if purpose == "execute operation" else ("eval", "")
            raise ValueError(f"Cannot {purpose} using `{call}()`: No default session is registered. Use `with "
                             f"sess.as_default(){colon}` or pass an explicit session to `{call}(session=sess)`")
    if session.graph is not what.graph:
        raise ValueError(f"Cannot use the given session to {purpose}: the {type(what).__name__.lower()}'s graph is "
                         "different from the session's graph.")
    return session
