# SPDX-License-Identifier: Apache-2.0
"""Tests of programs: tw.test.TestCase and what it stands on."""
from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
import threading
import unittest
from typing import TYPE_CHECKING

import numpy as np

from thalweg import errors, flags
from thalweg.base import names
from thalweg.cluster.local_cluster import create_local_cluster  # noqa: F401  (public here as well)
from thalweg.graph import graph
from thalweg.graph.default_session import get_default_session, session_of
from thalweg.graph.device_lib import list_local_devices
from thalweg.graph.device_specs import merge_devices
from thalweg.graph.ops import constant, convert_to_tensor
from thalweg.graph.session import Session
from thalweg.operations.gradient_ops import gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from thalweg.base.typing import Array, ArrayLike, Device, DTypeLike, FeedDict, Fetches
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import ConfigProto, GraphDef, Message


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of the program and ends it: its status is 0 when all have passed.

    Parameters
    ----------
    argv : list of str, optional
        The command line; sys.argv unless given.

    Examples
    --------
    >>> def run_tests():  # the last lines of a program of tests
    ...     tw.test.main()
    """
    flags.FLAGS.mark_as_parsed()
    unittest.main(argv=argv)


def get_temp_dir() -> str:
    """A directory for the tests of this process."""
    if not _temporary:
        _temporary.append(tempfile.TemporaryDirectory(prefix="thalweg_test_"))
    return _temporary[0].name


_temporary = []


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Whether this process has a GPU: one that THALWEG_DEVICE_COUNT asks for.

    Parameters
    ----------
    cuda_only : bool
        Those of OpenCL do not count.
    min_cuda_compute_capability : (int, int), optional
        The least that one of CUDA is to have.

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.test.is_gpu_available()
    False
    """
    capabilities = [_cuda_capability(device) for device in list_local_devices() if device.device_type == "GPU"]
    if min_cuda_compute_capability is not None:
        return any(found is not None and found >= tuple(min_cuda_compute_capability) for found in capabilities)
    return any(found is not None or not cuda_only for found in capabilities)


def _cuda_capability(device):
    """(8, 0) of a device of CUDA; None of others."""
    found = re.search(r"compute capability: (\d+)\.(\d+)", device.physical_device_desc)
    return found and (int(found[1]), int(found[2]))


def is_built_with_cuda() -> bool:
    """Whether this package can use cards of NVIDIA: always, by the driver that a machine has; see `is_gpu_available`.

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.test.is_built_with_cuda()
    True
    """
    return True


def is_built_with_rocm() -> bool:
    """Whether this package has code for AMD's ROCm: no; their cards are OpenCL's.

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.test.is_built_with_rocm()
    False
    """
    return False


def is_built_with_gpu_support() -> bool:
    """Whether this package can use GPUs: always, where a machine has drivers of them.

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.test.is_built_with_gpu_support()
    True
    """
    return True


def gpu_device_name() -> str:
    """The name of the first GPU of this process; "" where there is none."""
    return next((device.name for device in list_local_devices() if device.device_type == "GPU"), "")


def test_src_dir_path(relative_path: str) -> str:
    """A path below the current folder."""
    return os.path.join(os.getcwd(), relative_path)


test_src_dir_path.__test__ = False


def assert_equal_graph_def(actual: object, expected: GraphDef, checkpoint_v2: bool = False,
                           hash_table_shared_name: bool = False) -> None:
    """The graphs have the same nodes, in whatever order."""
    def nodes(definition):
        return {n.name: str(n) for n in definition.node}
    actual, expected = nodes(actual), nodes(expected)
    if actual != expected:
        differing = sorted(k for k in {*actual, *expected} if actual.get(k) != expected.get(k))
        raise AssertionError(f"graphs differ in nodes {differing[:5]}")


