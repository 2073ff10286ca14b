# SPDX-License-Identifier: Apache-2.0
"""The loop over time of recurrent layers."""
from __future__ import annotations

from typing import TYPE_CHECKING

import thalweg
from thalweg import messages
from thalweg.control import functions
from thalweg.graph import graph as graphs
from thalweg.graph.ops import apply

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


def _called(step, rows, mask, states, first):
    """(outputs of all steps, states) of a loop whose body is a function: While, which 1.15 takes from files and has gradients of. What loops
    carry, and what their bodies read of the graph, are inputs of it."""
    def listed(tensor):
        return apply("TensorListFromTensor", [tensor, _row_shape(tensor)])

    def at(handle, t, tensor):
        return apply("TensorListGetItem", [handle, t, _row_shape(tensor)], {"element_dtype": tensor.dtype})
    total, xs, keeps = thalweg.shape(rows)[0], listed(rows), None if mask is None else listed(mask)
    gathered = apply("TensorListReserve", [_shape_vector(first.shape), total], {"element_dtype": first.dtype})
    carried = [thalweg.constant(0), total, gathered, *([] if mask is None else [thalweg.zeros_like(first)]), *states]
    shapes = [t.shape for t in carried]
    skip = 3 if mask is None else 4

    def body(t, total, gathered, *rest):
        for tensor, shape in zip(rest, shapes[3:]):
            tensor.set_shape(shape)
        states = list(rest[skip - 3:])
        output, new = step(at(xs, t, rows), states)
        more = []
        if mask is not None:
            keep = at(keeps, t, mask)
            output = _chosen(keep, output, rest[0])
            new = [_chosen(keep, n, s) for n, s in zip(new, states)]
            more = [output]
        return (t + 1, total, apply("TensorListSetItem", [gathered, t, output]), *more, *new)
    names = [f"carried_{number}" for number in range(len(carried))]
    inner = functions.LoopBody(body, names, [t.dtype for t in carried])
    carried += inner.captured_inputs
    names += [f"read_{number}" for number in range(len(inner.captured_inputs))]
    condition = functions.DefinedFunction(lambda t, total, *rest: t < total, names, [t.dtype for t in carried], func_name=f"{inner.name}_cond")
    made = apply("While", [carried], {"cond": condition, "body": inner, "output_shapes": [t.shape for t in carried]})
    made[0].op._set_attr("_num_original_outputs", messages.AttrValue(i=len(carried)))
    count = rows.shape[0].value or -1
    outputs = apply("TensorListStack", [made[2], _shape_vector(first.shape)], {"element_dtype": first.dtype, "num_elements": count})
    for tensor, shape in zip(made, shapes):
        tensor.set_shape(shape)
    return outputs, made[skip:len(shapes)]


def _shape_vector(shape):
    return thalweg.constant([-1 if size is None else size for size in shape.as_list()], dtype="int32")


def _row_shape(tensor):
    return _shape_vector(tensor.shape[1:])


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
        looped = _called if getattr(graphs.get_default_graph(), "_keras_is_saved", False) else _looped
        outputs, states = looped(step, rows, mask, states, step(rows[0], states)[0])
    outputs.set_shape(rows.shape[:2].concatenate(outputs.shape[2:]))
    last = outputs[-1]
    return last, outputs if time_major else _time_first(outputs), states
