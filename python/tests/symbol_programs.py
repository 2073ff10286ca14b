# SPDX-License-Identifier: Apache-2.0
"""Cases of graphs, names, scopes, variables, sessions and operators as programs use them: see symbol_cases.py."""
import re

import numpy as np
from symbol_cases import CASES, fails, numbers, shows

X = numbers(3, 4)


def words(build, until="Originally defined"):
    """What is raised: its class and its first line."""
    try:
        build()
    except Exception as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        return "%s: %s" % (type(error).__name__, re.split(until + "| is not allowed in Graph execution| The shape of|a valid node name", text.split("\n")[0])[0].strip())
    return "fine"


# ---- graphs ----
@shows("get_default_graph reset_default_graph python.framework.ops.reset_default_graph")
def Graph(tf):  # noqa: N802
    g = tf.Graph()
    with g.as_default():
        a = tf.constant(1.0, name="a")
        b = tf.add(a, a, name="a")
        with tf.name_scope("s"):
            c = tf.identity(b)
        inside = int(tf.get_default_graph() is g)
    found = [a.name, b.name, c.name, inside, int(tf.get_default_graph() is g), len(g.get_operations()),
             int(g.get_tensor_by_name("s/Identity:0") == c), g.get_operation_by_name("a_1").type,
             int(g.as_graph_element("a") == a.op), c.op.inputs[0].name, str(c.shape), c.dtype.name, c.op.node_def.op,
             int(c.graph is g), len(b.consumers()), int(g.version > 0), int(g.finalized)]
    g.finalize()
    with g.as_default():
        found += [words(lambda: tf.constant(2.0)), int(g.finalized)]
    found += [words(lambda: g.get_tensor_by_name("nothing:0")), words(lambda: g.get_tensor_by_name("a:3")),
              words(lambda: g.get_operation_by_name("nothing")), words(lambda: g.get_tensor_by_name("a")),
              words(lambda: g.get_tensor_by_name(3)), words(lambda: g.as_graph_element(3)),
              words(lambda: tf.reset_default_graph(), "tf.reset")[:14]]
    other = tf.constant(1.0)
    found += [words(lambda: g.as_graph_element(other))[:40]]
    return found


@shows("add_to_collection get_collection get_collection_ref trainable_variables global_variables")
def GraphKeys(tf):  # noqa: N802
    g = tf.get_default_graph()
    with tf.variable_scope("net"):
        w = tf.get_variable("w", [2])
    tf.Variable(1.0, trainable=False, name="count")
    tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
    tf.add_to_collection("mine", 3)
    tf.add_to_collection("mine", w)
    tf.add_to_collections(["mine", "yours", "mine"], "x")
    tf.get_collection_ref("mine").append("y")
    ref = tf.get_collection_ref("new")
    found = [v.name for v in tf.trainable_variables()] + [v.name for v in tf.global_variables()]
    found += [v.name for v in tf.local_variables()] + [len(tf.get_collection("mine")), len(tf.get_collection("yours")),
                                                       len(tf.get_collection("none")), len(ref)]
    found += [v.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="net")]
    found += [len(tf.get_collection("mine", scope="net")), len(tf.global_variables("co")), len(tf.trainable_variables("et"))]
    g.clear_collection("mine")
    found += [len(tf.get_collection("mine"))] + sorted(k for k in g.get_all_collection_keys())
    keys = ("GLOBAL_VARIABLES LOCAL_VARIABLES MODEL_VARIABLES TRAINABLE_VARIABLES SUMMARIES QUEUE_RUNNERS TABLE_INITIALIZERS "
            "ASSET_FILEPATHS MOVING_AVERAGE_VARIABLES REGULARIZATION_LOSSES CONCATENATED_VARIABLES SAVERS WEIGHTS BIASES "
            "ACTIVATIONS UPDATE_OPS LOSSES SAVEABLE_OBJECTS RESOURCES LOCAL_RESOURCES TRAINABLE_RESOURCE_VARIABLES INIT_OP "
            "LOCAL_INIT_OP READY_OP READY_FOR_LOCAL_INIT_OP SUMMARY_OP GLOBAL_STEP EVAL_STEP TRAIN_OP COND_CONTEXT WHILE_CONTEXT "
            "METRIC_VARIABLES")
    return found + [str(getattr(tf.GraphKeys, k)) for k in keys.split()]


