# SPDX-License-Identifier: Apache-2.0
"""Barriers, staging areas and critical sections; names, values and messages are those of TensorFlow 1.15."""
import threading

import deadlines
import numpy as np
import pytest

import thalweg as tw
from thalweg.operations.data_flow_ops import Barrier, MapStagingArea, StagingArea


@pytest.fixture
def sess():
    with tw.Graph().as_default(), tw.Session() as session:
        yield session


def test_a_barrier(sess):
    b = Barrier([tw.float32, tw.int32], shapes=[[], [2]], name="b")
    first, second = b.insert_many(0, ["x", "y"], [1.0, 2.0]), b.insert_many(1, ["y", "x"], [[1, 2], [3, 4]])
    take = b.take_many(2)
    assert (b.name, first.name, take.indices.name) == ("b", "b_BarrierInsertMany", "b_BarrierTakeMany:0")
    assert [take.keys.shape.as_list(), take.values[1].shape.as_list()] == [[2], [2, 2]]
    assert b.take_many(2, allow_small_batch=True).values[1].shape.as_list() == [None, 2]
    sess.run(first)
    assert sess.run([b.ready_size(), b.incomplete_size()]) == [0, 2]
    sess.run(second)
    got = sess.run(take)
    assert got.keys.tolist() == [b"x", b"y"] and got.indices.tolist() == [-2**63, -2**63]
    assert got.values[0].tolist() == [1, 2] and got.values[1].tolist() == [[3, 4], [1, 2]]
    sess.run(b.close())
    words = r"Barrier 'b' is closed and has insufficient elements \(requested 2, total size 0\)"
    with pytest.raises(tw.errors.OutOfRangeError, match=words):
        sess.run(take)
    with pytest.raises(tw.errors.CancelledError, match="attempted to insert a brand new key: x"):
        sess.run(first)
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        Barrier([tw.float32], shapes=[[0]])


def test_what_waits_says_for_what():
    with tw.Graph().as_default(), tw.Session() as sess:
        barrier = Barrier([tw.float32], shapes=[[]], name="b")
        area, by_key = StagingArea([tw.float32], shared_name="s"), MapStagingArea([tw.float32], shared_name="m")
        accumulator = tw.ConditionalAccumulator(tw.float32, shape=[], name="a")
        section = tw.CriticalSection(name="c")
        queue = tw.FIFOQueue(1, tw.float32, name="q")
        inner = section.execute(lambda: tw.identity(queue.dequeue()))
        for waiting, words in [(barrier.take_many(1).keys, "barrier 'b' .0 ready elements, 0 incomplete"),
                               (area.get()[0], "staging area 's' .0 elements"),
                               (by_key.get(1)[1][0], "staging map 'm' .0 elements, 0 incomplete"),
                               (accumulator.take_grad(1), "accumulator 'a'"),
                               (inner, "queue 'q' .FIFOQueue, 0 of 1 elements")]:
            deadlines.says(words, lambda options, waiting=waiting: sess.run(waiting, options=options))
        sess.run(queue.enqueue(1.0))
        assert sess.run(inner) == 1  # the lock of the step that was given up is free again


def test_a_step_that_waits_for_a_lock_names_it():
    with tw.Graph().as_default(), tw.Session() as sess:
        section, queue = tw.CriticalSection(name="c"), tw.FIFOQueue(1, tw.float32, name="q")
        held = section.execute(lambda: tw.identity(queue.dequeue()))
        waiting = section.execute(lambda: tw.constant(2.0) + 1)
        running = threading.Thread(target=sess.run, args=(held,))
        running.start()

        def is_held(options):
            while True:  # until the other step has the lock
                sess.run(waiting, options=options)
        deadlines.says(r"mutex 'c' \(held\)", is_held)
        sess.run(queue.enqueue(1.0))
        running.join()
        assert sess.run(waiting) == 3


def test_a_staging_area(sess):
    area = StagingArea([tw.float32, tw.int32], shapes=[[2], []], names=["x", "y"], capacity=2)
    assert (area.name, area.capacity, area.memory_limit, area.names) == ("StagingArea", 2, 0, ["x", "y"])
    put, get = area.put({"x": tw.constant([1.0, 2.0]), "y": tw.constant(3)}), area.get()
    assert (put.name, get["x"].name, get["x"].shape.as_list()) == ("StagingArea_put", "StagingArea_get:0", [2])
    sess.run([put])
    sess.run([put])
    assert sess.run(area.size()) == 2
    assert sess.run(area.peek(1))["y"] == 3
    np.testing.assert_array_equal(sess.run(get)["x"], [1, 2])
    sess.run(area.clear())
    assert sess.run(area.size()) == 0
    with pytest.raises(ValueError, match="You must enqueue a dictionary in a staging area with names"):
        area.put([tw.constant([1.0, 2.0]), tw.constant(3)])
    with pytest.raises(ValueError, match="do not match names of staging area"):
        area.put({"q": tw.constant(3)})
    with pytest.raises(ValueError, match="Datatypes do not match"):
        StagingArea([tw.float32]).put(tw.constant(3))
    with pytest.raises(ValueError, match="incompatible"):
        area.put({"x": tw.constant([1.0]), "y": tw.constant(3)})
    with pytest.raises(ValueError, match="names must be the same length"):
        StagingArea([tw.float32], names=["a", "b"])


