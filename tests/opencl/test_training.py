# SPDX-License-Identifier: Apache-2.0
"""Whole training programs on /device:GPU:0 give the losses of the CPU, within what the order of float sums makes."""
import numpy as np
import pytest
import thalweg as tw

GPU, CPU = "/device:GPU:0", "/cpu:0"


def variable(random, shape, fan_in):
    value = random.standard_normal(shape).astype(np.float32) * np.float32(np.sqrt(2.0 / fan_in)) if fan_in else np.zeros(shape, np.float32)
    return tw.Variable(value, use_resource=True)


def dense(random, x, inputs, outputs):
    return tw.nn.bias_add(tw.matmul(x, variable(random, [inputs, outputs], inputs)), variable(random, [outputs], 0))


def mlp(random, images):
    x = tw.nn.relu(dense(random, tw.reshape(images, [-1, 64]), 64, 50))
    x = tw.tanh(dense(random, x, 50, 30))
    return dense(random, x, 30, 10)


def lenet(random, images):
    def convolution(x, inputs, outputs):
        x = tw.nn.conv2d(x, variable(random, [5, 5, inputs, outputs], 25 * inputs), [1, 1, 1, 1], "SAME")
        x = tw.nn.relu(tw.nn.bias_add(x, variable(random, [outputs], 0)))
        return tw.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    x = convolution(convolution(images, 1, 8), 8, 16)
    x = tw.nn.relu(dense(random, tw.reshape(x, [-1, 2 * 2 * 16]), 64, 32))
    return dense(random, x, 32, 10)


def resnet(random, images):
    """Two residual blocks with batch norms, the second of half the size."""
    def convolution(x, inputs, outputs, stride, size=3):
        x = tw.nn.conv2d(x, variable(random, [size, size, inputs, outputs], size * size * inputs), [1, stride, stride, 1], "SAME")
        scale = tw.Variable(np.ones(outputs, np.float32), use_resource=True)
        return tw.nn.fused_batch_norm(x, scale, variable(random, [outputs], 0))[0]

    x = tw.nn.relu(convolution(images, 1, 8, 1))
    for inputs, outputs, stride in ((8, 8, 1), (8, 16, 2)):
        h = convolution(tw.nn.relu(convolution(x, inputs, outputs, stride)), outputs, outputs, 1)
        x = tw.nn.relu(h + (x if stride == 1 else convolution(x, inputs, outputs, stride, 1)))
    return dense(random, tw.reduce_mean(x, [1, 2]), 16, 10)


def normalized(x, size):
    """Layer normalization of the last dimension."""
    mean = tw.reduce_mean(x, -1, keepdims=True)
    variance = tw.reduce_mean(tw.squared_difference(x, mean), -1, keepdims=True)
    gain, shift = tw.Variable(np.ones(size, np.float32), use_resource=True), tw.Variable(np.zeros(size, np.float32), use_resource=True)
    return (x - mean) * tw.rsqrt(variance + 1e-5) * gain + shift