@shows("control_dependencies group no_op")
def name_scope(tf):
    names = []
    with tf.name_scope("outer") as outer:
        a = tf.constant(1.0)
        with tf.name_scope("inner") as inner:
            names += [tf.constant(1.0).name, inner]
        with tf.name_scope("inner") as again:
            names += [tf.constant(1.0).name, again]
        with tf.name_scope(None):
            names += [tf.constant(1.0, name="root").name]
        with tf.name_scope(outer):
            names += [tf.constant(1.0).name]
    with tf.name_scope(outer):
        names += [tf.constant(1.0).name]
    with tf.name_scope("outer"):
        names += [tf.constant(1.0).name]
    with tf.name_scope(None, "default", [a]) as scope:
        names += [scope]
    with tf.name_scope("given", "default") as scope:
        names += [scope]
    with tf.control_dependencies([a]):
        b = tf.no_op()
        with tf.control_dependencies(None):
            c = tf.no_op(name="free")
        with tf.control_dependencies([c]):
            d = tf.identity(a)
    g = tf.group(a, b, name="all")
    names += [b.name, str(sorted(o.name for o in b.control_inputs)), str(c.control_inputs), str(sorted(
        o.name for o in d.op.control_inputs)), g.name, g.type, str(sorted(o.name for o in g.control_inputs))]
    return names + [words(lambda: tf.name_scope("a b").__enter__()), words(lambda: tf.name_scope("/x").__enter__()), words(
        lambda: tf.constant(1.0, name="a b")), words(lambda: tf.group(3)), words(lambda: tf.group(a, wrong=1)),
        tf.get_default_graph().unique_name("outer"), tf.get_default_graph().unique_name("fresh", mark_as_used=False)]


# ---- variables ----
@shows("get_variable get_variable_scope zeros_initializer")
def variable_scope(tf):
    found = []
    with tf.variable_scope("a") as scope:
        w = tf.get_variable("w", [2, 3], initializer=tf.zeros_initializer())
        found += [w.name, tf.constant(1.0).name, scope.name, str(scope.reuse), scope.original_name_scope]
        with tf.variable_scope("b"):
            found += [tf.get_variable("w", [1]).name, tf.get_variable_scope().name, tf.constant(1.0).name]
        found.append(words(lambda: tf.get_variable("w", [2, 3])))
    with tf.variable_scope("a", reuse=True):
        found += [int(tf.get_variable("w") is w), words(lambda: tf.get_variable("new", [1])), tf.constant(1.0).name,
                  words(lambda: tf.get_variable("w", [3, 3])), words(lambda: tf.get_variable("w", [2, 3], tf.int32))]
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        found += [int(tf.get_variable("w", [2, 3]) is w), tf.get_variable("auto", [1]).name, tf.constant(1.0).name]
    with tf.variable_scope(scope):
        tf.get_variable_scope().reuse_variables()
        found.append(int(tf.get_variable("w") is w))
    with tf.variable_scope(None, "unnamed") as first, tf.variable_scope("inner"):
        found += [first.name, tf.get_variable("v", []).name]
    with tf.variable_scope(None, default_name="unnamed") as second:
        found += [second.name]
    with tf.variable_scope("typed", dtype=tf.float64, initializer=tf.constant_initializer(2.0)):
        found += [tf.get_variable("v", [2]).dtype.name, tf.get_variable("v2", [2], tf.float32).dtype.name]
    with tf.variable_scope("quiet", auxiliary_name_scope=False):
        found += [tf.constant(1.0).name, tf.get_variable("v", []).name]
    return found + [words(lambda: tf.variable_scope(None).__enter__()), words(lambda: tf.get_variable("unknown")),
                    words(lambda: tf.get_variable("s", initializer=tf.zeros_initializer())),
                    words(lambda: tf.get_variable("text", [2], tf.string)), words(lambda: tf.get_variable("partly", [None, 2])),
                    words(lambda: tf.get_variable("both", [3], initializer=tf.constant([1.0, 2.0])))]


