# SPDX-License-Identifier: Apache-2.0
"""Versions, as TensorFlow 1.15 tells them: tw.version and the like."""
import thalweg

GIT_VERSION = COMPILER_VERSION = "unknown"
GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER = 134, 0, 0
CXX11_ABI_FLAG = MONOLITHIC_BUILD = 0


def __getattr__(name):
    if name == "VERSION":
        return thalweg.VERSION
    raise AttributeError(name)
