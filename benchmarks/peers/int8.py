"""The rows int8_*: networks whose products are of 8 bits, once for all engines.

Every engine gets the same weights, of reals, from the same seed, and makes levels of them: signed ones, symmetric, a range for each
output channel (a column). What it needs of activations are reaches, which a run of the net in reals finds (`reaches`): NumPy's, in
every engine's process, before it is timed. Pictures are channels last, filters [height, width, in, out], matrices [in, out].
"""
import math

import nets
import numpy as np

NAMES = ["int8_resnet50", "int8_bert"]


def levels(w):
    """The levels of weights [..., out], from -127 to 127, and the reach of each output."""
    reach = np.abs(w.reshape(-1, w.shape[-1])).max(0)
    return np.rint(w / reach * 127).astype(np.int8), reach


def levels_of_all(w):
    """The same with one range for all: matrix products of TensorFlow have no other."""
    found, reach = levels(w.reshape(-1, 1))
    return found.reshape(w.shape), reach[0]


def resnet50(e, w, x):
    """1,000 scores of a picture [1, 224, 224, 3], by ResNet-50 with the stride in the 3x3. Batch normalization is in the filters, as it is
    in a graph that is served. What ReLU gives are unsigned levels, other activations are signed ones."""
    x = e.pool(e.conv_relu(e.quantize(x), *w.conv(7, 7, 3, 64), 2))
    c = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            s, skip = stride if i == 0 else 1, x
            if i == 0:
                skip = e.conv(x, *w.conv(1, 1, c, 4 * width), s)
            y = e.conv_relu(x, *w.conv(1, 1, c, width), 1)
            y = e.conv_relu(y, *w.conv(3, 3, width, width), s)
            x, c = e.conv_add_relu(y, *w.conv(1, 1, width, 4 * width), skip), 4 * width
    return e.dense(e.quantize(e.mean(x)), *w.dense(2048, 1000))


class Reals:
    """Finds reaches: the net in reals, by NumPy. An activation's reach is its largest size."""

    def __init__(self):
        self.found = []

    def note(self, x):
        self.found.append(float(np.float32("%.3g" % np.abs(x).max())))  # the same where the last bits of sums differ
        return x

    quantize = note

    def products(self, x, w, b, stride):
        k, (h, width) = w.shape[0], x.shape[1:3]
        pads = [max(0, (-(-n // stride) - 1) * stride + k - n) for n in (h, width)]
        x = np.pad(x, [(0, 0), *((p // 2, p - p // 2) for p in pads), (0, 0)])
        seen = np.lib.stride_tricks.sliding_window_view(x, (k, k), (1, 2))[:, ::stride, ::stride]
        rows = seen.transpose(0, 1, 2, 4, 5, 3).reshape(-1, k * k * x.shape[3])
        return (rows @ w.reshape(-1, w.shape[-1]) + b).reshape(*seen.shape[:3], -1)

    def conv(self, x, w, b, stride):
        return self.note(self.products(x, w, b, stride))

    def conv_relu(self, x, w, b, stride):
        return self.note(np.maximum(self.products(x, w, b, stride), 0))

    def conv_add_relu(self, x, w, b, skip):
        y = self.products(x, w, b, 1)
        self.note(y)  # for engines that have levels of it, too
        return self.note(np.maximum(y + skip, 0))

    def pool(self, x):
        x = np.pad(x, [(0, 0), (0, 1), (0, 1), (0, 0)])
        return np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::2, ::2].max((-1, -2))

    def mean(self, x):
        return x.mean((1, 2))

    def dense(self, x, w, b):
        return x @ w + b


def picture():
    return nets.inputs().random([1, 224, 224, 3], dtype=np.float32)


def reals(kind, array):
    return array


def reaches():
    """Those of int8_resnet50, in the order in which the net comes to them."""
    e = Reals()
    resnet50(e, nets.Weights(reals), picture())
    return iter(e.found)
