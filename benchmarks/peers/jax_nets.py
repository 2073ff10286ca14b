"""JAX's side of nets.py: everything under jit, weights as arguments."""
import math

import common
import nets
import jax
import jax.numpy as jnp
from jax import lax
from jax_ import a, report, sgd, xent

NAMES = {2: ("NHWC", "HWIO", "NHWC"), 3: ("NDHWC", "DHWIO", "NDHWC")}


def window(x, size):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, *size, 1), (1, *size, 1), "VALID")


class Engine:
    sigmoid, tanh, relu, zeros, stack, add = jax.nn.sigmoid, jnp.tanh, jax.nn.relu, jnp.zeros, jnp.stack, jnp.add
    gelu, gelu_tanh = staticmethod(lambda x: jax.nn.gelu(x, False)), staticmethod(lambda x: jax.nn.gelu(x, True))

    def gather(table, ids):
        return table[ids]

    def dense(x, w, b):
        return x @ w + b

    def norm(x, gamma, beta):
        m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - m) * lax.rsqrt(v + 1e-5) * gamma + beta

    def add_places(x, places, batch):
        return (x.reshape(batch, *places.shape) + places).reshape(x.shape)

    def attention(qkv, b, t, heads):
        q, k, v = jnp.moveaxis(qkv.reshape(b, t, 3, heads, -1), 2, 0)
        p = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1]))
        return jnp.einsum("bhqk,bkhd->bqhd", p, v).reshape(b * t, -1)

    def attend_cached(qkv, cache, position):
        q, *rows = (z.reshape(common.size.heads, 1, -1) for z in jnp.split(qkv, 3, 1))
        k, v = (lax.dynamic_update_slice(c, row, (0, position[0], 0)) for c, row in zip(cache, rows))
        score = jnp.einsum("hqd,hkd->hqk", q, k) / math.sqrt(q.shape[-1])
        p = jax.nn.softmax(jnp.where(jnp.arange(nets.POSITIONS) <= position, score, -1e9))
        return jnp.einsum("hqk,hkd->hqd", p, v).reshape(1, -1), [k, v]

    def scores(x, table):
        return x @ table.T

    def tokens(x):
        return x.reshape(-1, x.shape[-1])

    def prepend(one, x):
        return jnp.concatenate([one, x])

    def first(x):
        return x[:1]

    def conv(x, w, b, stride=1, pad=1):
        y = lax.conv_general_dilated(x, w, (stride, stride), "SAME" if pad else "VALID", dimension_numbers=NAMES[2])
        return y if b is None else y + b

    def batch_norm(x, gamma, beta, mean, variance):
        return (x - mean) * (lax.rsqrt(variance + 1e-5) * gamma) + beta

    def pool(x):
        return window(x, (2, 2))

    def concat(x, y):
        return jnp.concatenate([x, y], -1)

    def up(x, w, b):
        n, h, width, _ = x.shape
        return jnp.einsum("nhwc,abdc->nhawbd", x, w).reshape(n, 2 * h, 2 * width, -1) + b

    def conv3d(x, w, b):
        return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=NAMES[3]) + b

    def pool3d(x, size):
        return window(x, size)

    def flat(x):
        return x.reshape(x.shape[0], -1)

    def gru(x, w, b, v, c):
        def cell(h, of_x):
            of_h, units = h @ v + c, v.shape[0]
            r, z = jnp.split(jax.nn.sigmoid(of_x[:, :2 * units] + of_h[:, :2 * units]), 2, 1)
            n = jnp.tanh(of_x[:, 2 * units:] + r * of_h[:, 2 * units:])
            h = (1 - z) * n + z * h
            return h, h
        return lax.scan(cell, jnp.zeros((x.shape[0], v.shape[0])), (x @ w + b).swapaxes(0, 1))[1].swapaxes(0, 1)

    def last(x):
        return x[:, -1]

    def unstack(x):
        return list(x)

    def split(x, n):
        return jnp.split(x, n, 1)

    def join(values):
        return jnp.concatenate(values, 1)

    def dense3(x, w, b=None):
        return x @ w if b is None else x @ w + b

    def sum0(x):
        return x.sum(0)

    def softmax0(x):
        return jax.nn.softmax(x, 0)

    def rows(x):
        return x.reshape(-1, x.shape[-1])


