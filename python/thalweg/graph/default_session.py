# SPDX-License-Identifier: Apache-2.0
"""The session that runs what names none."""
import threading


class _Default(threading.local):
    def __init__(self):
        self.stack = []


_default = _Default()


def get_default_session():
    return _default.stack[-1] if _default.stack else None


class DefaultSession:
    def __init__(self, session):
        self._session = session

    def __enter__(self):
        _default.stack.append(self._session)
        return self._session

    def __exit__(self, *error):
        if not _default.stack or _default.stack[-1] is not self._session:
            raise AssertionError("Nesting violated for default stack of Session objects")
        _default.stack.pop()


def session_of(session, what, purpose):
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
