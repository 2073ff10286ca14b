# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.legacy_seq2seq: sequence to sequence models over lists of tensors, one for each step."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from thalweg import dtypes, nest, nn
from thalweg.base import names
from thalweg.contrib.rnn_projections import EmbeddingWrapper, OutputProjectionWrapper, linear
from thalweg.control import control_flow
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import convert_to_tensor
from thalweg.nn import rnn
from thalweg.operations import array_ops, math_ops
from thalweg.variables.variable_scopes import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, Nested, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.nn.rnn_cell_base import RNNCell
    from thalweg.variables.variable_scopes import VariableScope


def _extract_argmax_and_embed(embedding, output_projection=None, update_embedding=True):
    """A loop function: the embedding of the likeliest symbol of the last output."""
    def loop_function(prev, _):
        if output_projection is not None:
            prev = nn.xw_plus_b(prev, output_projection[0], output_projection[1])
        found = nn.embedding_lookup(embedding, math_ops.argmax(prev, 1))
        return found if update_embedding else array_ops.stop_gradient(found)
    return loop_function


def rnn_decoder(decoder_inputs: Sequence[Tensor], initial_state: Nested, cell: RNNCell,
                loop_function: Callable[[Tensor, int], Tensor] | None = None,
                scope: str | VariableScope | None = None) -> tuple[list[Tensor], Any]:
    """Runs a cell over inputs, of which `loop_function` makes all but the first where it is given.

    Parameters
    ----------
    decoder_inputs : list of Tensor
        An input of shape [batch, size] for each step.
    initial_state : structure of Tensor
        The state to begin with.
    cell : RNNCell
        What maps (inputs, state) to (output, new state).
    loop_function : callable, optional
        loop_function(the output before, number of the step) gives the input.
    scope : str or VariableScope, optional
        Where the cell's variables are; "rnn_decoder" by default.

    Returns
    -------
    outputs : list of Tensor
        An output for each step.
    state : structure of Tensor
        The last one.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.GRUCell(3)
    >>> outputs, state = tw.contrib.legacy_seq2seq.rnn_decoder([tw.ones([2, 4])] * 5, cell.zero_state(2, tw.float32), cell)
    >>> len(outputs), outputs[0].shape.as_list()
    (5, [2, 3])
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, prev = initial_state, [], None
        for i, inp in enumerate(decoder_inputs):
            if loop_function is not None and prev is not None:
                with variable_scope("loop_function", reuse=True):
                    inp = loop_function(prev, i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(inp, state)
            outputs.append(output)
            if loop_function is not None:
                prev = output
    return outputs, state


def basic_rnn_seq2seq(encoder_inputs: Sequence[Tensor], decoder_inputs: Sequence[Tensor], cell: RNNCell,
                      dtype: DTypeLike = dtypes.float32, scope: str | VariableScope | None = None) -> tuple[list[Tensor], Any]:
    """An encoder and a decoder with weights of their own."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = rnn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(encoder_inputs: Sequence[Tensor], decoder_inputs: Sequence[Tensor], cell: RNNCell,
                     loop_function: Callable[[Tensor, int], Tensor] | None = None, dtype: DTypeLike = dtypes.float32,
                     scope: str | VariableScope | None = None) -> tuple[list[Tensor], Any]:
    """An encoder and a decoder with the same weights."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = rnn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def _check_projection(output_projection, sizes):
    if output_projection is None:
        return
    for part, size in zip(output_projection, sizes):
        convert_to_tensor(part).shape.assert_is_compatible_with(size)


def embedding_rnn_decoder(decoder_inputs: Sequence[Tensor], initial_state: Nested, cell: RNNCell, num_symbols: int,
                          embedding_size: int, output_projection: tuple[TensorLike, TensorLike] | None = None,
                          feed_previous: bool | Tensor = False, update_embedding_for_previous: bool = True,
                          scope: str | VariableScope | None = None) -> tuple[list[Tensor], Any]:
    """rnn_decoder of symbols."""
    with variable_scope(scope or "embedding_rnn_decoder"):
        _check_projection(output_projection, [[None, num_symbols], [num_symbols]])
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop_function = _extract_argmax_and_embed(embedding, output_projection, update_embedding_for_previous) \
            if feed_previous else None
        return rnn_decoder([nn.embedding_lookup(embedding, i) for i in decoder_inputs], initial_state, cell,
                           loop_function=loop_function)


def _either(feed_previous, decode, count, structure):
    """decode(True) or decode(False), as a tensor says; both share their variables."""
    def branch(feeds):
        with variable_scope(get_variable_scope(), reuse=None if feeds else True):
            outputs, state = decode(feeds)
            return list(outputs) + nest.flatten(state)
    made = list(control_flow.cond(feed_previous, lambda: branch(True), lambda: branch(False)))
    return made[:count], nest.pack_sequence_as(structure, made[count:])


def embedding_rnn_seq2seq(encoder_inputs: Sequence[Tensor], decoder_inputs: Sequence[Tensor], cell: RNNCell,
                          num_encoder_symbols: int, num_decoder_symbols: int, embedding_size: int,
                          output_projection: tuple[TensorLike, TensorLike] | None = None, feed_previous: bool | Tensor = False,
                          dtype: DTypeLike | None = None, scope: str | VariableScope | None = None) -> tuple[list[Tensor], Any]:
    """basic_rnn_seq2seq of symbols."""
    with variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as made:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = rnn.static_rnn(encoder, encoder_inputs, dtype=dtype or made.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feeds, update=False):
            return embedding_rnn_decoder(decoder_inputs, state, cell, num_decoder_symbols, embedding_size, output_projection,
                                         feed_previous=feeds, update_embedding_for_previous=update)
        if isinstance(feed_previous, bool):
            return decode(feed_previous, True)
        return _either(feed_previous, decode, len(decoder_inputs), state)


def embedding_tied_rnn_seq2seq(encoder_inputs: Sequence[Tensor], decoder_inputs: Sequence[Tensor], cell: RNNCell,
                               num_symbols: int, embedding_size: int, num_decoder_symbols: int | None = None,
                               output_projection: tuple[TensorLike, TensorLike] | None = None,
                               feed_previous: bool | Tensor = False, dtype: DTypeLike | None = None,
                               scope: str | VariableScope | None = None) -> tuple[list[Tensor], Any]:
    """tied_rnn_seq2seq of symbols, with one embedding."""
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as made:
        dtype = dtype or made.dtype
        _check_projection(output_projection, [[None, num_symbols], [num_symbols]])
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        inputs = [nn.embedding_lookup(embedding, x) for x in encoder_inputs]
        outputs = [nn.embedding_lookup(embedding, x) for x in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_symbols if num_decoder_symbols is None else num_decoder_symbols)

        def decode(feeds, update=False):
            loop_function = _extract_argmax_and_embed(embedding, output_projection, update) if feeds else None
            return tied_rnn_seq2seq(inputs, outputs, cell, loop_function=loop_function, dtype=dtype)
        if isinstance(feed_previous, bool):
            return decode(feed_previous, True)
        return _either(feed_previous, decode, len(decoder_inputs), cell.zero_state(array_ops.shape(inputs[0])[0], dtype))


class _Attention:
    """Heads that look at the states of an encoder."""

    def __init__(self, states, num_heads, dtype):
        self._dtype, self.size = dtype, states.shape._size(2)
        if self.size is None:
            raise ValueError(f"Shape[2] of attention_states must be known: {states.shape}")
        self._length = states.shape._size(1)
        if self._length is None:
            self._length = array_ops.shape(states)[1]
        self._hidden = array_ops.reshape(states, [-1, self._length, 1, self.size])
        self._heads = []
        for a in range(num_heads):
            kernel = get_variable(f"AttnW_{a}", [1, 1, self.size, self.size], dtype)
            features = nn.conv2d(self._hidden, kernel, [1, 1, 1, 1], "SAME")
            self._heads.append((features, get_variable(f"AttnV_{a}", [self.size], dtype)))

    def __call__(self, query):
        query = array_ops.concat(nest.flatten(query), 1) if nest.is_sequence(query) else query
        seen = []
        for a, (features, v) in enumerate(self._heads):
            with variable_scope(f"Attention_{a}"):
                y = math_ops.cast(array_ops.reshape(linear(query, self.size), [-1, 1, 1, self.size]), self._dtype)
                score = math_ops.reduce_sum(v * math_ops.tanh(features + y), [2, 3])
                share = math_ops.cast(nn.softmax(math_ops.cast(score, dtypes.float32)), self._dtype)
                found = math_ops.reduce_sum(array_ops.reshape(share, [-1, self._length, 1, 1]) * self._hidden, [1, 2])
                seen.append(array_ops.reshape(found, [-1, self.size]))
        return seen


def attention_decoder(decoder_inputs: Sequence[Tensor], initial_state: Nested, attention_states: Tensor, cell: RNNCell,
                      output_size: int | None = None, num_heads: int = 1,
                      loop_function: Callable[[Tensor, int], Tensor] | None = None, dtype: DTypeLike | None = None,
                      scope: str | VariableScope | None = None,
                      initial_state_attention: bool = False) -> tuple[list[Tensor], Any]:
    """rnn_decoder with attention on the states of an encoder."""
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    with variable_scope(scope or "attention_decoder", dtype=dtype) as made:
        dtype = made.dtype
        attention = _Attention(attention_states, num_heads, dtype)
        output_size = cell.output_size if output_size is None else output_size
        state, outputs, prev = initial_state, [], None
        batch = array_ops.shape(decoder_inputs[0])[0]
        seen = [array_ops.zeros(array_ops.stack([batch, attention.size]), dtype) for _ in range(num_heads)]
        for s in seen:
            s.set_shape([None, attention.size])
        if initial_state_attention:
            seen = attention(initial_state)
        for i, inp in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and prev is not None:
                with variable_scope("loop_function", reuse=True):
                    inp = loop_function(prev, i)
            if inp.shape._size(1) is None:
                raise ValueError(f"Could not infer input size from input: {inp.name}")
            x = linear([math_ops.cast(e, dtype) for e in [inp, *seen]], inp.shape._size(1))
            cell_output, state = cell(x, state)
            with variable_scope(get_variable_scope(), reuse=True if i == 0 and initial_state_attention else None):
                seen = attention(state)
            with variable_scope("AttnOutputProjection"):
                output = linear([math_ops.cast(cell_output, dtype), *seen], output_size)
            if loop_function is not None:
                prev = output
            outputs.append(output)
    return outputs, state


def embedding_attention_decoder(decoder_inputs: Sequence[Tensor], initial_state: Nested, attention_states: Tensor, cell: RNNCell,
                                num_symbols: int, embedding_size: int, num_heads: int = 1, output_size: int | None = None,
                                output_projection: tuple[TensorLike, TensorLike] | None = None,
                                feed_previous: bool | Tensor = False, update_embedding_for_previous: bool = True,
                                dtype: DTypeLike | None = None, scope: str | VariableScope | None = None,
                                initial_state_attention: bool = False) -> tuple[list[Tensor], Any]:
    """attention_decoder of symbols."""
    output_size = cell.output_size if output_size is None else output_size
    _check_projection(output_projection and output_projection[1:], [[num_symbols]])
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop_function = _extract_argmax_and_embed(embedding, output_projection, update_embedding_for_previous) \
            if feed_previous else None
        return attention_decoder([nn.embedding_lookup(embedding, i) for i in decoder_inputs], initial_state, attention_states,
                                 cell, output_size=output_size, num_heads=num_heads, loop_function=loop_function,
                                 initial_state_attention=initial_state_attention)


def embedding_attention_seq2seq(encoder_inputs: Sequence[Tensor], decoder_inputs: Sequence[Tensor], cell: RNNCell,
                                num_encoder_symbols: int, num_decoder_symbols: int, embedding_size: int, num_heads: int = 1,
                                output_projection: tuple[TensorLike, TensorLike] | None = None,
                                feed_previous: bool | Tensor = False, dtype: DTypeLike | None = None,
                                scope: str | VariableScope | None = None,
                                initial_state_attention: bool = False) -> tuple[list[Tensor], Any]:
    """embedding_rnn_seq2seq with attention."""
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as made:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = rnn.static_rnn(encoder, encoder_inputs, dtype=made.dtype)
        states = array_ops.concat([array_ops.reshape(e, [-1, 1, cell.output_size]) for e in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(feeds, update=False):
            return embedding_attention_decoder(decoder_inputs, state, states, cell, num_decoder_symbols, embedding_size,
                                               num_heads=num_heads, output_size=output_size,
                                               output_projection=output_projection, feed_previous=feeds,
                                               update_embedding_for_previous=update,
                                               initial_state_attention=initial_state_attention)
        if isinstance(feed_previous, bool):
            return decode(feed_previous, True)
        return _either(feed_previous, decode, len(decoder_inputs), state)


def one2many_rnn_seq2seq(encoder_inputs: Sequence[Tensor], decoder_inputs_dict: Mapping[str, Sequence[Tensor]], enc_cell: RNNCell,
                         dec_cells_dict: Mapping[str, RNNCell], num_encoder_symbols: int,
                         num_decoder_symbols_dict: Mapping[str, int], embedding_size: int, feed_previous: bool | Tensor = False,
                         dtype: DTypeLike | None = None,
                         scope: str | VariableScope | None = None) -> tuple[dict[str, list[Tensor]], dict[str, Any]]:
    """One encoder, a decoder of symbols for each name: (outputs by name, states by name)."""
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as made:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = rnn.static_rnn(encoder, encoder_inputs, dtype=made.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope("one2many_decoder_" + str(name)) as here:
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(feeds, inputs=inputs, cell=cell, symbols=symbols):
                    return embedding_rnn_decoder(inputs, state, cell, symbols, embedding_size, feed_previous=feeds)
                if isinstance(feed_previous, bool):
                    outputs[name], states[name] = decode(feed_previous)
                else:
                    with variable_scope(here):
                        outputs[name], states[name] = _either(feed_previous, decode, len(inputs), state)
    return outputs, states


def sequence_loss_by_example(logits: Sequence[Tensor], targets: Sequence[Tensor], weights: Sequence[Tensor],
                             average_across_timesteps: bool = True, softmax_loss_function: Callable[..., object] | None = None,
                             name: str | None = None) -> Tensor:
    """The weighted cross entropy of each sequence of a batch.

    Parameters
    ----------
    logits : list of Tensor
        Of shape [batch, symbols], for each step.
    targets : list of Tensor
        Numbers of symbols, [batch], for each step.
    weights : list of Tensor
        How much each counts, [batch], for each step.
    average_across_timesteps : bool
        Whether losses are divided by the sum of the weights.
    softmax_loss_function : callable, optional
        Gets labels and logits by name; sparse_softmax_cross_entropy_with_logits by default.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A loss for each sequence, [batch].

    Raises
    ------
    ValueError
        If the lists differ in length.

    Examples
    --------
    >>> loss = tw.contrib.legacy_seq2seq.sequence_loss_by_example([tw.zeros([1, 2])], [tw.constant([0])], [tw.ones([1])])
    >>> with tw.Session() as sess:
    ...     sess.run(loss)
    array([0.6931472], dtype=float32)
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError("Lengths of logits, weights, and targets must be the same "
                         f"{len(logits)}, {len(weights)}, {len(targets)}.")
    with name_scope(name, "sequence_loss_by_example", list(logits) + list(targets) + list(weights)):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                target = array_ops.reshape(target, [-1])
                loss = nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            losses.append(loss * weight)
        total = math_ops.add_n(losses)
        if average_across_timesteps:
            total = total / (math_ops.add_n(weights) + 1e-12)
    return total


