# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.cudnn_rnn on the CPU, beside an LSTM in numpy."""
import numpy as np
import pytest
import thalweg as tw


def _lstm(x, h, c, kernel, bias):
    """Outputs and last states of one layer; gates in the order i, j, f, o."""
    outputs = []
    for row in x:
        i, j, f, o = np.split(np.concatenate([row, h], 1) @ kernel + bias, 4, 1)
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(j)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), h, c


@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
@pytest.mark.parametrize("time_major", [True, False])
def test_layers(direction, time_major, run):
    random = np.random.RandomState(0)
    x = random.randn(5, 3, 4).astype(np.float32)
    ways = 2 if direction == "bidirectional" else 1
    state = random.randn(2, 2 * ways, 3, 6).astype(np.float32)
    layer = tw.contrib.cudnn_rnn.CudnnLSTM(2, 6, direction=direction, name="net", bias_initializer=tw.random_normal_initializer())
    layer.build([5, 3, 4])
    given = x if time_major else x.transpose(1, 0, 2)
    outputs, (h, c) = layer(tw.constant(given), initial_state=(tw.constant(state[0]), tw.constant(state[1])),
                            time_major=time_major)
    assert len(layer.variables) == 4 * ways == len(tw.trainable_variables())
    if ways == 1:
        assert layer.variables[0].name == "net/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel:0"
    got, got_h, got_c, weights = run([outputs, h, c, [v.value() for v in layer.variables]])
    want = x
    for at in range(2):
        parts = []
        for way in range(ways):
            k = at * ways + way
            made = _lstm(want[::-1] if way else want, state[0][k], state[1][k], weights[2 * k], weights[2 * k + 1])
            parts.append(made[0][::-1] if way else made[0])
            np.testing.assert_allclose(got_h[k], made[1], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(got_c[k], made[2], rtol=1e-4, atol=1e-5)
        want = np.concatenate(parts, 2)
    np.testing.assert_allclose(got if time_major else got.transpose(1, 0, 2), want, rtol=1e-4, atol=1e-5)


def test_it_trains_with_dropout_and_lengths():
    x = tw.constant(np.random.RandomState(0).randn(6, 4, 3).astype(np.float32))
    layer = tw.contrib.cudnn_rnn.CudnnLSTM(2, 8, direction="bidirectional", dropout=0.1, seed=1)
    outputs, _ = layer(x, sequence_lengths=tw.constant([6, 2, 4, 6]))
    loss = tw.reduce_mean(tw.square(tw.reduce_sum(outputs, 2) - tw.reduce_sum(x, 2)))
    train = tw.train.AdamOptimizer(0.02).minimize(loss)
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        assert not sess.run(outputs)[2:, 1].any()
        first = sess.run(loss)
        for _ in range(60):
            sess.run(train)
        assert sess.run(loss) < first


def test_refusals():
    kind = tw.contrib.cudnn_rnn.CudnnLSTM
    with pytest.raises(ValueError, match="direction"):
        kind(1, 2, direction="sideways")
    with pytest.raises(ValueError, match="dropout"):
        kind(1, 2, dropout=1.0)
    with pytest.raises(ValueError, match="last dimension"):
        kind(1, 2)(tw.placeholder(tw.float32, [3, 4, None]))


def test_params_of_the_library_are_saved_one_by_one(tmp_path):
    """RNNParamsSaveable of TensorFlow 1.0 to 1.2: the functions are those of a cell of the GPU's library, here of an invented form."""
    params = tw.Variable(tw.range(10.0), name="params", validate_shape=False)

    def to_canonical(opaque):
        return [tw.reshape(opaque[:4], [2, 2]), tw.reshape(opaque[4:8], [2, 2])], [opaque[8:]]

    def to_params(weights, biases):
        return tw.concat([tw.reshape(w, [-1]) for w in [*weights, *biases]], 0)

    saveable = tw.contrib.cudnn_rnn.RNNParamsSaveable(to_canonical, to_params, params, base_variable_scope="model/rnn")
    tw.add_to_collection(tw.GraphKeys.SAVEABLE_OBJECTS, saveable)
    saver = tw.train.Saver([saveable])
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"))
        session.run(tw.assign(params, np.zeros(10)))
        saver.restore(session, path)
        assert session.run(params).tolist() == list(range(10))
    assert tw.train.list_variables(path) == [("model/rnn/params_canonical/biases_0", [2]), ("model/rnn/params_canonical/weights_0", [2, 2]),
                                             ("model/rnn/params_canonical/weights_1", [2, 2])]
    assert tw.train.load_variable(path, "model/rnn/params_canonical/weights_1").tolist() == [[4, 5], [6, 7]]
