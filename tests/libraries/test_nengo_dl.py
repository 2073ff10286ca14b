# SPDX-License-Identifier: Apache-2.0
"""nengo-dl 2.2.0 with nengo 2.8.0: a network of rate neurons runs, is trained, and runs again. Its loop assigns to variables, and
the gradients of the assignments are written in Python."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import nengo
    import nengo_dl
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, (200, 1, 2))
    y = x[..., :1] * x[..., 1:]
    with nengo.Network(seed=0) as net:
        nengo_dl.configure_settings(trainable=None)
        a = nengo.Node(np.zeros(2))
        b = nengo.Ensemble(50, 2, neuron_type=nengo.RectifiedLinear())
        c = nengo.Node(size_in=1)
        nengo.Connection(a, b, synapse=None)
        nengo.Connection(b, c, synapse=None, transform=np.zeros((1, 2)))
        p = nengo.Probe(c, synapse=None)
    with nengo_dl.Simulator(net, minibatch_size=20, seed=0, progress_bar=False) as sim:
        before = sim.loss({a: x, p: y}, {p: "mse"})
        sim.train({a: x, p: y}, tf.train.AdamOptimizer(1e-3), objective={p: "mse"}, n_epochs=20, shuffle=False)
        after = sim.loss({a: x, p: y}, {p: "mse"})
        sim.run_steps(20, data={a: np.tile(x[:20], (1, 20, 1))})
        print(100 * before + 1000 * after + np.sum(sim.data[p]))
"""


def test_a_network_learns_what_it_learned_with_tensorflow(last_number):
    before, after, outputs = 0.10843909, 0.0040205033, -5.8305740
    assert last_number(PROGRAM) == pytest.approx(100 * before + 1000 * after + outputs, rel=1e-3)
