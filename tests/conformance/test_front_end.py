# SPDX-License-Identifier: Apache-2.0
"""What the Python front end makes of several operations: the same program with `m` the real TensorFlow and `m` this package.
Values, gradients, known shapes, states after training, names and classes of errors must be the same."""
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
import thalweg as tw
from both import PLAIN


def normal(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


A, B, C, IMAGES = normal(3, 4), normal(4, 5), normal(2, 3, 4), normal(2, 5, 6, 3)
P, L, I = np.abs(A) + 0.1, (A > 0.2).astype(np.float32), np.array([1, 0, 2], np.int32)
IDS, TWICE = np.array([0, 0, 2], np.int32), lambda x: np.stack([x, x])

# name: f(m, p), where p(value, shape of the placeholder or None for its own) is fed.
VALUES = {
    "tensordot": lambda m, p: [m.tensordot(p(C), p(B), 1), m.tensordot(p(C, [None, None, 4]), p(B), [[2], [0]]),
                               m.tensordot(p(C, [None, 3, None]), p(A, [None, 4]), [[1, 2], [0, 1]]),
                               m.tensordot(p(C), p(A), [[-1, -2], [1, 0]]), m.tensordot(p(A), p(B), 0)],
    "loss_sparse": lambda m, p: [m.losses.sparse_softmax_cross_entropy(p(I), p(A))],
    "loss_smooth": lambda m, p: [m.losses.softmax_cross_entropy(p(L), p(A), label_smoothing=0.1),
                                 m.losses.sigmoid_cross_entropy(p(L), p(A), label_smoothing=0.1)],
    "loss_cosine": lambda m, p: [m.losses.cosine_distance(p(L), p(A), axis=1)],
    "loss_pairs": lambda m, p: [m.losses.mean_pairwise_squared_error(p(L), p(A))],
    "loss_total": lambda m, p: [m.losses.mean_squared_error(p(L), p(A)), m.losses.get_total_loss()],
    "softmax": lambda m, p: [m.nn.softmax(p(C), axis=0), m.nn.log_softmax(p(C), axis=1), m.nn.softmax(p(A[0])),
                             m.nn.softmax(p(C, [None, None, 4]), axis=-2)],
    "cross_entropy": lambda m, p: [
        m.nn.softmax_cross_entropy_with_logits_v2(labels=p(L), logits=p(A)),
        m.nn.softmax_cross_entropy_with_logits_v2(labels=p(TWICE(L)), logits=p(TWICE(A)), axis=1),
        m.nn.softmax_cross_entropy_with_logits_v2(labels=p(TWICE(L), [None, 3, 4]), logits=p(TWICE(A), [None, 3, 4])),
        m.nn.sparse_softmax_cross_entropy_with_logits(labels=p(TWICE(I), [None, None]), logits=p(TWICE(A), [None, None, 4])),
        m.nn.sigmoid_cross_entropy_with_logits(labels=p(L), logits=p(A)), m.nn.weighted_cross_entropy_with_logits(p(L), p(A), 2.0)],
    "moments": lambda m, p: [*m.nn.moments(p(IMAGES), [0, 1, 2]), *m.nn.moments(p(A), [0], keepdims=True)],
    "batch_normalization": lambda m, p: [m.nn.batch_normalization(p(A), *m.nn.moments(p(A), [0]), None, None, 1e-3)],
    "l2_normalize": lambda m, p: [m.nn.l2_normalize(p(A), 1), m.nn.l2_normalize(p(A))],
    "embedding": lambda m, p: [m.nn.embedding_lookup(p(A), p(I)), m.nn.embedding_lookup(p(A), p(I), max_norm=1.0)],
    "top_k": lambda m, p: [*m.nn.top_k(p(A), 2), m.nn.in_top_k(p(A), p(I), 2), m.nn.zero_fraction(p(L))],
    "conv2d": lambda m, p: [m.nn.conv2d(p(IMAGES), p(normal(3, 3, 3, 4)), [1, 2, 1, 1], "SAME"),
                            m.nn.conv2d(p(IMAGES), p(normal(3, 3, 3, 4)), 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
                            m.nn.conv2d_transpose(p(normal(2, 5, 6, 4)), p(normal(3, 3, 3, 4)), [2, 10, 12, 3], [1, 2, 2, 1])],
    "conv_others": lambda m, p: [m.nn.conv1d(p(C), p(normal(2, 4, 3)), 1, "SAME"),
                                 m.nn.conv3d(p(normal(1, 4, 5, 6, 2)), p(normal(2, 2, 2, 2, 3)), [1] * 5, "VALID"),
                                 m.nn.atrous_conv2d(p(IMAGES), p(normal(2, 2, 3, 2)), 2, "SAME")],
    "depthwise": lambda m, p: [m.nn.depthwise_conv2d(p(IMAGES), p(normal(2, 2, 3, 2)), [1] * 4, "SAME"),
                               m.nn.depthwise_conv2d(p(IMAGES), p(normal(2, 2, 3, 2)), [1] * 4, "SAME", rate=[2, 2]),
                               m.nn.separable_conv2d(p(IMAGES), p(normal(2, 2, 3, 2)), p(normal(1, 1, 6, 4)), [1] * 4, "SAME")],
    "pools": lambda m, p: [m.nn.max_pool(p(IMAGES), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), m.nn.avg_pool(p(IMAGES), 2, 1, "VALID"),
                           m.nn.max_pool1d(p(C), 2, 1, "SAME")],
    "norms": lambda m, p: [m.nn.local_response_normalization(p(IMAGES), 2),
                           *m.nn.fused_batch_norm(p(IMAGES), p(normal(3)), p(normal(3)))],
    "clip": lambda m, p: [m.clip_by_value(p(A), -0.5, 0.5), m.clip_by_norm(p(A), 1.0), m.clip_by_norm(p(A), 1.0, [0]),
                          *m.clip_by_global_norm([p(A), p(B)], 1.0)[0], m.global_norm([p(A), p(B)]),
                          m.clip_by_average_norm(p(A), 0.1)],
    "range": lambda m, p: [m.range(5), m.range(2, 10, 3), m.range(0.0, 1.0, 0.25), m.range(np.int64(3)),
                           m.range(p(np.array(4, np.int32))), m.linspace(0.0, 1.0, 5)],
    "one_hot": lambda m, p: [m.one_hot(p(I), 4), m.one_hot(p(I), 3, on_value=5, off_value=-1, axis=0),
                             m.one_hot(p(I), 4, dtype=m.int32)],
    "masks": lambda m, p: [m.sequence_mask(p(I)), m.sequence_mask(p(I), 5, dtype=m.float32),
                           m.boolean_mask(p(A), p(np.array([True, False, True]))), m.boolean_mask(p(A), p(L > 0)),
                           m.boolean_mask(p(A), p(np.array([True, False, True, False])), axis=1)],
    "where": lambda m, p: [m.where(p(L > 0)), m.where(p(L > 0), p(A), p(P))],
    "parts": lambda m, p: [*m.split(p(A), 2, 1), *m.split(p(A), [1, 2], 0), *m.unstack(p(A)), *m.unstack(p(A), axis=1),
                           m.stack([p(A), p(P)], 1), m.concat([p(A), p(P)], -1), m.stack([1, 2, 3])],
    "moves": lambda m, p: [m.transpose(p(C)), m.transpose(p(C), [1, 0, 2]), m.matrix_transpose(p(C)), m.pad(p(A), [[1, 0], [0, 2]]),
                           m.pad(p(A), [[1, 1], [1, 1]], "REFLECT"), m.pad(p(A), [[1, 0], [0, 2]], constant_values=3.0)],
    "slices": lambda m, p: [p(C)[0], p(C)[:, 1:, ::-1], p(C)[..., None, 2], p(C)[:, -1], p(C)[m.constant(1)], p(C)[:, ::2]],
    "fills": lambda m, p: [m.zeros_like(p(A)), m.ones_like(p(A), dtype=m.int32), m.zeros([2, m.shape(p(A))[0]]), m.fill([2, 2], 7)],
    "counts": lambda m, p: [m.count_nonzero(p(L)), m.count_nonzero(p(L), axis=1), m.argmax(p(A), 1), m.argmin(p(A), 0),
                            m.cumsum(p(A), 1, exclusive=True), m.cumprod(p(A), 0, reverse=True)],
    "division": lambda m, p: [p(I) / 2, p(I) // 2, p(I) % 2, -p(I) // 2, p(A) / 2, 1 / p(P), m.truediv(p(I), 3),
                              m.floordiv(p(A), 0.3), m.mod(p(A), 0.3), m.div(p(I), 2)],
    "operators": lambda m, p: [p(A) + 1, 2 - p(A), p(A) * p(A), p(P) ** 2, 2 ** p(P), abs(p(A)), -p(A), p(A) > 0, p(A) <= p(P),
                               p(L > 0) & p(A > 0), ~p(L > 0), p(L > 0) ^ p(A > 0)],
    "casts": lambda m, p: [m.cast(p(A), m.int32), m.saturate_cast(p(A * 200), m.uint8), m.to_int32(p(A)), m.round(p(A * 3)),
                           m.rint(p(A * 3)), m.floor(p(A)), m.sign(p(A))],
    "gathers": lambda m, p: [m.gather(p(A), p(I), axis=1), m.gather_nd(p(A), p(np.array([[0, 1], [2, 3]], np.int32))),
                             m.gather(p(C), p(np.array([[0, 1], [2, 0]], np.int32)), axis=1, batch_dims=1),
                             m.unsorted_segment_sum(p(A), p(I), 3), m.segment_sum(p(A), p(IDS)), m.segment_mean(p(A), p(IDS))],
    "control_flow": lambda m, p: [m.cond(m.reduce_sum(p(A)) > 0, lambda: m.constant(A) * 2, lambda: A * m.constant(3.0)),
                                  m.case([(m.constant(False), lambda: m.constant(1)), (m.constant(True), lambda: m.constant(2))],
                                         default=lambda: m.constant(3))],
}
for reduction in ("sum", "mean", "max", "min", "prod", "logsumexp"):
    VALUES["reduce_" + reduction] = lambda m, p, name="reduce_" + reduction: [
        getattr(m, name)(p(A), axis, keepdims=keep) for axis in (None, 0, [1], [-1, 0]) for keep in (False, True)]
for loss in ("absolute_difference", "mean_squared_error", "hinge_loss", "log_loss", "huber_loss", "sigmoid_cross_entropy",
             "softmax_cross_entropy"):
    VALUES["loss_" + loss] = lambda m, p, name=loss: [
        getattr(m.losses, name)(p(L), p(P if name == "log_loss" else A), reduction=getattr(m.losses.Reduction, reduction),
                                weights=1.0 if plain else [1.0, 0.0, 2.0] if name.startswith("soft") else [[1.0], [0.0], [2.0]])
        for plain in (True, False) for reduction in ("SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_BY_NONZERO_WEIGHTS", "NONE")]
for activation in ("relu", "relu6", "elu", "selu", "softplus", "softsign", "sigmoid", "tanh", "leaky_relu", "crelu", "swish"):
    VALUES["nn_" + activation] = lambda m, p, name=activation: [getattr(m.nn, name)(p(A))]
RATES = {"exponential_decay": dict(decay_steps=3, decay_rate=0.5, staircase=True),
         "natural_exp_decay": dict(decay_steps=3, decay_rate=0.5),
         "inverse_time_decay": dict(decay_steps=3, decay_rate=0.5), "polynomial_decay": dict(decay_steps=4, cycle=True),
         "cosine_decay": dict(decay_steps=8, alpha=0.1), "linear_cosine_decay": dict(decay_steps=8),
         "cosine_decay_restarts": dict(first_decay_steps=3)}
for rate, arguments in RATES.items():
    VALUES[rate] = lambda m, p, name=rate, arguments=arguments: [
        getattr(m.train, name)(0.3, global_step=m.constant(step, dtype=m.int64), **arguments) for step in range(1, 12)]

OPTIMIZERS = {
    "GradientDescent": lambda t: t.GradientDescentOptimizer(0.1), "Momentum": lambda t: t.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda t: t.MomentumOptimizer(0.1, 0.9, use_nesterov=True), "Adagrad": lambda t: t.AdagradOptimizer(0.1),
    "Adadelta": lambda t: t.AdadeltaOptimizer(0.1), "RMSProp": lambda t: t.RMSPropOptimizer(0.1, momentum=0.5),
    "CenteredRMSProp": lambda t: t.RMSPropOptimizer(0.1, centered=True), "Adam": lambda t: t.AdamOptimizer(0.1),
    "Ftrl": lambda t: t.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "FtrlShrinkage": lambda t: t.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.02),
    "ProximalGradientDescent": lambda t: t.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
    "ProximalAdagrad": lambda t: t.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.02)}


