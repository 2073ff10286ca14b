# SPDX-License-Identifier: Apache-2.0
"""What a hook of a monitored session is, and what it is given."""
import collections


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a run."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunValues(collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])):
    """What came of a run: the values of the hook's own fetches."""


class SessionRunContext:
    """The run that is about to begin, or has ended."""

    def __init__(self, original_args, session):
        self._original_args, self._session, self._stop_requested = original_args, session, False

    original_args = property(lambda self: self._original_args)
    session = property(lambda self: self._session)
    stop_requested = property(lambda self: self._stop_requested)

    def request_stop(self):
        """Makes should_stop() of the session true."""
        self._stop_requested = True


class SessionRunHook:
    """Base of all hooks; each member may be left out."""

    def begin(self):
        """Called before the session is made; may add to the graph."""

    def after_create_session(self, session, coord):
        """Called when a session was made; the graph is final."""

    def before_run(self, run_context):
        """Gives a SessionRunArgs of what to add to the run, or None."""

    def after_run(self, run_context, run_values):
        """Called after a run that did not fail."""

    def end(self, session):
        """Called at the end, when nothing failed."""
