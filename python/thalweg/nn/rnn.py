# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: a cell run over the steps of sequences, in a loop (dynamic_rnn, raw_rnn) or unrolled (static_rnn)."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.control import control_flow
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import ops
from thalweg.graph.graph import control_dependencies
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.graph.tensor import name_of
from thalweg.nn.rnn_cell_base import check_cell
from thalweg.operations import array_ops, checks, math_ops
from thalweg.operations.array_layout import reverse_sequence
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, Nested, TensorLike
    from thalweg.nn.rnn_cell_base import RNNCell
    from thalweg.variables.variable_scopes import VariableScope


def _map(function, structure, *others):
    flat = [function(*parts) for parts in zip(nest.flatten(structure), *[nest.flatten(o) for o in others])]
    return nest.pack_sequence_as(structure, flat)


def _transposed(x):
    """[batch, time, ...] as [time, batch, ...], or the other way round."""
    x = convert_to_tensor(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        return x
    shape = x.shape
    if shape.ndims is None:
        rank = array_ops.rank(x)
        order = array_ops.concat([[1, 0], math_ops.range_(2, rank)], 0)
        return array_ops.transpose(x, order)
    made = array_ops.transpose(x, [1, 0, *range(2, shape.ndims)])
    made.set_shape(TensorShape([shape._size(1), shape._size(0)]).concatenate(shape[2:]))
    return made


def _batch_size(flat, axis=1):
    """A number where some input knows it, else a tensor."""
    for x in flat:
        if x.shape.ndims is not None and x.shape.ndims > axis and x.shape._size(axis) is not None:
            return x.shape._size(axis)
    return array_ops.shape(flat[0])[axis]


def _initial_state(cell, given, batch, dtype):
    if given is not None:
        return given
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if hasattr(cell, "zero_state"):
        return cell.zero_state(batch, dtype)
    return cell.get_initial_state(inputs=None, batch_size=batch, dtype=dtype)


def _dims(size):
    return [size] if isinstance(size, int) else as_shape(size).as_list()


def _zero_outputs(sizes, batch, dtypes_):
    def zeros(size, dtype):
        shape = array_ops.concat([array_ops.reshape(convert_to_tensor(batch, dtype=dtypes.int32), [1]),
                                  convert_to_tensor(_dims(size), dtype=dtypes.int32)], 0)
        made = apply("Fill", [shape, ops.constant(0, dtype)])
        made.set_shape([batch if isinstance(batch, int) else None, *_dims(size)])
        return made
    flat = [zeros(s, d) for s, d in zip(nest.flatten(sizes), dtypes_)]
    return nest.pack_sequence_as(sizes, flat)


def _where_done(done, old, new):
    """Rows of `old` where the sequence has ended. What has no batch, and TensorArrays, are always new."""
    if getattr(new, "_is_tensor_array", False) or new.shape.ndims == 0:
        return new
    kept = apply("Select", [done, old, new])
    kept.set_shape(new.shape if old.shape.ndims is None else old.shape)
    return kept


def _step(time, lengths, shortest, longest, zero_output, state, call, in_loop):
    """(output, state) of one step: zeros and the old state where the sequences have ended. An unrolled network skips
    the cell when all have."""
    flat_zero, flat_state = nest.flatten(zero_output), nest.flatten(state)
    structure = []

    def mixed(output, new):
        done = apply("GreaterEqual", [time, lengths])
        return ([_where_done(done, z, o) for z, o in zip(flat_zero, output)],
                [_where_done(done, s, n) for s, n in zip(flat_state, new)])

    def called():
        output, new = call()
        nest.assert_same_structure(state, new)
        structure[:] = [output, new]
        return nest.flatten(output), nest.flatten(new)
    if in_loop:
        output, new = mixed(*called())
    else:
        def unless_all_go_on():
            output, new = called()
            return control_flow.cond(time < shortest, lambda: output + new, lambda: sum(mixed(output, new), []))
        flat = control_flow.cond(time >= longest, lambda: flat_zero + flat_state, unless_all_go_on)
        flat = flat if isinstance(flat, list) else [flat]
        output, new = flat[:len(flat_zero)], flat[len(flat_zero):]
    for o, z in zip(output, flat_zero):
        o.set_shape(z.shape)
    for n, s in zip(new, flat_state):
        if not getattr(n, "_is_tensor_array", False):
            n.set_shape(s.shape)
    return nest.pack_sequence_as(structure[0], output), nest.pack_sequence_as(state, new)


def dynamic_rnn(cell: RNNCell, inputs: Nested, sequence_length: TensorLike | None = None, initial_state: Nested = None,
                dtype: DTypeLike | None = None, parallel_iterations: int | None = None, swap_memory: bool = False,
                time_major: bool = False, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
    """Runs a cell over the steps of a batch of sequences, in a loop of the graph.

    From sequence_length[b] on the outputs of sequence b are zero and its state stays.

    Parameters
    ----------
    cell : RNNCell
        What maps (inputs, state) to (output, new state).
    inputs : Tensor or structure of Tensor
        Of shape [batch, time, ...], or [time, batch, ...] with `time_major`.
    sequence_length : tensor_like, optional
        Lengths of the sequences, [batch]; all steps by default.
    initial_state : structure of Tensor, optional
        The state to begin with; zeros of `dtype` by default.
    dtype : DType, optional
        Type of the state and the outputs; needed where there is no `initial_state`.
    parallel_iterations : int, optional
        How many steps of the loop may run at the same time; 32 by default.
    swap_memory : bool
        Whether what gradients need may go to the host's memory.
    time_major : bool
        Whether time is the first dimension of inputs and outputs.
    scope : str or VariableScope, optional
        Where the cell's variables are; "rnn" by default.

    Returns
    -------
    outputs : Tensor or structure of Tensor
        Of shape [batch, time, cell.output_size], or [time, batch, ...] with `time_major`.
    state : structure of Tensor
        The state after the last step of each sequence.

    Raises
    ------
    TypeError
        If `cell` is no cell.
    ValueError
        If there is neither `initial_state` nor `dtype`, or the size of the inputs is not known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     cell = tw.nn.rnn_cell.GRUCell(3)
    ...     outputs, state = tw.nn.dynamic_rnn(cell, tw.ones([2, 5, 4]), sequence_length=[5, 2], dtype=tw.float32)
    ...     sess.run(tw.global_variables_initializer())
    ...     y = sess.run(outputs)
    >>> y.shape, float(abs(y[1, 2:]).sum())
    ((2, 5, 3), 0.0)
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_transposed(x) for x in flat]
        for x in flat:
            x.shape.with_rank_at_least(3)
        if sequence_length is not None:
            sequence_length = math_ops.cast(convert_to_tensor(sequence_length), dtypes.int32)
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError(f"sequence_length must be a vector of length batch_size, but saw shape: "
                                 f"{sequence_length.shape}")
            sequence_length = array_ops.identity(sequence_length, name="sequence_length")
        batch = _batch_size(flat)
        state = _initial_state(cell, initial_state, batch, dtype)
        if sequence_length is not None:
            sequence_length = _checked_lengths(sequence_length, batch)
        outputs, state = _loop(cell, nest.pack_sequence_as(inputs, flat), flat, state, batch, parallel_iterations or 32,
                               swap_memory, sequence_length, dtype)
        if not time_major:
            outputs = _map(_transposed, outputs)
        return outputs, state


def _checked_lengths(lengths, batch):
    right = apply("Equal", [array_ops.shape(lengths), array_ops.stack([convert_to_tensor(batch, dtype=dtypes.int32)])])
    check = checks.Assert(math_ops.reduce_all(right),
                                [f"Expected shape for Tensor {name_of(lengths)} is ", array_ops.stack([batch]),
                                 " but saw shape: ", array_ops.shape(lengths)])
    with control_dependencies([check]):
        return array_ops.identity(lengths, name="CheckSeqLen")


def _known_size(x):
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"Expected inputs to have at least [time, batch], saw shape: {x.shape}")
    if x.shape.ndims is None or any(d is None for d in x.shape[2:].as_list()):
        raise ValueError("Input size (depth of inputs) must be accessible via shape inference, but saw value None.")
    return x.shape


def _loop(cell, inputs, flat, state, batch, parallel_iterations, swap_memory, lengths, dtype):
    shapes = [_known_size(x) for x in flat]
    if any(len({s._size(i) for s in shapes} - {None}) > 1 for i in (0, 1)):
        raise ValueError(f"Time steps and batch size must be the same for all inputs, saw shapes: {shapes}")
    steps = shapes[0]._size(0)
    steps = array_ops.shape(flat[0])[0] if steps is None else ops.constant(steps)
    sizes = cell.output_size
    types = [dtype or nest.flatten(state)[0].dtype] * len(nest.flatten(sizes))
    known_batch = batch if isinstance(batch, int) else None
    zero_output, bound = None, steps
    if lengths is not None:
        zero_output = _zero_outputs(sizes, batch, types)
        bound = apply("Minimum", [steps, apply("Maximum", [1, math_ops.reduce_max(lengths)])])
    results = [TensorArray(t, size=steps, element_shape=TensorShape([known_batch, *_dims(s)]),
                           tensor_array_name=f"dynamic_rnn/output_{i}")
               for i, (t, s) in enumerate(zip(types, nest.flatten(sizes)))]
    sources = [TensorArray(x.dtype, size=steps, element_shape=s[1:], tensor_array_name=f"dynamic_rnn/input_{i}").unstack(x)
               for i, (x, s) in enumerate(zip(flat, shapes))]

    def body(time, arrays, state):
        row = nest.pack_sequence_as(inputs, [s.read(time) for s in sources])
        call = lambda: cell(row, state)
        if lengths is None:
            output, new = call()
        else:
            output, new = _step(time, lengths, None, None, zero_output, state, call, True)
        written = [a.write(time, o) for a, o in zip(arrays, nest.flatten(output))]
        return time + 1, written, new
    _, results, state = control_flow.while_loop(
        lambda time, *_: time < bound, body, [ops.constant(0, name="time"), results, _map(convert_to_tensor, state)],
        parallel_iterations=parallel_iterations, swap_memory=swap_memory)
    outputs = [r.stack() for r in results]
    for o, s in zip(outputs, nest.flatten(sizes)):
        o.set_shape([shapes[0]._size(0), known_batch, *_dims(s)])
    return nest.pack_sequence_as(sizes, outputs), state


def _reversed(x, lengths, seq_axis, batch_axis):
    if lengths is None:
        return array_ops.reverse(x, axis=[seq_axis])
    return reverse_sequence(x, lengths, seq_axis=seq_axis, batch_axis=batch_axis)


def bidirectional_dynamic_rnn(cell_fw: RNNCell, cell_bw: RNNCell, inputs: Nested, sequence_length: TensorLike | None = None,
                              initial_state_fw: Nested = None, initial_state_bw: Nested = None, dtype: DTypeLike | None = None,
                              parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = False,
                              scope: str | VariableScope | None = None) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Runs one cell forwards through time and one backwards, in loops of the graph.

    Parameters
    ----------
    cell_fw, cell_bw : RNNCell
        The cells.
    inputs : Tensor or structure of Tensor
        Of shape [batch, time, ...], or [time, batch, ...] with `time_major`.
    sequence_length : tensor_like, optional
        Lengths of the sequences, [batch]; all steps by default.
    initial_state_fw, initial_state_bw : structure of Tensor, optional
        The states to begin with; zeros of `dtype` by default.
    dtype : DType, optional
        Type of the states and the outputs; needed where there are no initial states.
    parallel_iterations : int, optional
        How many steps of the loops may run at the same time; 32 by default.
    swap_memory : bool
        Whether what gradients need may go to the host's memory.
    time_major : bool
        Whether time is the first dimension of inputs and outputs.
    scope : str or VariableScope, optional
        Where the cells' variables are; "bidirectional_rnn" by default.

    Returns
    -------
    outputs : tuple of two
        The outputs of both cells, in the order of the inputs.
    states : tuple of two
        Their final states.

    Raises
    ------
    TypeError
        If a cell is no cell.
    ValueError
        If there is neither an initial state nor `dtype`, or the size of the inputs is not known.

    Examples
    --------
    >>> cells = tw.nn.rnn_cell.GRUCell(3), tw.nn.rnn_cell.GRUCell(5)
    >>> outputs, states = tw.nn.bidirectional_dynamic_rnn(*cells, tw.ones([2, 7, 4]), dtype=tw.float32)
    >>> [o.shape.as_list() for o in outputs], [s.shape.as_list() for s in states]
    ([[2, 7, 3], [2, 7, 5]], [[2, 3], [2, 5]])
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    common = dict(sequence_length=sequence_length, dtype=dtype, parallel_iterations=parallel_iterations,
                  swap_memory=swap_memory, time_major=time_major)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def backwards(x):
        return _reversed(x, sequence_length, time_axis, batch_axis)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as within:
            output_fw, state_fw = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope=within, **common)
        with variable_scope("bw") as within:
            output_bw, state_bw = dynamic_rnn(cell_bw, _map(backwards, inputs), initial_state=initial_state_bw, scope=within,
                                              **common)
        return (output_fw, _map(backwards, output_bw)), (state_fw, state_bw)


def raw_rnn(cell: RNNCell, loop_fn: Callable[..., tuple[TensorLike, Nested, Nested, Nested, Nested]],
            parallel_iterations: int | None = None, swap_memory: bool = False,
            scope: str | VariableScope | None = None) -> tuple[Any, Any, Any]:
    """(TensorArrays of outputs, final state, final loop state) of a loop that `loop_fn` steers:

    loop_fn(time, output, state, loop_state) gives (finished, next input, next state, emitted output, loop state); at time 0
    output and state are None and the emitted output tells the structure and shapes of all.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = ops.constant(0)
        finished, first, state, emit, loop_state = loop_fn(time, None, None, None)
        flat = [convert_to_tensor(x) for x in nest.flatten(first)]
        inner = ops.constant(0) if loop_state is None else loop_state
        batch = _batch_size(flat, 0)
        state = _map(lambda s: s if getattr(s, "_is_tensor_array", False) else convert_to_tensor(s), state)
        known = batch if isinstance(batch, int) else None
        if emit is None:
            emit = cell.output_size
            sizes = [_dims(s) for s in nest.flatten(emit)]
            types = [nest.flatten(state)[0].dtype] * len(sizes)
        else:
            parts = [convert_to_tensor(e) for e in nest.flatten(emit)]
            sizes = [p.shape.as_list() if p.shape.is_fully_defined() else None for p in parts]
            types = [p.dtype for p in parts]
            shapes = [array_ops.shape(p) for p in parts]
        zeros = [_zero_outputs(s, batch, [t]) if s is not None else
                 apply("Fill", [array_ops.concat([array_ops.stack([batch]), shapes[i]], 0), ops.constant(0, t)])
                 for i, (s, t) in enumerate(zip((None if s is None else TensorShape(s) for s in sizes), types))]
        results = [TensorArray(t, size=0, dynamic_size=True,
                               element_shape=None if s is None else TensorShape([known, *s]),
                               tensor_array_name=f"rnn_output_{i}") for i, (t, s) in enumerate(zip(types, sizes))]

        def body(time, finished, row, arrays, state, loop_state):
            output, new_state = cell(row, state)
            nest.assert_same_structure(state, new_state)
            given = None if isinstance(loop_state, _Nothing) else loop_state
            now, row, new_state, emitted, new_loop_state = loop_fn(time + 1, output, new_state, given)
            nest.assert_same_structure(state, new_state)
            new_loop_state = loop_state if new_loop_state is None else new_loop_state
            kept = [_where_done(finished, z, e) for z, e in zip(zeros, map(convert_to_tensor, nest.flatten(emitted)))]
            new_state = _map(lambda o, n: _where_done(finished, o, n), state, new_state)
            arrays = [a.write(time, k) for a, k in zip(arrays, kept)]
            return time + 1, apply("LogicalOr", [now, finished]), row, arrays, new_state, new_loop_state

        def steered(time, finished, row, arrays, state, inner):
            made = body(time, finished, row, arrays, state, _Nothing() if loop_state is None else inner)
            return (*made[:-1], inner) if loop_state is None else made
        _, _, _, results, state, inner = control_flow.while_loop(
            lambda time, finished, *_: apply("LogicalNot", [math_ops.reduce_all(finished)]), steered,
            [time, finished, nest.pack_sequence_as(first, flat), results, state, inner],
            parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        return nest.pack_sequence_as(emit, results), state, None if loop_state is None else inner


class _Nothing:
    """Stands for a loop state that the user does not have."""


def _checked_list(inputs):
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


def static_rnn(cell: RNNCell, inputs: Sequence[Nested], initial_state: Nested = None, dtype: DTypeLike | None = None,
               sequence_length: TensorLike | None = None, scope: str | VariableScope | None = None) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, one after the other, without a loop in the graph.

    Parameters
    ----------
    cell : RNNCell
        What maps (inputs, state) to (output, new state).
    inputs : list of Tensor
        An input of shape [batch, ...] for each step, or a structure of these.
    initial_state : structure of Tensor, optional
        The state to begin with; zeros of `dtype` by default.
    dtype : DType, optional
        Type of the state; needed where there is no `initial_state`.
    sequence_length : tensor_like, optional
        Lengths of the sequences, [batch]: beyond them outputs are zero and the state stays.
    scope : str or VariableScope, optional
        Where the cell's variables are; "rnn" by default.

    Returns
    -------
    outputs : list of Tensor
        An output of shape [batch, cell.output_size] for each step.
    state : structure of Tensor
        The state after the last step.

    Raises
    ------
    TypeError
        If `cell` is no cell or `inputs` no list.
    ValueError
        If `inputs` is empty, or there is neither `initial_state` nor `dtype`.

    Examples
    --------
    >>> steps = [tw.ones([2, 4]), tw.ones([2, 4])]
    >>> outputs, state = tw.nn.static_rnn(tw.nn.rnn_cell.BasicLSTMCell(3), steps, dtype=tw.float32)
    >>> [o.shape.as_list() for o in outputs], state.c.shape.as_list()
    ([[2, 3], [2, 3]], [2, 3])
    """
    check_cell("cell", cell)
    _checked_list(inputs)
    with variable_scope(scope or "rnn") as within:
        inputs = [_map(convert_to_tensor, x) for x in inputs]
        flat = nest.flatten(inputs[0])
        for x in flat:
            if x.shape.ndims is not None and any(d is None for d in x.shape[1:].as_list()):
                raise ValueError("Input size (dimension 1 of inputs) must be accessible via shape inference, but saw value "
                                 "None.")
        batch = _batch_size(flat, 0)
        state = _initial_state(cell, initial_state, batch, dtype)
        if sequence_length is not None:
            sequence_length = math_ops.cast(convert_to_tensor(sequence_length), dtypes.int32)
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            sequence_length = array_ops.identity(sequence_length, name="sequence_length")
            zero = _zero_outputs(cell.output_size, batch, [dtype or nest.flatten(state)[0].dtype] *
                                 len(nest.flatten(cell.output_size)))
            shortest, longest = math_ops.reduce_min(sequence_length), math_ops.reduce_max(sequence_length)
        outputs = []
        for time, x in enumerate(inputs):
            if time > 0:
                within.reuse_variables()
            if sequence_length is None:
                output, state = cell(x, state)
            else:
                output, state = _step(ops.constant(time), sequence_length, shortest, longest, zero, state,
                                      lambda x=x, state=state: cell(x, state), False)
            outputs.append(output)
        return outputs, state


def static_state_saving_rnn(cell: RNNCell, inputs: Sequence[Nested], state_saver: object, state_name: str | Sequence[str],
                            sequence_length: TensorLike | None = None,
                            scope: str | VariableScope | None = None) -> tuple[list[Any], Any]:
    """static_rnn that takes its state from state_saver.state(name) and gives it back with save_state(name, state)."""
    nested, named = isinstance(cell.state_size, (list, tuple)), isinstance(state_name, (list, tuple))
    if nested != named:
        raise ValueError("state_name should be the same type as cell.state_size.  "
                         f"state_name: {state_name}, cell.state_size: {cell.state_size}")
    if nested:
        names = nest.flatten(state_name)
        if len(names) != len(nest.flatten(cell.state_size)):
            raise ValueError(f"#elems in state_name ({len(names)}) and cell.state_size ({len(nest.flatten(cell.state_size))}) "
                             "should be the same")
        state = nest.pack_sequence_as(cell.state_size, [state_saver.state(s) for s in names])
    else:
        names, state = [state_name], state_saver.state(state_name)
    outputs, state = static_rnn(cell, inputs, initial_state=state, sequence_length=sequence_length, scope=scope)
    saves = [state_saver.save_state(n, s) for n, s in zip(names, nest.flatten(state))]
    with control_dependencies([s for s in saves if s is not None]):
        flat = nest.flatten(outputs[-1])
        outputs[-1] = nest.pack_sequence_as(outputs[-1], [array_ops.identity(o) for o in flat])
        state = _map(array_ops.identity, state)
    return outputs, state


def static_bidirectional_rnn(cell_fw: RNNCell, cell_bw: RNNCell, inputs: Sequence[Nested], initial_state_fw: Nested = None,
                             initial_state_bw: Nested = None, dtype: DTypeLike | None = None,
                             sequence_length: TensorLike | None = None,
                             scope: str | VariableScope | None = None) -> tuple[list[Any], Any, Any]:
    """Runs one cell forwards and one backwards over a list of inputs, without a loop in the graph.

    Parameters
    ----------
    cell_fw, cell_bw : RNNCell
        The cells.
    inputs : list of Tensor
        An input of shape [batch, ...] for each step.
    initial_state_fw, initial_state_bw : structure of Tensor, optional
        The states to begin with; zeros of `dtype` by default.
    dtype : DType, optional
        Type of the states; needed where there are no initial states.
    sequence_length : tensor_like, optional
        Lengths of the sequences, [batch].
    scope : str or VariableScope, optional
        Where the cells' variables are; "bidirectional_rnn" by default.

    Returns
    -------
    outputs : list of Tensor
        The outputs of both cells side by side, for each step.
    state_fw, state_bw : structure of Tensor
        Their final states.

    Raises
    ------
    TypeError
        If a cell is no cell or `inputs` no list.
    ValueError
        If `inputs` is empty, or there is neither an initial state nor `dtype`.

    Examples
    --------
    >>> cells = tw.nn.rnn_cell.GRUCell(3), tw.nn.rnn_cell.GRUCell(5)
    >>> outputs, first, second = tw.nn.static_bidirectional_rnn(*cells, [tw.ones([2, 4])] * 3, dtype=tw.float32)
    >>> [o.shape.as_list() for o in outputs]
    [[2, 8], [2, 8], [2, 8]]
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    _checked_list(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as within:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, within)
        with variable_scope("bw") as within:
            turned, state_bw = static_rnn(cell_bw, _turned(inputs, sequence_length), initial_state_bw, dtype,
                                          sequence_length, within)
        output_bw = _turned(turned, sequence_length)
        outputs = [_map(lambda a, b: array_ops.concat([a, b], 1), f, b) for f, b in zip(output_fw, output_bw)]
        return outputs, state_fw, state_bw


def _turned(steps, lengths):
    """A list of steps backwards; each sequence of its own length."""
    if lengths is None:
        return list(reversed(steps))
    columns = [_reversed(array_ops.stack(list(column)), lengths, 0, 1)
               for column in zip(*[nest.flatten(s) for s in steps])]
    rows = zip(*[array_ops.unstack(c, num=len(steps)) for c in columns])
    return [nest.pack_sequence_as(s, list(r)) for s, r in zip(steps, rows)]


__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn", "static_bidirectional_rnn", "static_rnn",
           "static_state_saving_rnn"]
