# SPDX-License-Identifier: Apache-2.0
"""Programs written for TPUs, run on the CPU; texts as numbers; TensorBoard's projector."""
import numpy as np
import pytest
import thalweg as tw

tpu = tw.contrib.tpu


def _model(features, labels, mode, params):
    w = tw.get_variable("w", [], initializer=tw.zeros_initializer())
    loss = tw.losses.mean_squared_error(labels, features * w)
    optimizer = tpu.CrossShardOptimizer(tw.train.GradientDescentOptimizer(0.5))
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=optimizer.minimize(loss, global_step=tw.train.get_global_step()),
        eval_metrics=(lambda seen, size: {"size": tw.metrics.mean(size), "mean": tw.metrics.mean(seen)},
                      [labels, tw.fill([2], float(params["batch_size"]))]))


def _input(params):
    x = np.arange(8, dtype=np.float32) / 4
    return tw.estimator.inputs.numpy_input_fn(x, 2 * x, batch_size=params["batch_size"], num_epochs=8, shuffle=False)()


def test_a_tpu_estimator_on_the_cpu(tmp_path):
    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(iterations_per_loop=10, num_shards=8))
    made = tpu.TPUEstimator(_model, config=config, use_tpu=False, train_batch_size=8, eval_batch_size=4)
    found = made.train(_input).evaluate(_input, steps=2)
    np.testing.assert_allclose([found["size"], found["mean"], found["global_step"]], [4, 1.75, 8])
    assert abs(made.get_variable_value("w") - 2) < 0.01 and config.tpu_config.num_shards == 8
    assert made.config.replace(save_summary_steps=5).tpu_config.num_shards == 8


def test_a_tpu_is_refused():
    with pytest.raises(NotImplementedError, match="no TPU"):
        tpu.TPUEstimator(_model, config=tpu.RunConfig(), train_batch_size=8)
    with pytest.raises(NotImplementedError, match="no TPU"):
        tw.contrib.cluster_resolver.TPUClusterResolver("grpc://10.0.0.1")
    with pytest.raises(ValueError, match="RunConfig"):
        tpu.TPUEstimator(_model, use_tpu=False)
    with pytest.raises(ValueError, match="reserved"):
        tpu.TPUEstimator(_model, config=tpu.RunConfig(), params={"batch_size": 1}, use_tpu=False)
    with pytest.raises(ValueError, match="positive"):
        tpu.TPUConfig(iterations_per_loop=0)


def test_vocabularies(tmp_path):
    kind = tw.contrib.learn.preprocessing.VocabularyProcessor
    made = kind(4)
    assert np.array(list(made.fit_transform(["a b c's", "I'm a big-dog b c d e"]))).tolist() == [[1, 2, 3, 0], [4, 1, 5, 2]]
    assert len(made.vocabulary_) == 9 and list(made.reverse([[1, 2, 0, 0]])) == ["a b <UNK> <UNK>"]
    assert np.array(list(made.transform(["zz a"]))).tolist() == [[0, 1, 0, 0]]
    made.save(str(tmp_path / "words"))
    assert kind.restore(str(tmp_path / "words")).vocabulary_.get("big-dog") == 5
    rare = kind(4, min_frequency=1)
    assert np.array(list(rare.fit_transform(["a b a c", "b c d c"]))).tolist() == [[2, 3, 2, 1], [3, 1, 0, 1]]


def test_the_projector(tmp_path):
    projector = tw.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    shown = config.embeddings.add()
    shown.tensor_name, shown.metadata_path = "emb:0", "words.tsv"
    shown.sprite.single_image_dim.extend([28, 28])
    projector.visualize_embeddings(tw.summary.FileWriter(str(tmp_path)), config)
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'embeddings {\n  tensor_name: "emb:0"\n  metadata_path: "words.tsv"\n  sprite {\n    single_image_dim: 28\n'
        '    single_image_dim: 28\n  }\n}\n')
