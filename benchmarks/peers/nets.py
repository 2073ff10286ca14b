"""The networks of the newer rows, once for all engines.

A net is a function of an engine `e`, which has the layers as its users write them, of its weights `w`, and of its inputs. Every engine
gets the same weights and inputs from the same seeds, so first results can be compared (`common.sample`). Pictures are channels last,
filters [height, width, in, out], matrices [in, out]: an engine that wants them otherwise turns them when it makes them (`kind`).
Sequences are [batch * length, width].
"""
import math

import numpy as np

SEQUENCE, WIDTH, HEADS, LAYERS = 128, 768, 12, 12   # of the base sizes of BERT, GPT-2 and ViT
POSITIONS, PAST, TOKENS, VOCAB = 128, 64, 16, 50257  # of the decoder: its cache, what is there already, what a step adds


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


# --- transformers ---

def layer(e, w, x, attend, gelu, before):
    """One layer of width d: normalized before its parts, as GPT-2 and ViT are, or after them, as BERT is."""
    d = WIDTH
    if before:
        x = e.add(x, e.dense(attend(e.dense(e.norm(x, *w.norm(d)), *w.dense(d, 3 * d))), *w.dense(d, d)))
        return e.add(x, e.dense(gelu(e.dense(e.norm(x, *w.norm(d)), *w.dense(d, 4 * d))), *w.dense(4 * d, d)))
    x = e.norm(e.add(x, e.dense(attend(e.dense(x, *w.dense(d, 3 * d))), *w.dense(d, d))), *w.norm(d))
    return e.norm(e.add(x, e.dense(gelu(e.dense(x, *w.dense(d, 4 * d))), *w.dense(4 * d, d))), *w.norm(d))


def bert(e, w, ids, batch):
    """The encoder's last values for ids [batch * 128]."""
    words, places = w.normal([30522, WIDTH], WIDTH, "table"), w.normal([SEQUENCE, WIDTH], WIDTH, "table")
    x = e.norm(e.add_places(e.gather(words, ids), places, batch), *w.norm(WIDTH))
    for _ in range(LAYERS):
        x = layer(e, w, x, lambda qkv: e.attention(qkv, batch, SEQUENCE, HEADS), e.gelu, False)
    return x


def vit(e, w, x):
    """1,000 classes of a picture [1, 224, 224, 3], from patches of 16 x 16."""
    x = e.tokens(e.conv(x, *w.conv(16, 16, 3, WIDTH), stride=16, pad=0))
    x = e.prepend(w.normal([1, WIDTH], WIDTH, "table"), x)
    x = e.add(x, w.normal([197, WIDTH], WIDTH, "table"))
    for _ in range(LAYERS):
        x = layer(e, w, x, lambda qkv: e.attention(qkv, 1, 197, HEADS), e.gelu, True)
    return e.dense(e.first(e.norm(x, *w.norm(WIDTH))), *w.dense(WIDTH, 1000))


def gpt2_token(e, w, token, position, caches):
    """Scores of the next token [1, 50257] and the new caches, for token [1] at position [1]; a cache is a pair of [12, 128, 64]."""
    words, places, new = w.normal([VOCAB, WIDTH], 5000, "table"), w.normal([1024, WIDTH], 5000, "table"), []

    def attend(qkv):
        o, cache = e.attend_cached(qkv, caches[len(new)], position)
        new.append(cache)
        return o
    x = e.add(e.gather(words, token), e.gather(places, position))
    for _ in range(LAYERS):
        x = layer(e, w, x, attend, e.gelu_tanh, True)
    return e.scores(e.norm(x, *w.norm(WIDTH)), words), new