def test_a_map_by_key(sess):
    area = MapStagingArea([tw.float32, tw.int32], shapes=[[2], None], names=["x", "y"], shared_name="mm")
    x, y = tw.constant([1.0, 2.0]), tw.constant(3)
    part, rest = area.put(1, {"x": x}), area.put(1, {"y": y})
    key, element = area.get(1)
    any_key, one = area.get(indices=["y"])
    assert key == 1 and (part.name, element["x"].name, any_key.name) == ("mm_put", "mm_get:0", "mm_get_nokey:0")
    assert area.peek(1, ["y"])["y"].name == "mm_pop:0" and element["x"].shape.as_list() == [2]
    sess.run(part)
    assert sess.run([area.size(), area.incomplete_size()]) == [0, 1]
    with pytest.raises(tw.errors.InvalidArgumentError, match="The tensor for index '0' for key '1' was already initialized '2'."):
        sess.run(part)
    sess.run(rest)
    assert sess.run([any_key, one["y"]]) == [1, 3]
    with pytest.raises(tw.errors.InvalidArgumentError, match="Tensor at index '1' for key '1' has already been removed."):
        sess.run(element)
    np.testing.assert_array_equal(sess.run(area.get(1, [0])[1]["x"]), [1, 2])
    with pytest.raises(TypeError, match="Mixed types in indices"):
        area.get(1, [1.5])


def test_an_ordered_map_gives_the_smallest_key(sess):
    area = MapStagingArea([tw.int64], ordered=True)
    key = tw.placeholder(tw.int64, [])
    put, (first, value) = area.put(key, [key * 10], [0]), area.get()
    for k in (3, 1, 2):
        sess.run(put, {key: k})
    assert [sess.run([first, value])[0] for _ in range(3)] == [1, 2, 3]
    with pytest.raises(ValueError, match="Indices must be supplied"):
        area.put(1, [key])
    with pytest.raises(ValueError, match="Number of indices"):
        area.put(1, [key], [0, 1])


def test_large_tensors_pass_without_a_copy(sess):
    """What a step gets has the address of what another put in."""
    large = tw.random_uniform([1 << 16])
    held = tw.FIFOQueue(4, tw.float32)
    area, by_key = StagingArea([tw.float32]), MapStagingArea([tw.float32])
    sess.run(held.enqueue(large))
    value = sess.run(held.dequeue())
    queue = tw.FIFOQueue(4, tw.float32)
    feed = tw.placeholder(tw.float32)
    address = sess.run([feed, queue.enqueue(feed), area.put([feed]), by_key.put(1, [feed], [0])], {feed: value})[0].ctypes.data
    assert sess.run(queue.dequeue()).ctypes.data == address
    assert sess.run(area.get())[0].ctypes.data == address
    assert sess.run(by_key.get(1)[1])[0].ctypes.data == address


def test_a_critical_section_loses_no_update(sess):
    v = tw.get_variable("v", initializer=0.0, use_resource=True)
    section = tw.CriticalSection(name="cs")
    step = section.execute(lambda: v.assign(v.read_value() + 1))
    sess.run(tw.global_variables_initializer())
    threads = [threading.Thread(target=lambda: [sess.run(step) for _ in range(25)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sess.run(v.read_value()) == 200


def test_what_a_critical_section_gives(sess):
    section = tw.CriticalSection(name="cs")
    assert tw.contrib.framework.CriticalSection is tw.CriticalSection and section.name == "cs"
    got = section.execute(lambda: {"a": tw.constant(1.0) + 1, "b": [tw.constant(2.0)]})
    assert sess.run(got) == {"a": 2.0, "b": [2.0]}
    assert sess.run(section.execute(tw.no_op)) is None
    with pytest.raises(TypeError):
        section.execute(3)
    with pytest.raises(ValueError, match="This is illegal and would cause deadlocks"):
        section.execute(lambda: section.execute(lambda: tw.constant(1.0) + 1))


def test_two_sections_of_one_resource(sess):
    v = tw.get_variable("v", initializer=0.0, use_resource=True)
    one, two = tw.CriticalSection(), tw.CriticalSection()
    one.execute(lambda: v.assign_add(1.0))
    with pytest.raises(ValueError, match="requested exclusive resource access of this resource"):
        two.execute(lambda: v.assign_add(1.0), exclusive_resource_access=False)
    three = tw.CriticalSection(shared_name="x")
    assert sess.run(three.execute(lambda: tw.constant(1.0) + 1)) == 2


def test_a_destroyed_table_is_empty_again(sess):
    table = tw.contrib.lookup.MutableHashTable(tw.string, tw.int64, -1)
    sess.run(table.insert(["a"], [1]))
    assert sess.run(table.size()) == 1
    sess.run(tw.raw_ops.DestroyResourceOp(resource=table.resource_handle, ignore_lookup_error=False))
    assert sess.run(table.size()) == 0