# ---- gradients ----
def _jacobians(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict):
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    session = session_of(None, y, "evaluate tensor")
    for op in init_targets or []:
        session.run(op)
    kind = x.dtype.as_numpy_dtype
    value = np.asarray(np.random.random_sample(x_shape) if x_init_value is None else x_init_value, kind)
    extra = dict(extra_feed_dict or {})
    rows, columns = value.size, int(np.prod(y_shape, dtype=np.int64))
    dy = constant(np.zeros(y_shape, y.dtype.as_numpy_dtype))
    dx = gradients(y, [x], grad_ys=[dy])[0]
    symbolic, numeric = np.zeros((rows, columns), kind), np.zeros((rows, columns), kind)
    for column in range(columns):
        one = np.zeros(columns, y.dtype.as_numpy_dtype)
        one[column] = 1
        symbolic[:, column] = np.ravel(session.run(dx, {**extra, x: value, dy: one.reshape(y_shape)}))
    for row in range(rows):
        ends = []
        for step in (delta, -delta):
            moved = value.copy()
            moved.reshape(-1)[row] += step
            ends.append(np.ravel(session.run(y, {**extra, x: moved})))
        numeric[row] = (ends[0] - ends[1]) / (2 * delta)
    return symbolic, numeric


def compute_gradient(x: Any, x_shape: Any, y: Any, y_shape: Sequence[int], x_init_value: Any = None, delta: float = 0.001,
                     init_targets: Sequence[Operation] | Operation | None = None, extra_feed_dict: FeedDict | None = None) -> Any:
    """(Jacobian by gradients, Jacobian by differences) of y by x; pairs of them for a list of x."""
    if isinstance(x, list):
        values = x_init_value or [None] * len(x)
        return [_jacobians(a, b, y, y_shape, c, delta, init_targets, extra_feed_dict) for a, b, c in zip(x, x_shape, values)]
    return _jacobians(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)


def compute_gradient_error(x: Any, x_shape: Any, y: Any, y_shape: Sequence[int], x_init_value: Any = None, delta: float = 0.001,
                           init_targets: Sequence[Operation] | Operation | None = None,
                           extra_feed_dict: FeedDict | None = None) -> float:
    """The largest difference between the two."""
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = pairs if isinstance(pairs, list) else [pairs]
    return max([float(np.abs(a - b).max()) if a.size else 0.0 for a, b in pairs] or [0.0])


class _CheckedThread(threading.Thread):
    """A thread whose error its join() raises."""

    def __init__(self, test: TestCase, target: Callable[..., object], args: Sequence[object],
                 kwargs: Mapping[str, object]) -> None:
        super().__init__()
        self._test, self._call, self._error = test, (target, args or (), kwargs or {}), None

    def run(self) -> None:
        target, args, kwargs = self._call
        try:
            target(*args, **kwargs)
        except Exception as error:  # shown by join()
            self._error = error

    def join(self, timeout: float | None = None) -> None:
        super().join(timeout)
        if self._error is not None:
            self._test.fail(f"Error in checkedThread: {self._error}")


