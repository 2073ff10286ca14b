# SPDX-License-Identifier: Apache-2.0
"""What functions of tensors make of RaggedTensors is the same where operations run at once as in a graph."""
import numpy as np
import pytest
import ragged_cases
import thalweg as tf
from ragged_operands import OPERANDS
from thalweg.eager.context import EagerGraph

# Gradients are those of a tape there.
EXPRESSIONS = [e for e in ragged_cases.expressions() if "gradients" not in e]


def value_of(result):
    """As a session would give it."""
    if isinstance(result, tf.RaggedTensor):
        return tf.ragged.RaggedTensorValue(value_of(result.values), result.row_splits.numpy())
    if isinstance(result, tf.SparseTensor):
        return tf.SparseTensorValue(*(value_of(part) for part in (result.indices, result.values, result.dense_shape)))
    if isinstance(result, (list, tuple)):
        return [value_of(part) for part in result]
    return result.numpy() if isinstance(result, tf.Tensor) else np.asarray(result)


def at_once(expression):
    scope = {"t": tf}
    with EagerGraph().as_default():
        try:
            for line in OPERANDS.strip().splitlines():
                name, text = line.split(None, 1)
                if name in expression:
                    scope[name] = eval(text, scope)
            return ragged_cases.plain(value_of(eval(expression, scope)))
        except (ValueError, TypeError, AttributeError, NotImplementedError, IndexError, tf.errors.OpError) as error:
            return {"error": type(error).__name__}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_in_a_graph(expression):
    found, wanted = at_once(expression), ragged_cases.outcome(tf, expression)
    if "error" in wanted:  # of another class where a kernel finds out what a shape function does in a graph
        assert "error" in found
    else:
        assert ragged_cases.alike(found, wanted), (found, wanted)


def test_rows_are_shown():
    with EagerGraph().as_default():
        rows = tf.ragged.constant([[1, 2], [], [3]])
        assert rows.to_list() == [[1, 2], [], [3]] and repr(rows + 1) == "<tf.RaggedTensor [[2, 3], [], [4]]>"
        flat = tf.constant([1.0, 2.0, 3.0])
        with tf.GradientTape() as tape:
            tape.watch(flat)
            total = tf.reduce_sum(tf.RaggedTensor.from_row_splits(flat, [0, 2, 3]) * 2.0)
        assert tape.gradient(total, flat).numpy().tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="RaggedTensor.to_list\\(\\) is only supported in eager mode"):
        tf.ragged.constant([[1]]).to_list()