def gpt2_caches():
    """What the decoder has seen already; a step begins behind it with token 1."""
    rng, shape = inputs(), (HEADS, POSITIONS, WIDTH // HEADS)
    caches = [[rng.standard_normal(shape, dtype=np.float32) for _ in range(2)] for _ in range(LAYERS)]
    for pair in caches:
        for each in pair:
            each[:, PAST:] = 0
    return caches


# --- convolutions ---

def unet(e, w, x, base=32):
    """One score for each pixel of [1, 256, 256, 3]: four levels down to 16 x 16 and up again, by convolutions 3 x 3."""
    def twice(x, c, n):
        for _ in range(2):
            filters = w.normal([3, 3, c, n], 9 * c, "conv")
            x = e.relu(e.batch_norm(e.conv(x, filters, None), w.full(n, 1.), w.full(n), w.full(n), w.full(n, 1.)))
            c = n
        return x
    x, n, kept = twice(x, 3, base), base, []
    for _ in range(4):
        kept.append(x)
        x, n = twice(e.pool(x), n, 2 * n), 2 * n
    for skip in reversed(kept):
        n //= 2
        x = twice(e.concat(skip, e.up(x, w.normal([2, 2, n, 2 * n], 2 * n, "up"), w.full(n))), 2 * n, n)
    return e.conv(x, *w.conv(1, 1, base, 1))


def conv3d(e, w, x):
    """10 classes of films [4, 16, 48, 48, 3]."""
    x = e.pool3d(e.relu(e.conv3d(x, *w.conv(3, 3, 3, 3, 32))), (1, 2, 2))
    x = e.pool3d(e.relu(e.conv3d(x, *w.conv(3, 3, 3, 32, 64))), (2, 2, 2))
    x = e.flat(e.pool3d(e.relu(e.conv3d(x, *w.conv(3, 3, 3, 64, 128))), (2, 2, 2)))
    return e.dense(e.relu(e.dense(x, *w.dense(4 * 6 * 6 * 128, 256))), *w.dense(256, 10))


# --- sequences and tables ---

def gru(e, w, x, units=256):
    """10 classes of x [32, 50, 128], from the last value of two layers: h = (1 - z) tanh(x u + r (h v + c)) + z h."""
    k = 128
    for _ in range(2):
        x, k = e.gru(x, *w.dense(k, 3 * units), *w.dense(units, 3 * units)), units
    return e.dense(e.last(x), *w.dense(units, 10))


def seq2seq(e, w, source, target, units=128, width=64, vocab=1000):
    """Scores [16 * 16, vocab], time first, of an LSTM that looks at another's 16 values by additive attention; every step is written out.
    source, target: ids [16, 16], time first."""
    words = [w.normal([vocab, width], width, "table") for _ in range(2)]
    encoder, decoder = w.dense(width + units, 4 * units), w.dense(width + 2 * units, 4 * units)
    keys_of, query_of, pick, mix = w.dense(units, units), w.dense(units, units), w.normal([units, 1], units), w.dense(2 * units, units)

    def cell(x, c, h, weights):
        i, j, f, o = e.split(e.dense(e.join(x + [h]), *weights), 4)
        c = c * e.sigmoid(f) + e.sigmoid(i) * e.tanh(j)
        return c, e.tanh(c) * e.sigmoid(o)
    c, h, seen, made = e.zeros([16, units]), e.zeros([16, units]), [], []
    for x in e.unstack(e.gather(words[0], source)):
        c, h = cell([x], c, h, encoder)
        seen.append(h)
    memory = e.stack(seen)
    keys, context = e.dense3(memory, *keys_of), e.zeros([16, units])
    for x in e.unstack(e.gather(words[1], target)):
        c, h = cell([x, context], c, h, decoder)
        score = e.dense3(e.tanh(keys + e.dense(h, *query_of)), pick)
        context = e.sum0(e.softmax0(score) * memory)
        made.append(e.tanh(e.dense(e.join([h, context]), *mix)))
    return e.dense(e.rows(e.stack(made)), *w.dense(units, vocab))


def embedding(e, w, ids):
    """One score for each of 1,024 sums of 32 rows of a table of 1,000,000 x 64."""
    table = w.normal([1000000, 64], 64, "table")
    return e.dense(e.bag(table, ids), *w.dense(64, 1))


# --- what the rows feed ---

def fed(name):
    """The inputs of a row."""
    rng = inputs()
    ids = lambda high, *shape: rng.integers(0, high, shape).astype("i")
    floats = lambda *shape: rng.random(shape, dtype=np.float32)
    return {"bert_infer_b1": lambda: [ids(30522, SEQUENCE)], "bert_infer_b8": lambda: [ids(30522, 8 * SEQUENCE)],
            "vit_infer_b1": lambda: [floats(1, 224, 224, 3)], "unet_infer_b1": lambda: [floats(1, 256, 256, 3)],
            "conv3d": lambda: [floats(4, 16, 48, 48, 3), ids(10, 4)], "gru": lambda: [floats(32, 50, 128), ids(10, 32)],
            "seq2seq": lambda: [ids(1000, 16, 16), ids(1000, 16, 16), ids(1000, 256)],
            "embedding_1M": lambda: [ids(1000000, 1024, 32), ids(2, 1024).astype("f")]}[name]()


INFERENCE = {"bert_infer_b1": lambda e, w, x: bert(e, w, x, 1), "bert_infer_b8": lambda e, w, x: bert(e, w, x, 8),
             "vit_infer_b1": vit, "unet_infer_b1": unet}
TRAINING = {"conv3d": conv3d, "gru": gru, "seq2seq": seq2seq, "embedding_1M": embedding}  # the last input is what the loss compares with
NAMES = [*INFERENCE, *TRAINING, "gpt2_decode"]
