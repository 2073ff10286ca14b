# SPDX-License-Identifier: Apache-2.0
"""Strings and tables as TF1 programs use them. Values recorded with TensorFlow 1.15 unless the test says otherwise."""
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as made:
        yield made


def run(fetches, feeds=None, prepare=()):
    with tw.Session() as session:
        for op in prepare:
            session.run(op)
        return session.run(fetches, feeds)


def test_split():
    parts = run(tw.string_split(["hello world", "a b c"]))
    assert parts.indices.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    assert parts.values.tolist() == [b"hello", b"world", b"a", b"b", b"c"]
    assert parts.dense_shape.tolist() == [2, 3]
    assert run(tw.string_split(["a,,b"], ",", skip_empty=False)).values.tolist() == [b"a", b"", b"b"]
    assert run(tw.strings.split(["a  b "])).values.tolist() == [b"a", b"b"]
    assert run(tw.strings.split("a<>b<>c", "<>", maxsplit=1)).values.tolist() == [b"a", b"b<>c"]
    with pytest.raises(ValueError):
        tw.string_split(["a"], sep=" ", delimiter=",")


def test_join():
    assert run(tw.string_join([["a", "b"], "c"], separator="-")).tolist() == [b"a-c", b"b-c"]
    square = [["a", "b"], ["c", "d"]]
    assert run(tw.reduce_join(square)) == b"abcd"
    assert run(tw.reduce_join(square, 0)).tolist() == [b"ac", b"bd"]
    assert run(tw.reduce_join(square, [0, 1], keep_dims=True)).tolist() == [[b"acbd"]]
    fed = tw.placeholder(tw.string)
    assert run(tw.reduce_join(fed, separator="."), {fed: square}) == b"a.b.c.d"


def test_numbers_and_text():
    assert run(tw.as_string([1.5, 2.0], precision=1)).tolist() == [b"1.5", b"2.0"]
    assert run(tw.string_to_number(["1", " 2.5 "])).tolist() == [1, 2.5]
    assert run(tw.strings.to_number("7", tw.int64)) == 7
    assert run(tw.substr(["hello", "world"], 1, 3)).tolist() == [b"ell", b"orl"]
    assert run(tw.strings.length(["a", "bcd"])).tolist() == [1, 3]
    assert run(tw.string_strip([" a "])).tolist() == [b"a"]
    assert run(tw.strings.lower("AB")) == b"ab"
    assert run(tw.strings.upper("ab")) == b"AB"
    assert run(tw.decode_base64(tw.encode_base64("a\0b"))) == b"a\0b"
    assert run(tw.strings.format("x={} y={}", [tw.constant([1, 2]), "s"])) == b'x=[1 2] y="s"'


def test_hashes():
    assert run(tw.string_to_hash_bucket(["a", "hello"], 10)).tolist() == [8, 8]
    assert run(tw.string_to_hash_bucket_fast(["a", "hello"], 10)).tolist() == [9, 6]
    assert run(tw.string_to_hash_bucket_strong(["a", "hello"], 10, [1, 2])).tolist() == [6, 2]


def test_regular_expressions():
    replaced = tw.regex_replace(["a1b22"], "[0-9]+", "#")
    assert run(replaced).tolist() == [b"a#b#"]
    assert run(tw.strings.regex_full_match(["ab", "b"], "a.*")).tolist() == [True, False]


def test_bytes_that_are_no_text():
    odd = b"\xff\0\xfe"
    assert run(tw.string_join([tw.constant(odd), "x"])) == odd + b"x"
    assert run(tw.strings.length(tw.constant(odd))) == 3


def test_static_table():
    table = tw.lookup.StaticHashTable(tw.lookup.KeyValueTensorInitializer(["a", "b"], tw.constant([3, 4], tw.int64)), -1)
    found = table.lookup(tw.constant(["b", "z", "a"]))
    with tw.Session() as session:
        with pytest.raises(tw.errors.FailedPreconditionError):
            session.run(found)
        session.run(tw.tables_initializer())
        assert session.run(found).tolist() == [4, -1, 3]
        assert session.run(table.size()) == 2
    with pytest.raises(TypeError):
        table.lookup(tw.constant([1]))


