"""ONNX Runtime's side of int8.py: models of Quantize- and DequantizeLinear around products, channels first, as its quantization tool
writes them. ov_.py gives them to OpenVINO.

Variant unrounded: what a convolution gives to a sum is not rounded to levels of its own, for engines that add before they round.
"""
import common
from ort_ import Model, a, ort  # first, so that NumPy has as many threads as are asked for

import int8
import nets
import numpy as np
import ort_nets
from onnx import TensorProto


class Engine:
    """A value is the name of reals that were levels."""

    def __init__(self, reaches):
        self.next = lambda: next(reaches)
        self.model = Model()
        self.op, self.weight = self.model.op, self.model.weight

    def rounded(self, x, signed=False):
        """To levels of the next reach and back: unsigned levels, around 128 for signed values, as sums want both of one type."""
        by = [self.weight(np.float32(self.next() / (127 if signed else 255))), self.weight(np.uint8(128 if signed else 0))]
        return self.op("DequantizeLinear", self.op("QuantizeLinear", x, *by), *by)

    quantize = rounded

    def weights(self, levels, reach, axis):
        by = [self.weight((reach / 127).astype("f")), self.weight(np.zeros(reach.shape, np.int8))]
        return self.op("DequantizeLinear", self.weight(levels), *by, **({"axis": axis} if reach.ndim else {}))

    def products(self, x, w, b, stride):
        levels, reach = int8.levels(w)
        kernel = self.weights(np.ascontiguousarray(levels.transpose(3, 2, 0, 1)), reach, 0)
        return self.op("Conv", x, kernel, self.weight(b), kernel_shape=w.shape[:2], strides=[stride] * 2, auto_pad="SAME_UPPER")

    def conv(self, x, w, b, stride):
        return self.rounded(self.products(x, w, b, stride), True)

    def conv_relu(self, x, w, b, stride):
        return self.rounded(self.op("Relu", self.products(x, w, b, stride)))

    def conv_add_relu(self, x, w, b, skip):
        y = self.products(x, w, b, 1)
        if a.variant == "unrounded":
            self.next()
        else:
            y = self.rounded(y, True)
        return self.rounded(self.op("Relu", self.op("Add", y, skip)))

    def pool(self, x):
        return self.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])

    def mean(self, x):
        return self.op("Flatten", self.op("GlobalAveragePool", x))

    def dense(self, x, w, b):
        return self.op("Gemm", x, self.weights(*int8.levels_of_all(w), 1), self.weight(b))


def resnet50():
    x = np.ascontiguousarray(int8.picture().transpose(0, 3, 1, 2))
    e = Engine(int8.reaches())
    report(e.model.session(list(x.shape), int8.resnet50(e, nets.Weights(int8.reals), "x")), x)


class Dynamic(ort_nets.Engine):
    """Products of levels whose range is that of the values at hand, as the tool that quantizes for inference writes them."""

    def make(self, kind, array):
        return array if kind == "dense" else super().make(kind, array)

    def dense(self, x, w, b):
        levels, reach = int8.levels_of_all(w)
        y, scale, zero = self.model.outputs("DynamicQuantizeLinear", 3, x)
        sums = self.op("Cast", self.op("MatMulInteger", y, self.model.weight(levels), zero), to=TensorProto.FLOAT)
        return self.op("Add", self.op("Mul", sums, self.op("Mul", scale, self.model.weight(np.float32(reach / 127)))), b)


def bert():
    [ids] = nets.fed("bert_infer_b1")
    e = Dynamic()
    s = e.model.session(list(ids.shape), nets.bert(e, nets.Weights(e.make), "x", 1), TensorProto.INT32)
    report(s, ids)


def report(s, x):
    step = lambda: s.run(None, {"x": x})
    first = common.sample(np.array(step()[0]))
    common.emit(a, "onnxruntime", ort.__version__, common.measure(step, a.seconds), first=first)


if __name__ == "__main__":
    {"int8_resnet50": resnet50, "int8_bert": bert}[a.workload]()
