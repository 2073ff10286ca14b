"""PyTorch's side of int8.py: its operations on quantized tensors, by oneDNN, whose convolutions add before they round."""
import common
from torch_ import a, report  # first, so that NumPy has as many threads as are asked for

import int8
import nets
import torch
import torch.nn.functional as F
import torch_nets

ops = torch.ops.quantized
torch.backends.quantized.engine = "onednn"


def packed_matrix(w, b):
    levels, reach = int8.levels_of_all(w)
    return ops.linear_prepack(torch._make_per_tensor_quantized_tensor(torch.from_numpy(levels.T.copy()), float(reach) / 127, 0), b)


class Engine:
    """A value is the place of what one of `steps` gives; weights are packed when a step is noted."""

    def __init__(self, reaches):
        self.next, self.steps = lambda: next(reaches), []

    def then(self, step, *places):
        self.steps.append((step, places))
        return len(self.steps)

    def run(self, x):
        """All steps. What is read no more is let go."""
        last = {place: i for i, (_, places) in enumerate(self.steps) for place in places}
        values = {0: x}
        for i, (step, places) in enumerate(self.steps):
            found = [values.pop(p) if last[p] == i else values[p] for p in places]
            values[i + 1] = step(*found)
        return values[len(self.steps)]

    def quantize(self, x):
        reach = self.next()
        return self.then(lambda x: torch.quantize_per_tensor(x, reach / 255, 0, torch.quint8), x)

    def packed(self, x, w, b, stride):
        """The input, padded at its end where the filter wants more there, and the packed weights."""
        k, (levels, reach) = w.shape[0], int8.levels(w)
        before = (k - stride) // 2 if k > 1 else 0
        after = max(0, k - stride - before)
        pad = before
        if after > before:
            x, pad = self.then(lambda x: F.pad(x, (before, after) * 2), x), 0
        kernel = torch._make_per_channel_quantized_tensor(
            torch.from_numpy(levels.transpose(3, 2, 0, 1).copy()), torch.from_numpy(reach / 127).double(),
            torch.zeros(len(reach), dtype=torch.long), 0)
        return x, ops.conv2d_prepack(kernel, torch.from_numpy(b), [stride] * 2, [pad] * 2, [1, 1], 1)

    def conv(self, x, w, b, stride):
        x, weights = self.packed(x, w, b, stride)
        scale = self.next() / 127
        return self.then(lambda x: ops.conv2d(x, weights, scale, 128), x)

    def conv_relu(self, x, w, b, stride):
        x, weights = self.packed(x, w, b, stride)
        scale = self.next() / 255
        return self.then(lambda x: ops.conv2d_relu(x, weights, scale, 0), x)

    def conv_add_relu(self, x, w, b, skip):
        x, weights = self.packed(x, w, b, 1)
        self.next()
        scale = self.next() / 255
        return self.then(lambda x, skip: ops.conv2d_add_relu(x, skip, weights, scale, 0), x, skip)

    def pool(self, x):
        return self.then(lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), x)

    def mean(self, x):
        return self.then(lambda x: x.dequantize().mean((2, 3)), x)

    def dense(self, x, w, b):
        weights = packed_matrix(w, torch.from_numpy(b))
        return self.then(lambda x: ops.linear_dynamic(x.dequantize(), weights), x)  # none that gives reals takes levels


def resnet50():
    x = torch.from_numpy(int8.picture()).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    e = Engine(int8.reaches())
    int8.resnet50(e, nets.Weights(int8.reals), 0)
    with torch.inference_mode():
        step = lambda: e.run(x).numpy()
        report(step, first=common.sample(step()))


class Dynamic(torch_nets.Engine):
    """Products of levels whose range is that of the values at hand. A call beyond the first takes the packed weights in the same order."""
    packed, at = [], None

    def dense(x, w, b):
        if Dynamic.at is None:
            Dynamic.packed.append(packed_matrix(w, b))
            return ops.linear_dynamic(x, Dynamic.packed[-1])
        return ops.linear_dynamic(x, next(Dynamic.at))


def bert():
    ids, made = torch.from_numpy(nets.fed("bert_infer_b1")[0]).long(), []

    def make(kind, array):
        made.append(array if kind == "dense" else torch.from_numpy(array))
        return made[-1]

    def step():
        Dynamic.at = iter(Dynamic.packed)
        return nets.bert(Dynamic, nets.Weights(values=made), ids, 1).numpy()
    with torch.inference_mode():
        nets.bert(Dynamic, nets.Weights(make), ids, 1)
        report(step, first=common.sample(step()))


if __name__ == "__main__":
    {"int8_resnet50": resnet50, "int8_bert": bert}[a.workload]()
