# SPDX-License-Identifier: Apache-2.0
"""Helpers: what a decoder reads at each step, and when its sequences end."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nest, nn
from thalweg.control import control_flow
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import graph
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.operations import array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import DTypeLike, Nested, ShapeLike, TensorLike
    from thalweg.graph.tensor import Tensor


def _time_major(x):
    x = convert_to_tensor(x)
    return array_ops.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _unstacked(x):
    return TensorArray(x.dtype, size=array_ops.shape(x)[0], element_shape=x.shape[1:]).unstack(x)


def _rows(condition, where_true, where_false):
    """Whole rows of one or the other."""
    return array_ops.where(condition, where_true, where_false)


class Helper:
    """What own helpers derive from."""

    @property
    def batch_size(self) -> Tensor:
        """How many sequences there are."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> Any:
        """Shape of what sample() gives of one sequence."""
        raise NotImplementedError("sample_ids_shape has not been implemented")

    @property
    def sample_ids_dtype(self) -> Any:
        """Type of what sample() gives."""
        raise NotImplementedError("sample_ids_dtype has not been implemented")

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        """(finished, first inputs)."""
        raise NotImplementedError("initialize has not been implemented")

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """What was said, for the outputs of a step."""
        raise NotImplementedError("sample has not been implemented")

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Tensor,
                    name: str | None = None) -> tuple[Tensor, Any, Any]:
        """(finished, next inputs, next state)."""
        raise NotImplementedError("next_inputs has not been implemented")


class CustomHelper(Helper):
    """A helper of three functions."""

    def __init__(self, initialize_fn: Callable[[], tuple[Tensor, Any]], sample_fn: Callable[..., Tensor],
                 next_inputs_fn: Callable[..., Any], sample_ids_shape: ShapeLike = None,
                 sample_ids_dtype: DTypeLike | None = None) -> None:
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self._batch = None
        self._shape = TensorShape(sample_ids_shape or [])
        self._dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Tensor:
        if self._batch is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch

    @property
    def sample_ids_shape(self) -> Any:
        return self._shape

    @property
    def sample_ids_dtype(self) -> DTypeLike:
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        with graph.name_scope(name or type(self).__name__ + "Initialize"):
            finished, first = self._initialize()
            if self._batch is None:
                self._batch = array_ops.shape(finished)[0]
        return finished, first

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        with graph.name_scope(name or type(self).__name__ + "Sample"):
            return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Tensor,
                    name: str | None = None) -> tuple[Tensor, Any, Any]:
        with graph.name_scope(name or type(self).__name__ + "NextInputs"):
            return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """Reads the given inputs, whatever was said.

    Parameters
    ----------
    inputs : Tensor or structure of Tensor
        Of shape [batch, time, ...], or [time, batch, ...] with `time_major`.
    sequence_length : tensor_like
        Lengths of the sequences, [batch].
    time_major : bool
        Whether time is the first dimension.
    name : str, optional
        Name of the scope.

    Raises
    ------
    ValueError
        If `sequence_length` is no vector.

    Examples
    --------
    >>> helper = tw.contrib.seq2seq.TrainingHelper(tw.ones([2, 5, 3]), [5, 4])
    >>> finished, first = helper.initialize()
    >>> first.shape.as_list()
    [2, 3]
    """

    def __init__(self, inputs: Nested, sequence_length: TensorLike, time_major: bool = False, name: str | None = None) -> None:
        with graph.name_scope(name or "TrainingHelper"):
            self._inputs = nest.map_structure(convert_to_tensor, inputs)
            rows = self._inputs if time_major else nest.map_structure(_time_major, self._inputs)
            self._arrays = nest.map_structure(_unstacked, rows)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(f"Expected sequence_length to be a vector, but received shape: {self._sequence_length.shape}")
            self._zeros = nest.map_structure(lambda x: array_ops.zeros_like(x[0]), rows)
            self._batch = array_ops.size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The inputs as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Tensor:
        """The lengths of the sequences."""
        return self._sequence_length

    @property
    def batch_size(self) -> Tensor:
        return self._batch

    @property
    def sample_ids_shape(self) -> Any:
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> DTypeLike:
        return dtypes.int32

    def _at(self, time, all_finished):
        flat = [a.read(time) for a in nest.flatten(self._arrays)]
        return nest.pack_sequence_as(self._zeros, flat)

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        with graph.name_scope(name or "TrainingHelperInitialize"):
            finished = math_ops.equal(self._sequence_length, 0)
            all_finished = math_ops.reduce_all(finished)
            return finished, _cond(all_finished, lambda: self._zeros, lambda: self._at(0, all_finished))

    def sample(self, time: Tensor, outputs: Any, name: str | None = None, **unused_kwargs: object) -> Any:
        with graph.name_scope(name or "TrainingHelperSample"):
            return math_ops.cast(math_ops.argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, name: str | None = None,
                    **unused_kwargs: object) -> tuple[Tensor, Any, Any]:
        with graph.name_scope(name or "TrainingHelperNextInputs"):
            finished, all_finished = self._ended(time)
            return finished, _cond(all_finished, lambda: self._zeros, lambda: self._at(time + 1, all_finished)), state

    def _ended(self, time):
        finished = time + 1 >= self._sequence_length
        return finished, math_ops.reduce_all(finished)


