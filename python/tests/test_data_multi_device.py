# SPDX-License-Identifier: Apache-2.0
"""Elements that go to several devices in turn, and pipelines that are tuned or not."""
import numpy as np
import pytest
from dataset_elements import elements

import thalweg as tf

Dataset = tf.data.Dataset
THREE = tf.ConfigProto(device_count={"CPU": 3})


def test_devices_take_elements_in_turn():
    towers = tf.data.experimental.MultiDeviceIterator(Dataset.range(7), ["/cpu:1", "/cpu:2"], max_buffer_size=2)
    first, second = towers.get_next()
    assert first.device.endswith("CPU:1") and second.device.endswith("CPU:2")
    with tf.Session(config=THREE) as session:
        for _ in range(2):
            session.run(towers.initializer)
            assert [session.run([first, second]) for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run([first, second])
        session.run(towers.initializer)
        assert [session.run(second) for _ in range(2)] + [session.run(first)] == [1, 3, 0]


def test_the_end_is_an_optional_without_a_value():
    towers = tf.data.experimental.MultiDeviceIterator(Dataset.range(3), ["/cpu:0", "/cpu:0"], prefetch_buffer_size=0)
    said = [o.has_value() for o in towers.get_next_as_optional()]
    with tf.Session() as session:
        session.run(towers.initializer)
        assert [[bool(v) for v in session.run(said)] for _ in range(3)] == [[True, True], [True, False], [False, False]]


def test_an_error_is_that_of_the_device_it_was_dealt_to():
    dataset = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0]).map(lambda x: tf.check_numerics(1.0 / x, "reciprocal"))
    towers = tf.data.experimental.MultiDeviceIterator(dataset, ["/cpu:1", "/cpu:2"])
    first, second = towers.get_next()
    with tf.Session(config=THREE) as session:
        session.run(towers.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"reciprocal[\s\S]*element: [\s\S]*test_data_multi_device"):
            session.run(second)
        assert session.run([first, second]) == [1.0, 0.25]


def test_devices_must_be_named():
    with pytest.raises(ValueError, match="at least one device"):
        tf.data.experimental.MultiDeviceIterator(Dataset.range(3), [])
    towers = tf.data.experimental.MultiDeviceIterator(Dataset.range(3), ["/cpu:0"])
    with pytest.raises(ValueError, match="none of the iterator's devices"):
        towers.get_next("/cpu:7")


@pytest.mark.parametrize("enabled", [None, True, False])
def test_tuning_changes_no_element(enabled):
    options = tf.data.Options()
    options.autotune.enabled = enabled
    dataset = Dataset.range(100).map(lambda x: x * x, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    assert [int(e) for e in elements(dataset.with_options(options))] == [i * i for i in range(100)]


def test_tuning_is_switched_off_as_either_release_says():
    for switch in ("autotune.enabled", "experimental_optimization.autotune"):
        options = tf.data.Options()
        place, name = switch.split(".")
        setattr(getattr(options, place), name, False)
        with tf.Graph().as_default() as graph:
            Dataset.range(3).with_options(options)
            node = next(op for op in graph.get_operations() if op.type == "OptionsDataset")
            assert node.get_attr("serialized_options") == b"\x3a\x02\x08\x00"


def test_options_that_are_no_message_are_refused():
    spec = tf.TensorSpec([], tf.int64)
    variant = tf.raw_ops.OptionsDataset(input_dataset=tf.data.experimental.to_variant(Dataset.range(3)), serialized_options=b"\x3a\x09\x08",
                                        output_types=[np.int64], output_shapes=[[]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="no message of options: wrong at byte"):
        elements(tf.data.experimental.from_variant(variant, spec))