@shows("assign global_variables_initializer all_variables local_variables_initializer is_variable_initialized bool")
def Variable(tf):  # noqa: N802
    found = []
    for resource in (False, True):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=resource)
        w = tf.Variable(v.initialized_value() * 2, name="w", use_resource=resource)
        found += [v.name, v.op.name, v.dtype.name, str(v.shape), int(v.trainable), str(v.initial_value.shape), v.initializer.name,
                  v.value().dtype.name, v + 1, 1 - v, v * w, v[1], -v, abs(v), w]
        found += [tf.assign(v, [3.0, 4.0]), v, tf.assign_add(v, [1.0, 1.0]), tf.assign_sub(v, [0.5, 0.5]), v.assign_add(v), v,
                  tf.is_variable_initialized(v)]
    n = tf.Variable(7, name="n")
    found += [n.dtype.base_dtype.name, repr(n)[:40], n / 2, n // 2, n % 4, n ** 2, n > 3, tf.Variable(True), len(tf.all_variables())]
    found += [words(lambda: tf.Variable()), words(lambda: [x for x in n]), words(lambda: tf.assign(v, [1.0, 2.0, 3.0]))[:10],
              words(lambda: tf.Variable(tf.placeholder(tf.float32)))[:60],
              fails(tf, lambda: tf.Variable([1.0], expected_shape=[2])),
              fails(tf, lambda: tf.assign_add(v, [1])), fails(tf, lambda: tf.Variable("a", dtype=tf.float32))]
    with tf.Session() as session:
        found += [words(lambda: session.run(n))[:23]]
        n.initializer.run()
        n.load(9)
        found += [int(n.eval()), int(session.run(n.initialized_value()))]
    return found


# ---- sessions ----
@shows("placeholder placeholder_with_default constant InteractiveSession ConfigProto RunMetadata compat.v1.RunOptions global_variables_initializer")
def Session(tf):  # noqa: N802
    a, b = tf.placeholder(tf.float32, [None, 2], name="a"), tf.placeholder(tf.float32, name="b")
    d = tf.placeholder_with_default([1.0], [None], name="d")
    s, flag = a + b, tf.placeholder(tf.bool)
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False, intra_op_parallelism_threads=1,
                            device_count={"GPU": 0})
    config.gpu_options.allow_growth = True
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.inter_op_parallelism_threads = 1
    found = [str(a.shape), str(b.shape), a.op.type, str(d.shape)]
    with tf.Session(config=config) as session:
        feed = {a: [[1, 2]], b: 3}
        one = session.run(s, feed)
        many = session.run({"s": s, "parts": [a, (b, d)], "op": s.op}, feed)
        found += [str(one.tolist()), str(one.dtype), str(sorted(many)), str(many["parts"][0].tolist()), str(many["op"]),
                  type(many["parts"][1]).__name__, str(session.run("a:0", feed).tolist()), str(session.run(s, {"a:0": [[0, 0]],
                                                                                                            "b:0": 1}).tolist()),
                  str(session.run(d, {d: [5.0, 6.0]}).tolist()), str(session.run([])), int(tf.get_default_session() is session),
                  str(s.eval(feed).tolist()), str(session.run(flag, {flag: np.array([True])}).tolist())]
        for build in (lambda: session.run(None), lambda: session.run("nothing:0"), lambda: session.run(3),
                      lambda: session.run(s, {3: 1}), lambda: session.run(s, {a: [[1, 2, 3]], b: 1}),
                      lambda: session.run(s, {a: [["x", "y"]], b: 1}), lambda: session.run(s, {a: a, b: 1}),
                      lambda: session.run(s, 3)):
            found.append(words(build, " at 0x").split(": ")[0])
        found += [words(lambda: session.run(s, {a: [[1, 2, 3]], b: 1})), words(lambda: session.run(s, {a: [[1, 2]]}))[:80]]
        options, metadata = tf.RunOptions(timeout_in_ms=10000), tf.RunMetadata()
        found.append(str(session.run(s, feed, options=options, run_metadata=metadata).tolist()))
        call = session.make_callable(s, [a, b])
        found.append(str(call([[1, 1]], 2).tolist()))
        handle = session.partial_run_setup([s], [a, b])
        found.append(str(session.partial_run(handle, s, feed).tolist()))
    found += [words(lambda: session.run(s, feed)), words(lambda: s.eval(feed))[:60], words(lambda: tf.Session(graph=3)),
              words(lambda: tf.Session(config=3))[:9]]
    with tf.Graph().as_default():
        found += [fails(tf, lambda: s)]
    with tf.Graph().as_default():
        interactive = tf.InteractiveSession()
        found += [float(tf.constant(3.0).eval()) == 3.0 and 1 or 0, int(tf.get_default_session() is interactive)]
        interactive.close()
    return found


