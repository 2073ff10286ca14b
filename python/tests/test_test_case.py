# SPDX-License-Identifier: Apache-2.0
"""tw.test: TestCase and gradients by differences."""
import unittest

import numpy as np
import pytest
import thalweg as tw


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
