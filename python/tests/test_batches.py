# SPDX-License-Identifier: Apache-2.0
"""Rows of concurrent session.run calls in one batch."""
import threading

import deadlines
import numpy as np
import pytest
import thalweg as tw
from thalweg import raw_ops
from thalweg.control.functions import Defun


def batching(x, **more):
    arguments = {"num_batch_threads": 1, "max_batch_size": 8, "batch_timeout_micros": 2000, "grad_timeout_micros": 0, **more}
    return raw_ops.Batch(in_tensors=[x], **arguments)


def test_each_caller_gets_its_own_rows():
    with tw.Graph().as_default():
        x = tw.placeholder(tw.float32, [None, 2])
        batched, index, number = batching(x)
        y = raw_ops.Unbatch(batched_tensor=batched[0] * 2 + 1, batch_index=index, id=number, timeout_micros=30_000_000)
        found = {}
        with tw.Session() as session:
            def call(t):
                for i in range(20):
                    rows = np.full([1 + (t + i) % 3, 2], 100 * t + i, np.float32)
                    value, members = session.run([y, index], {x: rows})
                    np.testing.assert_array_equal(value, rows * 2 + 1)
                    found.setdefault(t, []).append(len(members))
            threads = [threading.Thread(target=call, args=(t,)) for t in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
    assert sorted(found) == list(range(6)) and all(len(sizes) == 20 for sizes in found.values())
    assert sum(map(sum, found.values())) == 6 * 20, "every call is in one batch"


def test_deadlines():
    with tw.Graph().as_default():
        x = tw.constant([[1.0]])
        batched = batching(x, batch_timeout_micros=3_600_000_000)
        index = tw.constant(np.zeros([0, 3], np.int64))
        piece = raw_ops.Unbatch(batched_tensor=x, batch_index=index, id=tw.constant(1, tw.int64), timeout_micros=1000)
        with tw.Session() as session:
            deadlines.says("1 calls with 1 of 8 rows", lambda options: session.run(batched[0], options=options))
            with pytest.raises(tw.errors.DeadlineExceededError, match="did not arrive within timeout"):
                session.run(piece)


def batch_function(f, x, captured=(), **more):
    arguments = {"num_batch_threads": 1, "max_batch_size": 8, "batch_timeout_micros": 2000, **more}
    return raw_ops.BatchFunction(in_tensors=[x], captured_tensors=list(captured), f=f, Tout=[tw.float32], **arguments)[0]


def test_a_function_is_called_on_batches():
    sizes = []

    def note(batch):
        sizes.append(len(batch))
        return np.int64(0)

    @Defun(tw.float32, tw.float32)
    def f(batch, factor):
        seen = tw.py_func(note, [batch], tw.int64)
        with tw.control_dependencies([seen]):
            return batch * factor + 1.0
    with tw.Graph().as_default():
        x = tw.placeholder(tw.float32, [None, 2])
        y = batch_function(f, x, [tw.constant(2.0)])
        with tw.Session() as session:
            def call(t):
                for i in range(20):
                    rows = np.full([1 + (t + i) % 3, 2], 100 * t + i, np.float32)
                    np.testing.assert_array_equal(session.run(y, {x: rows}), rows * 2 + 1)
            threads = [threading.Thread(target=call, args=(t,)) for t in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
    assert sum(sizes) == 6 * 20 * 2 and max(sizes) <= 8, "every row is in one batch"


def test_two_calls_in_one_batch_share_its_error():
    @Defun(tw.float32)
    def f(batch):
        with tw.control_dependencies([tw.assert_less(batch, 5.0, message="too large")]):
            return tw.identity(batch)
    with tw.Graph().as_default():
        x = tw.placeholder(tw.float32, [None])
        y = batch_function(f, x, max_batch_size=2, batch_timeout_micros=3_600_000_000)
        errors = []
        with tw.Session() as session:
            def call(value):
                try:
                    session.run(y, {x: [value]}, options=tw.RunOptions(timeout_in_ms=60_000))
                except tw.errors.OpError as error:
                    errors.append(error)
            threads = [threading.Thread(target=call, args=(v,)) for v in (1.0, 9.0)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            assert [type(e) for e in errors] == [tw.errors.InvalidArgumentError] * 2 and all("too large" in str(e) for e in errors)
            deadlines.says("1 calls with 1 of 2 rows", lambda options: session.run(y, {x: [1.0]}, options=options))


def test_the_decorator_of_contrib():
    @tw.contrib.batching.batch_function(1, 4, 0, allowed_batch_sizes=[2, 4])
    def f(x, n):
        return x * offset, tw.fill([tw.shape(n)[0]], tw.shape(n)[0])
    offset = tw.constant(3.0)
    with tw.Session() as session:
        y, rows = f(tw.constant([[1.0], [2.0], [4.0]]), tw.constant([1, 2, 3]))
        assert session.run(y).tolist() == [[3], [6], [12]] and session.run(rows).tolist() == [4, 4, 4], "padded to four"
    with pytest.raises(ValueError, match="supposed to be Tensors"):
        f(1.0, 2)


def test_what_batch_functions_refuse():
    @Defun(tw.float32)
    def total(batch):
        return tw.reduce_sum(batch)
    x = tw.constant([1.0, 2.0])
    with tw.Session() as session:
        with pytest.raises(tw.errors.FailedPreconditionError, match="0 dimensions"):
            session.run(batch_function(total, x, max_batch_size=2))
        with pytest.raises(tw.errors.UnimplementedError, match="batch_padding_policy BATCH_DOWN"):
            session.run(batch_function(total, x, batch_padding_policy="BATCH_DOWN"))
        with pytest.raises(tw.errors.InvalidArgumentError, match="argument 0|takes 1 inputs"):
            session.run(batch_function(total, x, [x]))
        with pytest.raises(tw.errors.InvalidArgumentError, match="Task size 2"):
            session.run(batch_function(total, x, max_batch_size=1))
