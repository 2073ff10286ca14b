# SPDX-License-Identifier: Apache-2.0
"""Warm starts whose variables stand for the lines of another vocabulary; the values are what 1.15 gives."""
import numpy as np
import pytest

import thalweg as tw

ONE, OLD = [1.0, 1.0, 1.0], np.arange(12.0, dtype=np.float32).reshape(4, 3)
REMAPPED = [[6.0, 7.0, 8.0], ONE, [0.0, 1.0, 2.0], ONE, [9.0, 10.0, 11.0]]


@pytest.fixture(name="files")
def made(tmp_path):
    """(checkpoint, old vocabulary, new vocabulary)"""
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("a\nb\nc\nd\n")
    new.write_text("c\nx\na\ny\nd\n")
    with tw.Graph().as_default(), tw.Session() as session:
        tw.get_variable("rows", initializer=OLD)
        tw.get_variable("columns", initializer=OLD.T.copy())
        tw.get_variable("bias", initializer=[5.0, 6.0])
        session.run(tw.global_variables_initializer())
        return tw.train.Saver().save(session, tmp_path / "m"), str(old), str(new)


def started(files, name, shape, parts=None, size=5, buckets=0, old_size=-1, axis=0, initializer="ones", theirs=None, **options):
    path, old, new = files
    ones = tw.ones_initializer() if initializer == "ones" else None
    info = tw.train.VocabInfo(new, size, buckets, old, old_size, ones, axis)
    with tw.Graph().as_default(), tw.Session() as session:
        v = tw.get_variable(name, shape, partitioner=tw.fixed_size_partitioner(parts) if parts else None, **options)
        bias = tw.get_variable("bias", [2])
        tw.train.warm_start(path, ".*", {name: info}, {name: theirs} if theirs else None)
        session.run(tw.global_variables_initializer())
        assert session.run(bias).tolist() == [5, 6]
        return session.run(v.as_tensor() if parts else v).tolist()


def test_rows(files):
    assert started(files, "rows", [5, 3]) == REMAPPED
    assert started(files, "rows", [5, 3], use_resource=True) == REMAPPED
    assert started(files, "mine", [5, 3], theirs="rows") == REMAPPED
    assert started(files, "rows", [7, 3], buckets=2) == [*REMAPPED, ONE, ONE]
    assert started(files, "rows", [5, 3], old_size=2) == [ONE, ONE, [0, 1, 2], ONE, ONE]
    assert started(files, "rows", [3, 3], size=3) == started(files, "rows", [3, 3]) == REMAPPED[:3]
    assert started(files, "rows", [5, 3], initializer=None)[1] == [0, 0, 0]


def test_rows_in_parts(files):
    assert started(files, "rows", [5, 3], parts=2) == REMAPPED
    assert started(files, "rows", [7, 3], parts=2, buckets=2) == [*REMAPPED, ONE, ONE]
    assert started(files, "rows", [10, 3], parts=2, buckets=5) == [*REMAPPED, *5 * [ONE]]  # the second part has no line


def test_columns(files):
    turned = np.transpose(REMAPPED).tolist()
    assert started(files, "columns", [3, 5], axis=1) == turned
    assert started(files, "columns", [3, 5], parts=3, axis=1) == turned
    assert started(files, "columns", [3, 6], buckets=1, axis=1) == [row + [1] for row in turned]


def test_only_those_with_a_vocabulary(files):
    path, old, new = files
    tw.get_variable("rows", [5, 3])
    bias = tw.get_variable("bias", initializer=[8.0, 8.0])
    tw.train.warm_start(path, None, {"rows": tw.train.VocabInfo(new, 5, 0, old)})
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        assert session.run(bias).tolist() == [8, 8]


def test_refusals(files):
    path, old, new = files
    for words, arguments in {"was not found|not found": {"theirs": "nothing"}, "has 6 rows": {"shape": [6, 3]},
                             "two dimensions": {"shape": [5]}, "has 5 columns": {"shape": [5, 5], "axis": 1, "size": 4}}.items():
        with pytest.raises(ValueError, match=words):
            started(files, "rows", arguments.pop("shape", [5, 3]), **arguments)
    tw.get_variable("rows", [5, 3])
    with pytest.raises(ValueError, match="var_name_to_vocab_info that were not used"):
        tw.train.warm_start(path, ".*", {"row": tw.train.VocabInfo(new, 5, 0, old)})
