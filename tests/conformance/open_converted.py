# SPDX-License-Identifier: Apache-2.0
"""Runs what was converted under this TensorFlow: open_converted.py DIRECTORY. DIRECTORY/converted/MODEL,SIGNATURE is a GraphDef or a
SavedModel; DIRECTORY/MODEL,SIGNATURE,N.npz are cases as of models_of_1_15.py. Prints how many gave what was recorded."""
import glob
import os
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.ERROR)


def load(session, path, signature):
    """({input: tensor}, {output: tensor}), each a function of a name."""
    if os.path.isdir(path):
        loaded = v1.saved_model.load(session, ["serve"], path).signature_def[signature]
        return lambda name: loaded.inputs[name].name, lambda name: loaded.outputs[name].name
    graph_def = v1.GraphDef()
    with open(path, "rb") as f:
        graph_def.ParseFromString(f.read())
    tf.import_graph_def(graph_def, name="")
    return (lambda name: name + ":0"), (lambda name: name + ":0")


def same(found, wanted, name):
    if wanted.dtype.kind in "OSU":
        assert [bytes(v) for v in np.ravel(found)] == [bytes(v) for v in np.ravel(wanted)], name
    else:
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5, err_msg=name)


count = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "converted", "*"))):
    name, signature = os.path.basename(path).split(",")
    cases = sorted(glob.glob(os.path.join(sys.argv[1], glob.escape("%s,%s," % (name, signature)) + "*.npz")))
    with tf.Graph().as_default(), v1.Session() as session:
        try:
            input_of, output_of = load(session, path, signature)
        except (ValueError, RuntimeError) as error:
            if "Op type not registered" not in str(error) and "NodeDef mentions attr" not in str(error):
                raise
            print("newer than this release: " + os.path.basename(path), file=sys.stderr)
            continue
        for case in cases:
            with np.load(case, allow_pickle=True) as recorded:
                arrays = {k: recorded[k] for k in recorded.files}
            if "out." in arrays:
                continue
            feeds = {input_of(k[3:]): v for k, v in arrays.items() if k.startswith("in.")}
            # Where an input and an output of a graph have one name, the output gets another.
            wanted = {k[4:] + "_1" if os.path.isfile(path) and "in." + k[4:] in arrays else k[4:]: v for k, v in arrays.items()
                      if k.startswith("out.")}
            wanted = {output_of(k): v for k, v in wanted.items()}
            for tensor, found in session.run({t: t for t in wanted}, feeds).items():
                same(found, wanted[tensor], "%s: %s" % (case, tensor))
            count += 1
print(count)
