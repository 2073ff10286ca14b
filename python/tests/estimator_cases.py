# SPDX-License-Identifier: Apache-2.0
"""Ready-made models and heads whose variables, losses, metrics and predictions TensorFlow 1.15 has recorded in
estimator_recorded.json.

With the real one: python estimator_cases.py > estimator_recorded.json
Each case is a function of tensorflow that gives numbers, texts, lists and dictionaries of them. Models begin from variables of a
checkpoint with the same numbers in every run, so that no case depends on random numbers.
"""
import json
import os
import sys
import tempfile

import numpy as np

from feature_column_cases import filled, plain, raised


def people(count=40, seed=3):
    """Features and labels of the census program's shape."""
    draw = np.random.RandomState(seed)
    features = {"age": draw.randint(17, 80, count).astype(np.float32), "hours": draw.uniform(10, 60, count).astype(np.float32),
                "job": np.array(["cook", "clerk", "nurse", "smith"])[draw.randint(0, 4, count)],
                "school": np.array(["none", "some", "all"])[draw.randint(0, 3, count)],
                "weight": draw.uniform(0.5, 2.0, count).astype(np.float32)}
    rich = ((features["age"] > 40) & (features["hours"] > 30)).astype(np.int32)
    return features, rich


def wide_and_deep(tf):
    """Columns as the census program has them."""
    fc = tf.feature_column
    age, hours = fc.numeric_column("age"), fc.numeric_column("hours", normalizer_fn=lambda x: (x - 35.0) / 15.0)
    decades = fc.bucketized_column(age, [25, 35, 45, 60])
    job = fc.categorical_column_with_hash_bucket("job", 10)
    school = fc.categorical_column_with_vocabulary_list("school", ["none", "some", "all"])
    wide = [decades, job, school, fc.crossed_column(["job", "school"], 20), fc.crossed_column([decades, school, "job"], 50)]
    return wide, [hours, fc.indicator_column(school), fc.embedding_column(job, 3)]


def inputs(tf, features, labels=None, epochs=1, size=10):
    return tf.estimator.inputs.numpy_input_fn(features, labels, size, num_epochs=epochs, shuffle=False)


def first_checkpoint(tf, make, features, labels):
    """The path of a checkpoint with the variables of a model after no step, each with its own numbers."""
    folder = tempfile.mkdtemp()
    made = make(folder, None)
    made.train(inputs(tf, features, labels, None), steps=1)
    path = tf.train.latest_checkpoint(folder)
    names = [n for n, _ in tf.train.list_variables(path) if n != "global_step" and n.rsplit("/", 1)[-1] in (
        "weights", "bias_weights", "kernel", "bias", "beta", "gamma", "embedding_weights")]
    shapes = dict(tf.train.list_variables(path))
    with tf.Graph().as_default(), tf.Session() as session:
        kept = [tf.get_variable(n, initializer=0.3 * filled(tf, shapes[n], i)) for i, n in enumerate(sorted(names))]
        session.run(tf.global_variables_initializer())
        return tf.train.Saver(kept).save(session, os.path.join(folder, "first"), write_meta_graph=False)


class Losses(object):
    """A hook that keeps the loss of each step."""

    def __new__(cls, tf):
        class Hook(tf.train.SessionRunHook):
            found = []

            def begin(self):
                self.found = []
                self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

            def before_run(self, run_context):
                return tf.train.SessionRunArgs(self.loss)

            def after_run(self, run_context, run_values):
                self.found.append(float(run_values.results))
        return Hook()


def trained(tf, make, features, labels, steps=12):
    """Losses of a dozen steps from given variables, then variables, metrics and predictions."""
    model = make(tempfile.mkdtemp(), first_checkpoint(tf, make, features, labels))
    hook = Losses(tf)
    model.train(inputs(tf, features, labels, None), steps=steps, hooks=[hook])
    path = tf.train.latest_checkpoint(model.model_dir)
    return [hook.found, [[n, list(s)] for n, s in tf.train.list_variables(path)],
            {k: float(v) for k, v in model.evaluate(inputs(tf, features, labels)).items()},
            [{k: v for k, v in row.items()} for row in model.predict(inputs(tf, features))][:3]]




def linear_classifier(tf):
    features, rich = people()
    return trained(tf, lambda folder, start: tf.estimator.LinearClassifier(wide_and_deep(tf)[0], folder, warm_start_from=start),
                   features, rich)


