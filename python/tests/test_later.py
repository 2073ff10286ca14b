# SPDX-License-Identifier: Apache-2.0
"""Names of 1.15 that are missing: programs can take them; they say what is missing when they are used."""
import json
import os
import subprocess
import sys

import pytest
import thalweg as tw
from thalweg.base import later, names

FACTS = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "tf_facts")
SAYS = "of TensorFlow 1.15 is not implemented in Thalweg"


def symbols():
    found = {}
    for file in ("python_api_v1.json", "contrib_api_v1.json"):
        with open(os.path.join(FACTS, file)) as f:
            found.update(json.load(f)["symbols"])
    return {p: row for p, row in found.items() if row["kind"] in ("class", "exception", "function")}


def taken(path):
    """What the text of a program gets for a path."""
    return eval(path, {"tf": tw})


def test_every_class_and_function_of_the_release_can_be_taken():
    missing, refused = 0, []
    for path, row in symbols().items():
        value = taken(path)
        if not later.is_stand_in(value):
            continue
        missing += 1
        try:
            value()
        except NotImplementedError as error:
            if f".{path.rpartition('.')[2]} {SAYS}" not in str(error):
                refused.append((path, str(error)))
        if row["kind"] != "function":
            assert not isinstance(3, value) and isinstance(type("Mine", (value,), {}), type)
    assert missing > 300 and refused == []


def test_a_class_can_be_a_base_and_says_its_name_when_an_object_is_made():
    class Mine(tw.keras.layers.Layer):
        def __init__(self, size):
            super().__init__()

    with pytest.raises(NotImplementedError, match=f"tf.keras.layers.Layer {SAYS}"):
        Mine(3)


def test_methods_that_need_no_object_say_their_name():
    with pytest.raises(NotImplementedError, match=f"tf.lite.TFLiteConverter.from_session {SAYS}"):
        tw.lite.TFLiteConverter.from_session(1, [], [])


@pytest.mark.parametrize("path", sorted(names.ABSENT))
def test_modules_that_programs_ask_for_are_absent(path):
    *folders, name = path.split(".")
    home = tw
    for folder in folders:
        home = getattr(home, folder)
    assert not hasattr(home, name) and getattr(home, name, None) is None and name not in dir(home)
    assert taken("tf." + path) is not None and not hasattr(home, name)  # taking it does not make it appear


def test_a_module_of_contrib_that_is_missing_is_absent_but_its_names_can_be_taken():
    assert not hasattr(tw.contrib, "resampler")
    with pytest.raises(NotImplementedError, match=f"tf.contrib.resampler.resampler {SAYS}"):
        tw.contrib.resampler.resampler(1, 2)


def test_a_name_that_the_release_does_not_have_is_a_plain_error():
    for path in ("tf.data.Datasett", "tf.keras.layers.Lyer", "tf.contrib.resampler.resample"):
        with pytest.raises(AttributeError) as error:
            taken(path)
        assert error.type is AttributeError


def launched(program):
    done = subprocess.run([sys.executable, "-c", "import thalweg.as_tensorflow\n" + program], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_private_names_can_be_imported():
    out = launched("""
from tensorflow.python.debug import GrpcDebugWrapperSession
from tensorflow.python.data.ops.dataset_ops import DatasetV1 as D
from tensorflow.python.feature_column import sequence_feature_column
from tensorflow.contrib.slim.python.slim.learning import train_step
class Mine(sequence_feature_column.SequenceFeatures, D): pass
for make in (Mine, GrpcDebugWrapperSession, train_step):
    try: make()
    except NotImplementedError as error: print(error)
try:
    from tensorflow.python.framework.ops import no_such_thing
except ImportError as error: print("ImportError")
try:
    import tensorflow.lite
except ImportError as error: print("ImportError")
try:
    from tensorflow import lite
except ImportError as error: print("ImportError")
""")
    assert out.splitlines() == [
        f"tensorflow.python.feature_column.sequence_feature_column.SequenceFeatures {SAYS}",
        f"tensorflow.python.debug.wrappers.grpc_wrapper.GrpcDebugWrapperSession {SAYS}",
        f"tensorflow.contrib.slim.python.slim.learning.train_step {SAYS}", *["ImportError"] * 3]


def test_an_import_of_a_missing_module_says_so():
    out = launched("""
for line in ("from tensorflow.contrib import memory_stats", "from tensorflow.contrib.distributions import bijectors", "from tensorflow import lite",
             "from tensorflow.contrib import lite", "from tensorflow.contrib import nccl"):
    try: exec(line)
    except ImportError as error: print(error)
import tensorflow as tf
for ask in (lambda: tf.contrib.distributions.bijectors.Affine(), lambda: tf.contrib.learn.monitors.ValidationMonitor(),
            lambda: tf.contrib.compiler.jit.experimental_jit_scope(), lambda: tf.contrib.losses.metric_learning.cluster_loss(),
            lambda: tf.contrib.learn.datasets.load_iris()):
    try: ask()
    except NotImplementedError as error: print(error)
""").splitlines()
    assert out[:4] == [f"tf.{p} {SAYS}" for p in ("contrib.memory_stats", "contrib.distributions.bijectors", "lite", "contrib.lite")]
    assert out[4].startswith("cannot import name 'nccl'")  # 1.15 has none either
    assert out[5:] == [f"tf.contrib.{p} {SAYS}" for p in (
        "distributions.bijectors.Affine", "learn.monitors.ValidationMonitor", "compiler.jit.experimental_jit_scope",
        "losses.metric_learning.cluster_loss", "learn.datasets.load_iris")]


def test_networks_of_slim_can_be_imported_and_say_what_is_missing():
    out = launched("""
from tensorflow.contrib.slim.nets import resnet_v1, vgg
from tensorflow.contrib.slim.python.slim.nets import resnet_v1 as same
import tensorflow.contrib.slim.nets as nets
assert resnet_v1 is same and nets.vgg is vgg
try: vgg.vgg_16(None)
except NotImplementedError as error: print(error)
try: from tensorflow.contrib.slim.nets import mobilenet
except ImportError as error: print("ImportError")
""")
    assert out.splitlines() == [f"tensorflow.contrib.slim.python.slim.nets.vgg.vgg_16 {SAYS}", "ImportError"]


def test_threads_may_ask_for_a_namespace_at_once():
    out = launched("""
import sys, threading
import tensorflow as tf
sys.setswitchinterval(1e-6)
begin, found = threading.Barrier(8), []
def ask():
    begin.wait(60)
    found.append(tf.distribute.experimental.MultiWorkerMirroredStrategy.__name__)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
print(len(found))
""")
    assert out.splitlines() == ["8"]
