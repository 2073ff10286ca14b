# SPDX-License-Identifier: Apache-2.0
"""Variables where sizes and places are taken, tensors of unknown rank, parts of variables, and other names and methods that
programs of TensorFlow 1 use."""
import json

import numpy as np
import pytest
import thalweg as tf


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def two(request):
    """A variable that holds 2."""
    return tf.Variable(2, use_resource=request.param)


def value(fetch, feed=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetch, feed)


# ---- variables as sizes and places ----
def test_variables_are_sizes_and_places(two):
    x = tf.constant(np.arange(6.0))
    got = value([tf.range(two, 5), tf.range(two), tf.range(0, 6, two), x[:two], x[two], x[two:], tf.shape(tf.zeros([two, 2])),
                 tf.fill([two, 2], 1.0), tf.shape(tf.ones([two, 1])), tf.reshape(x, [two, -1]), tf.shape(tf.random_uniform([two, 2])),
                 tf.shape(tf.random_normal([two, 3])), tf.truediv(1, tf.cast(two, tf.float32)), tf.broadcast_to(1.0, [two])])
    np.testing.assert_array_equal(got[0], [2, 3, 4])
    np.testing.assert_array_equal(got[1], [0, 1])
    np.testing.assert_array_equal(got[2], [0, 2, 4])
    np.testing.assert_array_equal(got[3], [0, 1])
    assert got[4] == 2 and got[5].tolist() == [2, 3, 4, 5] and got[6].tolist() == [2, 2] and got[7].shape == (2, 2)
    assert got[8].tolist() == [2, 1] and got[9].shape == (2, 3) and got[10].tolist() == [2, 2] and got[11].tolist() == [2, 3]
    assert got[12] == 0.5 and got[13].tolist() == [1, 1]


def test_variables_stand_where_tensors_do():
    half, matrix = tf.Variable(0.5), tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    wide = tf.Variable(np.int64(2))
    x = np.arange(6.0, dtype=np.float32)
    got = value([1 / half, tf.truediv(1.0, half), tf.pad([1.0], [[1, 0]], constant_values=half), tf.one_hot([1], 2, on_value=half),
                 tf.shape(tf.nn.dropout(tf.ones([4]), rate=half)), tf.matmul([[1.0, 1.0]], matrix), tf.tensordot([1.0, 1.0], matrix, 1),
                 tf.train.exponential_decay(half, 1, 1, half), tf.constant(x)[wide:], tf.zeros(tf.Variable([2, 3]))])
    assert got[0] == got[1] == 2 and got[2].tolist() == [0.5, 1] and got[3].tolist() == [[0, 0.5]] and got[4].tolist() == [4]
    assert got[5].tolist() == [[4, 6]] and got[6].tolist() == [4, 6] and got[7] == 0.25 and got[8].tolist() == [2, 3, 4, 5]
    assert got[9].shape == (2, 3)


# ---- unknown rank ----
def test_tensors_of_unknown_rank():
    p, q = tf.placeholder(tf.float32), tf.placeholder(tf.complex64)
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    feed = {p: a, q: a[0] + 1j}
    got = value([tf.matrix_transpose(p), tf.linalg.adjoint(q), tf.tensordot(p, tf.matrix_transpose(p), [[2], [1]]), tf.tensordot(p, p, 3),
                 tf.tensordot(p, [1.0, 1, 1, 1], 1), tf.tensordot(p, p, tf.constant([[0, 1], [0, 1]]))], feed)
    np.testing.assert_array_equal(got[0], a.swapaxes(1, 2))
    np.testing.assert_array_equal(got[1], (a[0] + 1j).conj().T)
    np.testing.assert_allclose(got[2], np.tensordot(a, a.swapaxes(1, 2), [[2], [1]]))
    np.testing.assert_allclose(got[3], np.tensordot(a, a, 3))
    np.testing.assert_allclose(got[4], a.sum(-1))
    np.testing.assert_allclose(got[5], np.tensordot(a, a, [[0, 1], [0, 1]]))


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_softmax_of_unknown_rank_is_along_the_axis_that_is_asked_for(axis):
    p, labels = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    x = np.random.RandomState(0).randn(2, 3, 4).astype(np.float32)
    e = np.exp(x - x.max(axis, keepdims=True))
    s = e / e.sum(axis, keepdims=True)
    got = value([tf.nn.softmax(p, axis=axis), tf.nn.log_softmax(p, axis=axis),
                 tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=p, axis=axis)], {p: x, labels: s})
    np.testing.assert_allclose(got[0], s, rtol=1e-5)
    np.testing.assert_allclose(got[1], np.log(s), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got[2], -(s * np.log(s)).sum(axis), rtol=1e-4)


