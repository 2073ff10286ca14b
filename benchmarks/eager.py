# SPDX-License-Identifier: Apache-2.0
"""Processor time of operations that run at once, in microseconds each.

    PYTHONPATH=build/release/python .venv/bin/python -m thalweg.as_tensorflow benchmarks/eager.py
    .venvs/conformance/bin/python benchmarks/eager.py
    .venvs/conformance-1.15/bin/python benchmarks/eager.py

Rows: the sum of two scalars, of a scalar and a number, a product of 8 x 8 matrices, reading a variable, a training step of a net of two
layers with a tape and plain descent (64 rows, 32 units), the same as a tf.function. Prints a JSON line for each of --rounds. Python 3.7 and
later.
"""
import argparse
import json
import time

import numpy as np
import tensorflow

tf = tensorflow.compat.v1


def micros(function, times):
    for _ in range(max(times // 10, 3)):
        function()
    before = time.process_time()
    for _ in range(times):
        function()
    return round((time.process_time() - before) / times * 1e6, 2)


def training_step():
    generator = np.random.RandomState(0)
    x, y = tf.constant(generator.randn(64, 20).astype("f")), tf.constant(generator.randn(64, 1).astype("f"))
    shapes = [(20, 32), (32,), (32, 1), (1,)]
    variables = [tf.Variable(generator.randn(*s).astype("f") * 0.1, use_resource=True) for s in shapes]

    def step():
        with tf.GradientTape() as tape:
            hidden = tf.tanh(tf.matmul(x, variables[0]) + variables[1])
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, variables[2]) + variables[3] - y))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.01 * gradient)
        return loss
    return step


def rows(times):
    x, y, matrix, variable = tf.constant(1.0), tf.constant(2.0), tf.ones([8, 8]), tf.Variable([1.0, 2.0], use_resource=True)
    return {"scalar_add": micros(lambda: x + y, times), "scalar_add_number": micros(lambda: x + 2.0, times),
            "matmul_8": micros(lambda: tf.matmul(matrix, matrix), times), "variable_read": micros(variable.value, times),
            "mlp_step": micros(training_step(), times // 50), "mlp_step_function": micros(tf.function(training_step()), times // 50)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tf.enable_eager_execution()
    for _ in range(options.rounds):
        print(json.dumps(rows(options.times)), flush=True)