def averages(m):
    w = m.Variable(2.0)
    average = m.train.ExponentialMovingAverage(0.9)
    with m.control_dependencies([m.assign_add(w, 1.0)]):
        return average.apply([w]), [w, average.average(w)]


def dependencies(m, make):
    count, w = m.Variable(0.0, trainable=False), m.Variable(2.0)
    with m.control_dependencies([m.assign_add(count, 1.0)]):
        return make(w), [count, w]


STATES = {
    "averages": averages,
    "training_waits": lambda m: dependencies(m, lambda w: m.train.AdamOptimizer(0.1).minimize(w * w)),
    "gradients_wait": lambda m: dependencies(m, lambda w: m.gradients(w * w * w, w)[0]),
}


def train(m, make, sparse, resource):
    v, u = m.Variable(A.copy(), use_resource=resource), m.Variable(np.float32(2), use_resource=resource)
    x = m.gather(v, [0, 2, 0]) if sparse else v
    step = m.train.get_or_create_global_step()
    return make(m.train).minimize(m.reduce_sum(x * x) * u, global_step=step), [v, u, step]


for kind, maker in OPTIMIZERS.items():
    for is_sparse in (False, True):
        for is_resource in (False, True):
            STATES[f"{kind}{'_sparse' * is_sparse}{'_resource' * is_resource}"] = \
                lambda m, make=maker, s=is_sparse, r=is_resource: train(m, make, s, r)


