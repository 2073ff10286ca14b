# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.framework.RecordInput: shuffled records of files."""
import pytest
import thalweg as tw


@pytest.fixture
def files(tmp_path):
    records = []
    for f in range(3):
        with tw.python_io.TFRecordWriter(str(tmp_path / f"part-{f}")) as writer:
            for i in range(4):
                records.append(f"{f}.{i}".encode())
                writer.write(records[-1])
    return str(tmp_path / "part-*"), records


def test_every_record_once_an_epoch(files):
    pattern, records = files
    with tw.Session() as session:
        batch = tw.contrib.framework.RecordInput(pattern, batch_size=4, buffer_size=5, seed=7).get_yield_op()
        for _ in range(3):
            epoch = [r for _ in range(3) for r in session.run(batch)]
            assert sorted(epoch) == records and epoch != records


def test_batches(files):
    pattern, records = files
    with tw.Session() as session:
        batches = tw.contrib.framework.RecordInput(pattern, batch_size=2, batches=3, buffer_size=100, name="r").get_yield_op()
        assert [len(b) for b in batches] == [2, 2, 2] and batches[0][0].shape.as_list() == []
        found = [session.run(batches) for _ in range(2)]
    assert sorted(r for step in found for b in step for r in b) == records


def test_errors(tmp_path):
    with tw.Session() as session:
        with pytest.raises(tw.errors.NotFoundError, match="Found no files"):
            session.run(tw.contrib.framework.RecordInput(str(tmp_path / "none-*")).get_yield_op())
        with pytest.raises(tw.errors.InvalidArgumentError, match="LZ4"):
            session.run(tw.raw_ops.RecordInput(file_pattern="x", compression_type="LZ4"))
