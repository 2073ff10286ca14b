# SPDX-License-Identifier: Apache-2.0
"""cleverhans 3.0.1: its loop of training; the fast gradient method and projected descent find examples that are taken for others."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from cleverhans.attacks import FastGradientMethod, ProjectedGradientDescent
    from cleverhans.loss import CrossEntropy
    from cleverhans.model import Model
    from cleverhans.train import train
    from cleverhans.utils_tf import model_eval
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)
    rows = rng.rand(128, 6).astype(np.float32)
    classes = np.eye(2, dtype=np.float32)[(rows[:, :3].sum(1) > rows[:, 3:].sum(1)).astype(int)]

    class Net(Model):
        def __init__(self):
            Model.__init__(self, "net", 2, {})
            self.fprop(tf.placeholder(tf.float32, [None, 6]))

        def fprop(self, x, **kwargs):
            with tf.variable_scope(self.scope, reuse=tf.AUTO_REUSE):
                logits = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu, name="hidden"), 2, name="out")
            return {self.O_LOGITS: logits, self.O_PROBS: tf.nn.softmax(logits)}
    session, net = tf.Session(), Net()
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 2])
    train(session, CrossEntropy(net), rows, classes, rng=rng, args=dict(nb_epochs=40, batch_size=32, learning_rate=0.02))
    clean = model_eval(session, x, y, net.get_logits(x), rows, classes, args=dict(batch_size=64))
    assert clean > 0.9, clean
    fast = FastGradientMethod(net, sess=session).generate(x, eps=0.2, clip_min=0., clip_max=1.)
    assert model_eval(session, x, y, net.get_logits(fast), rows, classes, args=dict(batch_size=64)) < 0.5
    slow = ProjectedGradientDescent(net, sess=session).generate(x, eps=0.2, eps_iter=0.05, nb_iter=8, clip_min=0., clip_max=1.)
    print(model_eval(session, x, y, net.get_logits(slow), rows, classes, args=dict(batch_size=64)))
"""


def test_a_classifier_trains_and_is_misled(last_number):
    assert last_number(PROGRAM) < 0.5