def test_images_of_unknown_rank_are_single_images():
    p = tf.placeholder(tf.float32)
    a = np.random.RandomState(0).rand(4, 5, 3).astype(np.float32)
    got = value([tf.image.flip_left_right(p), tf.image.flip_up_down(p), tf.image.transpose_image(p), tf.image.rot90(p),
                 tf.image.crop_to_bounding_box(p, 1, 2, 2, 3), tf.image.resize_image_with_crop_or_pad(p, 6, 3)], {p: a})
    np.testing.assert_array_equal(got[0], a[:, ::-1])
    np.testing.assert_array_equal(got[1], a[::-1])
    np.testing.assert_array_equal(got[2], a.swapaxes(0, 1))
    np.testing.assert_array_equal(got[3], np.rot90(a))
    np.testing.assert_array_equal(got[4], a[1:3, 2:5])
    np.testing.assert_array_equal(got[5], np.pad(a[:, 1:4], [[1, 1], [0, 0], [0, 0]]))
    assert value(tf.image.grayscale_to_rgb(p), {p: a[..., :1]}).shape == (4, 5, 3)
    with pytest.raises(ValueError, match="contains no shape"):
        tf.image.resize_images(p, [2, 2])


# ---- parts of variables ----
@pytest.mark.parametrize("resource", [False, True])
def test_a_part_of_a_variable_is_assigned(resource):
    v = tf.Variable([1, 2, 3, 4], use_resource=resource)
    m = tf.Variable(np.zeros([2, 3], np.float32), use_resource=resource)
    changes = [tf.assign(v[1:3], [9, 8]), v[3].assign(7), m[1, :2].assign([5.0, 6.0]), tf.assign(m[0, tf.constant(2)], 4.0)]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for change in changes:
            sess.run(change)
        assert sess.run(v).tolist() == [1, 9, 8, 7] and sess.run(m).tolist() == [[0, 0, 4], [5, 6, 0]]


# ---- names and methods ----
def test_reductions_of_losses():
    kinds = tf.losses.Reduction
    assert kinds.all() == ("none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size",
                           "weighted_sum_by_nonzero_weights", "weighted_sum_by_nonzero_weights")
    kinds.validate("none")
    with pytest.raises(ValueError, match="Invalid Reduction Key x."):
        kinds.validate("x")


def test_variable_scopes_are_changed():
    with tf.variable_scope("a") as scope:
        scope.set_partitioner(tf.fixed_size_partitioner(2))
        scope.set_caching_device("/cpu:0")
        seen = []

        def getter(get, name, *args, **kwargs):
            seen.append(name)
            return get(name, *args, **kwargs)
        scope.set_custom_getter(getter)
        tf.get_variable("w", [4, 2])
        assert scope.caching_device == "/cpu:0" and seen[:1] == ["a/w"]
        scope.set_partitioner(None)
        tf.get_variable("l", [2], collections=[tf.GraphKeys.LOCAL_VARIABLES])
        assert [v.op.name for v in scope.local_variables()] == ["a/l"]


