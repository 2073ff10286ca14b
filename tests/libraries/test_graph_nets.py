# SPDX-License-Identifier: Apache-2.0
"""graph-nets 1.0.5: graphs of several sizes in one batch; a net over edges, nodes and whole graphs learns a sum over nodes."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import sonnet as snt
    from graph_nets import modules, utils_tf
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)

    def ring(size):
        senders = np.arange(size)
        return {"globals": np.zeros(1, np.float32), "nodes": rng.rand(size, 2).astype(np.float32),
                "edges": rng.rand(size, 1).astype(np.float32), "senders": senders, "receivers": np.roll(senders, 1)}

    rings = [ring(size) for size in (3, 4, 5, 6)]
    sums = np.stack([each["nodes"].sum(0)[:1] for each in rings])
    graphs = utils_tf.data_dicts_to_graphs_tuple(rings)
    net = modules.GraphNetwork(lambda: snt.nets.MLP([8]), lambda: snt.nets.MLP([8]), lambda: snt.nets.MLP([8, 1]))
    loss = tf.reduce_mean((net(graphs).globals - sums) ** 2)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(200):
            session.run(step)
        assert session.run(graphs.n_node).tolist() == [3, 4, 5, 6]
        print(session.run(loss) / before)
"""


def test_a_net_over_graphs_trains(last_number):
    assert last_number(PROGRAM) < 0.01