def transformer(random, images, layers=2, heads=2, width=16):
    """An encoder over the rows of the images."""
    def of_tokens(x, inputs, outputs):
        return tw.reshape(dense(random, tw.reshape(x, [-1, inputs]), inputs, outputs), [-1, 8, outputs])

    def split_heads(x):
        return tw.transpose(tw.reshape(x, [-1, 8, heads, width // heads]), [0, 2, 1, 3])

    x = of_tokens(tw.reshape(images, [-1, 8, 8]), 8, width)
    for _ in range(layers):
        h = normalized(x, width)
        q, k, v = (split_heads(of_tokens(h, width, width)) for _ in range(3))
        weights = tw.nn.softmax(tw.matmul(q, k, transpose_b=True) * (width / heads) ** -0.5)
        x += of_tokens(tw.reshape(tw.transpose(tw.matmul(weights, v), [0, 2, 1, 3]), [-1, 8, width]), width, width)
        h = of_tokens(normalized(x, width), width, 4 * width)
        x += of_tokens(0.5 * h * (1.0 + tw.erf(h * np.float32(0.5 ** 0.5))), 4 * width, width)
    return dense(random, tw.reduce_mean(normalized(x, width), 1), width, 10)


def lstm(random, images, units=12):
    """A recurrent net over the rows of the images, in a loop of the graph."""
    def initializer(shape, dtype=None, partition_info=None):
        return tw.constant(random.standard_normal(tuple(int(n) for n in shape)).astype(np.float32) * np.float32(0.3))

    with tw.variable_scope("lstm", use_resource=True):
        cell = tw.nn.rnn_cell.LSTMCell(units, initializer=initializer)
        _, state = tw.nn.dynamic_rnn(cell, tw.reshape(images, [-1, 8, 8]), dtype=tw.float32)
    return dense(random, state.h, units, 10)


def wide_and_deep(random, images):
    """Rows of tables by words of the images, beside a dense part."""
    words = tw.cast(tw.clip_by_value(tw.reshape(images, [-1, 64])[:, :4] * 10.0 + 25.0, 0.0, 49.0), tw.int64)
    table = variable(random, [50, 6], 6)
    deep = tw.concat([tw.reshape(tw.nn.embedding_lookup(table, words), [-1, 24]), tw.reshape(images, [-1, 64])], 1)
    wide = tw.reduce_sum(tw.nn.embedding_lookup(variable(random, [50, 10], 0), words), 1)
    return wide + dense(random, tw.nn.relu(dense(random, deep, 88, 32)), 32, 10)


def train(device, net, optimizer, steps, passes=()):
    """Losses by step, and what the variables are in the end."""
    random = np.random.RandomState(3)
    with tw.Graph().as_default():
        with tw.device(device):
            images, labels = tw.placeholder(tw.float32, [None, 8, 8, 1]), tw.placeholder(tw.int64, [None])
            scores = net(random, images)
            loss = tw.reduce_mean(tw.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
            step = optimizer().minimize(loss)
        prototypes = random.standard_normal((10, 8, 8, 1)).astype(np.float32)
        losses = []
        config = tw.ConfigProto(allow_soft_placement=True)
        config.graph_options.rewrite_options.optimizers.extend(passes)
        with tw.Session(config=config) as session:
            session.run(tw.global_variables_initializer())
            for _ in range(steps):
                answers = random.randint(0, 10, 32)
                feeds = {images: prototypes[answers] + 0.5 * random.standard_normal((32, 8, 8, 1)).astype(np.float32), labels: answers}
                losses.append(float(session.run([loss, step], feeds)[0]))
            return losses, session.run(tw.trainable_variables())


OPTIMIZERS = {"descent": lambda: tw.train.GradientDescentOptimizer(0.1), "momentum": lambda: tw.train.MomentumOptimizer(0.05, 0.9),
              "nesterov": lambda: tw.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
              "adagrad": lambda: tw.train.AdagradOptimizer(0.1), "rmsprop": lambda: tw.train.RMSPropOptimizer(0.003, momentum=0.5),
              "adam": lambda: tw.train.AdamOptimizer(0.005)}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_mlp_learns_as_on_the_cpu(optimizer):
    expected, weights = train(CPU, mlp, OPTIMIZERS[optimizer], 30)
    found, there = train(GPU, mlp, OPTIMIZERS[optimizer], 30)
    assert found[-1] < 0.5 * found[0]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)
    for a, b in zip(there, weights):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("net, optimizer", [(lenet, "momentum"), (resnet, "momentum"), (transformer, "adam"), (lstm, "adam"), (wide_and_deep, "adagrad")])
def test_a_net_learns_as_on_the_cpu(net, optimizer):
    expected, _ = train(CPU, net, OPTIMIZERS[optimizer], 15)
    found, _ = train(GPU, net, OPTIMIZERS[optimizer], 15)
    assert found[-1] < found[0]
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize("net", [lenet, transformer, lstm])
@pytest.mark.parametrize("word", ["+place_by_cost", "+place_by_search"])
def test_a_net_that_is_placed_by_cost_learns_alike(net, word):
    expected, _ = train(CPU, net, OPTIMIZERS["momentum"], 8)
    found, _ = train(None, net, OPTIMIZERS["momentum"], 8, [word])
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-3)


def test_the_step_is_there(capfd):
    """What of a training step of the net is placed elsewhere: what makes no sense on a device, and nothing else."""
    with tw.Graph().as_default():
        random = np.random.RandomState(3)
        with tw.device(GPU):
            images, labels = tw.placeholder(tw.float32, [None, 8, 8, 1]), tw.placeholder(tw.int64, [None])
            loss = tw.reduce_mean(tw.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=mlp(random, images)))
            step = tw.train.AdamOptimizer(0.01).minimize(loss)
        with tw.Session(config=tw.ConfigProto(allow_soft_placement=True, log_device_placement=True)) as session:
            session.run(tw.global_variables_initializer())
            capfd.readouterr()
            session.run(step, {images: np.zeros((2, 8, 8, 1), np.float32), labels: np.zeros(2, np.int64)})
        placed = [line for line in capfd.readouterr().err.splitlines() if "/device:" in line]
    assert sum("device:GPU:0" in line for line in placed) > 20
    assert not [line for line in placed if "device:CPU:0" in line and "Const" not in line and "Placeholder" not in line]


def test_a_checkpoint_goes_to_another_device(tmp_path):
    def model(device):
        with tw.device(device):
            return tw.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), use_resource=True, name="v")

    with tw.Graph().as_default():
        v = model(GPU)
        with tw.Session(config=tw.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tw.global_variables_initializer())
            session.run(v.assign_add(np.ones((2, 3), np.float32)))
            path = tw.train.Saver().save(session, str(tmp_path / "model"))
    for device in (CPU, GPU):
        with tw.Graph().as_default():
            v = model(device)
            with tw.Session(config=tw.ConfigProto(allow_soft_placement=True)) as session:
                tw.train.Saver().restore(session, path)
                assert session.run(v).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_conditions_and_loops():
    with tw.Graph().as_default(), tw.device(GPU):
        x = tw.placeholder(tw.float32, [])
        doubled = tw.while_loop(lambda y: y < 100.0, lambda y: y * 2.0, [x])
        chosen = tw.cond(x > 2.0, lambda: x * 10.0, lambda: x - 1.0)
        with tw.Session(config=tw.ConfigProto(allow_soft_placement=True)) as session:
            assert session.run([doubled, chosen], {x: 3.0}) == [192.0, 30.0]
            assert session.run([doubled, chosen], {x: 1.0}) == [128.0, 0.0]