def names(m):
    a = m.constant(1.0, name="a")
    m.concat([A, A], 0), m.reshape(A, [-1]), m.split(A, 2, 1), m.one_hot([1], 3), m.fill([2], 1.0), m.pad(A, [[1, 1], [0, 0]])
    a + 2, 2 - a, a / (a * 3), a // a, m.stack([a, a]), m.gather(A, [0]), m.where(A > 0), m.range(3), m.matmul(A, m.transpose(A))
    w = m.get_variable("w", [4, 2], initializer=m.zeros_initializer())
    with m.name_scope("s"):
        y = m.matmul(m.placeholder(m.float32, [None, 4]), w) + m.Variable(m.zeros([2]), name="v")
        with m.name_scope("s"):
            m.nn.relu(y)
    with m.variable_scope("a", reuse=m.AUTO_REUSE):
        m.get_variable("v", [], initializer=m.zeros_initializer())
        with m.variable_scope("b", reuse=False):
            m.get_variable("v", [], initializer=m.zeros_initializer())
    for _ in range(3):
        with m.variable_scope(None, "d"):
            m.get_variable("v", [], initializer=m.zeros_initializer())
    made = [op.name for op in m.get_default_graph().get_operations() if "Initializer" not in op.name]
    steps = [m.train.AdamOptimizer(0.1).minimize(m.reduce_sum(w)), m.train.MomentumOptimizer(0.1, 0.9).minimize(
        m.reduce_sum(w), global_step=m.train.get_or_create_global_step(), name="mine")]
    return made + [step.name for step in steps] + sorted(v.name for v in m.global_variables())


