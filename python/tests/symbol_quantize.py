# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.contrib.quantize. See symbol_cases.py."""
from symbol_cases import fails, initializer, numbers
from symbol_contrib import case_of


def dense(tf):
    x = tf.constant(numbers(4, 7, start=1) * 3)
    h = tf.layers.dense(x, 5, activation=tf.nn.relu, name="first", kernel_initializer=initializer(tf))
    return tf.layers.dense(h, 2, name="second", kernel_initializer=initializer(tf, 1.1))


def convolutions(tf):
    x = tf.constant(numbers(2, 8, 8, 3, start=1) * 2)
    with tf.variable_scope("net", initializer=initializer(tf)):
        h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu6, name="c1")
        h = tf.layers.max_pooling2d(h, 2, 2)
        side = tf.layers.conv2d(h, 4, 1, name="c2", bias_initializer=tf.constant_initializer(0.083))
        h = tf.nn.relu(side + h)
        h = tf.contrib.layers.separable_conv2d(h, None, [3, 3], depth_multiplier=1, scope="deep",
                                               weights_initializer=initializer(tf, 0.9))
        return tf.layers.dense(tf.layers.flatten(h), 3, name="d") * 2.0


def rewritten(tf, build, rewrite):
    """The value twice, for the ranges move, a gradient, and what was put where."""
    out = build(tf)
    rewrite(tf.contrib.quantize)
    weights = tf.trainable_variables()[0]
    slope = tf.gradients(tf.reduce_sum(out * out), [weights])[0]
    operations = tf.get_default_graph().get_operations()
    quantized = [op for op in operations if op.type == "FakeQuantWithMinMaxVars"]
    return [out, out, slope, out, *[f"{op.name} of {op.inputs[0].name}, {op.get_attr('num_bits')} {op.get_attr('narrow_range')}"
                                    for op in sorted(quantized, key=lambda op: op.name)],
            *sorted(v.name for v in tf.global_variables()), *sorted(v.name for v in tf.trainable_variables()),
            *[v for v in sorted(tf.global_variables(), key=lambda v: v.name) if v.op.name.endswith(("quant/min", "quant/max"))]]


def rewriting(name, rewrite):
    for net in (dense, convolutions):
        case_of(f"contrib__quantize__{name}___{net.__name__}")(lambda tf, net=net: rewritten(tf, net, rewrite))


rewriting("create_training_graph", lambda q: q.create_training_graph())
rewriting("create_training_graph___later", lambda q: q.create_training_graph(quant_delay=3))
rewriting("create_eval_graph", lambda q: q.create_eval_graph())
rewriting("experimental_create_training_graph", lambda q: q.experimental_create_training_graph(weight_bits=4, activation_bits=6))
rewriting("experimental_create_training_graph___symmetric",
          lambda q: q.experimental_create_training_graph(weight_bits=5, activation_bits=7, symmetric=True))
rewriting("experimental_create_eval_graph", lambda q: q.experimental_create_eval_graph(quant_delay=1))


@case_of("contrib__quantize__experimental_create_training_graph___scope")
def scoped(tf):
    return rewritten(tf, dense, lambda q: q.experimental_create_training_graph(scope="second"))


@case_of("contrib__quantize__create_training_graph___after_the_optimizer")
def late(tf):
    def build():
        loss = tf.reduce_sum(dense(tf))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        tf.contrib.quantize.create_training_graph()
    return [fails(tf, build)]


@case_of("contrib__quantize__create_training_graph___trains")
def trains(tf):
    loss = tf.reduce_mean(tf.square(dense(tf) - 1.0))
    tf.contrib.quantize.create_training_graph()
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    with tf.control_dependencies([step]):
        after = tf.identity(loss.op.inputs[0])
    return [loss, *[after] * 3, loss]
