# SPDX-License-Identifier: Apache-2.0
"""A master without a GPU trains a net whose weights and layers are on the GPU of another task."""
import numpy as np
import thalweg as tw
from thalweg.cluster.local_cluster import free_ports

THERE = "/job:worker/task:1/device:GPU:0"


def losses(target, config, device, random):
    with tw.Graph().as_default() as graph:
        x, labels = tw.constant(random.standard_normal([32, 10]).astype(np.float32)), tw.constant(random.randint(0, 3, [32]))
        with tw.device(device):
            weights = [tw.Variable(random.standard_normal(shape).astype(np.float32), use_resource=True) for shape in ([10, 16], [16, 3])]
            scores = tw.matmul(tw.tanh(tw.matmul(x, weights[0])), weights[1])
            loss = tw.reduce_mean(tw.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
        train = tw.train.AdamOptimizer(0.05).minimize(loss)
        with tw.Session(target, graph=graph, config=config) as session:
            session.run(tw.global_variables_initializer())
            found = [session.run([loss, train])[0] for _ in range(6)]
            return found, session.explain_placement(scores.op.name).splitlines()[0]


def test_a_net_trains_on_the_gpu_of_another_task(monkeypatch):
    spec = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    # First, so that this process has its own GPU for other tests.
    here, _ = losses("", tw.ConfigProto(), "/cpu:0", np.random.RandomState(3))
    far = tw.train.Server(spec, "worker", 1)
    monkeypatch.delenv("THALWEG_DEVICE_COUNT")
    near = tw.train.Server(spec, "worker", 0)
    there, place = losses(near.target, tw.ConfigProto(), THERE, np.random.RandomState(3))
    assert place.endswith("/job:worker/replica:0/task:1/device:GPU:0")
    np.testing.assert_allclose(here, there, rtol=1e-4)
    assert here[-1] < here[0]
    for server in (near, far):
        server.stop()