@shows("NodeDef Summary TensorShape float32 float16 int16 int32 int64 uint8 string as_dtype")
def ops_and_messages(tf):
    found = []
    for t in (tf.float32, tf.float16, tf.int16, tf.int32, tf.int64, tf.uint8, tf.bool, tf.string):
        found += [t.name, repr(t), str(t), int(t.is_floating), int(t.is_integer), int(t == t.name), t.size, int(
            t == tf.as_dtype(t.as_numpy_dtype)), int(t.as_datatype_enum), str(t.real_dtype.name)]
    found += [str(tf.float32.max), str(tf.int16.min), str(tf.uint8.limits), words(lambda: tf.as_dtype("nothing")),
              words(lambda: tf.string.max)]
    shape = tf.TensorShape([None, 3, tf.Dimension(4)])
    found += [str(shape), repr(shape), str(shape[0]), str(shape[1:]), str(shape.ndims), str(shape.as_list()), int(
        shape.is_fully_defined()), str(shape.num_elements()), str(shape.concatenate([2])), str(shape.merge_with([5, None, 4])),
        int(shape.is_compatible_with([1, 3, 4])), int(shape.is_compatible_with([1, 3])), str(tf.TensorShape(None)),
        str(tf.TensorShape([])), str(shape.with_rank(3)), str(tf.TensorShape(None).with_rank_at_least(2)), str(shape[2].value),
        int(tf.TensorShape([2]) == tf.TensorShape([2])), int(shape[1] == 3), str(shape[1] + 1), str(shape[0] * 2), len(shape),
        words(lambda: shape.with_rank(2)), words(lambda: shape.merge_with([5, 5, 5])), words(lambda: shape.assert_has_rank(1)),
        words(lambda: tf.TensorShape([-2])), words(lambda: tf.TensorShape(None).as_list()), words(
            lambda: shape.assert_is_fully_defined()), words(lambda: tf.Dimension("x"))[:10], words(
                lambda: shape.assert_is_compatible_with([1]))]
    node = tf.NodeDef(name="n", op="Const")
    node.attr["dtype"].type = tf.int32.as_datatype_enum
    node.input.append("x")
    summary = tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=2.5)])
    summary.value.add(tag="b", simple_value=1.0)
    again = tf.Summary.FromString(summary.SerializeToString())
    return found + [str(node), again.value[0].tag, len(again.value), str(again.value[1].simple_value), str(again == summary),
                    tf.constant([1, 2], name="c").op.node_def.name]