def linear_classifier_of_three(tf):
    features, rich = people()
    return trained(tf, lambda folder, start: tf.estimator.LinearClassifier(
        wide_and_deep(tf)[0], folder, n_classes=3, optimizer=tf.train.GradientDescentOptimizer(0.01), sparse_combiner="mean",
        warm_start_from=start), features, rich + (features["age"] > 60))


def linear_classifier_weighted(tf):
    features, rich = people()
    names = np.array(["poor", "rich"])[rich]
    return trained(tf, lambda folder, start: tf.estimator.LinearClassifier(
        wide_and_deep(tf)[0], folder, weight_column="weight", label_vocabulary=["poor", "rich"], optimizer="Adam",
        loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE, warm_start_from=start), features, names)


def linear_classifier_of_many_columns(tf):
    features, rich = people()
    wide = wide_and_deep(tf)[0][:3] + [tf.feature_column.numeric_column("c%d" % i) for i in range(30)]
    features.update(("c%d" % i, np.sin(np.arange(40) * (i + 1)).astype(np.float32)) for i in range(30))
    found = trained(tf, lambda folder, start: tf.estimator.LinearClassifier(wide, folder, warm_start_from=start), features, rich)
    return [found[0], found[2]]


def ascended(tf, make, features, labels, steps=80, size=1):
    """What dual coordinate ascent makes of a linear model: an example a step, as their order within a step is random in 1.15."""
    features = dict(features, name=np.array(["person %d" % i for i in range(len(labels))]))
    model = make(tempfile.mkdtemp(), tf.estimator.experimental.LinearSDCA)
    model.train(inputs(tf, features, labels, None, size), steps=steps)
    variables = tf.train.list_variables(tf.train.latest_checkpoint(model.model_dir))
    return [sorted(n for n, _ in variables), {n: model.get_variable_value(n) for n, _ in variables if "weights" in n},
            {k: float(v) for k, v in model.evaluate(inputs(tf, features, labels)).items()},
            list(model.predict(inputs(tf, features)))[:3]]


def sdca_classifier(tf):
    features, rich = people()
    wide = wide_and_deep(tf)[0][:3] + wide_and_deep(tf)[1][:1] + [tf.feature_column.weighted_categorical_column(
        tf.feature_column.categorical_column_with_identity("level", 4), "weight")]
    features["level"] = np.arange(len(rich)) % 4
    names = np.array([0.0, 1.0])[rich]
    return ascended(tf, lambda folder, sdca: tf.estimator.LinearClassifier(
        wide, folder, weight_column="weight", optimizer=sdca("name", symmetric_l1_regularization=0.05, symmetric_l2_regularization=0.5)),
        features, names)


def sdca_regressor(tf):
    features, _ = people()
    wide, deep = wide_and_deep(tf)
    made = ascended(tf, lambda folder, sdca: tf.estimator.LinearRegressor(
        wide[:3] + deep[:1], folder, optimizer=sdca("name", num_loss_partitions=2, num_table_shards=3, adaptive=True)), features,
        features["hours"] / 10)
    converged = ascended(tf, lambda folder, sdca: tf.estimator.LinearRegressor(wide[:3] + deep[:1], folder, optimizer=sdca("name")),
                         features, features["hours"] / 10, steps=400, size=10)
    return made + [{k: round(converged[2][k], 1) for k in ("average_loss", "prediction/mean")}]


def sdca_mistakes(tf):
    e, sdca = tf.estimator, tf.estimator.experimental.LinearSDCA("name")
    x = tf.feature_column.numeric_column("x")

    def train(model):
        return lambda: model().train(inputs(tf, {"x": np.ones(4, np.float32), "name": np.array(list("abcd"))},
                                            np.ones(4, np.float32)), steps=1)
    return [raised(made) for made in (
        train(lambda: e.LinearClassifier([x], n_classes=3, optimizer=sdca)),
        train(lambda: e.LinearClassifier([x], sparse_combiner="mean", optimizer=sdca)),
        train(lambda: e.LinearRegressor([x], label_dimension=2, optimizer=sdca)))]


def linear_regressor(tf):
    features, rich = people()
    return trained(tf, lambda folder, start: tf.estimator.LinearRegressor(wide_and_deep(tf)[0], folder, warm_start_from=start),
                   features, features["hours"] / 10)


