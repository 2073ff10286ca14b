# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.tfprof: profiles under their older name; tw.profiler is the newer one."""
from thalweg.base import names
from thalweg.contrib.tfprof import model_analyzer  # noqa: F401

names.complete(globals())
