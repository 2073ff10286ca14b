"""TensorFlow's side of int8.py, in graph mode; thalweg_.py runs the same file with our package in TensorFlow's place.

Variant unfused: sums of reals between convolutions, as a graph has them where no operation adds (TensorFlow 2.21 ends in those that do).
"""
import common
from tf1 import a, report, session, stepper, variants  # first, so that NumPy has as many threads as are asked for

import int8
import nets
import numpy as np
import tensorflow.compat.v1 as tf
import tf_nets

ops = tf.raw_ops


def constants(levels, reach):
    """Levels of weights and the two ends of their ranges."""
    return tf.constant(levels.astype(tf.qint8.as_numpy_dtype), tf.qint8), tf.constant(-reach), tf.constant(reach)


class Engine:
    """A value is levels and their reach."""

    def __init__(self, reaches):
        self.next = lambda: next(reaches)

    def quantize(self, x):
        reach = self.next()
        y = ops.QuantizeV2(input=x, min_range=0., max_range=reach, T=tf.quint8, mode="SCALED", round_mode="HALF_TO_EVEN")
        return y.output, reach

    def of(self, x, w, b, stride):
        """What convolutions have in common."""
        levels, low, high = constants(*int8.levels(w))
        return dict(input=x[0], filter=levels, bias=tf.constant(b), min_input=0., max_input=x[1], min_filter=low, max_filter=high,
                    strides=[1, stride, stride, 1], padding="SAME")

    def conv(self, x, w, b, stride):
        reach = self.next()
        y = ops.QuantizedConv2DWithBiasAndRequantize(
            **self.of(x, w, b, stride), min_freezed_output=-reach, max_freezed_output=reach, out_type=tf.qint8)
        return y.output, reach

    def conv_relu(self, x, w, b, stride):
        reach = self.next()
        y = ops.QuantizedConv2DWithBiasAndReluAndRequantize(
            **self.of(x, w, b, stride), min_freezed_output=0., max_freezed_output=reach, out_type=tf.quint8)
        return y.output, reach

    def conv_add_relu(self, x, w, b, skip):
        if "unfused" in variants:
            return self.quantize(tf.nn.relu(self.reals(self.conv(x, w, b, 1)) + self.reals(skip)))
        self.next()
        reach = self.next()
        signed = skip[0].dtype == tf.qint8
        op = (ops.QuantizedConv2DWithBiasSignedSumAndReluAndRequantize if signed else ops.QuantizedConv2DWithBiasSumAndReluAndRequantize)
        y = op(**self.of(x, w, b, 1), min_freezed_output=0., max_freezed_output=reach, out_type=tf.quint8, summand=skip[0],
               min_summand=-skip[1] if signed else 0., max_summand=skip[1])
        return y.output, reach

    def reals(self, x):
        levels, reach = x
        return ops.Dequantize(input=levels, min_range=-reach if levels.dtype == tf.qint8 else 0., max_range=reach, mode="SCALED")

    def pool(self, x):
        y = ops.QuantizedMaxPool(input=x[0], min_input=0., max_input=x[1], ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
        return y.output, x[1]

    def mean(self, x):
        return tf.reduce_mean(self.reals(x), [1, 2])

    def dense(self, x, w, b):
        levels, low, high = constants(*int8.levels_of_all(w))
        return ops.QuantizedMatMulWithBiasAndDequantize(
            a=x[0], b=levels, bias=tf.constant(b), min_a=0., max_a=x[1], min_b=low, max_b=high, min_freezed_output=-1.,
            max_freezed_output=1., Toutput=tf.float32, input_quant_mode="SCALED")


def resnet50():
    picture = int8.picture()
    x = tf.placeholder(tf.float32, picture.shape)
    out = int8.resnet50(Engine(int8.reaches()), nets.Weights(int8.reals), x)
    step = stepper(session(), out, {x: picture})
    report(step, first=common.sample(step()))


class Dynamic(tf_nets.Engine):
    """Products of levels whose range is that of the values at hand."""

    def dense(x, w, b):
        levels, low, high = constants(*int8.levels_of_all(w))
        y = ops.QuantizeV2(input=x, min_range=tf.reduce_min(x), max_range=tf.reduce_max(x), T=tf.quint8, mode="MIN_FIRST")
        return ops.QuantizedMatMulWithBiasAndDequantize(
            a=y.output, b=levels, bias=b, min_a=y.output_min, max_a=y.output_max, min_b=low, max_b=high, min_freezed_output=-1.,
            max_freezed_output=1., Toutput=tf.float32, input_quant_mode="MIN_FIRST")


def bert():
    [ids] = nets.fed("bert_infer_b1")
    x = tf.placeholder(tf.int32, ids.shape)
    out = nets.bert(Dynamic, nets.Weights(lambda kind, array: array if kind == "dense" else tf.constant(array)), x, 1)
    step = stepper(session(), out, {x: ids})
    report(step, first=common.sample(step()))


if __name__ == "__main__":
    {"int8_resnet50": resnet50, "int8_bert": bert}[a.workload]()
