# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow 1 programs find under tf.contrib: thalweg.contrib."""
import importlib

from thalweg.base import names

# Modules that are public under their own name, in order.
_MODULES = """
autograph
batching
cluster_resolver
crf
cudnn_rnn
data
distribute
distributions
eager
estimator
factorization
feature_column
framework
graph_editor
image
layers
learn
legacy_seq2seq
lookup
losses
metrics
opt
predictor
quantize
rnn
seq2seq
signal
slim
sparsemax
staging
summary
tensorboard
tfprof
tpu
training
util
""".split()


def __getattr__(name):
    if name in _MODULES:
        value = globals()[name] = importlib.import_module("thalweg.contrib." + name)
        return value
    if not name.startswith("_"):
        from thalweg import _modules_v1
        from thalweg.base import later
        if "contrib/" + name in _modules_v1.MODULES or names.is_absent("contrib." + name):
            return later.module_asked_for("tf.contrib." + name)
    raise AttributeError(f"module 'thalweg.contrib' has no attribute '{name}'")


__all__ = _MODULES
names.complete(globals())
