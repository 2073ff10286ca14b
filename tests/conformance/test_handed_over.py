# SPDX-License-Identifier: Apache-2.0
"""What steps hand to each other, and maps of tensors, in both engines: the values, or the class of the error."""
import numpy as np
import pytest
from both import PLAIN, tf

import thalweg as tw

R = tf.raw_ops
F, I = tf.float32, tf.int32


def queue():
    q = R.FIFOQueueV2(component_types=[F, I], shapes=[[2], []], capacity=9, name="q")
    put = R.QueueEnqueueV2(handle=q, components=[[1.0, 2.0], 3])
    many = R.QueueEnqueueManyV2(handle=q, components=[[[1.0, 2.0], [3.0, 4.0]], [5, 6]])
    take = R.QueueDequeueManyV2(handle=q, n=2, component_types=[F, I])
    size, close = R.QueueSizeV2(handle=q), R.QueueCloseV2(handle=q)
    return [put, many, size, take, size, close, take, R.QueueDequeueV2(handle=q, component_types=[F, I]), size, put, close,
            R.QueueIsClosedV2(handle=q)]


def shuffled_queue():
    q = R.RandomShuffleQueueV2(component_types=[I], shapes=[[]], capacity=99, seed=3, seed2=7, name="r")
    put = R.QueueEnqueueManyV2(handle=q, components=[list(range(20))])
    return [put] + [R.QueueDequeueManyV2(handle=q, n=n, component_types=[I]) for n in (3, 1, 9)]


def priority_queue():
    q = R.PriorityQueueV2(component_types=[I], shapes=[[]], capacity=99, name="p")
    put = R.QueueEnqueueManyV2(handle=q, components=[np.array([3, 1, 2], np.int64), [30, 10, 20]])
    return [put] + [R.QueueDequeueV2(handle=q, component_types=[tf.int64, I]) for _ in range(3)]


def barrier():
    b = R.Barrier(component_types=[F, I], shapes=[[], [2]], name="b")

    def insert(component, keys, values):
        return R.BarrierInsertMany(handle=b, keys=keys, values=values, component_index=component)

    def take(n, small=False):
        return R.BarrierTakeMany(handle=b, num_elements=n, component_types=[F, I], allow_small_batch=small)
    sizes = [R.BarrierReadySize(handle=b), R.BarrierIncompleteSize(handle=b)]
    return [insert(0, ["x", "y"], [1.0, 2.0]), sizes, insert(1, ["y", "z"], [[1, 2], [3, 4]]), sizes, insert(1, ["z"], [[1, 2]]),
            insert(2, ["z"], [[1, 2]]), take(1), insert(1, ["x"], [[8, 9]]), take(1),
            insert(0, ["p", "q"], [1.0, 2.0]), insert(1, ["p"], [[1, 2]]), R.BarrierClose(handle=b), insert(0, ["n"], [1.0]),
            insert(1, ["q"], [[5, 5]]), take(9), take(9, True), insert(0, ["z"], [9.0]), take(1), take(1, True),
            R.BarrierClose(handle=b), R.BarrierClose(handle=b, cancel_pending_enqueues=True), sizes]


def staging():
    attrs = {"dtypes": [I], "shared_name": "st", "capacity": 3}
    put = R.Stage(values=[tf.constant(5)], shared_name="st", capacity=3)
    size = R.StageSize(**attrs)
    return [put, put, size, R.StagePeek(index=1, **attrs), R.Unstage(**attrs), size, R.StageClear(**attrs), size]