def operators(tf):
    """Python's operators and indices."""
    x, n, b = tf.constant(X), tf.constant([7, -7, 3]), tf.constant([True, False])
    found = [x + 1, 1 + x, x - 0.5, 1 - x, x * 2, 2 * x, x / 2, 2 / (x + 3), x // 0.3, n / 2, n // 2, n % 3, -7 % tf.constant(3), n ** 2,
             2.0 ** x, x ** 2, -x, abs(x), x > 0, x >= 0, x < 0, x <= 0, b & True, b | False, b ^ True, ~b, x @ X.T, X @ tf.transpose(x),
             np.float32(2) * x, X + x, x + np.ones(4, np.float32), divmod(7, 2)[0], n < np.array([1, 2, 3], np.int32)]
    found += [x[0], x[0, 1], x[-1], x[1:], x[:, 1], x[..., 0], x[:, None], x[::2, 1:3], x[::-1], x[tf.newaxis], x[tf.constant(1)],
              x[tf.constant(1):], x[0:2, ..., tf.newaxis], n[n[2] - 1], x[1][2], x[:, tf.constant(0):tf.constant(2)]]
    found += [t.name for t in (x + 1, 1 - x, x * 2, x / 2, -x, x[0], x[0] > 1, ~b, abs(x), n // 2, n % 3, n ** 2)]
    found += [words(lambda: x + "a")[:9], fails(tf, lambda: x + n[:1]), fails(tf, lambda: x[1.5]), fails(tf, lambda: x[0, 0, 0]),
              fails(tf, lambda: bool(x)), fails(tf, lambda: [v for v in x]), fails(tf, lambda: len(x)), fails(tf, lambda: x["a"]),
              fails(tf, lambda: x & x), fails(tf, lambda: tf.constant(1) + 1.5), fails(tf, lambda: x[5]),
              words(lambda: bool(x)), words(lambda: len(x)), words(lambda: [v for v in x]), int(x == x), int(x in [n, x]),
              len({x, n, x}), str(x), repr(x), str(n.op.type), fails(tf, lambda: float(x))]
    return found


CASES["operators"] = operators


@shows("Print cond set_random_seed device container")
def flow(tf):
    with tf.Graph().as_default():  # what fails leaves parts of loops behind
        return conditions(tf)


def conditions(tf):
    x = tf.constant([1.0, 2.0])
    shown = tf.Print(x, [x], "x is: ", summarize=2)
    picked = tf.cond(tf.constant(True), lambda: x * 2, lambda: x)
    both = tf.cond(x[0] > 1, lambda: [x, x], lambda: [x + 1, x - 1])
    _, total = tf.while_loop(lambda i, t: i < 5, lambda i, t: [i + 1, t + tf.cast(i, tf.float32)], [0, 0.0])
    with tf.device("/cpu:0"), tf.container("mine"):
        placed = tf.identity(x)
    values = [shown, tf.gradients(shown, x)[0], picked, *both, total, tf.case(
        [(x[0] > 5, lambda: tf.constant(1)), (x[0] < 5, lambda: tf.constant(2))], default=lambda: tf.constant(3))]
    with tf.Session() as session:
        values = [str(v.tolist()) for v in session.run(values)]
    return values + [
        shown.op.type, placed.device, tf.set_random_seed(5) is None and 1 or 0,
        fails(tf, lambda: tf.cond(3, lambda: 1, lambda: 2)), fails(tf, lambda: tf.cond(x[0] > 1, lambda: x, lambda: [x, x])),
        fails(tf, lambda: tf.cond(x[0] > 1, lambda: 1, lambda: 1.5)), fails(tf, lambda: tf.cond(x[0] > 1, 1, 2)),
        fails(tf, lambda: tf.while_loop(lambda i: i < 3, lambda i: [i, i], [0])), fails(tf, lambda: tf.while_loop(3, 4, [0])),
        fails(tf, lambda: tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [x]))]


@shows("string_split sparse_placeholder sparse_retain sparse_tensor_dense_matmul SparseTensor tables_initializer")
def text_and_sparse(tf):
    a = tf.SparseTensor([[0, 1], [1, 0], [2, 3]], [1.0, 2.0, 3.0], [3, 4])
    kept = tf.sparse_retain(a, [True, False, True])
    parts = tf.string_split(["a b", "c"])
    table = tf.contrib.lookup.index_table_from_tensor(["x", "y"], num_oov_buckets=1)
    holder = tf.sparse_placeholder(tf.float32, [3, 4])
    with tf.Session() as session:
        tf.tables_initializer().run()
        found = [str(table.lookup(tf.constant(["y", "x", "?"])).eval().tolist()), str(session.run(
            tf.sparse_tensor_dense_matmul(holder, X.T.copy()), {holder: tf.SparseTensorValue([[0, 1]], [2.0], [3, 4])}).round(
                4).tolist()), type(session.run(a)).__name__]
    return found + [tf.sparse_tensor_dense_matmul(a, X.T.copy()), kept.indices, kept.values, parts.indices, parts.values,
                    parts.dense_shape, str(a.get_shape()), a.dtype.name, fails(
                        tf, lambda: tf.SparseTensor([[0, 1]], [1.0, 2.0], [3, 4])), fails(tf, lambda: tf.sparse_retain(3, [True]))]


@shows("errors.NotFoundError errors.OutOfRangeError")
def errors(tf):
    e = tf.errors.NotFoundError(None, None, "not here")
    return [e.message, e.error_code, str(e.op), str(isinstance(e, tf.errors.OpError)), tf.errors.OutOfRangeError(
        None, None, "end").error_code, tf.errors.OUT_OF_RANGE, tf.errors.error_code_from_exception_type(tf.errors.NotFoundError),
        tf.errors.exception_type_from_error_code(3).__name__, words(lambda: tf.errors.exception_type_from_error_code(99)),
        fails(tf, lambda: tf.check_numerics(tf.constant([1.0]) / 0, "bad")), fails(tf, lambda: tf.constant([1, 2])[
            tf.placeholder_with_default(5, [])]), fails(tf, lambda: tf.matmul(X, X)), fails(tf, lambda: tf.reshape(X, [5, 5])),
        fails(tf, lambda: tf.reshape(X, tf.placeholder_with_default([5, 5], [2]))), fails(tf, lambda: tf.concat([X, X[:1]], 1)),
        fails(tf, lambda: tf.concat([tf.constant(X), tf.constant([1])], 0)), fails(tf, lambda: tf.cast("a", tf.float32)), fails(
            tf, lambda: tf.string_to_number("x")), fails(tf, lambda: tf.constant([[1], [1, 2]])), fails(
                tf, lambda: tf.constant("a", tf.int32)), fails(tf, lambda: tf.constant(1.5, tf.int32)), fails(
                    tf, lambda: tf.constant([1, 2], shape=[1])), fails(tf, lambda: tf.constant(None)), fails(
                        tf, lambda: tf.convert_to_tensor(tf.constant(1), tf.float32)), fails(tf, lambda: tf.gather([1, 2], [5])),
        fails(tf, lambda: tf.add(tf.constant(1), tf.constant(1.0))), fails(tf, lambda: tf.split(X, 3, 1)), fails(
            tf, lambda: tf.one_hot([1], -1)), fails(tf, lambda: tf.stack([X, X[:1]])), fails(tf, lambda: tf.unstack(
                tf.placeholder(tf.float32))), fails(tf, lambda: tf.expand_dims(X, 5)), fails(tf, lambda: tf.squeeze(X, [0])), fails(tf, lambda: tf.tile(X, [1])), fails(tf, lambda: tf.pad(
                        X, [[1, 1]])), fails(tf, lambda: tf.slice(X, [5, 5], [1, 1])), fails(tf, lambda: tf.nn.conv2d(
                            X, X, [1, 1, 1, 1], "SAME")), fails(tf, lambda: tf.nn.softmax_cross_entropy_with_logits(X, X)), fails(
                                tf, lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1.5], logits=X)), fails(
                                    tf, lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=X)), fails(
                                        tf, lambda: tf.nn.dropout(X, 2.0)), fails(tf, lambda: tf.layers.dense(
                                            tf.placeholder(tf.float32, [None, None]), 2)), fails(tf, lambda: tf.nn.embedding_lookup(
                                                None, [1])), fails(tf, lambda: tf.gradients(tf.constant(1), [tf.constant(1.0)]))]