def sequence_loss(logits: Sequence[Tensor], targets: Sequence[Tensor], weights: Sequence[Tensor],
                  average_across_timesteps: bool = True, average_across_batch: bool = True,
                  softmax_loss_function: Callable[..., object] | None = None, name: str | None = None) -> Tensor:
    """The weighted cross entropy of a batch of sequences."""
    with name_scope(name, "sequence_loss", list(logits) + list(targets) + list(weights)):
        cost = math_ops.reduce_sum(sequence_loss_by_example(logits, targets, weights, average_across_timesteps,
                                                            softmax_loss_function))
        if average_across_batch:
            return cost / math_ops.cast(array_ops.shape(targets[0])[0], cost.dtype)
        return cost


def model_with_buckets(encoder_inputs: Sequence[Tensor], decoder_inputs: Sequence[Tensor], targets: Sequence[Tensor],
                       weights: Sequence[Tensor], buckets: Sequence[tuple[int, int]],
                       seq2seq: Callable[[Sequence[Tensor], Sequence[Tensor]], tuple[Any, Any]],
                       softmax_loss_function: Callable[..., object] | None = None, per_example_loss: bool = False,
                       name: str | None = None) -> tuple[list[list[Tensor]], list[Any]]:
    """(outputs, losses) for each bucket of lengths: its model is seq2seq(encoder inputs, decoder inputs)."""
    for what, given, longest in (("encoder_inputs", encoder_inputs, buckets[-1][0]), ("targets", targets, buckets[-1][1]),
                                 ("weights", weights, buckets[-1][1])):
        if len(given) < longest:
            raise ValueError(f"Length of {what} ({len(given)}) must be at least that of last bucket ({longest}).")
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    losses, outputs = [], []
    with name_scope(name, "model_with_buckets", list(encoder_inputs) + list(decoder_inputs) + list(targets) + list(weights)):
        for j, (length, steps) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if j > 0 else None):
                made, _ = seq2seq(encoder_inputs[:length], decoder_inputs[:steps])
                outputs.append(made)
                losses.append(loss(made, targets[:steps], weights[:steps], softmax_loss_function=softmax_loss_function))
    return outputs, losses


names.complete(globals())