def errors(m):
    x, graph = m.placeholder(m.float32, [None, 4]), m.get_default_graph()
    session = m.Session()
    wrong = [lambda: x + m.constant(1), lambda: x + "a", lambda: m.matmul(x, x), lambda: m.reshape(m.ones([4]), [3]),
             lambda: m.concat([m.ones([2, 2]), m.ones([3, 3])], 0), lambda: len(x), lambda: m.get_variable("q"),
             lambda: m.placeholder("foo"), lambda: m.cast(x, "bar"), lambda: m.split(m.ones([5]), 2), lambda: m.reduce_sum(x, 5),
             lambda: m.squeeze(x, [1]), lambda: graph.get_tensor_by_name("no:0"), lambda: graph.get_operation_by_name("no"),
             lambda: m.train.GradientDescentOptimizer(0.1).minimize(m.constant(1.0)), lambda: m.one_hot([1], -1),
             lambda: m.constant(1) + 2.5, lambda: m.ones([2])["a"], lambda: session.run(x), lambda: session.run("no:0"),
             lambda: session.run(1), lambda: session.run(None), lambda: session.run(x * 2, {"no:0": 1}),
             lambda: session.run(x, {x: np.ones((2, 3))}), lambda: session.run(x * 2, {x: "abc"})]
    classes = []
    for call in wrong:
        try:
            call()
            classes.append(None)
        except Exception as error:  # the class is what is compared
            classes.append(type(error).__name__)
    return classes


