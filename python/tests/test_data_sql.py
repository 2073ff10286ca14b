# SPDX-License-Identifier: Apache-2.0
"""Rows of databases as datasets."""
import sqlite3

import pytest

import thalweg as tf

TYPES = (tf.int64, tf.string, tf.float64, tf.bool)


@pytest.fixture
def database(tmp_path):
    path = str(tmp_path / "a.db")
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (i INTEGER, s TEXT, f REAL, b INTEGER)")
        made.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(i, f"row {i}\u00e4", i / 2, i % 2) for i in range(6)])
        made.execute("INSERT INTO t VALUES (NULL, NULL, NULL, NULL)")
    return path


def rows(path, query, types, steps=99):
    iterator = tf.data.experimental.SqlDataset("sqlite", path, query, types).make_one_shot_iterator()
    following, given = iterator.get_next(), []
    with tf.Session() as session:
        try:
            for _ in range(steps):
                given.append(session.run(following))
        except tf.errors.OutOfRangeError:
            pass
    return given


def test_rows_are_elements(database):
    given = rows(database, "SELECT i, s, f, b FROM t ORDER BY i DESC", TYPES)
    assert len(given) == 7
    assert given[0] == (5, "row 5\u00e4".encode(), 2.5, True) and given[-1] == (0, b"", 0.0, False)
    assert rows(database, "SELECT COUNT(*) FROM t", (tf.int32,)) == [(7,)]
    assert rows(database, "SELECT i FROM t WHERE i > 99", (tf.int32,)) == []


def test_a_pass_over_rows_goes_on_where_it_was_saved(database, tmp_path):
    iterator = tf.data.experimental.SqlDataset("sqlite", database, "SELECT i FROM t WHERE i >= 0 ORDER BY i",
                                               (tf.int64,)).make_initializable_iterator()
    following = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(following)[0] for _ in range(2)] == [0, 1]
        saver.save(session, str(tmp_path / "c"))
        session.run(iterator.initializer)
        saver.restore(session, str(tmp_path / "c"))
        assert [session.run(following)[0] for _ in range(4)] == [2, 3, 4, 5]


@pytest.mark.parametrize("query,message", [
    ("SELECT i, s FROM t", r"columns in query \(2\) must match the number of elements in output_types \(1\)"),
    ("SELECT absent FROM t", "no such column: absent"), ("", "the query is empty"), ("DELETE FROM t", "columns in query"),
    ("INSERT INTO t VALUES (1, 2, 3, 4) RETURNING i", "readonly database")])
def test_queries_that_are_none_are_refused(database, query, message):
    with pytest.raises(tf.errors.OpError, match=message):
        rows(database, query, (tf.int64,))


def test_a_query_without_end_can_be_left(database):
    query = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x < 0"
    following = tf.data.experimental.SqlDataset("sqlite", database, query, (tf.int64,)).make_one_shot_iterator().get_next()
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(following, options=tf.RunOptions(timeout_in_ms=200))