def dnn_classifier(tf):
    features, rich = people()
    return trained(tf, lambda folder, start: tf.estimator.DNNClassifier([6, 4], wide_and_deep(tf)[1], folder, warm_start_from=start),
                   features, rich)


def dnn_classifier_normalized(tf):
    features, rich = people()
    return trained(tf, lambda folder, start: tf.estimator.DNNClassifier(
        [6, 4], wide_and_deep(tf)[1], folder, n_classes=3, batch_norm=True, activation_fn=tf.nn.tanh, optimizer="RMSProp",
        warm_start_from=start), features, rich)


def dnn_regressor(tf):
    features, rich = people()
    labels = np.stack([features["hours"] / 10, rich], 1).astype(np.float32)
    return trained(tf, lambda folder, start: tf.estimator.DNNRegressor(
        [5], wide_and_deep(tf)[1], folder, label_dimension=2, weight_column=tf.feature_column.numeric_column("weight"),
        optimizer=lambda: tf.train.AdamOptimizer(0.01), warm_start_from=start), features, labels)


def wide_and_deep_classifier(tf):
    features, rich = people()
    wide, deep = wide_and_deep(tf)
    return trained(tf, lambda folder, start: tf.estimator.DNNLinearCombinedClassifier(
        folder, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[8, 4], warm_start_from=start), features, rich)


def wide_and_deep_regressor(tf):
    features, rich = people()
    wide, deep = wide_and_deep(tf)
    return trained(tf, lambda folder, start: tf.estimator.DNNLinearCombinedRegressor(
        folder, linear_feature_columns=wide, linear_optimizer="SGD", dnn_feature_columns=deep, dnn_optimizer="Adam",
        dnn_hidden_units=[8, 4], warm_start_from=start), features, features["hours"] / 10)


def baseline_classifier(tf):
    features, rich = people()
    model = tf.estimator.BaselineClassifier(n_classes=3)
    model.train(inputs(tf, features, rich, None), steps=10)
    return [[[n, list(s)] for n, s in tf.train.list_variables(model.model_dir)],
            {k: float(v) for k, v in model.evaluate(inputs(tf, features, rich)).items()},
            [dict(row) for row in model.predict(inputs(tf, features))][:1]]


def baseline_regressor(tf):
    features, rich = people()
    model = tf.estimator.BaselineRegressor()
    model.train(inputs(tf, features, features["hours"], None), steps=10)
    return [{k: float(v) for k, v in model.evaluate(inputs(tf, features, features["hours"])).items()},
            [dict(row) for row in model.predict(inputs(tf, features))][:1]]


def estimators_of_heads(tf):
    features, rich = people()
    wide, deep = wide_and_deep(tf)
    heads, e = tf.contrib.estimator, tf.estimator
    combined = heads.multi_head([heads.binary_classification_head(name="rich"), heads.regression_head(name="time")], [1.0, 0.1])
    labels = {"rich": rich, "time": features["hours"]}
    found = [trained(tf, lambda folder, start: e.LinearEstimator(heads.poisson_regression_head(), wide, folder), features, rich)[2]]
    model = e.BaselineEstimator(combined)
    model.train(inputs(tf, features, labels, None), steps=10)
    found.append({k: float(v) for k, v in model.evaluate(inputs(tf, features, labels)).items()})
    found.append({str(k): v for k, v in next(model.predict(inputs(tf, features))).items()})
    return found


# ---- heads ----
ONE, THREE = [[-1.0], [2.0], [0.5]], [[1.0, 2.0, -1.0], [0.0, 0.5, 1.0], [3.0, 1.0, 1.0]]


