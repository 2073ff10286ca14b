# SPDX-License-Identifier: Apache-2.0
"""GradientTape where operations run at once."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.eager.plans import is_differentiable
from thalweg.eager.tapes import Recording, tapes
from thalweg.eager.tensor import EagerTensor
from thalweg.graph import ops
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import array_ops
from thalweg.operations.gradient_ops import UnconnectedGradients

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self


class EagerTape:
    """with EagerTape() as tape: gradients of what is computed meanwhile from the variables and tensors that it watches."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._watches_variables = persistent, watch_accessed_variables
        self._recording: Recording | None = Recording(watch_accessed_variables)
        self._is_recording = False

    def __enter__(self) -> Self:
        if self._is_recording:
            raise ValueError("Tape is already recording.")
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_recording:
            self._end()

    def _begin(self):
        if self._recording is None:
            self._recording = Recording(self._watches_variables)
        tapes.stack = [*tapes.stack, self._recording]
        self._is_recording = True

    def _end(self):
        tapes.stack = [r for r in tapes.stack if r is not self._recording]
        self._is_recording = False

    def _held(self):
        if self._recording is None:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        return self._recording

    def watch(self, tensor: Any) -> None:
        """Gradients for these tensors are wanted."""
        for t in nest.flatten(tensor):
            if hasattr(t, "_ref_tensor"):
                self._held().watch_variable(t)
            elif isinstance(t, EagerTensor):
                if not is_differentiable(t.dtype):
                    from thalweg import logging
                    logging.warning("The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", t.dtype)
                self._held().watched.add(t._id)
            elif isinstance(t, IndexedSlices):
                self._held().watched.add(t.values._id)
            else:
                raise ValueError(f"Passed in object of type {type(t)}, not tf.Tensor")

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that are watched, in the order in which they were first used."""
        return tuple(self._held().variables.values())

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """with tape.stop_recording(): what is computed meanwhile does not count."""
        if not self._is_recording:
            raise ValueError("Tape is not recording.")
        self._end()
        try:
            yield
        finally:
            self._begin()

    def reset(self) -> None:
        """Forgets what is watched and what was recorded."""
        was_recording = self._is_recording
        if was_recording:
            self._end()
        self._recording = Recording(self._watches_variables)
        if was_recording:
            self._begin()

    def gradient(self, target: Any, sources: Any, output_gradients: object = None,
                 unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE) -> Any:
        """The derivative of the sum of the target for each source, None for those on which it does not depend."""
        recording = self._held()
        if self._is_recording and not self._persistent:
            self._end()
        elif self._is_recording:
            from thalweg import logging
            logging.log_first_n(logging.WARN, "Calling GradientTape.gradient on a persistent tape inside its context is significantly "
                                "less efficient than calling it outside the context (it causes the gradient ops to be recorded on the "
                                "tape, leading to increased CPU and memory usage). Only call GradientTape.gradient inside the context if "
                                "you actually want to trace the gradient in order to compute higher order derivatives.", 1)
        found = gradients_of(recording, target, sources, output_gradients, unconnected_gradients)
        if not self._persistent:
            self._recording = None
        return found

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True) -> Any:
        """The derivatives of each element of the target: [*shape of the target, *shape of the source]."""
        recording = self._held()
        if self._is_recording and not self._persistent:
            self._end()
        target = ops.convert_to_tensor(target)
        flat = nest.flatten(sources)
        rows = []
        for i in range(target._num_elements()):
            chosen = array_ops.reshape(array_ops.one_hot(i, target._num_elements(), dtype=target.dtype), target._dims)
            rows.append(gradients_of(recording, target, flat, chosen, unconnected_gradients))
        made = []
        for source, column in zip(flat, zip(*rows)):
            shape = [*target._dims, *source.shape.as_list()]
            made.append(None if column[0] is None else array_ops.reshape(array_ops.stack([ops.convert_to_tensor(c) for c in column]), shape))
        if not self._persistent:
            self._recording = None
        return nest.pack_sequence_as(sources, made)

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
                       parallel_iterations: int | None = None, experimental_use_pfor: bool = True) -> Any:
        """The derivatives of each element of a row of the target for the same row of the source."""
        target = ops.convert_to_tensor(target)
        recording = self._held()
        if self._is_recording and not self._persistent:
            self._end()
        if target.shape[0] != source.shape[0]:
            raise ValueError(f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match.")
        rows = target._dims[0]
        per_row = target._num_elements() // max(rows, 1)
        columns = []
        for i in range(per_row):
            chosen = array_ops.reshape(array_ops.tile([array_ops.one_hot(i, per_row, dtype=target.dtype)], [rows, 1]), target._dims)
            columns.append(gradients_of(recording, target, [source], chosen, unconnected_gradients)[0])
        if not self._persistent:
            self._recording = None
        if not columns or columns[0] is None:
            return None
        shape = [*target._dims, *source.shape.as_list()[1:]]
        return array_ops.reshape(array_ops.stack(columns, axis=1), shape)


def gradients_of(recording: Recording, target: Any, sources: Any, output_gradients: object = None,
                 unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE) -> Any:
    """The gradients of what was recorded, in the structure of the sources."""
    try:
        zeros = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}") from None
    flat = nest.flatten(sources)
    of_sources = [tensor_of(s) for s in flat]
    targets = [ops.densify(t) if isinstance(t, IndexedSlices) else tensor_of(t) for t in nest.flatten(target)]
    given = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
    incoming = [None if g is None else ops.convert_to_tensor(g, dtype=t.dtype) for g, t in zip(given, targets)]
    kept = [i for i, t in enumerate(targets) if is_differentiable(t.dtype)]
    found = recording.gradients([targets[i] for i in kept], of_sources, [incoming[i] for i in kept])
    if zeros:
        found = [array_ops.zeros_like(ops.convert_to_tensor(s)) if g is None else g for g, s in zip(found, flat)]
    return nest.pack_sequence_as(sources, found)


def tensor_of(value: Any) -> EagerTensor:
    """What tapes know a value by: of a variable, its handle."""
    if isinstance(value, IndexedSlices):
        return value.values
    return value._ref_tensor if hasattr(value, "_ref_tensor") else ops.convert_to_tensor(value)
