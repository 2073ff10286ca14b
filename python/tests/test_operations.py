# SPDX-License-Identifier: Apache-2.0
"""Functions of the public interface against numpy."""
import types

import numpy as np
import pytest
import thalweg as tw

RNG = np.random.RandomState(0)
A = RNG.uniform(0.2, 2, [3, 4]).astype(np.float32)
B = RNG.uniform(0.2, 2, [3, 4]).astype(np.float32)

CASES = {
    "add": (lambda: tw.add(A, B), A + B), "subtract": (lambda: tw.subtract(A, B), A - B),
    "multiply": (lambda: tw.multiply(A, B), A * B), "divide": (lambda: tw.divide(A, B), A / B),
    "maximum": (lambda: tw.maximum(A, B), np.maximum(A, B)), "minimum": (lambda: tw.minimum(A, B), np.minimum(A, B)),
    "exp": (lambda: tw.exp(A), np.exp(A)), "log": (lambda: tw.log(A), np.log(A)), "sqrt": (lambda: tw.sqrt(A), np.sqrt(A)),
    "rsqrt": (lambda: tw.rsqrt(A), 1 / np.sqrt(A)), "square": (lambda: tw.square(A), A * A),
    "pow": (lambda: tw.pow(A, B), A ** B), "tanh": (lambda: tw.tanh(A), np.tanh(A)),
    "sigmoid": (lambda: tw.sigmoid(A), 1 / (1 + np.exp(-A))), "negative": (lambda: tw.negative(A), -A),
    "abs": (lambda: tw.abs(-A), A), "sign": (lambda: tw.sign(A - 1), np.sign(A - 1)),
    "floor": (lambda: tw.floor(A), np.floor(A)), "round": (lambda: tw.round(A), np.round(A)),
    "squared_difference": (lambda: tw.squared_difference(A, B), (A - B) ** 2),
    "reduce_sum": (lambda: tw.reduce_sum(A), A.sum()), "reduce_mean": (lambda: tw.reduce_mean(A, 1), A.mean(1)),
    "reduce_max": (lambda: tw.reduce_max(A, [0], keepdims=True), A.max(0, keepdims=True)),
    "reduce_min": (lambda: tw.reduce_min(A, reduction_indices=[1]), A.min(1)),
    "reduce_prod": (lambda: tw.reduce_prod(A, -1), A.prod(-1)),
    "reduce_all": (lambda: tw.reduce_all(A > 0.5, 0), (A > 0.5).all(0)),
    "reduce_any": (lambda: tw.reduce_any(A > 1.9), (A > 1.9).any()),
    "reduce_logsumexp": (lambda: tw.reduce_logsumexp(A, 1), np.log(np.exp(A).sum(1))),
    "count_nonzero": (lambda: tw.count_nonzero([0, 3, 0, 4]), 2),
    "argmax": (lambda: tw.argmax(A, 1), A.argmax(1)), "argmin": (lambda: tw.argmin(A), A.argmin(0)),
    "cast": (lambda: tw.cast(A, tw.int32), A.astype(np.int32)), "to_float": (lambda: tw.to_float([1, 2]), [1.0, 2.0]),
    "matmul": (lambda: tw.matmul(A, B, transpose_b=True), A @ B.T),
    "batch matmul": (lambda: tw.matmul(np.stack([A, B]), np.stack([B.T, A.T])), np.stack([A @ B.T, B @ A.T])),
    "tensordot": (lambda: tw.tensordot(A, B, [[1], [1]]), np.tensordot(A, B, [[1], [1]])),
    "add_n": (lambda: tw.add_n([A, B, A]), A + B + A), "cumsum": (lambda: tw.cumsum(A, 1), A.cumsum(1)),
    "range": (lambda: tw.range(2, 10, 3), [2, 5, 8]), "range of reals": (lambda: tw.range(0.0, 1.0, 0.25), [0, 0.25, 0.5, 0.75]),
    "linspace": (lambda: tw.linspace(0.0, 1.0, 5), np.linspace(0, 1, 5)),
    "equal": (lambda: tw.equal([1, 2], [1, 3]), [True, False]), "not_equal": (lambda: tw.not_equal([1, 2], [1, 3]), [False, True]),
    "logical": (lambda: tw.logical_and([True, False], tw.logical_not([False, False])), [True, False]),
    "where": (lambda: tw.where(A > 1, A, B), np.where(A > 1, A, B)),
    "clip": (lambda: tw.clip_by_value(A, 0.5, 1.0), A.clip(0.5, 1)),
    "clip_by_norm": (lambda: tw.clip_by_norm(A, 1.0), A / np.linalg.norm(A)),
    "reshape": (lambda: tw.reshape(A, [2, -1]), A.reshape(2, -1)), "shape": (lambda: tw.shape(A), [3, 4]),
    "size": (lambda: tw.size(A), 12), "rank": (lambda: tw.rank(A), 2),
    "expand_dims": (lambda: tw.expand_dims(A, 1), A[:, None]), "squeeze": (lambda: tw.squeeze(A[:, None], [1]), A),
    "concat": (lambda: tw.concat([A, B], 1), np.concatenate([A, B], 1)), "stack": (lambda: tw.stack([A, B], 1), np.stack([A, B], 1)),
    "stack of numbers": (lambda: tw.stack([1, 2]), [1, 2]), "list with tensors": (lambda: tw.convert_to_tensor([tw.size(A), 2]), [12, 2]),
    "transpose": (lambda: tw.transpose(A), A.T), "transpose with order": (lambda: tw.transpose(A[None], [2, 0, 1]), A[None].transpose(2, 0, 1)),
    "zeros": (lambda: tw.zeros([2, 3]), np.zeros([2, 3])), "ones": (lambda: tw.ones([50, 50], tw.int32), np.ones([50, 50])),
    "zeros_like": (lambda: tw.zeros_like(A), A * 0), "ones_like": (lambda: tw.ones_like(A), A * 0 + 1),
    "fill": (lambda: tw.fill([2], 7), [7, 7]), "tile": (lambda: tw.tile(A, [2, 1]), np.tile(A, [2, 1])),
    "slice": (lambda: tw.slice(A, [1, 0], [2, -1]), A[1:]), "identity": (lambda: tw.identity(A), A),
    "gather": (lambda: tw.gather(A, [2, 0]), A[[2, 0]]),
    "one_hot": (lambda: tw.one_hot([2, 0], 3), [[0, 0, 1], [1, 0, 0]]),
    "pad": (lambda: tw.pad(A, [[1, 0], [0, 2]]), np.pad(A, [[1, 0], [0, 2]])),
    "saturate_cast": (lambda: tw.saturate_cast([300, -5], tw.uint8), [255, 0]),
    "softmax": (lambda: tw.nn.softmax(A), np.exp(A) / np.exp(A).sum(1, keepdims=True)),
    "log_softmax": (lambda: tw.nn.log_softmax(A), A - np.log(np.exp(A).sum(1, keepdims=True))),
    "relu": (lambda: tw.nn.relu(A - 1), np.maximum(A - 1, 0)), "bias_add": (lambda: tw.nn.bias_add(A, B[0]), A + B[0]),
    "softplus": (lambda: tw.nn.softplus(A), np.log1p(np.exp(A))), "l2_loss": (lambda: tw.nn.l2_loss(A), (A * A).sum() / 2),
    "moments": (lambda: tw.nn.moments(tw.constant(A), [0])[1], A.var(0)),
    "sparse cross entropy": (lambda: tw.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0, 3], logits=A),
                             np.log(np.exp(A).sum(1)) - A[[0, 1, 2], [1, 0, 3]]),
    "cross entropy": (lambda: tw.nn.softmax_cross_entropy_with_logits(labels=np.eye(4, dtype=np.float32)[:3], logits=A),
                      np.log(np.exp(A).sum(1)) - A[[0, 1, 2], [0, 1, 2]]),
    "sigmoid cross entropy": (lambda: tw.nn.sigmoid_cross_entropy_with_logits(labels=B - B, logits=A), np.log1p(np.exp(A))),
    "max_pool": (lambda: tw.nn.max_pool(A.reshape(1, 3, 4, 1), [1, 3, 4, 1], [1, 1, 1, 1], "VALID"), A.max().reshape(1, 1, 1, 1)),
    "avg_pool": (lambda: tw.nn.avg_pool(A.reshape(1, 3, 4, 1), [1, 3, 4, 1], [1, 1, 1, 1], "VALID"), A.mean().reshape(1, 1, 1, 1)),
    "mean_squared_error": (lambda: tw.losses.mean_squared_error(A, B), ((A - B) ** 2).mean()),
    "weighted loss": (lambda: tw.losses.mean_squared_error(A, B, weights=[[1.0], [0.0], [2.0]]),
                      (((A - B) ** 2) * [[1], [0], [2]]).sum() / 8),
    "math module": (lambda: tw.math.add(tw.math.exp(A), tw.math.reduce_sum(B)), np.exp(A) + B.sum()),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_numpy(run, name):
    make, want = CASES[name]
    got = run(make())
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
    assert np.shape(got) == np.shape(want)


