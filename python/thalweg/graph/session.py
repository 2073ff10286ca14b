# SPDX-License-Identifier: Apache-2.0
"""Session: runs a graph. The work of `run` is done by the extension; this is what surrounds it."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from thalweg import _core, errors
from thalweg.base import text
from thalweg.graph import default_session, graph as graph_module
from thalweg.graph.default_session import DefaultSession
from thalweg.graph.tensor import IndexedSlices, IndexedSlicesValue, Operation, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Self

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.graph.graph import Graph
    from thalweg.messages import ConfigProto, GraphDef


_default_config = None


def default_config() -> ConfigProto | None:
    """What sessions get that are made without one."""
    return _default_config


def set_default_config(config: ConfigProto | None) -> None:
    """Of sessions that are made later."""
    global _default_config
    _default_config = config


def _config_bytes(config):
    """Of a ConfigProto, ours or of protobuf, which the core alone reads; None for None."""
    if config is None:
        return None
    if type(config).__name__ != "ConfigProto":
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    return config.SerializeToString()


def _full_target(target):
    from thalweg.cluster import server  # few programs have other processes
    return server.full_target(target)


def close_after(session: Session, failed: bool) -> None:
    """Closes a session. Where the program has failed already that is the first error; one of closing is only told then."""
    try:
        session.close()
    except errors.OpError as e:  # of a checkpoint that was being written
        if not failed:
            raise
        from thalweg import logging as tw_logging  # so that an import alone stays light
        tw_logging.error("While a session was closed: %s", e.message)


_LOCAL_SESSIONS: weakref.WeakSet[Session] = weakref.WeakSet()  # of this process, for Session.reset


class Session(_core.Session):
    """Runs a graph: holds the values of its variables, and sends work to the devices.

    `with` makes it and its graph the default ones and closes it at the end; else close() gives back what it holds.

    Parameters
    ----------
    target : str, optional
        Of a server, "grpc://host:port"; in this process unless given.
    graph : Graph, optional
        The default graph unless given.
    config : ConfigProto, optional
        Threads, devices, memory, what passes do.

    Raises
    ------
    TypeError
        `graph` or `config` is something else.
    errors.InvalidArgumentError
        An option is not right.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [None])
    >>> total = tw.reduce_sum(x)
    >>> with tw.Session() as sess:
    ...     print(sess.run(total, feed_dict={x: [1, 2, 3]}))
    6.0
    """

    _closed = False

    def __new__(cls, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None):
        graph = graph_module.get_default_graph() if graph is None else graph
        config = _default_config if config is None else config
        if getattr(graph, "_executes", False):
            graph = graph.beside()
        if not isinstance(graph, graph_module.Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        return _core.Session.__new__(cls, graph_module.environment(), graph, config=_config_bytes(config),
                                     target=_full_target(target) if target else None)

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        self._target = target
        self._config = _default_config if config is None else config
        self._partial_runs = {}
        self._contexts = []
        if not target:
            _LOCAL_SESSIONS.add(self)
        self._before_close = {}  # {whose: what is called first when it is closed}

    def as_default(self) -> AbstractContextManager[Session]:
        """with session.as_default(): tensor.eval() and operation.run() use it."""
        return DefaultSession(self)

    def __enter__(self) -> Self:
        scopes = self.graph.as_default(), self.as_default()
        for scope in scopes:
            scope.__enter__()
        self._contexts.append(scopes)
        return self

    def __exit__(self, *error: object) -> None:
        graph_scope, session_scope = self._contexts.pop()
        session_scope.__exit__(None, None, None)
        graph_scope.__exit__(None, None, None)
        close_after(self, failed=error[0] is not None)

    @property
    def graph_def(self) -> GraphDef:
        """The graph as a message."""
        return self.graph.as_graph_def()

    @property
    def sess_str(self) -> bytes:
        """The target, as bytes."""
        return text.as_bytes(self._target or "")

    def __repr__(self):
        state = "closed" if self._closed else f"of {self.graph!r}"
        where = f" at {self._target}" if self._target else ""
        return f"<tf.{type(self).__name__}{where} {state}>"

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that it can use, of all tasks where it has a server.

        Returns
        -------
        list of DeviceAttributes
            Each with name, device_type, memory_limit_bytes and incarnation.

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     print(sess.list_devices()[0].name)
        /job:localhost/replica:0/task:0/device:CPU:0
        """
        return [DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation) for d in self._device_messages()]

    def _device_messages(self):
        from thalweg import messages
        return list(messages.ListDevicesResponse.FromString(self._devices()).local_device)

    def make_callable(self, fetches: Fetches, feed_list: Sequence[Any] | None = None,
                      accept_options: bool = False) -> Callable[..., Any]:
        """Prepares a run: names and plan are worked out now, and a call of what it gives only runs.

        Parameters
        ----------
        fetches : Tensor, Operation, name, or structure of such
        feed_list : list of Tensor or name, optional
            What the callable's arguments are fed to.
        accept_options : bool
            Whether the callable takes `options` and `run_metadata`, too.

        Returns
        -------
        callable
            Takes the values of `feed_list` in order; gives what run() would.

        Examples
        --------
        >>> x = tw.placeholder(tw.float32)
        >>> with tw.Session() as sess:
        ...     double = sess.make_callable(x * 2.0, [x])
        ...     print(double(3.0))
        6.0
        """
        prepared = self._prepare(fetches, [self._feed(f) for f in feed_list or []])
        if accept_options:
            return lambda *values, options=None, run_metadata=None: prepared(*values, options=options,
                                                                             run_metadata=run_metadata)
        return prepared

    def _feed(self, key):
        return key if isinstance(key, (str, Tensor)) else self.graph.as_graph_element(key, allow_operation=False)

    def partial_run_setup(self, fetches: Fetches, feeds: Sequence[Any] | None = None) -> str:
        """Begins a step that is fed and fetched in several calls of partial_run().

        Parameters
        ----------
        fetches : list of Tensor, Operation or name
            All that the calls will fetch.
        feeds : list of Tensor or name, optional
            All that they will feed.

        Returns
        -------
        str
            The handle of the step.

        Examples
        --------
        >>> a, b = tw.placeholder(tw.float32), tw.placeholder(tw.float32)
        >>> double = a * 2.0
        >>> total = double + b
        >>> with tw.Session() as sess:
        ...     handle = sess.partial_run_setup([double, total], [a, b])
        ...     print(sess.partial_run(handle, double, {a: 3.0}), sess.partial_run(handle, total, {b: 1.0}))
        6.0 7.0
        """
        run = self._partial_run(fetches, [self._feed(f) for f in feeds or []])
        handle = f"partial_run_{id(run)}"
        self._partial_runs[handle] = run
        return handle

    def partial_run(self, handle: str, fetches: Fetches, feed_dict: FeedDict | None = None) -> Any:
        """Goes on with a step that partial_run_setup() began, as far as the fetches need.

        Parameters
        ----------
        handle : str
        fetches : Tensor, Operation, name, or structure of such
            Of those that were set up, each once.
        feed_dict : dict, optional
            Feeds of those that were set up, each once.

        Returns
        -------
        What run() would give.

        Raises
        ------
        RuntimeError
            The session is closed.
        ValueError
            There is no such step.

        Examples
        --------
        >>> x = tw.placeholder(tw.float32)
        >>> y = x * 2.0
        >>> with tw.Session() as sess:
        ...     print(sess.partial_run(sess.partial_run_setup([y], [x]), y, {x: 3.0}))
        6.0
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        run = self._partial_runs.get(handle)
        if run is None:
            raise ValueError(f"No partial run of the handle {handle!r}; partial_run_setup() gives one.")
        return run.run(fetches, _expand_feeds(feed_dict or {}))

    def close(self) -> None:
        """Ends what runs, and gives back what it holds. Closed sessions cannot run. A checkpoint that is still being written
        is waited for; its error is that of close()."""
        before, self._before_close = self._before_close, {}
        self._closed = True
        self._partial_runs.clear()
        try:
            for call in before.values():
                call()
        finally:
            super().close()

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: ConfigProto | None = None) -> None:
        """Drops the state of containers, all of them unless they are named, of a server or of this process. The sessions
        of this process are closed by it: runs of theirs are CancelledErrors from then on."""
        containers = list(containers or [])
        if target:
            _core.reset_target(_full_target(target), containers, _config_bytes(config))
        else:
            for session in list(_LOCAL_SESSIONS):
                session._end()
            graph_module.environment().reset(containers)

    def __reduce__(self):
        raise TypeError("A Session cannot be pickled.")


class DeviceAttributes:
    """A device of a session."""

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int = 0, incarnation: int = 0) -> None:
        self.name, self.device_type = name, device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation

    def __repr__(self):
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


class InteractiveSession(Session):
    """A Session that is the default one from the start, for a shell or a notebook: tensor.eval() needs no `with`.

    Parameters
    ----------
    target : str, optional
        Of a server, "grpc://host:port"; in this process unless given.
    graph : Graph, optional
        The default graph unless given.
    config : ConfigProto, optional

    Raises
    ------
    InvalidArgumentError
        Where `target` names no server.

    Examples
    --------
    >>> sess = tw.InteractiveSession()
    >>> print((tw.constant(2) + 3).eval())
    5
    >>> sess.close()
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        super().__init__(target, graph, config)
        self._scope = self.as_default()
        self._scope.__enter__()
        self._graph_scope = self.graph.as_default() if graph is not None else None
        if self._graph_scope is not None:
            self._graph_scope.__enter__()

    def close(self) -> None:
        """Closes it; it is the default session no more."""
        if self._scope is not None:
            if self._graph_scope is not None:
                self._graph_scope.__exit__(None, None, None)
            if self in default_session._default.stack:
                default_session._default.stack.remove(self)
            self._scope = self._graph_scope = None
        super().close()


