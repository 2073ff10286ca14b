# SPDX-License-Identifier: Apache-2.0
"""Rows of concurrent session.run calls in one batch."""
import threading

import numpy as np
import pytest
import thalweg as tw
from thalweg import raw_ops


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
            with pytest.raises(tw.errors.DeadlineExceededError, match="1 calls with 1 of 8 rows"):
                session.run(batched[0], options=tw.RunOptions(timeout_in_ms=50))
            with pytest.raises(tw.errors.DeadlineExceededError, match="did not arrive within timeout"):
                session.run(piece)
