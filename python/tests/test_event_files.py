# SPDX-License-Identifier: Apache-2.0
"""FileWriter where its disk, its directory or its process goes (users J3, J5): clear errors, nothing lost, a file that can be read."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from full_disks import full_disk

import thalweg as tw
from thalweg.summary import growing_file


def steps(path):
    """The steps of the summaries in a file, or in all files of a folder."""
    paths = sorted(glob.glob(os.path.join(path, "events.out.tfevents.*"))) if os.path.isdir(path) else [path]
    return [e.step for p in paths for e in tw.train.summary_iterator(p) if e.WhichOneof("what") == "summary"]


def add(writer, step):
    writer.add_summary(tw.Summary(value=[tw.Summary.Value(tag="a", simple_value=step)]), step)


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path):
    writer = tw.summary.FileWriter(tmp_path, max_queue=2)
    (path,) = glob.glob(str(tmp_path / "*"))
    add(writer, 1)
    with full_disk(os.path.getsize(path) + 10):
        with pytest.raises(tw.errors.ResourceExhaustedError, match="cannot write '.*tfevents.*': File too large; 2 events wait"):
            add(writer, 2)
        assert steps(path) == []  # and no half record, which would be an error here
        with pytest.raises(tw.errors.ResourceExhaustedError, match="3 events wait"):
            add(writer, 3)
    writer.flush()
    assert steps(path) == [1, 2, 3]
    writer.close()


def test_a_full_disk_at_the_end_is_an_error_of_close(tmp_path):
    writer = tw.summary.FileWriter(tmp_path)
    add(writer, 1)
    with full_disk(60):
        with pytest.raises(tw.errors.ResourceExhaustedError):
            writer.close()
        writer.close()  # twice: nothing more to say
    with full_disk(20), pytest.raises(tw.errors.ResourceExhaustedError, match="cannot write .*File too large"):
        tw.summary.FileWriter(tmp_path / "other")
    writer.reopen()
    writer.close()
    assert steps(tmp_path) == [1]


def test_a_removed_directory_is_an_error_and_events_go_to_the_next_file(tmp_path):
    folder = tmp_path / "logs"
    writer = tw.summary.FileWriter(folder)
    shutil.rmtree(folder)
    add(writer, 1)
    with pytest.raises(tw.errors.NotFoundError, match="tfevents.*' was removed while it was written; 1 events wait"):
        writer.flush()
    with pytest.raises(tw.errors.NotFoundError):
        writer.close()
    writer.reopen()
    add(writer, 2)
    writer.close()
    assert steps(folder) == [1, 2]


def test_what_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(tw.errors.FailedPreconditionError, match=f"cannot make directory '{tmp_path / 'file'}'"):
            tw.summary.FileWriter(folder)
    with pytest.raises(tw.errors.OpError, match="File name too long"):
        tw.summary.FileWriter(tmp_path, filename_suffix="x" * 300)


def test_two_writers_of_one_second_have_their_own_files(tmp_path):
    with tw.summary.FileWriter(tmp_path) as one, tw.summary.FileWriter(tmp_path, filename_suffix=".b") as two, \
            tw.summary.FileWriter(tmp_path) as three:
        for step, writer in enumerate((one, two, three)):
            add(writer, step)
    assert sorted(steps(tmp_path)) == [0, 1, 2] and len(os.listdir(tmp_path)) == 3


def test_a_forked_process_writes_to_its_own_file(tmp_path):
    writer = tw.summary.FileWriter(tmp_path)
    add(writer, 1)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        status = 1
        try:
            add(writer, 2)
            writer.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    add(writer, 3)
    writer.close()
    found = sorted(steps(p) for p in glob.glob(str(tmp_path / "*")))
    assert found == [[1, 3], [2]]  # what waited was written once, by its own process


def test_a_fork_while_another_thread_writes_does_not_stop_the_child(tmp_path):
    writer = tw.summary.FileWriter(tmp_path)
    with writer._file_lock, writer._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            add(writer, 2)
            writer.close()
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writer.close()
    assert steps(tmp_path) == [2]


def test_flush_has_a_deadline(tmp_path, monkeypatch):
    writer = tw.summary.FileWriter(tmp_path)
    answer, append = threading.Event(), growing_file.GrowingFile.append

    def stuck(self, data):
        assert answer.wait(30)
        append(self, data)
    monkeypatch.setattr(growing_file.GrowingFile, "append", stuck)
    add(writer, 1)
    with pytest.raises(tw.errors.DeadlineExceededError, match=f"'{tmp_path}' were not written within 0.05 s"):
        writer.flush(timeout=0.05)
    add(writer, 2)  # does not wait
    answer.set()
    writer.flush(timeout=30)
    writer.close()
    assert steps(tmp_path) == [1, 2]


def test_errors_of_a_flush_with_a_deadline_are_the_callers(tmp_path):
    writer = tw.summary.FileWriter(tmp_path)
    shutil.rmtree(tmp_path)
    add(writer, 1)
    with pytest.raises(tw.errors.NotFoundError):
        writer.flush(timeout=30)
    with pytest.raises(tw.errors.NotFoundError):
        writer.close()


_ENDLESS = """
import sys
import thalweg as tw
writer = tw.summary.FileWriter(sys.argv[1], max_queue=3)
print("ready", flush=True)
step = 0
while True:
    step += 1
    writer.add_summary(tw.Summary(value=[tw.Summary.Value(tag="a" * (step % 5000), simple_value=step)]), step)
    if step == int(sys.argv[2]):
        print("there", flush=True)