def convolution(x, w):
    n, h, k = x.shape[0], x.shape[1] - w.shape[0] + 1, w.shape[1]
    out = np.zeros([n, h, x.shape[2] - k + 1, w.shape[3]])
    for i in range(h):
        for j in range(out.shape[2]):
            out[:, i, j] = np.tensordot(x[:, i:i + w.shape[0], j:j + k], w, 3)
    return out


def test_conv2d(run):
    x, w = RNG.randn(2, 5, 6, 3).astype(np.float32), RNG.randn(3, 2, 3, 4).astype(np.float32)
    np.testing.assert_allclose(run(tw.nn.conv2d(x, w, [1, 1, 1, 1], "VALID")), convolution(x, w), rtol=1e-4, atol=1e-5)
    same = run(tw.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"))
    np.testing.assert_allclose(same, convolution(np.pad(x, [(0, 0), (1, 1), (0, 1), (0, 0)]), w), rtol=1e-4, atol=1e-5)


def test_unstack_and_split(run):
    np.testing.assert_array_equal(run(tw.unstack(A, axis=1))[2], A[:, 2])
    np.testing.assert_array_equal(run(tw.split(A, 2, 1))[1], A[:, 2:])


def test_random_values(run):
    tw.set_random_seed(1)
    normal, uniform = tw.random_normal([10000], 3.0, 2.0), tw.random_uniform([10000], -1, 1)
    truncated, integers = tw.truncated_normal([10000]), tw.random_uniform([1000], 0, 10, tw.int32)
    n, u, t, i = run([normal, uniform, truncated, integers])
    assert abs(n.mean() - 3) < 0.1 and abs(n.std() - 2) < 0.1 and -1 <= u.min() < -0.99 and 0.99 < u.max() < 1
    assert abs(t).max() <= 2 and set(i) == set(range(10))


def test_the_same_seed_gives_the_same_values():
    def values():
        with tw.Graph().as_default(), tw.Session() as sess:
            tw.set_random_seed(7)
            a = tw.random_normal([5])
            return np.concatenate([sess.run(a), sess.run(a)])
    first = values()
    np.testing.assert_array_equal(first, values())
    assert len(set(first)) == 10


def test_dropout(run):
    x = tw.ones([10000])
    kept = run(tw.nn.dropout(x, rate=0.25, seed=1))
    assert set(np.round(kept, 4)) == {0, np.float32(1.3333)} and abs((kept == 0).mean() - 0.25) < 0.03
    assert run(tw.layers.dropout(x, 0.5, training=False)).min() == 1
    training = tw.placeholder_with_default(False, [])
    maybe = tw.layers.dropout(x, 0.5, training=training, seed=1)
    assert run(maybe).min() == 1 and run(maybe, {training: True}).min() == 0


def test_initializers(run):
    made = {name: getattr(tw, name)() for name in (
        "zeros_initializer", "ones_initializer", "random_normal_initializer", "truncated_normal_initializer",
        "glorot_uniform_initializer", "glorot_normal_initializer", "variance_scaling_initializer")}
    with tw.Session() as sess:
        for name, initializer in made.items():
            value = sess.run(initializer([100, 50]))
            assert value.shape == (100, 50), name
    np.testing.assert_array_equal(run(tw.constant_initializer([1, 2])([2])), [1, 2])
    limit = np.sqrt(6 / 150)
    glorot = run(tw.glorot_uniform_initializer(seed=3)([100, 50]))
    assert 0.99 * limit < abs(glorot).max() <= limit


def test_every_public_name_is_there():
    missing = []
    for name in dir(tw):
        found = getattr(tw, name, None)
        if found is None and name != "newaxis" or isinstance(found, types.ModuleType) and not dir(found):
            missing.append(name)
    assert not missing


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((4, 2, 3), (2, 1)), ((1, 3), (2, 3)),
                                    ((1, 1), (1, 1)), ((2, 3), (2, 3)), ((0, 3), (1, 3))])
