# SPDX-License-Identifier: Apache-2.0
"""LinearSDCA beyond what TensorFlow 1.15 has recorded: parts of variables, checkpoints, the duality gap, mistakes."""
import numpy as np
import pytest

import thalweg as tw

NAMES = np.array(["a", "b", "c", "d"])
PEOPLE = {"x": np.array([-2.0, -1.0, 1.0, 2.0], np.float32), "job": np.array(["cook", "smith", "cook", "nurse"]), "name": NAMES}
RICH = np.array([0, 0, 1, 1])


def inputs(features=PEOPLE, labels=RICH):
    return tw.estimator.inputs.numpy_input_fn(features, labels, 4, num_epochs=None, shuffle=False)


def columns():
    return [tw.feature_column.numeric_column("x"), tw.feature_column.categorical_column_with_hash_bucket("job", 7)]


def classifier(folder, sdca=None, **options):
    return tw.estimator.LinearClassifier(columns(), folder, optimizer=sdca or tw.estimator.experimental.LinearSDCA("name"), **options)


def test_parts_of_variables_are_trained_as_the_whole(tmp_path):
    whole = classifier(tmp_path / "whole").train(inputs(), steps=3)
    parts = classifier(tmp_path / "parts", partitioner=tw.fixed_size_partitioner(3)).train(inputs(), steps=3)
    for name in ("x", "job", "bias"):
        key = f"linear/linear_model/{name}/weights" if name != "bias" else "linear/linear_model/bias_weights"
        assert np.array_equal(whole.get_variable_value(key), parts.get_variable_value(key)), name


def test_training_goes_on_from_the_states_in_the_checkpoint(tmp_path):
    at_once = classifier(tmp_path / "at_once").train(inputs(), steps=6)
    twice = classifier(tmp_path / "twice").train(inputs(), steps=3)
    twice = classifier(tmp_path / "twice").train(inputs(), steps=3)
    for name in at_once.get_variable_names():
        if "weights" in name:
            assert np.allclose(at_once.get_variable_value(name), twice.get_variable_value(name), atol=1e-6), name


def test_the_gap_closes_and_all_examples_are_seen(tmp_path):
    class Gap(tw.train.SessionRunHook):
        found = []

        def begin(self):
            graph = tw.get_default_graph()
            self.asked = [graph.get_operation_by_name(f"linear/{n}").inputs[1] for n in ("approximate_duality_gap", "examples_seen")]

        def before_run(self, run_context):
            return tw.train.SessionRunArgs(self.asked)

        def after_run(self, run_context, run_values):
            self.found.append(run_values.results)
    hook = Gap()
    classifier(tmp_path).train(inputs(), steps=60, hooks=[hook])
    gaps = [float(gap) for gap, _ in hook.found[2:]]
    assert abs(gaps[-1]) < 1e-3 < max(map(abs, gaps))
    assert int(hook.found[-1][1]) == 4


def test_a_category_twice_in_a_row_counts_twice(tmp_path):
    """As one of weight 2."""
    ids = tw.feature_column.categorical_column_with_identity("ids", 3)

    def of(column, **features):
        def made():
            named = {k: tw.constant(v) for k, v in dict(features, name=["a", "b"]).items()}
            return tw.data.Dataset.from_tensors((named, tw.constant([1, 0]))).repeat()
        model = tw.estimator.LinearClassifier([column], optimizer=tw.estimator.experimental.LinearSDCA("name")).train(made, steps=3)
        return [v for n in model.get_variable_names() if n.endswith("/weights") for v in model.get_variable_value(n).ravel()]
    twice = of(ids, ids=np.array([[1, 1], [2, -1]]))
    weighted = of(tw.feature_column.weighted_categorical_column(ids, "w"), ids=np.array([[1], [2]]), w=np.array([[2.0], [1.0]], np.float32))
    assert np.array_equal(twice, weighted) and twice[1] > 0 > twice[2]