"""


@pytest.mark.parametrize("at", [1, 2, 50, 333, 1000])
def test_a_killed_process_leaves_a_file_that_can_be_read(tmp_path, at):
    process = subprocess.Popen([sys.executable, "-c", _ENDLESS, str(tmp_path), str(at)], stdout=subprocess.PIPE, text=True)
    late = threading.Timer(60, process.kill)
    late.start()
    try:
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "there\n"]
    finally:
        late.cancel()
        process.kill()
        process.communicate(timeout=60)
    found = steps(tmp_path)  # an error where a record is damaged
    assert found == list(range(1, len(found) + 1)) and len(found) >= at - at % 3


def test_messages_of_another_package_are_taken(tmp_path):
    class Foreign:
        """A message of the protobuf package is known by this method alone."""

        def SerializeToString(self):
            return tw.Summary(value=[tw.Summary.Value(tag="a", simple_value=1)]).SerializeToString()
    with tw.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(Foreign(), 5)
    assert steps(tmp_path) == [5]


def test_the_cache_is_cleared_whatever_became_of_its_files(tmp_path):
    cache = tw.summary.FileWriterCache
    cache.clear()
    gone, here = (cache.get(str(tmp_path / name)) for name in ("gone", "here"))
    add(gone, 1)
    add(here, 2)
    shutil.rmtree(tmp_path / "gone")
    with pytest.warns(RuntimeWarning, match="events are lost: file '.*gone/.*was removed"):
        cache.clear()
    assert steps(tmp_path / "here") == [2] and cache.get(str(tmp_path / "gone")) is not gone
    cache.clear()


def test_a_directory_that_is_removed_between_two_runs_has_a_new_writer(tmp_path):
    cache, folder = tw.summary.FileWriterCache, str(tmp_path / "run")
    for _ in range(2):  # as people do in notebooks
        shutil.rmtree(folder, ignore_errors=True)
        with tw.Graph().as_default():
            tw.summary.scalar("a", tw.cast(tw.train.get_or_create_global_step(), tw.float32))
            up = tw.assign_add(tw.train.get_global_step(), 1)
            with tw.train.MonitoredTrainingSession(checkpoint_dir=folder, save_summaries_steps=1, hooks=[tw.train.StopAtStepHook(last_step=2)]) as sess:
                while not sess.should_stop():
                    sess.run(up)
        assert steps(folder)[:2] == [1, 2] and len(glob.glob(os.path.join(folder, "events*"))) == 1
    cache.clear()


def test_a_fork_while_another_thread_has_the_cache_does_not_stop_the_child(tmp_path):
    with tw.summary.FileWriterCache._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            status = 1
            try:
                tw.summary.FileWriterCache.get(str(tmp_path)).close()
                status = 0
            finally:
                os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_closing_waits_for_the_thread_that_writes(tmp_path, monkeypatch):
    """What is being written while another thread closes is written whole, and the file closed behind it."""
    writer = tw.summary.FileWriter(tmp_path)
    begun, go_on = threading.Event(), threading.Event()
    append = growing_file.GrowingFile.append

    def slow(file, data):
        begun.set()
        assert go_on.wait(60)
        append(file, data)
    add(writer, 1)
    monkeypatch.setattr(growing_file.GrowingFile, "append", slow)
    writing = threading.Thread(target=writer.flush)
    writing.start()
    assert begun.wait(60)
    closing = threading.Thread(target=writer.close)
    closing.start()
    go_on.set()
    for thread in (writing, closing):
        thread.join(60)
        assert not thread.is_alive()
    assert steps(tmp_path) == [1] and writer._file is None