def made(net, *example):
    """The weights of a net: it is only traced for them."""
    values = []

    def make(kind, array):
        values.append(array)
        return jnp.zeros(array.shape)
    jax.eval_shape(lambda *x: net(Engine, nets.Weights(make), *x), *example)
    return [jnp.asarray(v) for v in values]


def infer():
    net, xs = nets.INFERENCE[a.workload], [jnp.asarray(v) for v in nets.fed(a.workload)]
    values, f = made(net, *xs), jax.jit(lambda values, *x: net(Engine, nets.Weights(values=values), *x))
    report(lambda: f(values, *xs).block_until_ready(), first=common.sample(jax.device_get(f(values, *xs))))


def gpt2_decode():
    caches = [[jnp.asarray(c) for c in pair] for pair in nets.gpt2_caches()]
    values = made(nets.gpt2_token, jnp.ones(1, "i"), jnp.ones(1, "i"), caches)

    def step(values, token, caches):
        def body(i, s):
            token, _, out, caches = s
            scores, caches = nets.gpt2_token(Engine, nets.Weights(values=values), token, i[None] + nets.PAST, caches)
            token = scores.argmax(1).astype("int32")
            return token, scores, out.at[i].set(token[0]), caches
        return lax.fori_loop(0, nets.TOKENS, body, (token, jnp.zeros((1, common.size.words)), jnp.zeros(nets.TOKENS, "i"), caches))[1:3]
    f = jax.jit(step)
    once = lambda: jax.block_until_ready(f(values, jnp.ones(1, "i"), caches))
    scores, tokens = jax.device_get(once())
    report(once, nodes=nets.TOKENS, first=common.sample(tokens, scores))


def train():
    net, (*xs, y) = nets.TRAINING[a.workload], (jnp.asarray(v) for v in nets.fed(a.workload))
    s = [made(net, *xs)]

    def step(params, *xs):
        loss, grads = jax.value_and_grad(lambda p: xent(net(Engine, nets.Weights(values=p), *xs[:-1]), xs[-1]))(params)
        return sgd(params, grads, None)[0], loss
    f = jax.jit(step, donate_argnums=0)

    def once():
        s[0], loss = f(s[0], *xs, y)
        return float(loss)
    report(once, first=common.sample([once() for _ in range(3)]))


def embedding_1M():
    """Sparse Adagrad by hand: gradients of the gathered rows only, those of equal rows added up, scattered into the donated table."""
    ids, y = (jnp.asarray(v) for v in nets.fed(a.workload))
    w = nets.Weights(lambda kind, array: jnp.asarray(array))
    rows, width = common.size.rows, common.size.width
    params = [w.normal([rows, width], width, "table"), *w.dense(width, 1)]
    s = [params, [jnp.full_like(p, .1) for p in params]]

    def loss(rows, w, b, y):
        z = (rows.sum(1) @ w + b)[:, 0]
        return (jnp.maximum(z, 0) - z * y + jnp.log1p(jnp.exp(-abs(z)))).mean()

    def step(params, sums, ids, y):
        table, *rest = params
        l, (of_rows, *grads) = jax.value_and_grad(loss, (0, 1, 2))(table[ids], *rest, y)
        which, back = jnp.unique(ids, size=ids.size, fill_value=table.shape[0], return_inverse=True)
        g = jnp.zeros((ids.size, table.shape[1])).at[back.reshape(-1)].add(of_rows.reshape(ids.size, -1))
        sums = [sums[0].at[which].add(g * g, mode="drop"), *(c + d * d for c, d in zip(sums[1:], grads))]
        table = table.at[which].add(-.1 * g * lax.rsqrt(sums[0].at[which].get(mode="fill", fill_value=1.)), mode="drop")
        return [table, *(p - .1 * d * lax.rsqrt(c) for p, d, c in zip(rest, grads, sums[1:]))], sums, l
    f = jax.jit(step, donate_argnums=(0, 1))

    def once():
        s[0], s[1], l = f(*s, ids, y)
        return float(l)
    report(once, first=common.sample([once() for _ in range(3)]))


if __name__ == "__main__":
    OWN = {"gpt2_decode": gpt2_decode, "embedding_1M": embedding_1M}
    OWN.get(a.workload, infer if a.workload in nets.INFERENCE else train)()
