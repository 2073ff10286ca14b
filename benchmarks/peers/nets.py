"""The networks of the newer rows, once for all engines.

A net is a function of an engine `e`, which has the layers as its users write them, of its weights `w`, and of its inputs. Every engine
gets the same weights and inputs from the same seeds, so first results can be compared (`common.sample`). Pictures are channels last,
filters [height, width, in, out], matrices [in, out]: an engine that wants them otherwise turns them when it makes them (`kind`).
Sequences are [batch * length, width].
"""
import math

import common
import numpy as np

LAYERS = 12   # of BERT, GPT-2 and ViT of the base sizes
POSITIONS, PAST, TOKENS = 128, 64, 16  # of the decoder: its cache, what is there already, what a step adds


class Weights:
    """Gives weights in the order in which a net asks for them: made by `make(kind, array)`, or those of `values` again."""

    def __init__(self, make=None, values=None):
        self.make, self.values, self.rng = make, iter(values or ()), np.random.default_rng(0)

    def next(self, kind, array):
        return next(self.values) if self.make is None else self.make(kind, array())

    def normal(self, shape, fan, kind="dense"):
        return self.next(kind, lambda: self.rng.standard_normal(shape, dtype=np.float32) * np.float32(math.sqrt(2 / fan)))

    def full(self, n, value=0.):
        return self.next("vector", lambda: np.full(n, value, "f"))

    def dense(self, k, n):
        return self.normal([k, n], k), self.full(n)

    def norm(self, n):
        return self.full(n, 1.), self.full(n)

    def conv(self, *shape):
        return self.normal(shape, math.prod(shape[:-1]), "conv"), self.full(shape[-1])


def inputs():
    """Where the inputs of all engines come from."""
    return np.random.default_rng(1)


def width():
    """Of the transformers."""
    return common.size.heads * common.size.head


# --- transformers ---

def layer(e, w, x, attend, gelu, before):
    """One layer of width d: normalized before its parts, as GPT-2 and ViT are, or after them, as BERT is."""
    d = width()
    if before:
        x = e.add(x, e.dense(attend(e.dense(e.norm(x, *w.norm(d)), *w.dense(d, 3 * d))), *w.dense(d, d)))
        return e.add(x, e.dense(gelu(e.dense(e.norm(x, *w.norm(d)), *w.dense(d, 4 * d))), *w.dense(4 * d, d)))
    x = e.norm(e.add(x, e.dense(attend(e.dense(x, *w.dense(d, 3 * d))), *w.dense(d, d))), *w.norm(d))
    return e.norm(e.add(x, e.dense(gelu(e.dense(x, *w.dense(d, 4 * d))), *w.dense(4 * d, d))), *w.norm(d))


def bert(e, w, ids, batch):
    """The encoder's last values for ids [batch * steps]."""
    z, d = common.size, width()
    words, places = w.normal([z.words, d], d, "table"), w.normal([z.steps, d], d, "table")
    x = e.norm(e.add_places(e.gather(words, ids), places, batch), *w.norm(d))
    for _ in range(LAYERS):
        x = layer(e, w, x, lambda qkv: e.attention(qkv, batch, z.steps, z.heads), e.gelu, False)
    return x


