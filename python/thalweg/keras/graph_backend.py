# SPDX-License-Identifier: Apache-2.0
"""The functions of tf.keras.backend to which Keras leaves graphs and sessions: settings, sessions, variables, functions of a graph."""
from __future__ import annotations

import collections
import weakref
from typing import TYPE_CHECKING

import numpy as np

import thalweg
from thalweg import dtypes
from thalweg.control import replicas
from thalweg.graph import graph as graphs
from thalweg.graph.default_session import get_default_session
from thalweg.graph.session import Session
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg.graph.tensor import Tensor
from thalweg.keras.activations import hard_sigmoid  # noqa: F401  (names of this module, as those below)
from thalweg.keras.loops import rnn  # noqa: F401
from thalweg.keras.output_losses import binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy  # noqa: F401
from thalweg.keras.settings import (  # noqa: F401
    cast_to_floatx,
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
)
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from thalweg.base.typing import Array, ArrayLike, DTypeLike, TensorLike

_session = None
_manual_initialization = False
_counts = weakref.WeakKeyDictionary()  # graph -> {prefix: how many names were made of it}
get_graph = graphs.get_default_graph


# ---- names ----
def get_uid(prefix: str = "") -> int:
    """How often this prefix was asked for in the default graph, this time included."""
    counts = _counts.setdefault(get_graph(), collections.Counter())
    counts[prefix] += 1
    return counts[prefix]


def reset_uids() -> None:
    """Begins to count anew, in every graph."""
    _counts.clear()


# ---- sessions ----
def manual_variable_initialization(value: bool) -> None:
    """Says whether the program gives variables their first values itself."""
    global _manual_initialization
    _manual_initialization = bool(value)


def _current_session():
    global _session
    default = get_default_session()
    if default is not None:
        return default
    if _session is None or _session._closed or _session.graph is not get_graph():
        _session = _new_session()
    return _session


def _new_session():
    """A session of the default graph; that of workers in step is at the server of this one."""
    config, here = thalweg.ConfigProto(allow_soft_placement=True), replicas.here()
    of_variables = (getattr(v, "distribute_strategy", None) for v in thalweg.global_variables())
    strategy = here.strategy if here is not None else next(filter(None, of_variables), None)
    if strategy is None:
        return Session(config=config)
    return Session(strategy.extended._session_target(), config=strategy.update_config_proto(config))


def get_session(op_input_list: Iterable[object] = ()) -> Session:
    """The session of models: the default one, else one that they share. Variables that have no value yet are given their first."""
    session = _current_session()
    if not _manual_initialization:
        _initialize(session)
    return session


def set_session(session: Session) -> None:
    """Makes models use a session."""
    global _session
    _session = session


def _initialize(session):
    """Gives the variables of the graph that have no value yet in `session` their first one."""
    present = session.graph.get_collection_ref(graphs.GraphKeys.GLOBAL_VARIABLES)
    if session.__dict__.get("_keras_variables") == (len(present), id(present[-1]) if present else 0):
        return  # no variable has come since
    known = session.__dict__.setdefault("_keras_initialized", weakref.WeakSet())
    with session.graph.as_default():
        unseen = [v for v in present if v not in known]
        if unseen:
            has_value = session.run([thalweg.is_variable_initialized(v) for v in unseen])
            session.run(thalweg.variables_initializer([v for v, has in zip(unseen, has_value) if not has]))
    known.update(unseen)
    session._keras_variables = len(present), id(present[-1]) if present else 0


def clear_session() -> None:
    """Drops the default graph, the session of models and the count of names."""
    global _session
    thalweg.reset_default_graph()
    reset_uids()
    _session = None


def learning_phase() -> Tensor | int:
    """1 where a model is trained, 0 where it is used: a tensor of the graph that is 0 unless fed, or what set_learning_phase said."""
    graph = get_graph()
    if "_keras_phase" not in graph.__dict__:
        with graphs.name_scope(""), thalweg.init_scope():
            graph._keras_phase = thalweg.placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return graph._keras_phase


