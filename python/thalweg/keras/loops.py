# SPDX-License-Identifier: Apache-2.0
"""The loop over time of recurrent layers."""
from __future__ import annotations

from typing import TYPE_CHECKING

import thalweg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.graph.tensor import Tensor


def _time_first(x):
    return thalweg.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _chosen(keep, new, old):
    """`new` for the samples that the step counts for, else `old`."""
    return thalweg.where_v2(thalweg.reshape(keep, [-1] + [1] * (new.shape.ndims - 1)), new, old)


def _unrolled(step, steps, inputs, keeps, states):
    """(outputs of all steps, states) of a fixed number of steps, which are nodes of the graph one by one."""
    outputs, keeps = [], keeps or [None] * steps
    for x, keep in zip(inputs, keeps):
        output, new = step(x, states)
        if keep is not None:
            output = _chosen(keep, output, outputs[-1] if outputs else thalweg.zeros_like(output))
            new = [_chosen(keep, n, s) for n, s in zip(new, states)]
        outputs.append(output)
        states = list(new)
    return thalweg.stack(outputs), states


def _looped(step, inputs, mask, states, first):
    """(outputs of all steps, states) of a loop in the graph."""
    steps = thalweg.shape(inputs)[0]
    rows = thalweg.TensorArray(inputs.dtype, size=steps).unstack(inputs)
    keeps = None if mask is None else thalweg.TensorArray(mask.dtype, size=steps).unstack(mask)
    gathered = thalweg.TensorArray(first.dtype, size=steps)

    def body(t, gathered, *carried):
        states = list(carried if mask is None else carried[1:])
        output, new = step(rows.read(t), states)
        more = []
        if mask is not None:
            keep = keeps.read(t)
            output = _chosen(keep, output, carried[0])
            new = [_chosen(keep, n, s) for n, s in zip(new, states)]
            more = [output]
        for n, s in zip(new, states):
            n.set_shape(s.shape)
        return (t + 1, gathered.write(t, output), *more, *new)

    before = [] if mask is None else [thalweg.zeros_like(first)]
    _, gathered, *after = thalweg.while_loop(lambda t, *_: t < steps, body, (thalweg.constant(0), gathered, *before, *states),
                                             parallel_iterations=32, swap_memory=True)
    return gathered.stack(), after[len(before):]


def rnn(step_function: Callable[..., tuple[Tensor, Sequence[Tensor]]], inputs: Tensor, initial_states: Sequence[Tensor],
        go_backwards: bool = False, mask: Tensor | None = None, constants: Sequence[Tensor] | None = None, unroll: bool = False,
        input_length: int | None = None, time_major: bool = False,
        zero_output_for_mask: bool = False) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Goes over the steps of `inputs` [batch, time, ...]: (the last output, outputs of all steps, the last states).

    Where `mask` [batch, time] is false, a step of a sample gives what the one before gave, and leaves the states as they are.
    """
    if zero_output_for_mask:
        raise NotImplementedError("zero_output_for_mask of tf.keras.backend.rnn is not implemented in Thalweg")
    rows = inputs if time_major else _time_first(inputs)
    if mask is not None:
        mask = thalweg.cast(mask, "bool")
        mask = mask if time_major else _time_first(mask)
    if go_backwards:
        rows, mask = thalweg.reverse(rows, [0]), None if mask is None else thalweg.reverse(mask, [0])
    constants, states = list(constants or []), list(initial_states)

    def step(x, states):
        return step_function(x, [*states, *constants])

    if unroll:
        steps = rows.shape[0].value
        if not steps:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        outputs, states = _unrolled(step, steps, thalweg.unstack(rows), None if mask is None else thalweg.unstack(mask), states)
    else:
        outputs, states = _looped(step, rows, mask, states, step(rows[0], states)[0])
    outputs.set_shape(rows.shape[:2].concatenate(outputs.shape[2:]))
    last = outputs[-1]
    return last, outputs if time_major else _time_first(outputs), states