def test_gradients_of_broadcasting_are_the_same_however_much_of_the_shapes_is_known(shapes):
    values = [np.arange(np.prod(s), dtype=np.float32).reshape(s) + 1 for s in shapes]
    found = []
    for known in ("all", "none", "first hidden", "last hidden"):
        with tw.Graph().as_default(), tw.Session() as sess:
            hide = {"all": lambda s: s, "none": lambda s: None, "first hidden": lambda s: (None,) + s[1:] if s else s,
                    "last hidden": lambda s: s[:-1] + (None,) if s else s}[known]
            a, b = (tw.placeholder(tw.float32, hide(s)) for s in shapes)
            grads = tw.gradients(a * b, [a, b])
            found.append(sess.run(grads, dict(zip((a, b), values))))
            assert [g.shape for g in found[-1]] == list(shapes)
            names = [op.type for op in tw.get_default_graph().get_operations()]
            assert ("BroadcastGradientArgs" in names) <= (known != "all")
    for other in found[1:]:
        for x, y in zip(found[0], other):
            np.testing.assert_array_equal(x, y)


def test_a_row_beside_a_batch_of_unknown_size_needs_no_arithmetic_on_shapes():
    x = tw.placeholder(tw.float32, [None, 3])
    tw.gradients(x * tw.constant([1.0, 2, 3]) - 1.0, x)
    assert not {op.type for op in tw.get_default_graph().get_operations()} & {"BroadcastGradientArgs", "Reshape"}
