# SPDX-License-Identifier: Apache-2.0
"""Models whose weights are pages of their files: what they give, what they share, and what happens when the files change."""
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import thalweg as tw

ROWS, WIDTH = 524_288, 16  # 32 MB: the system brings pages in by up to 2 MB
TABLE = np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH)
DATA = os.path.join("variables", "variables.data-00000-of-00001")


@pytest.fixture(name="path")
def saved(tmp_path):
    """A model with a signature that looks up rows, and one that changes all of them."""
    with tw.Graph().as_default(), tw.Session() as session:
        table = tw.get_variable("table", initializer=TABLE, use_resource=True)
        small = tw.get_variable("small", initializer=[1.0, 2.0])
        ids = tw.placeholder(tw.int32, [None], name="ids")
        by = tw.placeholder(tw.float32, [], name="by")
        rows = tw.gather(table, ids) + small[0] - 1.0
        with tw.control_dependencies([tw.assign_add(table, tw.fill([ROWS, WIDTH], by))]):
            changed = tw.reduce_max(table.read_value())
        tw.identity(table.read_value(), name="whole")
        session.run(tw.global_variables_initializer())
        signature = tw.saved_model.signature_def_utils.predict_signature_def
        builder = tw.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"], {
            "serving_default": signature({"ids": ids}, {"rows": rows}), "change": signature({"by": by}, {"largest": changed})})
        builder.save()
    return str(tmp_path / "model")


def mapped(path):
    """(bytes that are mapped of a file, bytes of them that are in this process's memory)"""
    size = resident = 0
    with open("/proc/self/smaps") as smaps:
        inside = False
        for line in smaps:
            name, _, value = line.partition(":")
            if "-" in line.split(maxsplit=1)[0]:
                inside = line.rstrip().endswith(path)
            elif inside and name in ("Size", "Rss"):
                size, resident = size + (name == "Size") * int(value.split()[0]), resident + (name == "Rss") * int(value.split()[0])
    return size * 1024, resident * 1024


def test_rows_are_those_of_the_file_which_is_not_read(path):
    model = tw.load(path, map_weights=True)
    np.testing.assert_array_equal(model(ids=[3, 9, ROWS - 1]), TABLE[[3, 9, ROWS - 1]])
    data = os.path.join(path, DATA)
    size, resident = mapped(data)
    assert size >= TABLE.nbytes and resident < TABLE.nbytes / 4, (size, resident)
    read = tw.load(path)
    np.testing.assert_array_equal(read(ids=[7]), model(ids=[7]))
    assert mapped(data)[0] == size  # once


def test_by_default_nothing_is_mapped(path):
    data = os.path.join(path, DATA)
    assert tw.load(path)(ids=[1]).shape == (1, WIDTH) and mapped(data) == (0, 0)


def test_the_command_maps_them(path, tmp_path):
    np.save(tmp_path / "ids.npy", np.int32([3, 9]))

    def said(*more):
        return subprocess.run([sys.executable, "-m", "thalweg", "run", path, "--feed", f"ids={tmp_path / 'ids.npy'}", *more], text=True,
                              capture_output=True, timeout=120, check=False)
    read, mapping = said(), said("--map-weights")
    assert read.returncode == mapping.returncode == 0 and "float32 [2,16]" in read.stdout and mapping.stdout == read.stdout, (read, mapping)
    with open(os.path.join(path, DATA), "r+b") as f:  # only who reads looks at the checksum
        f.seek(TABLE.nbytes - 4)
        f.write(b"\0\0\0\0")
    read, mapping = said(), said("--map-weights")
    assert read.returncode == 1 and "checksum" in read.stderr and mapping.returncode == 0, (read, mapping)


def test_an_update_is_of_a_copy(path):
    with open(os.path.join(path, DATA), "rb") as f:
        before = f.read()
    model, other = tw.load(path, map_weights=True), tw.load(path, map_weights=True)
    for by in (1, 2):
        assert model.signature("change")(by=1.0) == TABLE.max() + by
    np.testing.assert_array_equal(model(ids=[5]), TABLE[[5]] + 2)
    np.testing.assert_array_equal(other(ids=[5]), TABLE[[5]])
    with open(os.path.join(path, DATA), "rb") as f:
        assert f.read() == before