def vit(e, w, x):
    """Classes of a picture [1, side, side, 3], from patches of 16 x 16."""
    z, d = common.size, width()
    steps = (z.side // 16) ** 2 + 1
    x = e.tokens(e.conv(x, *w.conv(16, 16, 3, d), stride=16, pad=0))
    x = e.prepend(w.normal([1, d], d, "table"), x)
    x = e.add(x, w.normal([steps, d], d, "table"))
    for _ in range(LAYERS):
        x = layer(e, w, x, lambda qkv: e.attention(qkv, 1, steps, z.heads), e.gelu, True)
    return e.dense(e.first(e.norm(x, *w.norm(d))), *w.dense(d, z.classes))


def gpt2_token(e, w, token, position, caches):
    """Scores of the next token [1, words] and the new caches, for token [1] at position [1]; a cache is a pair of [heads, 128, head]."""
    d = width()
    words, places, new = w.normal([common.size.words, d], 5000, "table"), w.normal([1024, d], 5000, "table"), []

    def attend(qkv):
        o, cache = e.attend_cached(qkv, caches[len(new)], position)
        new.append(cache)
        return o
    x = e.add(e.gather(words, token), e.gather(places, position))
    for _ in range(LAYERS):
        x = layer(e, w, x, attend, e.gelu_tanh, True)
    return e.scores(e.norm(x, *w.norm(d)), words), new


def gpt2_caches():
    """What the decoder has seen already; a step begins behind it with token 1."""
    rng, shape = inputs(), (common.size.heads, POSITIONS, common.size.head)
    caches = [[rng.standard_normal(shape, dtype=np.float32) for _ in range(2)] for _ in range(LAYERS)]
    for pair in caches:
        for each in pair:
            each[:, PAST:] = 0
    return caches


# --- convolutions ---

def unet(e, w, x):
    """One score for each pixel of [1, side, side, 3]: four levels down and up again, by convolutions 3 x 3."""
    def twice(x, c, n):
        for _ in range(2):
            filters = w.normal([3, 3, c, n], 9 * c, "conv")
            x = e.relu(e.batch_norm(e.conv(x, filters, None), w.full(n, 1.), w.full(n), w.full(n), w.full(n, 1.)))
            c = n
        return x
    base = common.size.base
    x, n, kept = twice(x, 3, base), base, []
    for _ in range(4):
        kept.append(x)
        x, n = twice(e.pool(x), n, 2 * n), 2 * n
    for skip in reversed(kept):
        n //= 2
        x = twice(e.concat(skip, e.up(x, w.normal([2, 2, n, 2 * n], 2 * n, "up"), w.full(n))), 2 * n, n)
    return e.conv(x, *w.conv(1, 1, base, 1))


def conv3d(e, w, x):
    """Classes of films [batch, frames, side, side, 3]."""
    z = common.size
    x = e.pool3d(e.relu(e.conv3d(x, *w.conv(3, 3, 3, 3, z.first))), (1, 2, 2))
    x = e.pool3d(e.relu(e.conv3d(x, *w.conv(3, 3, 3, z.first, z.second))), (2, 2, 2))
    x = e.flat(e.pool3d(e.relu(e.conv3d(x, *w.conv(3, 3, 3, z.second, z.third))), (2, 2, 2)))
    return e.dense(e.relu(e.dense(x, *w.dense(common.conv3d_values(z), z.hidden))), *w.dense(z.hidden, z.classes))


# --- sequences and tables ---

def gru(e, w, x):
    """Classes of x [batch, steps, inputs], from the last value of two layers: h = (1 - z) tanh(x u + r (h v + c)) + z h."""
    k, units = common.size.inputs, common.size.units
    for _ in range(2):
        x, k = e.gru(x, *w.dense(k, 3 * units), *w.dense(units, 3 * units)), units
    return e.dense(e.last(x), *w.dense(units, common.size.classes))


def seq2seq(e, w, source, target):
    """Scores [steps * batch, words], time first, of an LSTM that looks at another's values by additive attention; every step is written out.
    source, target: ids [steps, batch]."""
    batch, units, width, vocab = (getattr(common.size, name) for name in ("batch", "units", "width", "words"))
    words = [w.normal([vocab, width], width, "table") for _ in range(2)]
    encoder, decoder = w.dense(width + units, 4 * units), w.dense(width + 2 * units, 4 * units)
    keys_of, query_of, pick, mix = w.dense(units, units), w.dense(units, units), w.normal([units, 1], units), w.dense(2 * units, units)

    def cell(x, c, h, weights):
        i, j, f, o = e.split(e.dense(e.join(x + [h]), *weights), 4)
        c = c * e.sigmoid(f) + e.sigmoid(i) * e.tanh(j)
        return c, e.tanh(c) * e.sigmoid(o)
    c, h, seen, made = e.zeros([batch, units]), e.zeros([batch, units]), [], []
    for x in e.unstack(e.gather(words[0], source)):
        c, h = cell([x], c, h, encoder)
        seen.append(h)
    memory = e.stack(seen)
    keys, context = e.dense3(memory, *keys_of), e.zeros([batch, units])
    for x in e.unstack(e.gather(words[1], target)):
        c, h = cell([x, context], c, h, decoder)
        score = e.dense3(e.tanh(keys + e.dense(h, *query_of)), pick)
        context = e.sum0(e.softmax0(score) * memory)
        made.append(e.tanh(e.dense(e.join([h, context]), *mix)))
    return e.dense(e.rows(e.stack(made)), *w.dense(units, vocab))


def embedding(e, w, ids):
    """One score for each of some sums of rows of a large table."""
    z = common.size
    table = w.normal([z.rows, z.width], z.width, "table")
    return e.dense(e.bag(table, ids), *w.dense(z.width, 1))


# --- what the rows feed ---

def fed(name):
    """The inputs of a row."""
    rng, z = inputs(), common.size
    ids = lambda high, *shape: rng.integers(0, high, shape).astype("i")
    floats = lambda *shape: rng.random(shape, dtype=np.float32)
    return {"bert_infer_b1": lambda: [ids(z.words, z.steps)], "bert_infer_b8": lambda: [ids(z.words, 8 * z.steps)],
            "vit_infer_b1": lambda: [floats(1, z.side, z.side, 3)], "unet_infer_b1": lambda: [floats(1, z.side, z.side, 3)],
            "conv3d": lambda: [floats(z.batch, z.frames, z.side, z.side, 3), ids(z.classes, z.batch)],
            "gru": lambda: [floats(z.batch, z.steps, z.inputs), ids(z.classes, z.batch)],
            "seq2seq": lambda: [*(ids(z.words, z.steps, z.batch) for _ in range(2)), ids(z.words, z.steps * z.batch)],
            "embedding_1M": lambda: [ids(z.rows, z.sums, z.each), ids(2, z.sums).astype("f")]}[name]()


INFERENCE = {"bert_infer_b1": lambda e, w, x: bert(e, w, x, 1), "bert_infer_b8": lambda e, w, x: bert(e, w, x, 8),
             "vit_infer_b1": vit, "unet_infer_b1": unet}
TRAINING = {"conv3d": conv3d, "gru": gru, "seq2seq": seq2seq, "embedding_1M": embedding}  # the last input is what the loss compares with
NAMES = [*INFERENCE, *TRAINING, "gpt2_decode"]