_known = []  # (class, function of a fetch, function of a feed, function of a feed's key) that programs have made known


def register_session_run_conversion_functions(tensor_type: type[Any], fetch_function: Callable[[Any], Any],
                                              feed_function: Callable[[Any, Any], Any] | None = None,
                                              feed_function_for_partial_run: Callable[[Any], Any] | None = None) -> None:
    """Objects of a class can be fetched: fetch_function gives the tensors and a function of the list of their values; and fed:
    feed_function gives [(tensor, value)] of an object and its value."""
    for known, *_ in _known:
        if issubclass(tensor_type, known):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _known.insert(0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def _known_function(thing, place):
    return next((functions[place] for functions in _known if isinstance(thing, functions[0])), None)


def _expand_fetch(fetch):
    """(parts, function of the list of their values) of a fetch that is no tensor, operation, name, list or dict."""
    if isinstance(fetch, bytes):
        return [fetch.decode()], lambda values: values[0]
    known = _known_function(fetch, 1)
    if known is not None:
        return known(fetch)
    parts = getattr(fetch, "_fetch_parts", None)
    if parts is not None:
        return parts()
    if isinstance(fetch, IndexedSlices):
        names = [n for n in ("values", "indices", "dense_shape") if getattr(fetch, n) is not None]
        return [getattr(fetch, n) for n in names], lambda values: IndexedSlicesValue(**dict(zip(names, values)))
    convert = getattr(fetch, "_as_graph_element", None)
    if convert is not None:
        return [convert()], lambda values: values[0]
    if hasattr(fetch, "items"):
        keys = list(fetch)
        return [fetch[k] for k in keys], lambda values: type(fetch)(zip(keys, values))
    raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. "
                    f"(Can not convert a {type(fetch).__name__} into a Tensor or Operation.)")


def _expand_feeds(feed_dict):
    """feed_dict with tensors and names as keys."""
    plain = {}
    if not hasattr(feed_dict, "items"):
        raise TypeError(f"input must be a dictionary: feed_dict maps tensors to values, got {feed_dict!r}")
    for key, value in feed_dict.items():
        parts, known = getattr(key, "_feed_parts", None), _known_function(key, 2)
        if known is not None:
            plain.update(known(key, value))
        elif isinstance(key, (Tensor, str)):
            plain[key] = value
        elif isinstance(key, bytes):
            plain[key.decode()] = value
        elif parts is not None:
            plain.update(parts(value))
        elif hasattr(key, "_as_graph_element"):
            plain[key._as_graph_element()] = value
        elif isinstance(key, tuple) and isinstance(value, (tuple, list)) and len(key) == len(value):
            plain.update(_expand_feeds(dict(zip(key, value))))
        else:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: Can not convert a {type(key).__name__} into a "
                            "Tensor.")
    return plain


_core.set_hooks(Operation, Tensor, _expand_fetch, _expand_feeds)
