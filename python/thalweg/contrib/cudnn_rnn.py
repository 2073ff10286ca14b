# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.cudnn_rnn: layers of LSTM cells, computed on the CPU by this package's own cells.

The weights are variables under the names that TensorFlow gives them in checkpoints; in TensorFlow's graph they are one opaque
variable of the GPU's library.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.base import names
from thalweg.graph.shapes import as_shape
from thalweg.nn import rnn, rnn_cell
from thalweg.operations import array_layout, array_ops
from thalweg.saving.saveables import SaveableObject, SaveSpec
from thalweg.variables import init_ops, variables
from thalweg.variables.layer import Layer
from thalweg.variables.variable_scopes import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import DTypeLike, Initializer, Nested, ShapeLike, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable

CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION = "unidirectional", "bidirectional"
_CELL = "cudnn_compatible_lstm_cell"


class CudnnCompatibleLSTMCell(rnn_cell.LSTMCell):
    """An LSTM cell as the GPU's library has it: without forget bias and peepholes."""

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0.0, name=_CELL)


class CudnnLSTM(Layer):
    """Layers of LSTM cells over a sequence, [time, batch, features], with the names and checkpoints of cuDNN's.

    Calling it gives (outputs, (h, c)): the outputs of the last layer, and the last states of all layers.

    Parameters
    ----------
    num_layers : int
    num_units : int
        Of each cell.
    input_mode : str
        "linear_input": the first layer multiplies its input by a weight.
    direction : str
        "unidirectional" or "bidirectional".
    dropout : float
        The chance that a value between layers is dropped in training.
    seed : int, optional
    dtype : DType
    kernel_initializer, bias_initializer : initializer, optional
    name : str, optional
        Of the scope of its variables.

    Examples
    --------
    >>> outputs, (h, c) = tw.contrib.cudnn_rnn.CudnnLSTM(1, 4)(tw.zeros([5, 2, 3]))
    >>> outputs.shape.as_list(), h.shape.as_list()
    ([5, 2, 4], [1, 2, 4])
    """

    rnn_mode = "lstm"

    def __init__(self, num_layers: int, num_units: int, input_mode: str = "linear_input", direction: str = CUDNN_RNN_UNIDIRECTION,
                 dropout: float = 0.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32,
                 kernel_initializer: Initializer | None = None, bias_initializer: Initializer | None = None,
                 name: str | None = None) -> None:
        super().__init__(dtype=dtype, name=name or "cudnn_lstm")
        if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
            raise ValueError(f"Invalid direction: {direction}")
        if input_mode not in ("linear_input", "auto_select"):
            raise NotImplementedError(f"CudnnLSTM with input_mode {input_mode!r}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        self.num_layers, self.num_units, self.input_mode, self.direction = num_layers, num_units, input_mode, direction
        self.num_dirs = 2 if direction == CUDNN_RNN_BIDIRECTION else 1
        self._dropout, self._seed = dropout, seed
        self._kernel_initializer = kernel_initializer or init_ops.glorot_uniform_initializer()
        self._bias_initializer = bias_initializer or init_ops.constant_initializer(0.0)

    def _scopes(self, layer):
        """Where the cells of a layer are, by direction."""
        if self.num_dirs == 1:
            return [f"rnn/multi_rnn_cell/cell_{layer}"]
        return [f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{way}" for way in ("fw", "bw")]

    def state_shape(self, batch_size: int) -> tuple[list[int], ...]:
        """Of h and of c."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],) * 2

    def build(self, input_shape: ShapeLike) -> None:
        """Makes the weights: the last dimension of the input must be known."""
        width = as_shape(input_shape)._size(-1)
        if width is None:
            raise ValueError("The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`.")
        self._set_scope()
        with variable_scope(self._scope, auxiliary_name_scope=False):
            for layer in range(self.num_layers):
                for scope in self._scopes(layer):
                    get_variable(f"{scope}/{_CELL}/kernel", [width + self.num_units, 4 * self.num_units], self._dtype,
                                 self._kernel_initializer)
                    get_variable(f"{scope}/{_CELL}/bias", [4 * self.num_units], self._dtype, self._bias_initializer)
                width = self.num_dirs * self.num_units
        self.built = True

    @property
    def variables(self) -> list[Variable]:
        """The weights and biases of all layers, once it was called."""
        return [] if self._scope is None else self._scope.global_variables()

    weights = trainable_variables = trainable_weights = variables

    def call(self, inputs: TensorLike, initial_state: Nested = None, sequence_lengths: TensorLike | None = None,
             time_major: bool = True, training: bool | Tensor = True) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        x = inputs if time_major else array_ops.transpose(inputs, [1, 0, 2])
        if initial_state is None:
            shape = array_ops.stack([self.num_layers * self.num_dirs, array_ops.shape(x)[1], self.num_units])
            initial_state = (array_ops.zeros(shape, x.dtype),) * 2
        hs, cs = [], []
        with variable_scope(get_variable_scope(), reuse=True):
            for layer in range(self.num_layers):
                if layer and self._dropout and training:
                    x = nn.dropout(x, keep_prob=1 - self._dropout, seed=self._seed)
                outputs = []
                for way, scope in enumerate(self._scopes(layer)):
                    at = layer * self.num_dirs + way
                    output, (c, h) = self._run(x, initial_state[0][at], initial_state[1][at], sequence_lengths, way, scope)
                    outputs.append(output)
                    hs.append(h)
                    cs.append(c)
                x = outputs[0] if self.num_dirs == 1 else array_ops.concat(outputs, 2)
        return x if time_major else array_ops.transpose(x, [1, 0, 2]), (array_ops.stack(hs), array_ops.stack(cs))

    def _run(self, x, h, c, lengths, backwards, scope):
        h.set_shape([None, self.num_units])
        c.set_shape([None, self.num_units])
        if backwards:
            x = _reversed(x, lengths)
        output, state = rnn.dynamic_rnn(CudnnCompatibleLSTMCell(self.num_units), x, sequence_length=lengths, time_major=True,
                                        initial_state=rnn_cell.LSTMStateTuple(c, h), scope=scope)
        return _reversed(output, lengths) if backwards else output, state


class RNNParamsSaveable(SaveableObject):
    """Lets a Saver write the opaque weights of a cell of the GPU's library as weights and biases one by one, so that other cells can read them.

    TensorFlow 1.0 to 1.2 have it.

    Parameters
    ----------
    params_to_canonical : callable
        Gives (weights, biases) of the opaque weights.
    canonical_to_params : callable
        Gives the opaque weights of (weights, biases).
    param_variables : Variable or list of Variable
        What holds the opaque weights.
    base_variable_scope : str, optional
        Begins the names in checkpoints.
    name : str

    Examples
    --------
    >>> opaque = tw.get_variable("opaque", initializer=[1.0, 2.0, 3.0])
    >>> saveable = tw.contrib.cudnn_rnn.RNNParamsSaveable(
    ...     lambda params: ([params[:2]], [params[2:]]), lambda weights, biases: tw.concat([weights[0], biases[0]], 0), opaque)
    >>> len(saveable.specs)
    2
    """

    def __init__(self, params_to_canonical: Callable[..., tuple[Sequence[Tensor], Sequence[Tensor]]],
                 canonical_to_params: Callable[..., Tensor], param_variables: Variable | Sequence[Variable],
                 base_variable_scope: str | None = None, name: str = "params_canonical") -> None:
        scope = f"{base_variable_scope}/" if base_variable_scope else ""
        weights, biases = params_to_canonical(param_variables)
        self._canonical_to_params, self._variables, self._num_weights = canonical_to_params, param_variables, len(weights)
        parts = [(f"{scope}{name}/{kind}_{i}", value) for kind, values in (("weights", weights), ("biases", biases))
                 for i, value in enumerate(values)]
        super().__init__(param_variables, [SaveSpec(value, "", full) for full, value in parts], scope + name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: object) -> Tensor:
        weights, biases = restored_tensors[:self._num_weights], restored_tensors[self._num_weights:]
        return variables.assign(self._variables, self._canonical_to_params(weights, biases), validate_shape=False)


def _reversed(x, lengths):
    return array_ops.reverse(x, [0]) if lengths is None else array_layout.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


names.complete(globals())
