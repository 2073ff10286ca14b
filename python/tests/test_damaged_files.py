# SPDX-License-Identifier: Apache-2.0
"""Damaged checkpoints, SavedModels and event files: an error, or what was written."""
import os
import random
import shutil

import numpy as np
import pytest

import thalweg as tw

GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "golden")
# What a reader may say of bytes that are not as they were written.
REFUSALS = (tw.errors.OpError, OSError, ValueError, KeyError, RuntimeError, NotImplementedError)


def damages(data, count, seed=1):
    """Copies with a bit flipped, bytes replaced, cut out or doubled."""
    choose = random.Random(seed)
    for i in range(count):
        changed, at = bytearray(data), choose.randrange(len(data))
        if i % 4 == 0:
            changed[at] ^= 1 << choose.randrange(8)
        elif i % 4 == 1:
            changed[at:at + 4] = choose.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x80\x80\x80\x7f"])
        elif i % 4 == 2:
            del changed[at:at + choose.randrange(1, 20)]
        else:
            changed[at:at] = changed[at:at + choose.randrange(1, 20)]
        yield bytes(changed)


@pytest.fixture
def checkpoint(tmp_path):
    values = {"a": np.arange(90, 190, dtype=np.float32), "b": np.array([b"one", b"", b"three"], object), "c": np.int64(5)}
    with tw.Session() as session:
        for name, value in values.items():
            tw.get_variable(name, initializer=tw.constant(value))
        session.run(tw.global_variables_initializer())
        return tw.train.Saver().save(session, str(tmp_path / "model"), write_meta_graph=False), values


def test_a_flipped_bit_of_the_data_is_an_error(checkpoint):
    path, values = checkpoint
    file = path + ".data-00000-of-00001"
    with open(file, "rb") as f:
        data = f.read()
    for bit in range(0, 8 * len(data), 5):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with open(file, "wb") as f:
            f.write(damaged)
        reader, wrong = tw.train.NewCheckpointReader(path), 0
        for name, value in values.items():
            try:
                np.testing.assert_array_equal(reader.get_tensor(name), value)
            except tw.errors.DataLossError as error:
                wrong += 1
                assert "checksum" in str(error) or "length" in str(error)
                with pytest.raises(tw.errors.DataLossError):
                    tw.train.load_variable(path, name)
        assert wrong == 1


@pytest.mark.parametrize("golden", ["1.15/partitioned/model-2", "2.21/v1/model.ckpt"])
def test_damaged_checkpoints(golden, tmp_path):
    source = os.path.join(GOLDEN, "checkpoints", golden)
    reader = tw.train.NewCheckpointReader(source)
    right = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    copy, files = str(tmp_path / "model"), [s for s in (".index", ".data-00000-of-00001", "") if os.path.isfile(source + s)]
    for suffix in files:
        shutil.copy(source + suffix, copy + suffix)
    for suffix in files:
        with open(source + suffix, "rb") as f:
            data = f.read()
        for damaged in damages(data, 400):
            with open(copy + suffix, "wb") as f:
                f.write(damaged)
            try:
                reader = tw.train.NewCheckpointReader(copy)
                found = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
            except REFUSALS as error:
                assert str(error)
                continue
            assert found.keys() == right.keys()
            for name, value in found.items():
                np.testing.assert_array_equal(value, right[name])
        shutil.copy(source + suffix, copy + suffix)


def test_damaged_saved_models(tmp_path):
    source = os.path.join(GOLDEN, "saved_models", "1.15", "tf1_lookup")
    shutil.copytree(source, tmp_path / "model")
    path = os.path.join(tmp_path, "model", "saved_model.pb")
    with open(path, "rb") as f:
        data = f.read()
    refused = 0
    for damaged in damages(data, 60):
        with open(path, "wb") as f:
            f.write(damaged)
        with tw.Graph().as_default(), tw.Session() as session:
            try:
                tw.saved_model.load(session, ["serve"], str(tmp_path / "model"))
            except REFUSALS as error:
                assert str(error)
                refused += 1
    assert refused


@pytest.mark.parametrize("golden", ["1.15/events.out.tfevents.1.host", "2.21/events.out.tfevents.2.host.v2"])
def test_damaged_event_files(golden, tmp_path):
    source, path = os.path.join(GOLDEN, "events", golden), str(tmp_path / "events")
    right = [e.SerializeToString() for e in tw.train.summary_iterator(source)]
    assert right
    with open(source, "rb") as f:
        data = f.read()
    for damaged in damages(data, 300):
        with open(path, "wb") as f:
            f.write(damaged)
        found = []
        try:
            for event in tw.train.summary_iterator(path):
                found.append(event.SerializeToString())
        except REFUSALS as error:
            assert str(error)
        # What was cut out or doubled at the borders of records leaves whole records.
        assert all(event in right for event in found)
