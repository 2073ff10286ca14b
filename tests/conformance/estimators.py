# SPDX-License-Identifier: Apache-2.0
"""A wide and deep model that one release trains and exports, and another one goes on with:

    estimators.py write FOLDER      trains five steps, exports, keeps what the model predicts
    estimators.py read FOLDER       restores the model, predicts, trains one step more; prints what it found as JSON
    estimators.py load FOLDER       what the exported model answers, without an Estimator
"""
import glob
import json
import os
import sys

import numpy as np

ROWS = {"age": np.array([20.0, 50.0, 30.0, 70.0], np.float32), "job": np.array(["cook", "clerk", "smith", "cook"]),
        "town": np.array(["here", "there", "here", "far"])}
LABELS = np.array([0, 1, 0, 1])


def columns(tf):
    fc = tf.feature_column
    age, town = fc.numeric_column("age"), fc.categorical_column_with_hash_bucket("town", 10)
    job = fc.categorical_column_with_vocabulary_list("job", ["cook", "clerk"], num_oov_buckets=1)
    decades = fc.bucketized_column(age, [25.0, 40.0, 60.0])
    return [decades, town, fc.crossed_column([decades, "job"], 20)], [age, fc.indicator_column(job), fc.embedding_column(town, 3)]


def model(tf, folder):
    wide, deep = columns(tf)
    return tf.estimator.DNNLinearCombinedClassifier(os.path.join(folder, "model"), linear_feature_columns=wide, dnn_feature_columns=deep,
                                                    dnn_hidden_units=[5, 3], config=tf.estimator.RunConfig(tf_random_seed=1))


def inputs(tf, labels=None, epochs=1):
    return tf.estimator.inputs.numpy_input_fn(ROWS, labels, 4, num_epochs=epochs, shuffle=False)


def predicted(tf, made):
    return [row["probabilities"].tolist() for row in made.predict(inputs(tf))]


def examples(tf):
    """The rows as serialized Examples."""
    found = []
    for i in range(len(LABELS)):
        feature = {k: tf.train.Feature(bytes_list=tf.train.BytesList(value=[v[i].encode()])) if v.dtype.kind == "U" else
                   tf.train.Feature(float_list=tf.train.FloatList(value=[v[i]])) for k, v in ROWS.items()}
        found.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return found


def write(tf, folder):
    made = model(tf, folder)
    made.train(inputs(tf, LABELS, None), steps=5)
    wide, deep = columns(tf)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(tf.feature_column.make_parse_example_spec(wide + deep))
    made.export_saved_model(os.path.join(folder, "export"), receiver)
    return {"probabilities": predicted(tf, made)}


def read(tf, folder):
    made = model(tf, folder)
    found = {"probabilities": predicted(tf, made), "metrics": sorted(made.evaluate(inputs(tf, LABELS)))}
    made.train(inputs(tf, LABELS, None), steps=1)
    found["step"] = int(made.get_variable_value("global_step"))
    return found


def exported(folder):
    """The path of the exported model."""
    return glob.glob(os.path.join(folder, "export", "*"))[0]


def load(tf, folder):
    v1 = tf.compat.v1
    found = {}
    with v1.Graph().as_default(), v1.Session() as session:
        signatures = v1.saved_model.load(session, ["serve"], exported(folder)).signature_def
        found["signatures"] = sorted(signatures)
        for name, given, output in (("predict", "examples", "probabilities"), ("serving_default", "inputs", "scores"),
                                    ("regression", "inputs", "outputs")):
            s = signatures[name]
            found[name] = session.run(s.outputs[output].name, {s.inputs[given].name: examples(tf)}).tolist()
    return found


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    print(json.dumps({"write": write, "read": read, "load": load}[sys.argv[1]](tensorflow, sys.argv[2])))