def set_learning_phase(value: int) -> None:
    """Makes 0 or 1 the phase of the default graph from now on."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    get_graph()._keras_phase = int(value)


# ---- variables ----
def variable(value: object, dtype: DTypeLike | None = None, name: str | None = None, constraint: Any = None) -> Variable | SparseTensor:
    """A variable of a first value; a sparse matrix of SciPy is a sparse tensor."""
    dtype = dtypes.as_dtype(floatx() if dtype is None else dtype)
    if hasattr(value, "tocoo"):
        rows = value.tocoo()
        return SparseTensor(np.stack([rows.row, rows.col], 1).astype(np.int64), rows.data, rows.shape)
    return Variable(value, dtype=dtype, name=name, constraint=constraint, use_resource=True)


def constant(value: TensorLike, dtype: DTypeLike | None = None, shape: object = None, name: str | None = None) -> Tensor:
    """A constant of the type of models unless one is given."""
    return thalweg.constant(value, dtype=floatx() if dtype is None else dtype, shape=shape, name=name)


def placeholder(shape: Sequence[int | None] | None = None, ndim: int | None = None, dtype: DTypeLike | None = None,
                sparse: bool = False, name: str | None = None) -> Tensor | SparseTensor:
    """What is fed: of a shape, or of a number of dimensions."""
    if shape is None and ndim:
        shape = (None,) * ndim
    make = thalweg.sparse_placeholder if sparse else thalweg.placeholder
    return make(floatx() if dtype is None else dtype, shape=shape, name=name)


def batch_get_value(tensors: Sequence[TensorLike]) -> list[Array]:
    """The values of variables."""
    return get_session(tensors).run(list(tensors)) if tensors else []


def _assignment(x):
    """(what is fed, what assigns it) of a variable, made once."""
    if not hasattr(x, "_keras_assignment"):
        with x.graph.as_default(), graphs.name_scope(""), thalweg.init_scope():
            fed = thalweg.placeholder(x.dtype.base_dtype, shape=x.shape)
            assigned = x.assign(fed)
            x._keras_assignment = fed, getattr(assigned, "op", assigned)
    return x._keras_assignment


def batch_set_value(tuples: Iterable[tuple[Variable, ArrayLike]]) -> None:
    """Assigns values to variables, in one step."""
    rows = [(*_assignment(x), x, value) for x, value in tuples]
    if rows:
        feeds = {fed: np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype) for fed, _, x, value in rows}
        _current_session().run([assign for _, assign, _, _ in rows], feed_dict=feeds)
        _current_session().__dict__.setdefault("_keras_initialized", weakref.WeakSet()).update(x for _, _, x, _ in rows)


def set_value(x: Variable, value: ArrayLike) -> None:
    """Assigns a value to a variable."""
    batch_set_value([(x, value)])


# ---- functions ----
def update_in_turn(variable: Variable, make: Callable[[], Tensor]) -> Tensor:
    """An update of a variable that reads it first: a function that has several makes them once more, one behind the other."""
    update = make()
    get_graph().__dict__.setdefault("_keras_in_turn", {})[update] = variable, make
    return update


def _in_turn(updates):
    """The updates, of which those of one variable run in this order: what another function has not must not be waited for by its own."""
    known, last = get_graph().__dict__.get("_keras_in_turn", {}), {}
    for number, update in enumerate(updates):
        variable, make = known.get(update, (None, None)) if isinstance(update, Tensor) else (None, None)
        if make is None:
            continue
        if variable in last:
            with thalweg.control_dependencies([last[variable]]):
                updates[number] = make()
        last[variable] = updates[number]
    return updates


class Function:
    """Runs a part of the graph: a list of arrays in, a list of arrays out, updates behind them."""

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], updates: Sequence[object] | None = None, name: str | None = None,
                 feed_dict: dict[Tensor, ArrayLike] | None = None, fetches: Sequence[object] | object = (), options: object = None,
                 run_metadata: object = None) -> None:
        for what, given in (("inputs", inputs), ("outputs", outputs), ("updates", updates or [])):
            if not isinstance(given, (list, tuple)):
                raise TypeError(f"`{what}` to a Keras backend function should be a list or tuple.")
        self.inputs, self.outputs, self.name = list(inputs), list(outputs), name
        with thalweg.control_dependencies([o for o in self.outputs if o is not None]):
            self.updates_op = thalweg.group(*[thalweg.assign(*u) if isinstance(u, tuple) else u for u in _in_turn([*(updates or [])])])
        self.feed_dict = feed_dict or {}
        self.fetches = list(fetches) if isinstance(fetches, (list, tuple)) else [fetches]
        self.run_options, self.run_metadata = options, run_metadata
        self.fetch_callbacks = {}
        self._prepared = self._prepared_for = self._types = None

    def _prepare(self, session, tensors):
        """A call of what is fetched, where arrays alone are fed and nothing else is asked for."""
        plain = not (any(isinstance(t, SparseTensor) for t in tensors) or self.run_options or self.run_metadata)
        self._prepared = session.make_callable([*self.outputs, *self.fetches, self.updates_op], tensors) if plain else None
        self._types = [t.dtype.as_numpy_dtype for t in tensors]
        self._prepared_for = session, [*tensors], [*self.fetches]

    def _feeds(self, values):
        """(what is fed, its value) of the inputs that have one."""
        pairs = [(tensor, value) for tensor, value in zip(self.inputs, values) if value is not None]
        for tensor, value in pairs:
            if isinstance(value, (Tensor, Variable, SparseTensor)):
                raise NotImplementedError(f"{tensor.name} is given a tensor: models of tf.keras take arrays and datasets in Thalweg, and "
                                          "tensors by Input(tensor=...)")
        return [*pairs, *self.feed_dict.items()]

    def _asks_for_more(self):
        return self.fetches or self.feed_dict or self.run_options or self.run_metadata

    def repeated(self, arrays: Sequence[Array | int]) -> Function | RepeatedFunction:
        """This function for many calls with arrays of these types, one for each input, which are not looked at again.

        A small step is not longer than what it takes to look at its inputs."""
        session = get_session()
        plain = len(arrays) == len(self.inputs) and not self._asks_for_more()
        for tensor, array in zip(self.inputs, arrays):
            plain = plain and isinstance(tensor, Tensor) and (type(array) is int or type(array) is np.ndarray and np.can_cast(
                array.dtype, tensor.dtype.as_numpy_dtype, "same_kind" if tensor.dtype.is_floating else "safe"))
        if not plain:
            return self
        if self._prepared_for != (session, self.inputs, []):
            self._prepare(session, self.inputs)
        return RepeatedFunction(self, session, self._prepared)

    def __call__(self, inputs: Sequence[ArrayLike | None]) -> list[Any]:
        if not isinstance(inputs, (list, tuple)):
            raise TypeError("`inputs` should be a list or tuple.")
        session = get_session()
        feeds = self._feeds(inputs)
        tensors = [tensor for tensor, _ in feeds]
        if self._prepared_for != (session, tensors, self.fetches):
            self._prepare(session, tensors)
        if self._prepared is None:
            fetched = session.run([*self.outputs, *self.fetches, self.updates_op],
                                  feed_dict={t: _sparse_value(v) if isinstance(t, SparseTensor) else v for t, v in feeds},
                                  options=self.run_options, run_metadata=self.run_metadata)
        else:
            fetched = self._prepared(*[np.asarray(value, dtype) for (_, value), dtype in zip(feeds, self._types)])
        for fetch, value in zip(self.fetches, fetched[len(self.outputs):]):
            if fetch in self.fetch_callbacks:
                self.fetch_callbacks[fetch](value)
        return fetched[:len(self.outputs)]


class RepeatedFunction:
    """A Function for many calls with arrays of the same types: a call of a session, as long as that is what the function is."""

    def __init__(self, function: Function, session: Session, prepared: Callable[..., list[Any]]) -> None:
        self._function, self._session, self._prepared = function, session, prepared

    def run(self) -> Callable[..., Sequence[Any]]:
        """What takes the inputs one by one, until a callback changes something, and gives the outputs and perhaps more."""
        function = self._function
        unchanged = _current_session() is self._session and not function._asks_for_more()
        return self._prepared if unchanged else lambda *inputs: function(inputs)

    def __call__(self, inputs: Sequence[Array | int]) -> Sequence[Any]:
        return self.run()(*inputs)[:len(self._function.outputs)]


def _sparse_value(matrix):
    rows = matrix.tocoo()
    return SparseTensorValue(np.stack([rows.row, rows.col], 1).astype(np.int64), rows.data, rows.shape)


def function(inputs: Sequence[Tensor], outputs: Sequence[Tensor], updates: Sequence[object] | None = None, **kwargs: object) -> Function:
    """A Function of tensors."""
    return Function(inputs, outputs, updates=updates, **kwargs)


# ---- values ----
def _seed(seed):
    return np.random.randint(10e6) if seed is None else seed


def random_normal(shape: TensorLike, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike | None = None,
                  seed: int | None = None) -> Tensor:
    """Normally distributed values."""
    return thalweg.random_normal(shape, mean=mean, stddev=stddev, dtype=dtype or floatx(), seed=_seed(seed))


def random_uniform(shape: TensorLike, minval: float = 0.0, maxval: float = 1.0, dtype: DTypeLike | None = None,
                   seed: int | None = None) -> Tensor:
    """Uniformly distributed values."""
    return thalweg.random_uniform(shape, minval=minval, maxval=maxval, dtype=dtype or floatx(), seed=_seed(seed))


def random_binomial(shape: TensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None) -> Tensor:
    """Ones with a probability of p, else zeros."""
    dtype = dtype or floatx()
    drawn = thalweg.random_uniform(shape, dtype=dtype, seed=_seed(seed))
    return thalweg.where(drawn <= p, thalweg.ones(shape, dtype=dtype), thalweg.zeros(shape, dtype=dtype))


def truncated_normal(shape: TensorLike, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike | None = None,
                     seed: int | None = None) -> Tensor:
    """Normally distributed values within two deviations."""
    return thalweg.truncated_normal(shape, mean, stddev, dtype=dtype or floatx(), seed=_seed(seed))
