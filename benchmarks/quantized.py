# SPDX-License-Identifier: Apache-2.0
"""Times of layers of levels of 8 bits on one thread, in microseconds.

    PYTHONPATH=build/release/python taskset -c 0 .venv/bin/python -m thalweg.as_tensorflow benchmarks/quantized.py
    taskset -c 0 .venvs/conformance/bin/python benchmarks/quantized.py

Layers: a matrix product of 128 x 768 x 3072 with bias, given as reals; convolutions as in ResNet-50 with bias, ReLU and another range, of an
image of each size. Weights are constants. Prints a JSON line with the median of each layer; the sums of what came tell whether two
machines computed the same, but for single levels that lie between two.
"""
import argparse
import json
import time

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
# rows and columns of the image, channels of input and output, rows and columns of the filter
CONVOLUTIONS = {"conv_56_64_3x3": (56, 64, 64, 3), "conv_28_128_3x3": (28, 128, 128, 3), "conv_14_256_3x3": (14, 256, 256, 3),
                "conv_7_512_3x3": (7, 512, 512, 3), "conv_56_64_256_1x1": (56, 64, 256, 1)}


def constant(graph, name, value, dtype=None):
    node = graph.node.add(name=name, op="Const")
    tensor = tf.make_tensor_proto(value)
    if dtype is not None:
        tensor.dtype = dtype.as_datatype_enum
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)


def layer(op, shape, weight, inputs, types, **attrs):
    """A graph with the placeholder x and the layer y: of x, constant weights, a bias of zeros and numbers."""
    graph = tf.GraphDef()
    x = graph.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = tf.quint8.as_datatype_enum
    x.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    constant(graph, "weight", np.random.RandomState(0).randint(-127, 128, weight).astype(np.int8), tf.qint8)
    constant(graph, "bias", np.zeros(weight[-1], np.float32))
    y = graph.node.add(name="y", op=op, input=["x", "weight", "bias"])
    for name, value in inputs.items():
        constant(graph, name, np.float32(value))
        y.input.append(name)
    for name, dtype in types.items():
        y.attr[name].type = dtype.as_datatype_enum
    for name, value in attrs.items():
        if isinstance(value, list):
            y.attr[name].list.i.extend(value)
        else:
            y.attr[name].s = value
    return graph


def layers():
    ends = {"min_x": 0, "max_x": 2, "min_weight": -1, "max_weight": 1}
    yield "matmul_128_768_3072", layer(
        "QuantizedMatMulWithBiasAndDequantize", [128, 768], [768, 3072], {**ends, "low": -10, "high": 10},
        {"T1": tf.quint8, "T2": tf.qint8, "Tbias": tf.float32, "Toutput": tf.float32}, input_quant_mode=b"MIN_FIRST")
    for name, (size, channels, filters, window) in CONVOLUTIONS.items():
        yield name, layer(
            "QuantizedConv2DWithBiasAndReluAndRequantize", [1, size, size, channels], [window, window, channels, filters],
            {**ends, "low": 0, "high": 20}, {"Tinput": tf.quint8, "Tfilter": tf.qint8, "Tbias": tf.float32, "out_type": tf.quint8},
            strides=[1, 1, 1, 1], padding=b"SAME")


def measure(definition, times):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
    value = np.random.RandomState(1).randint(0, 256, x.shape.as_list()).astype(np.uint8).view(x.dtype.as_numpy_dtype)
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf.Session(graph=graph, config=config) as session:
        step = session.make_callable(y, [x])
        for _ in range(max(times // 10, 3)):
            result = step(value)
        taken = []
        for _ in range(times):
            before = time.perf_counter()
            step(value)
            taken.append(time.perf_counter() - before)
    return round(float(np.median(taken)) * 1e6, 1), float(np.asarray(result).astype(np.float64).sum())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100)
    options = parser.parse_args()
    measured = {name: measure(definition, options.times) for name, definition in layers()}
    print(json.dumps({name: micros for name, (micros, _) in measured.items()}))
    print(json.dumps({"sums": {name: total for name, (_, total) in measured.items()}}))
