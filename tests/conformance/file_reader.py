# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow's own readers see in files, as JSON; run by either release: file_reader.py KIND PATH..."""
import base64
import glob
import json
import os
import sys

import numpy as np
import tensorflow

tf = tensorflow.compat.v1 if hasattr(tensorflow.compat, "v1") else tensorflow


def records(path):
    """Each record in base64, and the class of the error that ends them."""
    with open(path, "rb") as f:
        begin = f.read(2)
    kind = {b"\x1f\x8b": "GZIP", b"\x78\x9c": "ZLIB"}.get(begin, "")
    found = []
    try:
        for record in tf.python_io.tf_record_iterator(path, tf.io.TFRecordOptions(compression_type=kind)):
            found.append(base64.b64encode(record).decode())
    except tf.errors.OpError as e:
        return {"records": found, "error": type(e).__name__}
    return {"records": found, "error": None}


def examples(path):
    """Each record of a file as protobuf's JSON; in those of Examples the last one is none."""
    from google.protobuf import json_format

    kind = tf.train.SequenceExample if "sequence" in path else tf.train.Example
    return [json.loads(json_format.MessageToJson(kind.FromString(base64.b64decode(r)))) for r in records(path)["records"][:20]]


def scalars(folder):
    """{tag: [[step, wall time, value]]} in the order of the files."""
    found, plugins = {}, {}
    for path in sorted(glob.glob(os.path.join(folder, "*tfevents*"))):
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                plugins.setdefault((path, value.tag), value.metadata.plugin_data.plugin_name)  # said with a file's first value
                if value.HasField("simple_value"):
                    number = value.simple_value
                elif value.HasField("tensor") and plugins[path, value.tag] == "scalars":
                    number = tf.make_ndarray(value.tensor).item()
                else:
                    continue
                found.setdefault(value.tag, []).append([event.step, event.wall_time, number])
    return found


def text_or_base64(value):
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(bytes(value)).decode()}


def checkpoint(path):
    """{name: [type, shape, values]}; no values of what lies in slices, which this reader does not put together."""
    reader = tf.train.load_checkpoint(path)
    found = {}
    for name, shape in reader.get_variable_to_shape_map().items():
        kind = reader.get_variable_to_dtype_map()[name].name
        try:
            value = np.asarray(reader.get_tensor(name))
        except (NotImplementedError, tf.errors.UnimplementedError):
            found[name] = [kind, list(shape), None]
            continue
        if kind == "string":
            value = np.vectorize(text_or_base64, otypes=[object])(value)
        elif kind == "bfloat16":
            value = value.astype(np.float32)
        values = [[x.real, x.imag] if isinstance(x, complex) else str(x) if isinstance(x, float) and not np.isfinite(x) else x
                  for x in value.ravel().tolist()]
        found[name] = [kind, list(value.shape), values]
    return found


if __name__ == "__main__":
    kind = {"records": records, "examples": examples, "scalars": scalars, "checkpoint": checkpoint}[sys.argv[1]]
    json.dump([kind(path) for path in sys.argv[2:]], sys.stdout)