def evaluate(m, make):
    """([values], [gradients], [known shapes]) of a program."""
    feeds = {}

    def p(value, shape=None):
        made = m.placeholder(m.as_dtype(value.dtype), value.shape if shape is None else shape)
        feeds[made] = value
        return made
    with m.Graph().as_default():
        outputs = make(m, p)
        ys, xs = [t for t in outputs if t.dtype.is_floating], [t for t in feeds if t.dtype.is_floating]
        grads = [None if g is None else m.convert_to_tensor(g) for g in m.gradients(ys, xs)] if ys and xs else []
        known = [t.shape.as_list() for t in outputs]
        with session_of(m) as sess:
            values = sess.run(list(outputs), feeds)
            return values, [None if g is None else sess.run(g, feeds) for g in grads], known


def session_of(m):
    return m.Session(config=PLAIN) if m is tf else m.Session()


def assert_same(theirs, ours):
    for x, y in zip(theirs, ours, strict=True):
        assert (x is None) == (y is None)
        if x is None:
            continue
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        if x.dtype.kind == "f":
            np.testing.assert_allclose(y, x, rtol=2e-4, atol=2e-5)
        else:
            np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("name", VALUES)
def test_values_gradients_and_shapes(name):
    theirs, ours = evaluate(tf, VALUES[name]), evaluate(tw, VALUES[name])
    assert_same(theirs[0], ours[0])
    assert_same(theirs[1], ours[1])
    assert ours[2] == theirs[2]


@pytest.mark.parametrize("name", STATES)
def test_states_after_four_steps(name):
    states = []
    for m in (tf, tw):
        with m.Graph().as_default():
            step, variables = STATES[name](m)
            with session_of(m) as sess:
                sess.run(m.global_variables_initializer())
                for _ in range(4):
                    sess.run(step)
                states.append([sess.run(v) for v in variables])
    assert_same(*states)


@pytest.mark.parametrize("program", [names, errors])
def test_names_and_classes_of_errors(program):
    told = []
    for m in (tf, tw):
        with m.Graph().as_default():
            told.append(program(m))
    assert told[1] == told[0]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("writer,reader", [(tf, tw), (tw, tf)], ids=["theirs", "ours"])
def test_meta_graphs_and_checkpoints_of_the_other(tmp_path, writer, reader, use_resource, version):
    path = str(tmp_path / "model")
    with writer.Graph().as_default():
        x = writer.placeholder(writer.float32, [None, 4], name="x")
        w = writer.get_variable("w", [4, 3], initializer=writer.ones_initializer(), use_resource=use_resource)
        loss = writer.reduce_mean(writer.square(writer.nn.relu(writer.matmul(x, w)) - 1.0), name="loss")
        writer.train.AdamOptimizer(0.1).minimize(loss, global_step=writer.train.get_or_create_global_step())
        writer.add_to_collection("mine", loss)
        with session_of(writer) as sess:
            sess.run(writer.global_variables_initializer())
            sess.run("Adam", {"x:0": A})
            path = writer.train.Saver(write_version=version).save(sess, path)
            wanted = [sess.run("loss:0", {"x:0": A}), sess.run(["Adam", "loss:0"], {"x:0": A}) and sess.run("loss:0", {"x:0": A})]
    with reader.Graph().as_default():
        saver = reader.train.import_meta_graph(path + ".meta")
        assert [v.name for v in reader.trainable_variables()] == ["w:0"]
        assert [t.name for t in reader.get_collection("mine")] == ["loss:0"]
        with session_of(reader) as sess:
            saver.restore(sess, path)
            found = [sess.run("loss:0", {"x:0": A})]
            sess.run("Adam", {"x:0": A})
            found.append(sess.run("loss:0", {"x:0": A}))
            assert_same(wanted, found)
            saver.save(sess, path + "-again")
