# SPDX-License-Identifier: Apache-2.0
"""A model with partitioned variables, in whichever engine: partitioned.py MODULE save|restore PATH VERSION RESOURCE PARTS AXIS. It prints
the values of the variables and their slots, whole, as JSON."""
import importlib
import json
import os
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.filterwarnings("ignore")
import numpy as np

module, verb, path, version, resource, parts, axis = sys.argv[1:]
tf = importlib.import_module(module)
if module == "tensorflow" and not tf.__version__.startswith("1."):
    tf = tf.compat.v1
    tf.disable_v2_behavior()

VALUE = np.arange(40, dtype=np.float32).reshape(10, 4)


def initial(shape, dtype=None, partition_info=None):
    at = partition_info.var_offset
    return tf.constant(VALUE[tuple(slice(o, o + n) for o, n in zip(at, [int(s) for s in shape]))])


part = tf.get_variable("part", [10, 4], initializer=initial, use_resource=resource == "resource",
                       partitioner=tf.fixed_size_partitioner(int(parts), axis=int(axis)))
single = tf.get_variable("single", initializer=tf.constant([1.0, 2.0]), use_resource=resource == "resource")
loss = tf.reduce_sum(tf.convert_to_tensor(part) ** 2) + tf.reduce_sum(single ** 2)
optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
train = optimizer.minimize(loss)
slots = tf.concat([optimizer.get_slot(v, "momentum") for v in part], int(axis))
saver = tf.train.Saver(write_version=int(version))
with tf.Session() as session:
    if verb == "save":
        session.run(tf.global_variables_initializer())
        session.run(train)
        saver.save(session, path)
    else:
        saver.restore(session, path)
    found = session.run({"part": tf.convert_to_tensor(part), "single": single, "slots": slots})
reader = tf.train.NewCheckpointReader(path)
shapes = {k: list(v) for k, v in reader.get_variable_to_shape_map().items()}
if module == "thalweg":  # TensorFlow's reader does not put slices of format V1 together
    names = {"part": "part", "slots": "part/Momentum", "single": "single"}
    assert all((reader.get_tensor(name) == found[key]).all() for key, name in names.items())
print(json.dumps({"values": {k: v.tolist() for k, v in found.items()}, "shapes": shapes}, sort_keys=True))
