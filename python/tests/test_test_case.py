# SPDX-License-Identifier: Apache-2.0
"""tw.test: TestCase and gradients by differences."""
import socket
import unittest

import numpy as np
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import free_ports


class Comparisons(tw.test.TestCase):
    def test_values(self):
        with self.test_session() as session:
            x = tw.constant([1.0, 2.0])
            self.assertAllClose(x.eval(), [1.0, 2.0 + 1e-7])
            self.assertAllEqual(self.evaluate(x) * 2, session.run(x + x))
            self.assertAllClose({"a": x, "b": [np.ones(2)]}, {"a": [1.0, 2.0], "b": [np.ones(2)]})
            self.assertAllEqual(tw.constant(["a"]), [b"a"])
        with self.assertRaises(AssertionError):
            self.assertAllClose([1.0], [1.1])
        with self.assertRaises(AssertionError):
            self.assertAllEqual([1.0], [[1.0]])
        self.assertNotAllClose([1.0], [1.1])
        self.assertAllGreater([2, 3], 1)
        self.assertAllInRange([0.5], 0, 1)
        with self.assertRaises(AssertionError):
            self.assertAllInSet([1, 4], {1, 2})

    def test_errors(self):
        with self.cached_session():
            with self.assertRaisesOpError("needs|nan|NaN|Nan"):
                tw.check_numerics(tw.constant(np.nan), "nan").eval()
            with self.assertRaises(AssertionError):
                with self.assertRaisesOpError("something else"):
                    tw.check_numerics(tw.constant(np.nan), "nan").eval()

    def test_each_has_its_graph(self):
        self.assertEqual(tw.get_default_graph().get_operations(), [])

    def test_thread(self):
        thread = self.checkedThread(lambda: 1 / 0)
        thread.start()
        with self.assertRaisesRegex(AssertionError, "division by zero"):
            thread.join()


@pytest.fixture(autouse=True)
def graph():
    """TestCase resets the default graph, which must not be inside another."""
    tw.reset_default_graph()
    yield
    tw.reset_default_graph()


def test_gradient_by_differences():
    x = tw.placeholder(tw.float64, [2, 2])
    right, wrong = tw.square(x), tw.square(tw.stop_gradient(x)) + x
    with tw.Session().as_default():
        start = np.array([[1.0, 2.0], [3.0, 4.0]])
        assert tw.test.compute_gradient_error(x, [2, 2], right, [2, 2], start) < 1e-6
        assert tw.test.compute_gradient_error(x, [2, 2], wrong, [2, 2], start) > 1


def test_the_rest():
    assert not tw.test.is_gpu_available() and tw.test.gpu_device_name() == ""
    with tw.Graph().as_default() as one:
        tw.constant(1)
    tw.test.assert_equal_graph_def(one.as_graph_def(), one.as_graph_def())
    with pytest.raises(AssertionError, match="differ"):
        tw.test.assert_equal_graph_def(one.as_graph_def(), tw.Graph().as_graph_def())
    assert issubclass(tw.test.TestCase, unittest.TestCase)


def test_a_local_cluster():
    workers, servers = tw.test.create_local_cluster(num_workers=2, num_ps=1)
    try:
        with tw.device(tw.train.replica_device_setter(ps_tasks=1)):
            count = tw.get_variable("count", [], initializer=tw.zeros_initializer())
        with tw.Session(workers[0].target) as first:
            first.run(count.initializer)
            assert first.run(tw.assign_add(count, 1.0)) == 1
        with tw.Session(workers[1].target) as second:
            assert second.run(tw.assign_add(count, 1.0)) == 2
        assert [s.server_def.job_name for s in workers + servers] == ["worker", "worker", "ps"]
    finally:
        for s in workers + servers:
            s.stop()


def test_ports_are_free_and_below_those_of_outgoing_connections():
    ports = free_ports(20)
    assert len(set(ports)) == 20 and max(ports) < 32768
    with socket.create_server(("127.0.0.1", ports[0])):
        assert free_ports(1) != ports[:1]