class TestCase(unittest.TestCase):
    """A unittest.TestCase that gives each test a graph of its own, sessions for it, and comparisons of arrays.

    Parameters
    ----------
    methodName : str
        The method that is the test, as for unittest.TestCase.

    Examples
    --------
    >>> class SquareTest(tw.test.TestCase):
    ...     def test_square(self):
    ...         with self.test_session():
    ...             self.assertAllClose(tw.square([2.0, 3.0]).eval(), [4.0, 9.0])
    >>> tw.test.TestCase().assertAllClose([1.0], [1.0 + 1e-9])
    """

    maxDiff = 1600

    def setUp(self) -> None:
        random.seed(graph._DEFAULT_SEED)
        np.random.seed(graph._DEFAULT_SEED)
        self._cached_session = None
        graph._default.stack.clear()
        graph.reset_default_graph()
        graph.set_random_seed(graph._DEFAULT_SEED)

    def tearDown(self) -> None:
        if getattr(self, "_cached_session", None) is not None:
            self._cached_session.close()
            self._cached_session = None

    def get_temp_dir(self) -> str:
        """A folder of this test's own."""
        return tempfile.mkdtemp(dir=get_temp_dir())

    # ---- sessions ----
    @contextlib.contextmanager
    def session(self, graph: Graph | None = None, config: ConfigProto | None = None, use_gpu: bool = False,
                force_gpu: bool = False) -> Iterator[Session]:
        """A new session, which is the default one."""
        with Session(graph=graph, config=config) as made:
            yield made

    @contextlib.contextmanager
    def cached_session(self, graph: Graph | None = None, config: ConfigProto | None = None, use_gpu: bool = False,
                       force_gpu: bool = False) -> Iterator[Session]:
        """The session that all of a test share."""
        if self._cached_session is None:
            self._cached_session = Session(graph=graph, config=config)
        elif graph is not None and graph is not self._cached_session.graph:
            raise ValueError("The graph used to get the cached session is different than the one that was used to create the "
                             "session. Maybe create a new session with self.session()")
        with self._cached_session.graph.as_default(), self._cached_session.as_default():
            yield self._cached_session

    @contextlib.contextmanager
    def test_session(self, graph: Graph | None = None, config: ConfigProto | None = None, use_gpu: bool = False,
                     force_gpu: bool = False) -> Iterator[Session]:
        """cached_session; a graph makes it a new one."""
        with (self.cached_session(None, config) if graph is None else self.session(graph, config)) as made:
            yield made

    test_session.__test__ = False

    def evaluate(self, tensors: Fetches) -> Any:
        """Values of tensors in the default session."""
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as made:
            return made.run(tensors)

    def checkedThread(self, target: Callable[..., object], args: Sequence[object] | None = None,
                      kwargs: Mapping[str, object] | None = None) -> _CheckedThread:
        """A thread whose join() raises what `target` has raised."""
        return _CheckedThread(self, target, args, kwargs)

    # ---- comparisons ----
    def _array(self, value):
        if hasattr(value, "_as_graph_element") or hasattr(value, "_fetch_parts"):
            value = self.evaluate(value)
        return np.asarray(value)

    def _close(self, a, b, rtol, atol, msg, path=""):
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, dict):
            self.assertIsInstance(b, dict, f"{path}: {msg}")
            self.assertCountEqual(a.keys(), b.keys(), f"{path}: {msg}")
            for key in a:
                self._close(a[key], b[key], rtol, atol, msg, f"{path}[{key}]")
            return
        if isinstance(a, (list, tuple)) and any(hasattr(v, "shape") or isinstance(v, (dict, list, tuple)) for v in a):
            self.assertEqual(len(a), len(b), f"{path}: {msg}")
            for i, (left, right) in enumerate(zip(a, b)):
                self._close(left, right, rtol, atol, msg, f"{path}[{i}]")
            return
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch{path}: expected {a.shape}, got {b.shape}. {msg or ''}")
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"{path} {msg or ''}", equal_nan=True)

    def assertAllClose(self, a: object, b: object, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Arrays, or lists and dicts of them, are equal within atol + rtol * |b|."""
        self._close(a, b, rtol, atol, msg)

    def assertAllCloseAccordingToType(self, a: object, b: object, rtol: float = 1e-6, atol: float = 1e-6,
                                      float_rtol: float = 1e-6, float_atol: float = 1e-6, half_rtol: float = 1e-3,
                                      half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2, bfloat16_atol: float = 1e-2,
                                      msg: str | None = None) -> None:
        """As assertAllClose, with tolerances by the type of the elements."""
        kinds = {self._array(a).dtype.name, self._array(b).dtype.name}
        if kinds & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in kinds:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: object, b: object, **kwargs: object) -> None:
        """The values are not all close."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: object, b: object, msg: str | None = None) -> None:
        """The values are of one shape and equal."""
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
            a, b = (np.asarray([v.encode() if isinstance(v, str) else v for v in x.ravel()], object) for x in (a, b))
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertNotAllEqual(self, a: object, b: object, msg: str | None = None) -> None:
        """The values are not all equal."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def _all(self, holds, a, what):
        a = self._array(a)
        if not np.all(holds(a)):
            raise AssertionError(f"not all elements are {what}: {a}")

    def assertAllGreater(self, a: object, comparison_target: object) -> None:
        """All elements are greater than `comparison_target`."""
        self._all(lambda x: x > comparison_target, a, f"greater than {comparison_target}")

    def assertAllLess(self, a: object, comparison_target: object) -> None:
        """All elements are less than `comparison_target`."""
        self._all(lambda x: x < comparison_target, a, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a: object, comparison_target: object) -> None:
        """No element is less than `comparison_target`."""
        self._all(lambda x: x >= comparison_target, a, f"at least {comparison_target}")

    def assertAllLessEqual(self, a: object, comparison_target: object) -> None:
        """No element is greater than `comparison_target`."""
        self._all(lambda x: x <= comparison_target, a, f"at most {comparison_target}")

    def assertAllInRange(self, target: object, lower_bound: object, upper_bound: object, open_lower_bound: bool = False,
                         open_upper_bound: bool = False) -> None:
        """All elements lie between the bounds."""
        self._all(lambda x: ((x > lower_bound) if open_lower_bound else (x >= lower_bound)) &
                  ((x < upper_bound) if open_upper_bound else (x <= upper_bound)), target,
                  f"between {lower_bound} and {upper_bound}")

    def assertAllInSet(self, target: object, expected_set: Iterable[object]) -> None:
        """All elements are in the set."""
        self._all(lambda x: np.isin(x, list(expected_set)), target, f"in {expected_set}")

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """The numbers differ by at most `err`."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err} {msg or ''}")

    def assertArrayNear(self, farray1: Iterable[float], farray2: Iterable[float], err: float, msg: str | None = None) -> None:
        """The numbers of two lists differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: ArrayLike, ndarray2: ArrayLike, err: float, msg: str | None = None) -> None:
        """The arrays differ by less than `err`, as vectors."""
        self.assertTrue(np.linalg.norm(np.ravel(ndarray1) - np.ravel(ndarray2)) < err, msg)

    def assertShapeEqual(self, np_array: Array, tf_tensor: Tensor, msg: str | None = None) -> None:
        """The array has the static shape of the tensor."""
        self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

    def assertDTypeEqual(self, target: object, expected_dtype: DTypeLike) -> None:
        """The elements are of the type."""
        self.assertEqual(self._array(target).dtype, np.dtype(expected_dtype))

    def assertDeviceEqual(self, device1: Device, device2: Device, msg: str | None = None) -> None:
        """The names, or specs, are those of one device."""
        self.assertEqual(merge_devices(device1, ""), merge_devices(device2, ""), msg)

    def assertProtoEquals(self, expected_message_maybe_ascii: Message | str, message: Message, msg: str | None = None) -> None:
        """Equal messages, or the text of one."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            expected, message = re.sub(r"\s+", " ", str(expected)).strip(), re.sub(r"\s+", " ", str(message)).strip()
        self.assertEqual(expected, message, msg)

    # ---- errors ----
    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: type[BaseException],
                                       expected_err_re_or_predicate: str | Callable[[BaseException], bool]) -> Iterator[None]:
        """An exception whose text matches, or of which a function holds."""
        matches = expected_err_re_or_predicate
        if not callable(matches):
            def matches(error, pattern=expected_err_re_or_predicate):
                return re.search(pattern, getattr(error, "message", None) or str(error)) is not None
        try:
            yield
        except exception_type as error:
            if not matches(error):
                raise AssertionError(f"Exception of type {type(error)}: {error} does not match") from error
            return
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self,
                            expected_err_re_or_predicate: str | Callable[[BaseException], bool]) -> AbstractContextManager[None]:
        """An errors.OpError whose text matches, or of which a function holds."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


names.complete(globals())
