# SPDX-License-Identifier: Apache-2.0
"""nengo-dl 2.2.0 with nengo 2.8.0: a network of rate neurons runs. It does not train here: it registers Python gradients of
assignments, which its loop would need in every iteration."""
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
        nengo.Connection(b, c, function=lambda v: v[0] * v[1], synapse=None)
        p = nengo.Probe(c, synapse=None)
    with nengo_dl.Simulator(net, minibatch_size=20, seed=0, progress_bar=False) as sim:
        loss = sim.loss({a: x, p: y}, {p: "mse"})
        sim.run_steps(20, data={a: np.tile(x[:20], (1, 20, 1))})
        print(float(loss), float(np.sum(sim.data[p])))
"""


def test_a_network_gives_what_it_gave_with_tensorflow(last_number):
    assert last_number(PROGRAM) == pytest.approx(-5.040462017, rel=1e-4)
