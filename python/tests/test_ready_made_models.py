# SPDX-License-Identifier: Apache-2.0
"""Ready-made models and heads give what TensorFlow 1.15 has recorded: variables, losses, metrics, predictions and errors."""
import json
import os

import numpy as np
import pytest

import estimator_cases
import thalweg as tw
from test_feature_columns import alike

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "estimator_recorded.json"), encoding="utf-8") as _f:
    RECORDED = json.load(_f)


@pytest.mark.parametrize("case", estimator_cases.CASES, ids=lambda c: c.__name__)
def test_as_in_tensorflow(case):
    ours = json.loads(json.dumps(estimator_cases.results(tw, case), sort_keys=True))
    alike(ours, RECORDED[case.__name__], case.__name__)


@pytest.mark.parametrize("dtype", [tw.int32, tw.float32])
@pytest.mark.parametrize("label", [2, -1])
def test_labels_of_any_number_of_classes_are_0_and_1(run, dtype, label):
    labels = tw.placeholder(dtype, [1, 2])
    loss = tw.estimator.MultiLabelHead(2).loss(labels, tw.constant([[0.0, 0.0]]))
    assert np.isclose(run(loss, {labels: [[1, 0]]}), np.log(2))
    with pytest.raises(tw.errors.InvalidArgumentError, match="labels must be an integer tensor with values 0 or 1"):
        run(loss, {labels: [[1, label]]})


def test_names_of_classes_may_be_bytes():
    head = tw.estimator.BinaryClassHead(label_vocabulary=[b"no", b"yes"])
    predictions = head.predictions(tw.constant([[1.0]]), ["classes", "all_classes"])
    with tw.Session() as session:
        session.run(tw.tables_initializer())
        found = session.run(predictions)
    assert found["classes"].tolist() == [[b"yes"]] and found["all_classes"].tolist() == [[b"no", b"yes"]]


def test_classes_that_are_measured_are_in_the_vocabulary():
    head = tw.estimator.MultiLabelHead(2, label_vocabulary=[b"a", "b"], classes_for_class_based_metrics=["a", b"b"])
    logits = tw.constant([[0.0, 0.0]])
    measured = head.create_estimator_spec({}, "eval", logits, tw.constant([[0, 1]])).eval_metric_ops
    assert {"auc/a", "auc/b"} <= set(measured)
    with pytest.raises(ValueError, match="not in label_vocabulary: \\['c'\\]"):
        tw.estimator.MultiLabelHead(2, label_vocabulary=["a", "b"], classes_for_class_based_metrics=["c"])


def test_a_head_of_heads_says_what_it_lacks():
    heads = [tw.estimator.RegressionHead(name=name) for name in "ab"]
    head, logits = tw.estimator.MultiHead(heads), tw.constant([[1.0, 2.0]])
    with pytest.raises(ValueError, match="labels has a missing key: b. Given keys: \\['a'\\]"):
        head.loss({"a": [[1.0]]}, logits)
    with pytest.raises(ValueError, match="labels must be a dictionary by the names of heads"):
        head.loss(tw.constant([[1.0]]), logits)
    with pytest.raises(ValueError, match="names of their own. Given: \\['a', 'a'\\]"):
        tw.estimator.MultiHead([heads[0], heads[0]])


def test_boundaries_are_a_list():
    with pytest.raises(ValueError, match="boundaries must be a sorted list"):
        tw.feature_column.bucketized_column(tw.feature_column.numeric_column("x"), np.array([1.0, 2.0]))