def head(tf, made, logits, labels):
    """What a head says of logits in each mode."""
    found = []
    for mode in ("eval", "infer", "train"):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            features = {"w": tf.constant([[1.0], [0.0], [2.5]])}
            labeled = None if mode == "infer" else labels(tf) if callable(labels) else tf.constant(labels)
            more = {"train_op_fn": lambda loss: tf.no_op()} if mode == "train" else {}
            spec = made().create_estimator_spec(features, mode, tf.constant(logits), labeled, **more)
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            if mode == "infer":
                outputs = {}
                for key, output in spec.export_outputs.items():
                    outputs[str(key)] = [type(output).__name__, sorted(getattr(output, "outputs", {}))]
                found.append([{str(k): [v.dtype.name, session.run(v)] for k, v in spec.predictions.items()}, outputs])
            elif mode == "eval":
                pairs = {k: (v.result(), v.updates) if hasattr(v, "result") else v for k, v in spec.eval_metric_ops.items()}
                session.run([update for _, update in pairs.values()])
                found.append([session.run(spec.loss), {k: session.run(value) for k, (value, _) in pairs.items()}])
            else:
                found.append([session.run(spec.loss), sorted(t.op.name for t in graph.get_collection("summaries"))])
    return found


def heads_of_contrib(tf):
    h, numbers = tf.contrib.estimator, [[0.0], [1.0], [2.0]]
    return {
        "binary": head(tf, lambda: h.binary_classification_head(), ONE, [[0], [1], [0]]),
        "binary_flat": head(tf, lambda: h.binary_classification_head(thresholds=[0.3, 0.75]), ONE, [0, 1, 1]),
        "binary_weighted": head(tf, lambda: h.binary_classification_head(weight_column="w", thresholds=[0.3, 0.75]), ONE, [[0], [1], [1]]),
        "binary_of_words": head(tf, lambda: h.binary_classification_head(label_vocabulary=["a", "b"], name="h",
                                                                         loss_reduction=tf.losses.Reduction.SUM), ONE,
                                [["a"], ["b"], ["b"]]),
        "classes": head(tf, lambda: h.multi_class_head(3, name="m"), THREE, [[0], [2], [1]]),
        "classes_weighted": head(tf, lambda: h.multi_class_head(3, weight_column="w"), THREE, [[0], [2], [1]]),
        "classes_of_words": head(tf, lambda: h.multi_class_head(3, label_vocabulary=["a", "b", "c"]), THREE, [["a"], ["c"], ["b"]]),
        "regression": head(tf, lambda: h.regression_head(), ONE, numbers),
        "regression_weighted": head(tf, lambda: h.regression_head(weight_column="w", label_dimension=3), THREE,
                                    [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]]),
        "poisson": head(tf, lambda: h.poisson_regression_head(name="p"), ONE, numbers),
        "logistic": head(tf, lambda: h.logistic_regression_head(), ONE, [[0.0], [0.5], [1.0]]),
        "labels": head(tf, lambda: h.multi_label_head(3, thresholds=[0.4], classes_for_class_based_metrics=[0, 2]), THREE,
                       [[0, 1, 0], [1, 1, 0], [0, 0, 1]]),
        "labels_of_words": head(tf, lambda: h.multi_label_head(3, weight_column="w", label_vocabulary=["a", "b", "c"]), THREE,
                                lambda tf: tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2])),
        "own_loss": head(tf, lambda: h.regression_head(loss_fn=lambda labels, logits: tf.abs(labels - logits),
                                                       inverse_link_fn=lambda x: 2.0 * x), ONE, numbers),
    }


def heads_of_classes(tf):
    e = tf.estimator
    return {
        "binary": head(tf, lambda: e.BinaryClassHead(), ONE, [[0], [1], [1]]),
        "classes": head(tf, lambda: e.MultiClassHead(3, name="m"), THREE, [[0], [2], [1]]),
        "regression": head(tf, lambda: e.RegressionHead(), ONE, [[0.0], [1.0], [2.0]]),
        "poisson": head(tf, lambda: e.PoissonRegressionHead(), ONE, [[0.0], [1.0], [2.0]]),
        "logistic": head(tf, lambda: e.LogisticRegressionHead(), ONE, [[0.0], [0.5], [1.0]]),
        "labels": head(tf, lambda: e.MultiLabelHead(3, thresholds=[0.4]), THREE, [[0, 1, 0], [1, 1, 0], [0, 0, 1]]),
    }


def multi_head(tf):
    h = tf.contrib.estimator
    return head(tf, lambda: h.multi_head([h.binary_classification_head(name="a"), h.regression_head(name="b")], [1.0, 2.0]),
                [[-1.0, -1.0], [2.0, 2.0], [0.5, 0.5]],
                lambda tf: {"a": tf.constant([[0], [1], [0]]), "b": tf.constant([[0.0], [1.0], [2.0]])})


