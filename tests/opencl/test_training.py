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


def train(device, net, optimizer, steps):
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


def test_lenet_learns_as_on_the_cpu():
    expected, _ = train(CPU, lenet, OPTIMIZERS["momentum"], 15)
    found, _ = train(GPU, lenet, OPTIMIZERS["momentum"], 15)
    assert found[-1] < found[0]
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