def _cond(test, on_true, on_false):
    """A conditional whose branches give the same structure."""
    structure = []

    def flat(branch):
        made = branch()
        structure[:] = [made]
        return [array_ops.identity(x) for x in nest.flatten(made)]
    found = control_flow.cond(test, lambda: flat(on_true), lambda: flat(on_false))
    return nest.pack_sequence_as(structure[0], found if isinstance(found, (list, tuple)) else [found])


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads, for some sequences of a step, what was said in place of the given inputs."""

    def __init__(self, inputs: Nested, sequence_length: TensorLike, embedding: TensorLike | Callable[[Tensor], Tensor],
                 sampling_probability: TensorLike, time_major: bool = False, seed: int | None = None,
                 scheduling_seed: int | None = None, name: str | None = None) -> None:
        with graph.name_scope(name or "ScheduledEmbeddingSamplingWrapper"):
            self._embed = embedding if callable(embedding) else lambda ids: nn.embedding_lookup(embedding, ids)
            self._probability = convert_to_tensor(sampling_probability, name="sampling_probability")
            if self._probability.shape.ndims not in (0, 1):
                raise ValueError(f"sampling_probability must be either a scalar or a vector. saw shape: {self._probability.shape}")
            self._seed, self._scheduling_seed = seed, scheduling_seed
        super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major, name=name)

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        """-1 where the given input will be read."""
        with graph.name_scope(name or "ScheduledEmbeddingTrainingHelperSample"):
            chosen = random_ops.random_uniform([self.batch_size], seed=self._scheduling_seed) < self._probability
            said = math_ops.cast(random_ops.multinomial(outputs, 1, seed=self._seed), dtypes.int32)[:, 0]
            return array_ops.where(chosen, said, array_ops.fill([self.batch_size], -1))

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Tensor,
                    name: str | None = None) -> tuple[Tensor, Any, Any]:
        with graph.name_scope(name or "ScheduledEmbeddingTrainingHelperNextInputs"):
            finished, given, state = super().next_inputs(time=time, outputs=outputs, state=state)
            said = self._embed(apply("Maximum", [sample_ids, 0]))
            return finished, _rows(sample_ids > -1, said, given), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads, for some sequences of a step, the decoder's own output in place of the given inputs."""

    def __init__(self, inputs: Nested, sequence_length: TensorLike, sampling_probability: TensorLike, time_major: bool = False,
                 seed: int | None = None, next_inputs_fn: Callable[..., Any] | None = None, auxiliary_inputs: Nested = None,
                 name: str | None = None) -> None:
        with graph.name_scope(name or "ScheduledOutputTrainingHelper"):
            self._probability = convert_to_tensor(sampling_probability, name="sampling_probability")
            if self._probability.shape.ndims not in (0, 1):
                raise ValueError(f"sampling_probability must be either a scalar or a vector. saw shape: {self._probability.shape}")
            self._auxiliary = None
            if auxiliary_inputs is not None:
                rows = nest.map_structure(convert_to_tensor, auxiliary_inputs)
                self._auxiliary = nest.map_structure(_unstacked, rows if time_major else nest.map_structure(_time_major, rows))
                inputs = nest.map_structure(lambda x, aux: array_ops.concat([x, aux], -1), inputs, auxiliary_inputs)
            self._seed, self._from_outputs = seed, next_inputs_fn
        super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major, name=name)

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        with graph.name_scope(name or "ScheduledOutputTrainingHelperSample"):
            chosen = random_ops.random_uniform([self.batch_size], seed=self._seed) < self._probability
            return math_ops.cast(chosen, dtypes.int32)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Tensor,
                    name: str | None = None) -> tuple[Tensor, Any, Any]:
        with graph.name_scope(name or "ScheduledOutputTrainingHelperNextInputs"):
            finished, given, state = super().next_inputs(time=time, outputs=outputs, state=state)
            own = outputs if self._from_outputs is None else self._from_outputs(outputs)
            if self._auxiliary is not None:
                last = apply("Minimum", [time + 1, nest.flatten(self._auxiliary)[0].size() - 1])
                own = nest.map_structure(lambda x, aux: array_ops.concat([x, aux.read(last)], -1), own, self._auxiliary)
            chosen = sample_ids > 0
            return finished, nest.map_structure(lambda o, g: _rows(chosen, o, g), own, given), state


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of what was most likely; a sequence ends with `end_token`.

    Parameters
    ----------
    embedding : tensor_like or callable
        The embedding, [symbols, ...], or what gives the rows of ids.
    start_tokens : tensor_like
        What sequences begin with, int32 [batch].
    end_token : int or Tensor
        What ends a sequence.

    Raises
    ------
    ValueError
        If `start_tokens` is no vector or `end_token` no scalar.

    Examples
    --------
    >>> helper = tw.contrib.seq2seq.GreedyEmbeddingHelper(tw.zeros([9, 3]), start_tokens=[0, 0], end_token=1)
    >>> finished, first = helper.initialize()
    >>> with tw.Session() as sess:
    ...     print(sess.run(finished), sess.run(first).shape)
    [False False] (2, 3)
    """

    def __init__(self, embedding: TensorLike | Callable[[Tensor], Tensor], start_tokens: TensorLike,
                 end_token: TensorLike) -> None:
        self._embed = embedding if callable(embedding) else lambda ids: nn.embedding_lookup(embedding, ids)
        self._start = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch = array_ops.size(self._start)
        self._first = self._embed(self._start)

    @property
    def batch_size(self) -> Tensor:
        return self._batch

    @property
    def sample_ids_shape(self) -> Any:
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> DTypeLike:
        return dtypes.int32

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        return array_ops.tile([False], [self._batch]), self._first

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        return math_ops.argmax(outputs, axis=-1, output_type=dtypes.int32)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Tensor,
                    name: str | None = None) -> tuple[Tensor, Any, Any]:
        finished = math_ops.equal(sample_ids, self._end)
        return finished, _cond(math_ops.reduce_all(finished), lambda: self._first, lambda: self._embed(sample_ids)), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of what was drawn from the outputs as logits.

    Parameters
    ----------
    embedding : tensor_like or callable
        The embedding, [symbols, ...], or what gives the rows of ids.
    start_tokens : tensor_like
        What sequences begin with, int32 [batch].
    end_token : int or Tensor
        What ends a sequence.
    softmax_temperature : float or Tensor, optional
        Divides the logits: below 1 likely symbols become more likely.
    seed : int, optional
        Seed of what is drawn.

    Raises
    ------
    ValueError
        If `start_tokens` is no vector or `end_token` no scalar.

    Examples
    --------
    >>> helper = tw.contrib.seq2seq.SampleEmbeddingHelper(tw.zeros([9, 3]), start_tokens=[0, 0], end_token=1)
    >>> with tw.Session() as sess:
    ...     sess.run(helper.sample(time=0, outputs=tw.constant([[0.0, 99.0], [99.0, 0.0]]), state=None))
    array([1, 0], dtype=int32)
    """

    def __init__(self, embedding: TensorLike | Callable[[Tensor], Tensor], start_tokens: TensorLike, end_token: TensorLike,
                 softmax_temperature: TensorLike | None = None, seed: int | None = None) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = outputs if self._temperature is None else outputs / self._temperature
        return math_ops.cast(random_ops.multinomial(logits, 1, seed=self._seed), dtypes.int32)[:, 0]


class InferenceHelper(Helper):
    """Reads what a function of the outputs says."""

    def __init__(self, sample_fn: Callable[..., Tensor], sample_shape: ShapeLike, sample_dtype: DTypeLike,
                 start_inputs: TensorLike, end_fn: Callable[[Tensor], Tensor],
                 next_inputs_fn: Callable[..., Any] | None = None) -> None:
        self._sample, self._shape, self._dtype = sample_fn, TensorShape(sample_shape), sample_dtype
        self._end, self._next = end_fn, next_inputs_fn
        self._start = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch = array_ops.shape(self._start)[0]

    @property
    def batch_size(self) -> Tensor:
        return self._batch

    @property
    def sample_ids_shape(self) -> Any:
        return self._shape

    @property
    def sample_ids_dtype(self) -> DTypeLike:
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        return array_ops.tile([False], [self._batch]), self._start

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample(outputs)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Tensor,
                    name: str | None = None) -> tuple[Tensor, Any, Any]:
        following = sample_ids if self._next is None else self._next(sample_ids)
        return self._end(sample_ids), following, state
