# SPDX-License-Identifier: Apache-2.0
"""Runs a program that draws the same random numbers each time: python -m thalweg.as_tensorflow seeded.py PROGRAM. A test's verdict
would be chance otherwise: libraries make graphs of their own, which no seed of the program reaches. What has a seed keeps it."""
import os
import random
import runpy
import sys

import numpy as np
from thalweg.graph import graph

SEED = 1


def seed_what_has_none():
    of_tensorflow = graph.get_seed

    def seeds(op_seed):
        found = of_tensorflow(op_seed)
        return (SEED, graph.get_default_graph()._operation_seed()) if found == (None, None) else found
    graph.get_seed = seeds


if __name__ == "__main__":
    random.seed(SEED)
    np.random.seed(SEED)
    seed_what_has_none()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
