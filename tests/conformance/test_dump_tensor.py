# SPDX-License-Identifier: Apache-2.0
"""DumpTensor: the records that both engines write."""
import os

import numpy as np
import pytest
from both import PLAIN, tf

import thalweg as tw

VALUES = {"matrix": np.arange(6, dtype=np.float32).reshape(2, 3), "texts": np.array([b"a", b"", b"bc" * 100], object), "number": np.int64(-3),
          "complex": np.array([1 + 2j]), "truths": np.array([True, False]), "nothing": np.zeros([0, 2], np.float32), "large": np.arange(50000, dtype=np.int32)}


def dump(module, folder, value, runs=2, **attrs):
    """What is in the folder afterwards: the records, and the bytes beside them."""
    kind = module.as_dtype(np.asarray(value).dtype if np.asarray(value).dtype != object else module.string).as_datatype_enum
    made = module.GraphDef()
    made.node.add(name="x", op="Placeholder").attr["dtype"].type = kind
    node = made.node.add(name="dump", op="DumpTensor", input=["x"])
    node.attr["T"].type = kind
    given = {"log_dir_path": folder, "file_name": "dumped", "func_name": "f", "node_name": "n", **attrs}
    node.attr["enabled"].b = given.pop("enabled", True)
    for name, text in given.items():
        node.attr[name].s = text.encode()
    with module.Graph().as_default():
        module.import_graph_def(made, name="")
        with module.Session(config=PLAIN if module is tf else None) as session:
            for _ in range(runs):
                session.run("dump", {"x:0": value})
    options = tf.io.TFRecordOptions(compression_type="ZLIB")
    with open(os.path.join(folder, "quant_unit.pb"), "rb") as unit:
        return list(tf.io.tf_record_iterator(os.path.join(folder, "dumped"), options)), unit.read()


@pytest.mark.parametrize("attrs", [{}, {"enabled": False}, {"func_name": "", "node_name": "a/b"}, {"func_name": "g" * 200, "node_name": ""}])
@pytest.mark.parametrize("name", VALUES)
def test_records(tmp_path, name, attrs):
    if attrs and name != "matrix":
        pytest.skip("one value is enough")
    theirs = dump(tf, str(tmp_path / "theirs" / "in"), VALUES[name], **attrs)
    assert theirs == dump(tw, str(tmp_path / "ours" / "in"), VALUES[name], **attrs)
    assert len(theirs[0]) == (0 if attrs.get("enabled") is False else 2)


def test_a_folder_that_cannot_be_made():
    with pytest.raises(tw.errors.NotFoundError, match="/proc/nowhere"):  # ends TensorFlow's process
        dump(tw, "/proc/nowhere", np.float32(1))