def test_a_file_that_is_cut_short_while_steps_run_ends_them_with_its_name(path):
    model = tw.load(path, map_weights=True)
    begun, found = threading.Barrier(4), []

    def run():
        ids = list(range(0, ROWS, 512))
        begun.wait(60)
        try:
            while True:
                np.testing.assert_array_equal(model(ids=ids), TABLE[ids])  # nothing wrong is answered
        except tw.errors.DataLossError as error:
            found.append(str(error))
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait(60)
    os.truncate(os.path.join(path, DATA), 4096)
    for thread in threads:
        thread.join(120)
    assert len(found) == 3 and all(os.path.join(path, DATA) in text for text in found), found
    with pytest.raises(tw.errors.DataLossError):
        model(ids=[0])
    with pytest.raises(tw.errors.DataLossError):  # a new load, too: the file is too short
        tw.load(path, map_weights=True)


def test_an_array_outlives_its_model_and_its_file(path):
    model = tw.load(path, map_weights=True)
    whole = model.fetch("whole:0")
    assert not whole.flags.owndata  # the tensor's own memory: what is of the file was copied within the step that looks at it
    del model
    os.truncate(os.path.join(path, DATA), 0)
    np.testing.assert_array_equal(whole, TABLE)


def test_another_file_may_take_the_name(path):
    model = tw.load(path, map_weights=True)
    data = os.path.join(path, DATA)
    with open(data + ".new", "wb") as f:
        f.write(bytes(os.path.getsize(data)))
    os.replace(data + ".new", data)
    np.testing.assert_array_equal(model(ids=[3, 60_000]), TABLE[[3, 60_000]])
    os.remove(data)
    np.testing.assert_array_equal(model(ids=[3, 50_000]), TABLE[[3, 50_000]])


def test_a_file_that_is_written_into_is_noticed(path):
    model = tw.load(path, map_weights=True)
    data = os.path.join(path, DATA)
    with open(data, "r+b") as f:
        f.write(b"\x01")
    os.utime(data, (1, 1))
    with pytest.raises(tw.errors.DataLossError, match="was written into"):
        model(ids=[0])


def test_what_does_not_stand_as_in_memory_is_read(tmp_path):
    """Seven bytes before it: the floats lie at no multiple of four. Bools may be any bytes in a file."""
    with tw.Graph().as_default(), tw.Session() as session:
        tw.get_variable("a", initializer=np.arange(7, dtype=np.int8))
        b = tw.get_variable("b", initializer=TABLE)
        c = tw.get_variable("c", initializer=np.ones(100_000, bool))
        ids = tw.placeholder(tw.int32, [None], name="ids")
        session.run(tw.global_variables_initializer())
        tw.saved_model.simple_save(session, str(tmp_path / "odd"), {"ids": ids}, {"rows": tw.gather(b, ids), "all": tw.reduce_all(c)})
    model = tw.load(tmp_path / "odd", map_weights=True)
    found = model(ids=[5])
    np.testing.assert_array_equal(found["rows"], TABLE[[5]])
    assert found["all"] and mapped(os.path.join(tmp_path, "odd", DATA)) == (0, 0)


@pytest.mark.parametrize("order", ["faulthandler.enable(); model = load()", "model = load(); faulthandler.enable(); model(ids=[0])"])
def test_pythons_own_handler_hears_of_other_bus_errors_alone(path, order):
    program = f"""
        import faulthandler, mmap, os, sys
        import thalweg as tw
        def load():
            return tw.load({path!r}, map_weights=True)
        {order}
        os.truncate(os.path.join({path!r}, {DATA!r}), 0)
        try:
            model(ids=list(range({ROWS})))
        except tw.errors.DataLossError:
            print("lost", flush=True)
        with open("other", "w+b") as f:
            f.truncate(4096)
            other = mmap.mmap(f.fileno(), 4096)
            f.truncate(0)
        other[0]
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=os.path.dirname(path),
                           timeout=120, check=False)
    assert ended.returncode == -7 and ended.stdout == "lost\n", ended
    assert ended.stderr.count("Fatal Python error: Bus error") == 1, ended.stderr
