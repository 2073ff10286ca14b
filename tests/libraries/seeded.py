# SPDX-License-Identifier: Apache-2.0
"""Runs a program that draws the same random numbers each time: python -m thalweg.as_tensorflow seeded.py PROGRAM. A test's verdict
would be chance otherwise: libraries make graphs of their own, which no seed of the program reaches."""
import os
import random
import runpy
import sys

import numpy as np
import thalweg

SEED = 1


def seed_new_graphs():
    begin = thalweg.Graph.__init__

    def begin_seeded(graph):
        begin(graph)
        graph.seed = SEED
    thalweg.Graph.__init__ = begin_seeded


if __name__ == "__main__":
    random.seed(SEED)
    np.random.seed(SEED)
    seed_new_graphs()
    thalweg.set_random_seed(SEED)
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
