"""ONNX Runtime's side of nets.py: inference, channels first. ov_.py gives the same models to OpenVINO."""
import math

import common
import nets
import numpy as np
from onnx import TensorProto
from ort_ import Model, a, ort


class Engine:
    """Values are names of a model, and so are weights once they are in it."""

    def __init__(self):
        self.model = Model()
        self.op, self.kernels = self.model.op, {}

    def make(self, kind, array):
        if kind in ("conv", "up"):
            array = array.transpose(3, 2, 0, 1)
        name = self.model.weight(np.ascontiguousarray(array))
        self.kernels[name] = array.shape[-1]
        return name

    def number(self, value):
        return self.model.weight(np.float32(value))

    def shaped(self, x, *shape):
        return self.op("Reshape", x, self.model.weight(np.array(shape, np.int64)))

    def add(self, x, y):
        return self.op("Add", x, y)

    def relu(self, x):
        return self.op("Relu", x)

    def gather(self, table, ids):
        return self.op("Gather", table, ids)

    def dense(self, x, w, b):
        return self.op("Gemm", x, w, b)

    def norm(self, x, gamma, beta):
        return self.op("LayerNormalization", x, gamma, beta, epsilon=1e-5)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.number(1))), self.number(.5))

    def add_places(self, x, places, batch):
        return self.shaped(self.add(self.shaped(x, batch, -1, nets.width()), places), -1, nets.width())

    def attention(self, qkv, b, t, heads):
        d = nets.width() // heads
        q, k, v = (self.op("Transpose", self.shaped(self.part(qkv, i), b, t, heads, d), perm=[0, 2, 3, 1] if i == 1 else [0, 2, 1, 3])
                   for i in range(3))
        p = self.op("Softmax", self.op("Div", self.op("MatMul", q, k), self.number(math.sqrt(d))), axis=-1)
        return self.shaped(self.op("Transpose", self.op("MatMul", p, v), perm=[0, 2, 1, 3]), b * t, nets.width())

    def part(self, qkv, i):
        at = lambda n: self.model.weight(np.array([n], np.int64))
        return self.op("Slice", qkv, at(i * nets.width()), at((i + 1) * nets.width()), at(1))

    def tokens(self, x):
        return self.shaped(self.op("Transpose", x, perm=[0, 2, 3, 1]), -1, nets.width())

    def prepend(self, one, x):
        return self.op("Concat", one, x, axis=0)

    def first(self, x):
        return self.op("Slice", x, *(self.model.weight(np.array([n], np.int64)) for n in (0, 1, 0)))

    def conv(self, x, w, b, stride=1, pad=1):
        k = self.kernels[w]
        return self.op("Conv", x, w, *([b] if b else []), kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2 if pad else 0] * 4)

    def batch_norm(self, *values):
        return self.op("BatchNormalization", *values)

    def pool(self, x):
        return self.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])

    def concat(self, x, y):
        return self.op("Concat", x, y, axis=1)

    def up(self, x, w, b):
        return self.op("ConvTranspose", x, w, b, kernel_shape=[2, 2], strides=[2, 2])


def infer():
    [x] = nets.fed(a.workload)
    if x.ndim == 4:
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    e = Engine()
    out = nets.INFERENCE[a.workload](e, nets.Weights(e.make), "x")
    s = e.model.session(list(x.shape), out, TensorProto.FLOAT if x.dtype == np.float32 else TensorProto.INT32)
    step = lambda: s.run(None, {"x": x})
    y = np.array(step()[0])
    first = common.sample(np.ascontiguousarray(y.transpose(0, 2, 3, 1)) if y.ndim == 4 else y)
    common.emit(a, "onnxruntime", ort.__version__, common.measure(step, a.seconds), first=first)


if __name__ == "__main__":
    infer()
