# SPDX-License-Identifier: Apache-2.0
"""Model parallel training: a deep LSTM whose three layers are on three tasks, step by step; each layer's gradients run where the
layer does. It learns what one device learns."""
import numpy as np
import tasks
import thalweg as tf

LAYERS, UNITS, LENGTH, ROWS, STEPS = 3, 24, 8, 32, 60


def losses(target, devices):
    """The loss of each step: the net is to say the sum of what it has seen."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [ROWS, LENGTH, 1])
        outputs = tf.unstack(x, axis=1)
        for layer, device in enumerate(devices):
            with tf.device(device):
                cell = tf.nn.rnn_cell.LSTMCell(UNITS, name=f"layer{layer}", initializer=tf.random_uniform_initializer(
                    -0.3, 0.3, seed=layer + 1))
                state, layer_outputs = cell.zero_state(ROWS, tf.float32), []
                for inputs in outputs:
                    output, state = cell(inputs, state)
                    layer_outputs.append(output)
                outputs = layer_outputs
        with tf.device(devices[-1]):
            guess = tf.layers.dense(outputs[-1], 1, kernel_initializer=tf.random_uniform_initializer(-0.3, 0.3, seed=9))
            loss = tf.reduce_mean(tf.square(guess - tf.reduce_sum(x, 1)))
            step = tf.train.AdamOptimizer(0.01).minimize(loss, colocate_gradients_with_ops=True)
        random = np.random.RandomState(0)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, step], {x: random.uniform(-0.5, 0.5, [ROWS, LENGTH, 1])})[0] for _ in range(STEPS)]


if __name__ == "__main__":
    _, servers = tasks.servers({"worker": LAYERS})
    spread = losses(servers["worker", 0].target, [f"/job:worker/task:{i}" for i in range(LAYERS)])
    alone = losses("", [None] * LAYERS)
    for server in servers.values():
        server.stop()
    np.testing.assert_allclose(spread, alone, rtol=1e-3, atol=1e-4)
    assert np.mean(spread[-5:]) < 0.5 * np.mean(spread[:5]), spread
    print(f"three layers on three tasks: loss {spread[0]:.3f} -> {spread[-1]:.3f}, on one device {alone[-1]:.3f}")
