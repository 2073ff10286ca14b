# SPDX-License-Identifier: Apache-2.0
"""Features out of messages and columns out of text, as programs of 1.15 ask for them."""
import numpy as np
import pytest
import thalweg as tw


def feature(value):
    if isinstance(value[0], bytes):
        return tw.train.Feature(bytes_list=tw.train.BytesList(value=value))
    if isinstance(value[0], float):
        return tw.train.Feature(float_list=tw.train.FloatList(value=value))
    return tw.train.Feature(int64_list=tw.train.Int64List(value=value))


def features(**values):
    return tw.train.Features(feature={key: feature(value) for key, value in values.items()})


def example(**values):
    return tw.train.Example(features=features(**values)).SerializeToString()


def sequence(context, **lists):
    made = {key: tw.train.FeatureList(feature=[feature(step) for step in steps]) for key, steps in lists.items()}
    return tw.train.SequenceExample(context=features(**context),
                                    feature_lists=tw.train.FeatureLists(feature_list=made)).SerializeToString()


def run(make):
    with tw.Graph().as_default(), tw.Session() as session:
        return session.run(make())


TWO = [example(a=[1.0, 2.0], n=[7], s=[b"x", b"y"]), example(a=[3.0, 4.0], i=[2, 5], v=[0.5, 0.25])]


def test_a_batch_of_examples():
    found = run(lambda: tw.parse_example(TWO, {
        "a": tw.FixedLenFeature([2], tw.float32), "n": tw.FixedLenFeature([], tw.int64, default_value=-1),
        "s": tw.VarLenFeature(tw.string), "i": tw.FixedLenSequenceFeature([], tw.int64, allow_missing=True),
        "w": tw.SparseFeature("i2", "v2", tw.float32, 10)}))
    np.testing.assert_array_equal(found["a"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(found["n"], [7, -1])
    assert found["s"].values.tolist() == [b"x", b"y"] and found["s"].dense_shape.tolist() == [2, 2]
    np.testing.assert_array_equal(found["i"], [[0, 0], [2, 5]])
    assert found["w"].dense_shape.tolist() == [2, 10]


def test_sparse_features_share_their_keys():
    found = run(lambda: tw.io.parse_example(TWO, {"w": tw.io.SparseFeature("i", "v", tw.float32, 10),
                                                  "i": tw.io.VarLenFeature(tw.int64)}))
    assert found["w"].indices.tolist() == [[1, 2], [1, 5]] and found["w"].values.tolist() == [0.5, 0.25]
    assert found["i"].values.tolist() == [2, 5]


@pytest.mark.parametrize("name", [None, "me"])
def test_one_example(name):
    found = run(lambda: tw.parse_single_example(TWO[0], {
        "a": tw.FixedLenFeature([2], tw.float32), "s": tw.VarLenFeature(tw.string)}, example_names=name))
    np.testing.assert_array_equal(found["a"], [1, 2])
    assert found["s"].indices.tolist() == [[0], [1]] and found["s"].dense_shape.tolist() == [2]


SEQUENCES = [sequence({"c": [1.0]}, w=[[1.0, 2.0], [3.0, 4.0]], t=[[b"p"], [b"q", b"r"]]), sequence({"c": [2.0]}, w=[[5.0, 6.0]])]
CONTEXT = {"c": tw.FixedLenFeature([], tw.float32), "d": tw.VarLenFeature(tw.int64)}
LISTS = {"w": tw.FixedLenSequenceFeature([2], tw.float32), "t": tw.VarLenFeature(tw.string),
         "k": tw.FixedLenSequenceFeature([], tw.int64, allow_missing=True)}


def test_sequences():
    context, lists, lengths = run(lambda: tw.io.parse_sequence_example(SEQUENCES, CONTEXT, LISTS))
    np.testing.assert_array_equal(context["c"], [1, 2])
    np.testing.assert_array_equal(lists["w"], [[[1, 2], [3, 4]], [[5, 6], [0, 0]]])
    assert lists["t"].indices.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert lists["k"].shape == (2, 0) and lengths["w"].tolist() == [2, 1] and lengths["k"].tolist() == [0, 0]
    context, lists = run(lambda: tw.parse_single_sequence_example(SEQUENCES[0], CONTEXT, LISTS))
    assert context["c"] == 1 and lists["w"].tolist() == [[1, 2], [3, 4]]
    assert lists["t"].values.tolist() == [b"p", b"q", b"r"]


def test_messages_of_errors():
    with tw.Graph().as_default(), tw.Session() as session:
        found = tw.parse_example(TWO, {"n": tw.FixedLenFeature([], tw.int64)}, example_names=["p", "q"])
        with pytest.raises(tw.errors.InvalidArgumentError,
                           match=r"Name: q, Feature: n \(data type: int64\) is required but could not be found."):
            session.run(found)
        with pytest.raises(tw.errors.InvalidArgumentError, match="Name: <unknown>, Key: s, Index: 0.  Data types don't match"):
            session.run(tw.parse_example(TWO, {"s": tw.VarLenFeature(tw.int64)}))
        with pytest.raises(tw.errors.InvalidArgumentError, match="Feature list 'z' is required but could not be found"):
            session.run(tw.io.parse_sequence_example(SEQUENCES, None, {"z": tw.FixedLenSequenceFeature([], tw.int64)}))


@pytest.mark.parametrize("asked, words", [
    ({}, "Missing: features"), ({"a": 5}, "Invalid feature a:5"), ({"a": tw.VarLenFeature(None)}, "Missing type for feature a"),
    ({"a": tw.FixedLenFeature(None, tw.float32)}, "Missing shape for feature a"),
    ({"a": tw.FixedLenFeature([None], tw.float32)}, "First dimension of shape for feature a unknown"),
    ({"a": tw.FixedLenSequenceFeature([], tw.float32)}, "requires allow_missing to be True"),
    ({"v": tw.FixedLenFeature([], tw.float32), "a": tw.SparseFeature("i", "v", tw.float32, 1)}, "must not intersect"),
    ({"v": tw.VarLenFeature(tw.int64), "a": tw.SparseFeature("i", "v", tw.float32, 1)}, "Conflicting type")])
def test_what_cannot_be_asked(asked, words):
    with tw.Graph().as_default(), pytest.raises(ValueError, match=words):
        tw.parse_example(TWO, asked)


def test_columns_of_text():
    number, text, count = run(lambda: tw.decode_csv(['1.5,"a,b",3', "2,,4"], [[0.0], ["none"], tw.constant([], tw.int64)]))
    assert number.tolist() == [1.5, 2] and text.tolist() == [b"a,b", b"none"] and count.tolist() == [3, 4]
    last, = run(lambda: tw.io.decode_csv("1|2|-", [[7]], field_delim="|", na_value="-", select_cols=[2]))
    assert last == 7
    with tw.Graph().as_default(), tw.Session() as session:
        with pytest.raises(tw.errors.InvalidArgumentError, match="Field 0 in record 1 is not a valid int32: x"):
            session.run(tw.decode_csv(["1", "x"], [[0]]))