def staging_map(kind="Map"):
    attrs = {"dtypes": [I, F], "shared_name": kind}

    def op(name, **more):
        return getattr(R, kind + name)(**{**attrs, **more})

    def put(key, indices, values):
        return op("Stage", key=key, indices=indices, values=values)
    one, half = tf.constant(7), tf.constant(0.5)
    sizes = [op("Size"), op("IncompleteSize")]
    return [sizes, put(1, [0], [one]), sizes, put(1, [0], [one]), put(1, [5], [one]), put(1, [1], [half]), sizes,
            put(1, [0, 1], [one + 1, half]), op("Peek", key=1, indices=[0, 1]), op("Unstage", key=1, indices=[1], dtypes=[F]), sizes,
            op("Unstage", key=1, indices=[1], dtypes=[F]), op("Unstage", key=1, indices=[0], dtypes=[I]), sizes,
            put(4, [0, 1], [one, half]), op("UnstageNoKey", indices=[0, 1]), op("Clear"), sizes]


def ordered_map():
    attrs = {"dtypes": [I], "shared_name": "o"}
    puts = [R.OrderedMapStage(key=k, indices=[0], values=[tf.constant(int(k))], **attrs) for k in (3, 1, 2)]
    return puts + [R.OrderedMapUnstageNoKey(indices=[0], **attrs) for _ in range(3)]


def tensor_map():
    empty = R.EmptyTensorMap()

    def insert(handle, key, value):
        return R.TensorMapInsert(input_handle=handle, key=key, value=value)

    def lookup(handle, key, dtype=F):
        return R.TensorMapLookup(input_handle=handle, key=key, value_dtype=dtype)
    one = insert(empty, 1.0, [1.0, 2.0])
    two = insert(one, 2.0, 5.0)
    erased = R.TensorMapErase(input_handle=two, key=1.0, value_dtype=F)
    return [R.TensorMapSize(input_handle=m) for m in (empty, one, two, erased)] + [
        lookup(two, 1.0), lookup(two, 9.0), lookup(erased, 1.0), lookup(insert(two, 1.0, 7.0), 1.0),
        R.TensorMapHasKey(input_handle=two, key=1.0), R.TensorMapHasKey(input_handle=two, key=1),
        R.TensorMapErase(input_handle=one, key=9.0, value_dtype=F), R.TensorMapStackKeys(input_handle=one, key_dtype=F),
        R.TensorMapStackKeys(input_handle=empty, key_dtype=F), R.TensorMapStackKeys(input_handle=one, key_dtype=I)]


def dense_table():
    t = R.MutableDenseHashTableV2(empty_key=np.int64(-1), deleted_key=np.int64(-2), value_dtype=tf.int64, value_shape=[],
                                  initial_num_buckets=4, name="d")

    def insert(*keys):
        return R.LookupTableInsertV2(table_handle=t, keys=np.array(keys, np.int64), values=np.array(keys, np.int64) * 2)
    export = R.LookupTableExportV2(table_handle=t, Tkeys=tf.int64, Tvalues=tf.int64)
    return [insert(5, 10, 15), export, insert(20), export, insert(25, 30, 35, 43), export, R.LookupTableSizeV2(table_handle=t),
            R.LookupTableFindV2(table_handle=t, keys=np.array([5, 6], np.int64), default_value=np.int64(0)), insert(-1)]


PROGRAMS = [queue, shuffled_queue, priority_queue, barrier, staging, staging_map, ordered_map, tensor_map, dense_table]


def outcome(session, fetch, errors):
    try:
        return session.run(fetch)
    except errors.OpError as error:
        return type(error).__name__


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_step_by_step(program):
    def names(fetch):
        if isinstance(fetch, (list, tuple)):
            return [names(f) for f in fetch]
        return fetch.name
    with tf.Graph().as_default() as graph:
        steps = [names(fetch) for fetch in program()]
        with tf.Session(config=PLAIN) as session:
            wanted = [plain(outcome(session, step, tf.errors)) for step in steps]
        text = graph.as_graph_def().SerializeToString()
    with tw.Graph().as_default():
        tw.import_graph_def(tw.GraphDef.FromString(text), name="")
        with tw.Session() as session:
            for step, value in zip(steps, wanted):
                got = plain(outcome(session, step, tw.errors))
                assert got == value, (step, got, value)