def mistakes(tf):
    h, e, fc = tf.contrib.estimator, tf.estimator, tf.feature_column
    x = fc.numeric_column("x")

    def spec(made, logits, labels, mode="eval"):
        return lambda: bool(made().create_estimator_spec({}, mode, tf.constant(logits), None if labels is None else tf.constant(labels)))
    tries = [
        spec(lambda: h.binary_classification_head(), ONE, [[0, 1], [1, 0], [0, 0]]),
        spec(lambda: h.multi_class_head(4), THREE, [[0], [2], [1]]), spec(lambda: h.binary_classification_head(), ONE, None),
        spec(lambda: h.multi_class_head(3), THREE, [["a"], ["b"], ["c"]]), spec(lambda: h.multi_class_head(2), THREE, [[0], [2], [1]]),
        spec(lambda: h.multi_class_head(3, label_vocabulary="a"), THREE, [[0], [2], [1]]),
        spec(lambda: h.multi_class_head(3, label_vocabulary=["a", "b", "c"]), THREE, [[0], [2], [1]]),
        spec(lambda: h.binary_classification_head(thresholds=[1.2]), ONE, [[0], [1], [0]]),
        spec(lambda: h.regression_head(label_dimension=0), ONE, [[0.0]]), spec(lambda: h.multi_label_head(1), ONE, [[0.0]]),
        lambda: h.multi_head([]), lambda: h.multi_head([h.regression_head()]),
        lambda: h.multi_head([h.regression_head(name="a")], [1.0, 2.0]),
        lambda: e.DNNLinearCombinedClassifier(),
        lambda: e.classifier_parse_example_spec([x], "x"), lambda: e.classifier_parse_example_spec([x], "y", weight_column="x"),
        lambda: e.export.ClassificationOutput(), lambda: e.export.ClassificationOutput(scores=5), lambda: e.export.RegressionOutput(5),
        lambda: e.export.PredictOutput({3: tf.constant(1)}), lambda: e.export.ServingInputReceiver(None, None),
        lambda: e.export.ServingInputReceiver({"a": tf.constant(1)}, None), lambda: e.export.ServingInputReceiver({1: tf.constant(1)}, None),
        lambda: e.export.TensorServingInputReceiver({"a": tf.constant(1)}, tf.constant(1)),
        lambda: e.LatestExporter("a", None, exports_to_keep=0), lambda: e.BestExporter(exports_to_keep=0),
        lambda: e.LinearClassifier([x]).export_savedmodel("x", None),
        lambda: e.DNNClassifier([3], [x], optimizer="What").train(inputs(tf, {"x": np.zeros(3)}, np.zeros(3, np.int32)), steps=1),
    ]
    return [raised(attempt) for attempt in tries]


def parse_specs(tf):
    e, x = tf.estimator, tf.feature_column.numeric_column("x")
    return [{k: repr(v) for k, v in spec.items()} for spec in (
        e.classifier_parse_example_spec([x], "y"), e.classifier_parse_example_spec([x], "y", tf.string, "a", "w"),
        e.regressor_parse_example_spec([x], "y", label_dimension=3))]


CASES = [linear_classifier, linear_classifier_of_three, linear_classifier_weighted, linear_classifier_of_many_columns,
         linear_regressor, sdca_classifier, sdca_regressor, sdca_mistakes, dnn_classifier, dnn_classifier_normalized, dnn_regressor,
         wide_and_deep_classifier, wide_and_deep_regressor,
         baseline_classifier, baseline_regressor, estimators_of_heads, heads_of_contrib, heads_of_classes, multi_head, mistakes,
         parse_specs]


def results(tf, case):
    with tf.Graph().as_default():
        return plain(case(tf))


if __name__ == "__main__":
    import tensorflow
    tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
    rows = []
    for chosen in CASES:
        if len(sys.argv) > 1 and chosen.__name__ not in sys.argv[1:]:
            continue
        try:
            kept = results(tensorflow, chosen)
        except Exception as error:
            sys.stderr.write("CASE %s: %r\n" % (chosen.__name__, error))
            continue
        rows.append(json.dumps(chosen.__name__) + ": " + json.dumps(kept, separators=(",", ":"), sort_keys=True))
        sys.stderr.write("CASE %s is done\n" % chosen.__name__)
    print("{\n" + ",\n".join(rows) + "\n}")
