# SPDX-License-Identifier: Apache-2.0
"""CTC as TF1 programs use it. Values recorded with TensorFlow 1.15."""
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as made:
        yield made


LOGITS = ((np.arange(40) * 7 % 11 - 5) * 0.3).reshape(5, 2, 4).astype(np.float32)


def run(fetches):
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        return session.run(fetches)


def labels():
    return tw.SparseTensor([[0, 0], [0, 1], [0, 2], [1, 0]], tw.constant([1, 1, 2, 0], tw.int32), [2, 3])


def test_loss_and_gradient():
    logits = tw.Variable(LOGITS)
    loss = tw.nn.ctc_loss(labels(), logits, [5, 3])
    value, gradient = run([loss, tw.gradients(loss, logits)[0]])
    assert np.allclose(value, [3.9901, 2.34847], atol=1e-4)
    assert gradient.shape == LOGITS.shape and np.allclose(gradient.sum(axis=2), 0, atol=1e-5)
    assert np.all(gradient[3:, 1] == 0)
    batch_major = tw.nn.ctc_loss(labels(), LOGITS.transpose(1, 0, 2), [5, 3], time_major=False)
    assert np.allclose(run(batch_major), value)


def test_decoders():
    (best,), sums = run(tw.nn.ctc_greedy_decoder(LOGITS, [5, 3]))
    assert best.values.tolist() == [1, 2, 2, 0] and best.dense_shape.tolist() == [2, 2]
    assert np.allclose(sums, [[-5.7], [-3.6]])
    paths, probabilities = run(tw.nn.ctc_beam_search_decoder(LOGITS, [5, 3], beam_width=4, top_paths=2, merge_repeated=False))
    assert [p.values.tolist() for p in paths] == [[1, 2, 2, 0], [1, 2]]
    assert np.allclose(probabilities, [[-1.453115, -2.755672], [-1.128962, -1.69998]], atol=1e-4)
