"""PyTorch's side of nets.py: its own layers, channels first. Variants: compile (weights frozen for inference), script, channels_last."""
import math

import common
import nets
import torch
import torch.nn.functional as F
from torch import nn
from torch_ import a, report, sgd, variants

TURNED = {"dense": (1, 0), "conv": (3, 2, 0, 1), "up": (3, 2, 0, 1)}  # what PyTorch wants its weights to be


def turned(kind, array):
    if kind == "conv" and array.ndim == 5:
        array = array.transpose(4, 3, 0, 1, 2)
    elif kind in TURNED:
        array = array.transpose(TURNED[kind])
    return torch.from_numpy(array.copy())


class Engine:
    sigmoid, tanh, relu, stack, gather = torch.sigmoid, torch.tanh, F.relu, torch.stack, staticmethod(lambda table, ids: F.embedding(ids, table))
    dense, conv3d = staticmethod(F.linear), staticmethod(lambda x, w, b: F.conv3d(x, w, b, padding=1))
    gelu, gelu_tanh = staticmethod(F.gelu), staticmethod(lambda x: F.gelu(x, approximate="tanh"))

    def add(x, y):
        return x + y

    def norm(x, gamma, beta):
        return F.layer_norm(x, gamma.shape, gamma, beta)

    def add_places(x, places, batch):
        return (x.view(batch, *places.shape) + places).flatten(0, 1)

    def attention(qkv, b, t, heads):
        q, k, v = qkv.view(b, t, 3, heads, -1).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b * t, -1)

    def attend_cached(qkv, cache, position):
        q, *rows = (z.view(common.size.heads, 1, -1) for z in qkv.chunk(3, 1))
        k, v = (c.index_copy_(1, position, row) for c, row in zip(cache, rows))
        seen = torch.arange(nets.POSITIONS) <= position
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen).reshape(1, -1), (k, v)

    def scores(x, table):
        return x @ table.t()

    def tokens(x):
        return x.flatten(2).transpose(1, 2).flatten(0, 1)

    def prepend(one, x):
        return torch.cat([one, x])

    def first(x):
        return x[:1]

    def conv(x, w, b, stride=1, pad=1):
        return F.conv2d(x, w, b, stride, w.shape[2] // 2 if pad else 0)

    def batch_norm(x, gamma, beta, mean, variance):
        return F.batch_norm(x, mean, variance, gamma, beta)

    def pool(x):
        return F.max_pool2d(x, 2)

    def concat(x, y):
        return torch.cat([x, y], 1)

    def up(x, w, b):
        return F.conv_transpose2d(x, w, b, 2)

    def pool3d(x, size):
        return F.max_pool3d(x, size)

    def flat(x):
        return x.permute(0, 2, 3, 4, 1).flatten(1)  # as the weights behind it have it: channels last

    def gru(x, w, b, v, c):
        return torch.gru(x, x.new_zeros(1, len(x), v.shape[1]), [w, v, b, c], True, 1, 0., torch.is_grad_enabled(), False, True)[0]

    def last(x):
        return x[:, -1]

    def zeros(shape):
        return torch.zeros(shape)

    def unstack(x):
        return x.unbind(0)

    def split(x, n):
        return x.chunk(n, 1)

    def join(values):
        return torch.cat(values, 1)

    def dense3(x, w, b=None):
        return F.linear(x, w, b)

    def sum0(x):
        return x.sum(0)

    def softmax0(x):
        return x.softmax(0)

    def rows(x):
        return x.flatten(0, 1)

    def bag(table, ids):
        return F.embedding_bag(ids, table, mode="sum", sparse=True)


class Net(nn.Module):
    """A net with its weights, made by a first call."""

    def __init__(self, net, *example):
        super().__init__()
        self.net, made = net, []

        def make(kind, array):
            made.append(turned(kind, array))
            if "channels_last" in variants and made[-1].dim() == 4:
                made[-1] = made[-1].contiguous(memory_format=torch.channels_last)
            return made[-1]
        with torch.no_grad():
            net(Engine, nets.Weights(make), *example)
        self.weights = nn.ParameterList(nn.Parameter(m) for m in made)

    def forward(self, *inputs):
        return self.net(Engine, nets.Weights(values=self.weights), *inputs)


def tensor(value):
    """An input: ids are long, pictures channels first."""
    value = torch.from_numpy(value)
    if value.dim() == 5:
        return value.permute(0, 4, 1, 2, 3).contiguous()
    if value.dim() != 4:
        return value.long() if value.dtype == torch.int32 else value
    return value.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last if "channels_last" in variants else torch.contiguous_format)


def compiled(f, *example):
    if "script" in variants:
        return torch.jit.freeze(torch.jit.trace(f.eval(), example, check_trace=False)) if isinstance(f, nn.Module) else f
    return torch.compile(f) if "compile" in variants else f


def as_numpy(out):
    return (out.permute(0, 2, 3, 1) if out.dim() == 4 else out).contiguous().numpy()


def infer():
    xs = [tensor(v) for v in nets.fed(a.workload)]
    torch._inductor.config.freezing = True
    with torch.no_grad():
        net = Net(nets.INFERENCE[a.workload], *xs).requires_grad_(False).eval()
        f = compiled(net, *xs)
        report(lambda: f(*xs), first=common.sample(as_numpy(f(*xs))))


def gpt2_decode():
    """Python calls the net for each token: PyTorch has no loops in its graphs."""
    def token_net(e, w, token, position, *flat):
        return nets.gpt2_token(e, w, token, position, [flat[i:i + 2] for i in range(0, len(flat), 2)])[0]
    torch._inductor.config.freezing = True
    flat = [torch.from_numpy(c) for pair in nets.gpt2_caches() for c in pair]
    places, token = [torch.tensor([nets.PAST + i]) for i in range(nets.TOKENS)], torch.tensor([1])
    with torch.no_grad():
        net = Net(token_net, token, places[0], *flat).requires_grad_(False).eval()
        f = compiled(net, token, places[0], *flat)

        def step():
            next_, made = token, []
            for place in places:
                scores = f(next_, place, *flat)
                next_ = scores.argmax(1)
                made.append(next_)
            return torch.cat(made).numpy(), scores.numpy()
        report(step, nodes=nets.TOKENS, first=common.sample(*step()))


def train():
    *xs, y = (tensor(v) for v in nets.fed(a.workload))
    sparse = a.workload == "embedding_1M"
    net = Net(nets.TRAINING[a.workload], *xs)
    optimizer = torch.optim.Adagrad(net.parameters(), .1, initial_accumulator_value=.1) if sparse else sgd(net.parameters())
    loss_of = (lambda z, y: F.binary_cross_entropy_with_logits(z.squeeze(1), y)) if sparse else F.cross_entropy
    forward = compiled(lambda *values: loss_of(net(*values[:-1]), values[-1]))

    def step():
        optimizer.zero_grad()
        loss = forward(*xs, y)
        loss.backward()
        optimizer.step()
        return loss.item()
    report(step, first=common.sample([step() for _ in range(3)]))


if __name__ == "__main__":
    (gpt2_decode if a.workload == "gpt2_decode" else infer if a.workload in nets.INFERENCE else train)()
