# SPDX-License-Identifier: Apache-2.0
"""Tables in checkpoints: as TensorFlow 1.15 names them and lays them out."""
import numpy as np
import pytest

import thalweg as tw


def tables():
    words = tw.contrib.lookup.MutableHashTable(tw.string, tw.int64, -1, name="words")
    dense = tw.contrib.lookup.MutableDenseHashTable(tw.int64, tw.float32, [0.0, 0.0], empty_key=-1, deleted_key=-2,
                                                    initial_num_buckets=8, name="dense")
    return words, dense


def test_saved_and_restored(tmp_path):
    with tw.Graph().as_default(), tw.Session() as sess:
        words, dense = tables()
        tw.contrib.lookup.MutableHashTable(tw.string, tw.int64, -1, name="left_out", checkpoint=False)
        v = tw.get_variable("v", initializer=[1.0, 2.0])
        sess.run(v.initializer)
        sess.run([words.insert(["a", "b", "c"], [1, 2, 3]), dense.insert([5, 6], [[1.0, 2.0], [3.0, 4.0]])])
        path = tw.train.Saver().save(sess, str(tmp_path / "model"))
    assert [(name, list(shape)) for name, shape in tw.train.list_variables(path)] == [
        ("dense-keys", [8, 1]), ("dense-values", [8, 2]), ("v", [2]), ("words-keys", [3]), ("words-values", [3])]
    keys = tw.train.load_variable(path, "dense-keys")
    assert keys.ravel().tolist() == [-1, -1, -1, -1, -1, 5, 6, -1]
    with tw.Graph().as_default(), tw.Session() as sess:
        words, dense = tables()
        v = tw.get_variable("v", initializer=[0.0, 0.0])
        saver = tw.train.Saver()
        sess.run(words.insert(["z"], [9]))
        saver.restore(sess, path)
        assert sess.run(words.lookup(tw.constant(["c", "a", "z"]))).tolist() == [3, 1, -1]
        np.testing.assert_array_equal(sess.run(dense.lookup(tw.constant([6, 7], tw.int64))), [[3, 4], [0, 0]])
        assert sess.run([dense.size(), words.size()]) == [2, 3]
        assert sess.run(v).tolist() == [1, 2]


def test_a_table_alone(tmp_path):
    with tw.Graph().as_default(), tw.Session() as sess:
        words, _ = tables()
        saveable = tw.get_collection(tw.GraphKeys.SAVEABLE_OBJECTS)[0]
        assert saveable.name == "words"
        saver = tw.train.Saver([saveable])
        sess.run(words.insert(["a"], [1]))
        path = saver.save(sess, str(tmp_path / "model"))
        sess.run(words.insert(["a", "b"], [5, 6]))
        saver.restore(sess, path)
        assert sess.run(words.lookup(tw.constant(["a", "b"]))).tolist() == [1, -1]


def test_a_table_of_another_type_is_refused(tmp_path):
    with tw.Graph().as_default(), tw.Session() as sess:
        words, _ = tables()
        path = tw.train.Saver().save(sess, str(tmp_path / "model"))
    with tw.Graph().as_default(), tw.Session() as sess:
        tw.contrib.lookup.MutableHashTable(tw.string, tw.float32, -1.0, name="words")
        with pytest.raises(tw.errors.InvalidArgumentError):
            tw.train.Saver().restore(sess, path)