def test_vocabularies(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("emerson\nlake\npalmer\n")
    index = tw.contrib.lookup.index_table_from_file(str(path), num_oov_buckets=1)
    text = tw.contrib.lookup.index_to_string_table_from_file(str(path), default_value="UNK")
    words = tw.constant(["emerson", "lake", "palmer", "king"])
    from_tensor = tw.contrib.lookup.index_table_from_tensor(tw.constant(["emerson", "lake"]), default_value=-1)
    back = tw.contrib.lookup.index_to_string_table_from_tensor(["a", "b"])
    fetched = run([index.lookup(words), text.lookup(tw.constant([2, 9], tw.int64)), from_tensor.lookup(words),
                   back.lookup(tw.constant([1, 5], tw.int64)), index.size()], prepare=[tw.tables_initializer()])
    assert [f.tolist() for f in fetched] == [[0, 1, 2, 3], [b"palmer", b"UNK"], [0, 1, -1, -1], [b"b", b"UNK"], 4]


def test_vocabulary_of_numbers_and_spare_buckets():
    table = tw.contrib.lookup.index_table_from_tensor(tw.constant([42, 1, -1000], tw.int32), num_oov_buckets=1, dtype=tw.int32)
    assert run(table.lookup(tw.constant([1, -1000, 42, 7], tw.int32)), prepare=[table.init]).tolist() == [1, 2, 0, 3]
    initializer = tw.lookup.KeyValueTensorInitializer(["a", "b"], tw.constant([0, 1], tw.int64))
    spare = tw.lookup.StaticVocabularyTable(initializer, 5)
    assert run(spare.lookup(tw.constant(["a", "b", "hello"])), prepare=[spare.initializer]).tolist() == [0, 1, 3]


def test_sparse_keys():
    table = tw.contrib.lookup.HashTable(tw.contrib.lookup.KeyValueTensorInitializer(["a"], tw.constant([7], tw.int64)), -1)
    keys = tw.SparseTensor([[0, 0], [1, 2]], tw.constant(["a", "b"]), [2, 3])
    found = run(table.lookup(keys), prepare=[table.init])
    assert found.values.tolist() == [7, -1] and found.dense_shape.tolist() == [2, 3]


def test_mutable_tables():
    table = tw.contrib.lookup.MutableHashTable(tw.string, tw.float32, -1.0)
    insert = table.insert(["a", "b"], [1.0, 2.0])
    with tw.Session() as session:
        session.run(insert)
        assert session.run(table.lookup(["b", "z"])).tolist() == [2, -1]
        keys, values = session.run(table.export())
        assert dict(zip(keys.tolist(), values.tolist())) == {b"a": 1.0, b"b": 2.0}
        session.run(table.remove(["a"]))
        assert session.run(table.size()) == 1
    dense = tw.contrib.lookup.MutableDenseHashTable(tw.int64, tw.float32, [0.0, 0.0], empty_key=0, deleted_key=-1)
    insert = dense.insert([1, 2], [[1, 2], [3, 4]])
    with tw.Session() as session:
        session.run(insert)
        assert np.array_equal(session.run(dense.lookup(tw.constant([2, 5], tw.int64))), [[3, 4], [0, 0]])


def test_older_operations():
    table = tw.raw_ops.HashTable(key_dtype=tw.string, value_dtype=tw.int64)
    fill = tw.raw_ops.InitializeTable(table, tw.constant(["a"]), tw.constant([5], tw.int64))
    found = tw.raw_ops.LookupTableFind(table, tw.constant(["a", "b"]), tw.constant(0, tw.int64))
    assert run(found, prepare=[fill]).tolist() == [5, 0]