def test_graphs_make_and_keep_operations(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    op = graph.create_op("Mul", [x, x], [tf.float32], name="twice", attrs={"T": tf.AttrValue(type=tf.float32.as_datatype_enum)})
    assert op.name == "twice" and op.op_def.name == "Mul" and [a.name for a in op.op_def.input_arg] == ["x", "y"]
    assert graph.graph_def_versions == graph.as_graph_def().versions and graph.graph_def_versions.producer > 0
    assert not graph.building_function and graph.switch_to_thread_local() is None
    y = tf.identity(x, name="y")
    graph.prevent_fetching(y.op)
    graph.prevent_feeding(y)
    assert not graph.is_fetchable(y) and not graph.is_fetchable(y.op) and not graph.is_feedable(y) and graph.is_feedable(x)
    with tf.Session() as sess:
        assert sess.run(op.outputs[0], {x: [1, 2]}).tolist() == [1, 4]
        for fetch in (y, y.op, "y:0", [{"a": y}]):
            with pytest.raises(ValueError, match="Operation 'y' has been marked as not fetchable"):
                sess.run(fetch, {x: [1, 2]})
        with pytest.raises(ValueError, match="may not be fed"):
            sess.run(op, {y: [1, 2]})
        with pytest.raises(ValueError, match="not fetchable"):
            sess.make_callable(y, [x])


def test_supervisors_have_their_older_names():
    for name in "Loop PrepareSession RequestStop ShouldStop StartQueueRunners StartStandardServices Stop StopOnException SummaryComputed WaitForStop".split():
        assert callable(getattr(tf.train.Supervisor, name))


def test_hyperparameters_as_messages():
    given = tf.contrib.training.HParams(rate=0.5, steps=3, name="a", fast=True, sizes=[1, 2], words=["x", "y"], flags=[True, False])
    message = given.to_proto()
    again = tf.contrib.training.HParams.from_proto(type(message).FromString(message.SerializeToString()))
    assert again.values() == given.values()
    assert tf.contrib.training.HParams(steps=3, rate=0.5, flags=[True, False], name="a").to_proto().SerializeToString() == bytes.fromhex(
        "0a0f0a05666c616773120642040a0201000a0b0a046e616d6512031a01610a0d0a0472617465"
        "1205150000003f0a0b0a05737465707312020803")  # as TensorFlow 1.15 writes them
    assert given.set_from_map({"steps": 9}).steps == 9
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.contrib.training.HParams(hparam_def=message, rate=1)


def test_compat_has_dimensions():
    assert tf.compat.dimension_value(tf.TensorShape([3])[0]) == 3 and tf.compat.dimension_at_index(tf.TensorShape([3, 4]), 1) == 4
    with tf.compat.forward_compatibility_horizon(2019, 1, 1):
        pass


# ---- layers ----
LAYERS = [("Dense", dict(units=3, activation=tf.nn.relu, kernel_initializer=tf.ones_initializer())), ("Dropout", dict(rate=0.3)),
          ("Flatten", {}), ("Conv1D", dict(filters=2, kernel_size=3)), ("Conv2D", dict(filters=2, kernel_size=3, strides=2)),
          ("Conv3D", dict(filters=2, kernel_size=3)), ("Conv2DTranspose", dict(filters=2, kernel_size=3)),
          ("Conv3DTranspose", dict(filters=2, kernel_size=3)), ("SeparableConv1D", dict(filters=2, kernel_size=3)),
          ("SeparableConv2D", dict(filters=2, kernel_size=3)), ("BatchNormalization", dict(momentum=0.9)),
          ("MaxPooling1D", dict(pool_size=2, strides=2)), ("AveragePooling2D", dict(pool_size=2, strides=1))]


@pytest.mark.parametrize("kind, arguments", LAYERS, ids=[k for k, _ in LAYERS])
def test_layers_tell_their_configuration(kind, arguments):
    layer = getattr(tf.layers, kind)(name="x", **arguments)
    config = json.loads(json.dumps(layer.get_config()))
    again = type(layer).from_config(config)
    assert json.loads(json.dumps(again.get_config())) == config and config["name"] == "x" and set(arguments) <= set(config)


def test_a_layer_of_a_configuration_computes_the_same():
    given = {"name": "d", "trainable": True, "dtype": None, "units": 2, "activation": "relu", "use_bias": True,
             "kernel_initializer": {"class_name": "Ones", "config": {"dtype": "float32"}},
             "bias_initializer": {"class_name": "Constant", "config": {"value": -3.0, "dtype": "float32"}}, "kernel_regularizer": None,
             "bias_regularizer": None, "activity_regularizer": None, "kernel_constraint": None, "bias_constraint": None}
    layer = tf.layers.Dense.from_config(given)
    assert value(layer(tf.constant([[1.0, 1.0], [2.0, 3.0]]))).tolist() == [[0, 0], [2, 2]]
    assert value(tf.layers.dense(tf.ones([1, 2]), 1, activation="sigmoid", kernel_initializer="zeros")).tolist() == [[0.5]]
    config = layer.get_config()
    assert (config["activation"], config["kernel_initializer"], config["dtype"]) == (
        "relu", {"class_name": "Ones", "config": {"dtype": "float32"}}, "float32")
    assert tf.glorot_uniform_initializer(seed=3).get_config() == {"seed": 3, "dtype": "float32"}


def test_layers_called_with_tensors_are_in_no_model():
    layer = tf.layers.Dense(3, name="d")
    layer(tf.ones([1, 2]))
    assert layer.inbound_nodes == layer.outbound_nodes == layer.metrics == [] and not layer.dynamic
    for name in ("input", "output", "input_shape", "output_shape", "input_mask", "output_mask"):
        with pytest.raises(AttributeError):
            getattr(layer, name)
    for name in ("get_input_at", "get_output_at", "get_input_shape_at", "get_output_shape_at", "get_input_mask_at"):
        with pytest.raises(RuntimeError, match="has never been called"):
            getattr(layer, name)(0)

    class Mine(tf.layers.Layer):
        def __init__(self, width):
            super().__init__()
    with pytest.raises(NotImplementedError, match="must override `get_config`"):
        Mine(3).get_config()


# ---- messages ----
@pytest.mark.parametrize("data", [b"\x0a\x03\x0a\x01\xff", b"\x0a\x04\x12\x02\xc3\x28", b"\x00\x01"])
def test_text_that_is_no_utf8_is_a_decode_error(data):
    from thalweg import messages
    with pytest.raises(messages.DecodeError):
        tf.GraphDef.FromString(data)
    with pytest.raises(messages.DecodeError):
        tf.GraphDef().ParseFromString(data)


def test_damaged_messages_are_decode_errors_whatever_is_damaged():
    from thalweg import messages
    with tf.Graph().as_default() as graph:
        tf.layers.dense(tf.placeholder(tf.float32, [None, 3], name="x"), 2, name="layer")
        tf.constant(["text", "more"])
        data = graph.as_graph_def().SerializeToString()
    random = np.random.RandomState(0)
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(random.randint(1, 4)):
            damaged[random.randint(len(damaged))] = random.randint(256)
        try:
            tf.GraphDef.FromString(bytes(damaged))
        except messages.DecodeError:
            pass
    nested = b""
    for _ in range(200):  # NameAttrList { attr { value { func { ... } } } }
        value_bytes = b"\x52" + _varint(len(nested)) + nested  # AttrValue.func
        entry = b"\x12" + _varint(len(value_bytes)) + value_bytes
        nested = b"\x12" + _varint(len(entry)) + entry
    with pytest.raises(messages.DecodeError, match="deep"):
        messages.NameAttrList.FromString(nested)
    with pytest.raises(ValueError, match="no text in UTF-8"):
        tf.NodeDef(name=b"\xff")


def _varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_bytes_in_an_error_are_shown():
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as error:
        sess.run(tf.string_to_number(tf.constant(b"\xff\xfe")))
    assert "\\xff" in str(error.value)