def test_vocabularies_of_labels_may_be_texts(tmp_path):
    names = np.array(["poor", "rich"])[RICH]
    texts = classifier(tmp_path / "texts", label_vocabulary=["poor", "rich"]).train(inputs(labels=names), steps=3)
    numbers = classifier(tmp_path / "numbers").train(inputs(), steps=3)
    key = "linear/linear_model/x/weights"
    assert np.array_equal(texts.get_variable_value(key), numbers.get_variable_value(key)) and texts.get_variable_value(key)[0, 0] > 0


@pytest.mark.parametrize("options, message", [
    ({"symmetric_l1_regularization": -1.0}, "symmetric_l1_regularization must be at least 0. Given: -1.0"),
    ({"symmetric_l2_regularization": 0.0}, "symmetric_l2_regularization must be above 0. Given: 0.0"),
    ({"num_loss_partitions": 0}, "num_loss_partitions must be at least 1. Given: 0"),
    ({"num_table_shards": 0}, "num_table_shards must be at least 1. Given: 0")])
def test_numbers_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        tw.estimator.experimental.LinearSDCA("name", **options)


def test_features_that_do_not_fit(tmp_path):
    with pytest.raises(ValueError, match="no feature 'id', which names examples. Given features: \\['job', 'name', 'x'\\]"):
        classifier(tmp_path, tw.estimator.experimental.LinearSDCA("id")).train(inputs(), steps=1)
    head = tw.estimator.MultiLabelHead(2)
    with pytest.raises(ValueError, match="Unsupported head type.*BinaryClassHead or a RegressionHead"):
        tw.estimator.LinearEstimator(head, columns(), optimizer=tw.estimator.experimental.LinearSDCA("name"))
    with pytest.raises(tw.errors.InvalidArgumentError, match=r"example_state_data of shape \[4, 4\], got \[8,4\]"):
        classifier(tmp_path).train(inputs({**PEOPLE, "name": np.array([["a", "b"]] * 4)}), steps=1)


def test_an_embedding_is_the_one_that_the_logits_are_of(tmp_path):
    jobs = tw.feature_column.categorical_column_with_vocabulary_list("job", ["cook", "smith", "nurse"])
    model = tw.estimator.LinearClassifier([tw.feature_column.embedding_column(jobs, 4)], tmp_path,
                                          optimizer=tw.estimator.experimental.LinearSDCA("name", symmetric_l2_regularization=0.01))
    model.train(inputs(labels=np.array([0, 1, 0, 1])), steps=30)
    asked = tw.estimator.inputs.numpy_input_fn(PEOPLE, np.array([0, 1, 0, 1]), 4, shuffle=False)
    assert model.evaluate(asked)["accuracy"] == 1.0
    assert [n for n in model.get_variable_names() if n.endswith("embedding_weights")] == ["linear/linear_model/job_embedding/embedding_weights"]


def test_states_are_dealt_to_tables_by_absolute_fingerprints(tmp_path):
    """As in 1.15, whose checkpoints have the states of an example in the same table."""
    named = {**PEOPLE, "name": np.array([str(i) for i in range(4)])}
    model = classifier(tmp_path, tw.estimator.experimental.LinearSDCA("name", num_table_shards=3)).train(inputs(named), steps=1)
    for k in range(3):
        keys = model.get_variable_value(f"ShardedMutableHashTable-{k + 1}-of-3-keys")
        assert all(abs(int(first)) % 3 == k for first, second in keys if first or second)


def test_an_estimator_of_a_head_has_the_names_of_1_15(tmp_path):
    model = tw.estimator.LinearEstimator(tw.estimator.RegressionHead(), columns(), tmp_path,
                                         optimizer=tw.estimator.experimental.LinearSDCA("name")).train(inputs(), steps=1)
    assert {"linear/linear/linear_model/x/weights", "linear/linear/linear/linear_model/x/weights/part_0_unshrunk"} <= set(model.get_variable_names())
