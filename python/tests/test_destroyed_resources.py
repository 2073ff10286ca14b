# SPDX-License-Identifier: Apache-2.0
"""DestroyResourceOp of every resource that has a handle, and temporary variables in loops. The values are those of TensorFlow 1.15
for the same program."""
import numpy as np
import pytest

import thalweg as tw

raw = tw.raw_ops


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as g:
        yield g


def emptied(session, handle, fill, size):
    """What `size` says before and after the resource is destroyed."""
    session.run(fill)
    before = session.run(size)
    session.run(raw.DestroyResourceOp(resource=handle, ignore_lookup_error=False))
    return before, session.run(size)


QUEUES = {"FIFOQueueV2": {}, "RandomShuffleQueueV2": {}, "PaddingFIFOQueueV2": {"shapes": [[]]}}


@pytest.mark.parametrize("op", sorted(QUEUES))
def test_a_destroyed_queue_is_a_new_one(op):
    handle = getattr(raw, op)(component_types=[tw.float32], shared_name="q", **QUEUES[op])
    fill = raw.QueueEnqueueV2(handle=handle, components=[tw.constant(1.0)])
    with tw.Session() as session:
        assert emptied(session, handle, fill, raw.QueueSizeV2(handle=handle)) == (1, 0)


def test_a_destroyed_table_is_a_new_one():
    handle = raw.MutableHashTableV2(key_dtype=tw.int64, value_dtype=tw.float32, shared_name="t")
    fill = raw.LookupTableInsertV2(table_handle=handle, keys=np.int64([1, 2]), values=np.float32([1, 2]))
    with tw.Session() as session:
        assert emptied(session, handle, fill, raw.LookupTableSizeV2(table_handle=handle)) == (2, 0)


def test_a_destroyed_accumulator_is_a_new_one():
    handle = raw.ResourceConditionalAccumulator(dtype=tw.float32, shape=[], shared_name="a")
    fill = raw.ResourceAccumulatorApplyGradient(handle=handle, local_step=np.int64(0), gradient=np.float32(1))
    with tw.Session() as session:
        assert emptied(session, handle, fill, raw.ResourceAccumulatorNumAccumulated(handle=handle)) == (1, 0)


def test_a_mutex_and_a_summary_writer(tmp_path):
    mutex = raw.MutexV2(shared_name="m")
    writer = raw.SummaryWriter(shared_name="w")
    opened = raw.CreateSummaryFileWriter(writer=writer, logdir=str(tmp_path), max_queue=1, flush_millis=1, filename_suffix="x")
    strict = [raw.DestroyResourceOp(resource=r, ignore_lookup_error=False) for r in (mutex, writer)]
    with tw.Session() as session:
        with pytest.raises(tw.errors.NotFoundError):  # nobody has locked it
            session.run(strict[0])
        session.run(raw.MutexLock(mutex=mutex).op)
        session.run(strict[0])
        session.run(opened)
        session.run(strict[1])
        with pytest.raises(tw.errors.NotFoundError):
            session.run(strict[1])
        session.run(raw.DestroyResourceOp(resource=writer, ignore_lookup_error=True))


def test_a_destroyed_tensor_array_is_closed():
    array = raw.TensorArrayV3(size=1, dtype=tw.float32)
    written = raw.TensorArrayWriteV3(handle=array[0], index=0, value=1.0, flow_in=array[1])
    with tw.control_dependencies([written]):
        destroyed = raw.DestroyResourceOp(resource=array[0])
    with tw.control_dependencies([destroyed]):
        read = raw.TensorArrayReadV3(handle=array[0], index=0, flow_in=written, dtype=tw.float32)
    with tw.Session() as session:
        assert session.run(written) is not None
        with pytest.raises(tw.errors.OpError, match="losed"):
            session.run(read)


@pytest.mark.parametrize("parallel", [1, 10])
def test_temporary_variables_are_an_iterations_own(parallel):
    def body(i, total):
        with tw.control_dependencies([i]):
            v = raw.TemporaryVariable(shape=[], dtype=tw.float32, var_name="v")
        assigned = raw.AssignAdd(ref=raw.Assign(ref=v, value=tw.cast(i, tw.float32)), value=tw.constant(1.0))
        return i + 1, total + raw.DestroyTemporaryVariable(ref=assigned, var_name="v")

    def nested(i, total):
        return i + 1, total + tw.while_loop(lambda j, _: j < 3, body, [tw.constant(0), tw.constant(0.0)])[1]

    def branch(i, total):
        def taken():
            with tw.control_dependencies([i]):
                v = raw.TemporaryVariable(shape=[], dtype=tw.float32, var_name="c")
            return raw.DestroyTemporaryVariable(ref=raw.Assign(ref=v, value=tw.cast(i, tw.float32)), var_name="c")
        return i + 1, total + tw.cond(tw.equal(i % 2, 0), taken, lambda: tw.constant(100.0))

    def loop(body, n):
        start = [tw.constant(0), tw.constant(0.0)]
        return tw.while_loop(lambda i, _: i < n, body, start, parallel_iterations=parallel)[1]
    with tw.Session() as session:
        assert session.run([loop(body, 10), loop(nested, 4), loop(branch, 5)]) == [55, 24, 206]
