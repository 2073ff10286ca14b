# SPDX-License-Identifier: Apache-2.0
"""Every kernel of /device:GPU:0 beside the CPU's: floats within 1e-5 of the larger value (5e-5 where many are summed), all else the
same. A node that the device has no kernel for is an error here, as placement is not soft."""
import numpy as np
import pytest
import thalweg as tw

GPU, CPU = "/device:GPU:0", "/cpu:0"
random = np.random.RandomState(7)


def floats(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def run(device, op, inputs, attrs):
    """Outputs of one node on the device; inputs are fed."""
    with tw.Graph().as_default():
        holders = {name: [tw.placeholder(part.dtype) for part in value] if isinstance(value, list) else tw.placeholder(value.dtype)
                   for name, value in inputs.items()}
        with tw.device(device):
            made = getattr(tw.raw_ops, op)(**holders, **attrs)
        outputs = [o for o in (made if isinstance(made, (list, tuple)) else [made]) if isinstance(o, tw.Tensor)]
        feeds = {}
        for name, value in inputs.items():
            pairs = zip(holders[name], value) if isinstance(value, list) else [(holders[name], value)]
            feeds.update(pairs)
        with tw.Session(config=tw.ConfigProto(allow_soft_placement=False)) as session:
            return session.run(outputs, feeds)


def check(op, inputs, tolerance=1e-5, **attrs):
    inputs = {name: value if isinstance(value, list) else np.asarray(value) for name, value in inputs.items()}
    expected, found = run(CPU, op, inputs, attrs), run(GPU, op, inputs, attrs)
    assert len(expected) == len(found) > 0
    for e, f in zip(expected, found):
        assert e.dtype == f.dtype and e.shape == f.shape
        if e.dtype == np.float32:
            np.testing.assert_allclose(f, e, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(f, e)


UNARY = ("Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "Expm1", "Floor", "IsFinite", "IsNan", "Neg", "Reciprocal", "Inv", "Relu", "Relu6",
         "Rint", "Round", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Square", "Tanh")
POSITIVE = ("Log", "Log1p", "Rsqrt", "Sqrt")
BINARY = ("Add", "AddV2", "Div", "DivNoNan", "FloorDiv", "Maximum", "Minimum", "Mul", "RealDiv", "SquaredDifference", "Sub", "Equal",
          "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual")
GRADIENTS = {"EluGrad": ("gradients", "outputs"), "ReciprocalGrad": ("y", "dy"), "InvGrad": ("y", "dy"),
             "Relu6Grad": ("gradients", "features"), "ReluGrad": ("gradients", "features"), "RsqrtGrad": ("y", "dy"),
             "SigmoidGrad": ("y", "dy"), "SoftplusGrad": ("gradients", "features"), "SoftsignGrad": ("gradients", "features"),
             "SqrtGrad": ("y", "dy"), "TanhGrad": ("y", "dy")}
NAMED = {"Relu": "features", "Relu6": "features", "Elu": "features", "Softplus": "features", "Softsign": "features"}


@pytest.mark.parametrize("op", UNARY + POSITIVE)
def test_unary(op):
    for shape in [(), (3,), (7, 100), (0, 4)]:
        x = floats(*shape, low=0.1 if op in POSITIVE else -2.0)
        check(op, {NAMED.get(op, "x"): x})


@pytest.mark.parametrize("op", BINARY)
def test_binary(op):
    for a, b in [((), ()), ((3,), (3,)), ((5, 100), (100,)), ((5, 1, 7), (1, 6, 7)), ((4,), ()), ((), (4,)), ((2, 3, 1, 5, 1), (1, 3, 4, 1, 2)),
                 ((0, 3), (3,))]:
        x, y = floats(*a), floats(*b)
        if x.size and y.size > 1:
            y.flat[0] = x.flat[0]
        if op in ("Div", "RealDiv", "FloorDiv"):
            y = np.where(np.abs(y) < 0.1, np.float32(0.5), y)
        check(op, {"x": x, "y": y})


def test_powers():
    check("Pow", {"x": floats(5, 6, low=0.1), "y": floats(6)})


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Maximum", "Less", "Equal"])
def test_int64(op):
    check(op, {"x": random.randint(-5, 5, (3, 4)), "y": random.randint(-5, 5, (4,))})


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Maximum", "Less", "FloorDiv"])
def test_int32_is_the_hosts(op):
    check(op, {"x": np.array([[1, 2, -7]], np.int32), "y": np.array([3], np.int32)})


def test_nan_is_the_maximum_and_the_minimum():
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    for op in ("Maximum", "Minimum"):
        check(op, {"x": x, "y": x[::-1].copy()})
    check("Relu", {"features": x})


@pytest.mark.parametrize("op", GRADIENTS)
def test_gradients_of_functions(op):
    first, second = GRADIENTS[op]
    check(op, {first: floats(6, 50, low=0.2), second: floats(6, 50)} if first == "y" else {first: floats(6, 50), second: floats(6, 50)})


def test_logic():
    a, b = floats(3, 5) > 0, floats(5) > 0
    check("LogicalAnd", {"x": a, "y": b})
    check("LogicalOr", {"x": a, "y": b})
    check("LogicalNot", {"x": a})


def test_casts():
    types = [np.float32, np.int32, np.int64, np.bool_, np.uint8]
    for source in types:
        x = (np.arange(12).reshape(3, 4) % 5).astype(source)
        for target in types:
            check("Cast", {"x": x}, DstT=tw.as_dtype(target))


def test_select():
    a, b = floats(4, 3), floats(4, 3)
    check("Select", {"condition": floats(4, 3) > 0, "x": a, "y": b})
    check("Select", {"condition": np.array([True, False, True, True]), "x": a, "y": b})
    check("Select", {"condition": np.array(True), "x": a, "y": b})
    check("SelectV2", {"condition": floats(4, 1) > 0, "t": floats(3), "e": floats(1, 3)})


def test_sums_of_many():
    for n in (1, 2, 3, 5):
        check("AddN", {"inputs": [floats(5, 7) for _ in range(n)]})


def test_filling():
    check("Fill", {"dims": np.array([3, 5], np.int32), "value": np.float32(2.5)})
    check("Fill", {"dims": np.array([], np.int64), "value": np.int64(4)})
    check("ZerosLike", {"x": floats(3, 4)})
    check("OnesLike", {"x": floats(3, 4)})


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_products(transpose_a, transpose_b):
    for m, k, n in [(1, 1, 1), (3, 5, 7), (64, 64, 64), (65, 17, 130), (2, 0, 3), (0, 4, 2), (100, 300, 10)]:
        a, b = floats(*((k, m) if transpose_a else (m, k))), floats(*((n, k) if transpose_b else (k, n)))
        check("MatMul", {"a": a, "b": b}, 5e-5, transpose_a=transpose_a, transpose_b=transpose_b)
    check("BatchMatMul", {"x": floats(2, 3, *((6, 4) if transpose_a else (4, 6))), "y": floats(2, 3, *((5, 6) if transpose_b else (6, 5)))},
          5e-5, adj_x=transpose_a, adj_y=transpose_b)


def test_bias():
    check("BiasAdd", {"value": floats(5, 7), "bias": floats(7)})
    check("BiasAdd", {"value": floats(2, 3, 4, 5), "bias": floats(5)})
    check("BiasAdd", {"value": floats(2, 3, 4, 5), "bias": floats(3)}, data_format="NCHW")
    check("BiasAddGrad", {"out_backprop": floats(50, 7)}, 5e-5)
    check("BiasAddGrad", {"out_backprop": floats(8, 9, 10, 5)}, 5e-5)
    check("BiasAddGrad", {"out_backprop": floats(8, 3, 10, 5)}, 5e-5, data_format="NCHW")


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
def test_reductions(op):
    for shape, axes in [((5,), [0]), ((3, 4), [0]), ((3, 4), [1]), ((3, 4), [-1, 0]), ((2, 3, 4, 5), [0, 2]), ((2, 3, 4, 5), [1, 3]),
                        ((1000, 3), [0]), ((3, 1000), [1]), ((100000,), [0]), ((2, 70000), [1]), ((70000, 2), [0]), ((3, 4), []), ((3, 1), [1])]:
        for keep in (False, True):
            check(op, {"input": floats(*shape), "axis": np.array(axes, np.int32)}, 2e-4 if shape[0] > 1000 else 5e-5, keep_dims=keep)
    check("Sum", {"input": floats(0, 3), "axis": np.array([0], np.int64)})


def test_products_and_logic_over_axes():
    check("Prod", {"input": floats(3, 8), "axis": np.array([1], np.int32)})
    for op in ("All", "Any"):
        check(op, {"input": floats(40, 3) > -1.8, "axis": np.array([0], np.int32)})


def test_softmax():
    for shape in [(3, 10), (2, 3, 100), (1, 1000), (0, 3)]:
        check("Softmax", {"logits": floats(*shape)})
        check("LogSoftmax", {"logits": floats(*shape)})
    labels = np.abs(floats(6, 10))
    check("SoftmaxCrossEntropyWithLogits", {"features": 5 * floats(6, 10), "labels": labels / labels.sum(1, keepdims=True)})
    for dtype in (np.int32, np.int64):
        check("SparseSoftmaxCrossEntropyWithLogits", {"features": 5 * floats(6, 10), "labels": np.array([0, 9, 3, 3, 1, 7], dtype)})


def test_shapes():
    x = floats(2, 3, 4)
    check("Reshape", {"tensor": x, "shape": np.array([4, -1], np.int32)})
    check("Reshape", {"tensor": floats(1, 1), "shape": np.array([], np.int32)})
    check("ExpandDims", {"input": x, "axis": np.array(1, np.int32)})
    check("Squeeze", {"input": floats(2, 1, 3, 1)})
    check("Squeeze", {"input": floats(1, 1)})
    check("Identity", {"input": x})
    check("Shape", {"input": x})
    check("Size", {"input": x})
    check("Rank", {"input": x})


def test_moves():
    x = floats(2, 3, 4, 5)
    for perm in ([0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [1, 0, 3, 2]):
        check("Transpose", {"x": x, "perm": np.array(perm, np.int32)})
    check("Tile", {"input": floats(2, 3), "multiples": np.array([3, 2], np.int32)})
    check("Tile", {"input": floats(2, 3), "multiples": np.array([0, 2], np.int32)})
    check("BroadcastTo", {"input": floats(3, 1), "shape": np.array([2, 3, 4], np.int32)})
    check("Slice", {"input": x, "begin": np.array([1, 0, 2, 1], np.int32), "size": np.array([1, -1, 2, 3], np.int32)})
    check("StridedSlice", {"input": floats(6, 7), "begin": np.array([5, 1], np.int32), "end": np.array([0, 7], np.int32),
                           "strides": np.array([-2, 3], np.int32)})
    check("StridedSlice", {"input": floats(6, 7), "begin": np.array([2], np.int32), "end": np.array([3], np.int32),
                           "strides": np.array([1], np.int32)}, shrink_axis_mask=1)
    check("StridedSliceGrad", {"shape": np.array([6, 7], np.int32), "begin": np.array([1, 0], np.int32), "end": np.array([6, 7], np.int32),
                               "strides": np.array([2, 3], np.int32), "dy": floats(3, 3)})
    check("Pad", {"input": floats(2, 3), "paddings": np.array([[1, 0], [2, 3]], np.int32)})
    for axis in (0, 1, -1):
        shapes = [[4, 3], [4, 3], [4, 3]]
        for i, shape in enumerate(shapes):
            shape[axis] += i
        check("ConcatV2", {"values": [floats(*shape) for shape in shapes], "axis": np.array(axis, np.int32)})
    check("Split", {"axis": np.array(1, np.int32), "value": floats(3, 6)}, num_split=3)


CONVOLUTIONS = [((2, 8, 9, 3), (3, 3, 3, 4), 1, 1, "SAME"), ((2, 8, 9, 3), (3, 2, 3, 4), 2, 1, "VALID"), ((1, 12, 12, 2), (3, 3, 2, 5), 1, 2, "SAME"),
                ((4, 28, 28, 1), (5, 5, 1, 8), 1, 1, "SAME"), ((3, 5, 5, 4), (1, 1, 4, 2), 2, 1, "SAME")]


@pytest.mark.parametrize("image, filter_, stride, dilation, padding", CONVOLUTIONS)
def test_convolutions(image, filter_, stride, dilation, padding):
    attrs = {"strides": [1, stride, stride, 1], "dilations": [1, dilation, dilation, 1], "padding": padding}
    x, f = floats(*image), floats(*filter_)
    check("Conv2D", {"input": x, "filter": f}, 5e-5, **attrs)
    y = run(CPU, "Conv2D", {"input": x, "filter": f}, attrs)[0]
    dy = floats(*y.shape)
    check("Conv2DBackpropInput", {"input_sizes": np.array(image, np.int32), "filter": f, "out_backprop": dy}, 1e-4, **attrs)
    check("Conv2DBackpropFilter", {"input": x, "filter_sizes": np.array(filter_, np.int32), "out_backprop": dy}, 2e-3, **attrs)


def test_convolutions_with_channels_first():
    attrs = {"strides": [1, 1, 2, 2], "padding": "SAME", "data_format": "NCHW"}
    x, f = floats(2, 3, 8, 9), floats(3, 3, 3, 4)
    check("Conv2D", {"input": x, "filter": f}, 5e-5, **attrs)
    dy = floats(2, 4, 4, 5)
    check("Conv2DBackpropInput", {"input_sizes": np.array(x.shape, np.int32), "filter": f, "out_backprop": dy}, 1e-4, **attrs)
    check("Conv2DBackpropFilter", {"input": x, "filter_sizes": np.array(f.shape, np.int32), "out_backprop": dy}, 2e-3, **attrs)


@pytest.mark.parametrize("data_format, image", [("NHWC", (2, 8, 9, 3)), ("NCHW", (2, 3, 8, 9))])
def test_depthwise_convolutions(data_format, image):
    attrs = {"strides": [1, 2, 2, 1] if data_format == "NHWC" else [1, 1, 2, 2], "padding": "SAME", "data_format": data_format}
    x, f = floats(*image), floats(3, 2, 3, 2)
    op = "DepthwiseConv2dNative"
    check(op, {"input": x, "filter": f}, 5e-5, **attrs)
    dy = floats(*run(CPU, op, {"input": x, "filter": f}, attrs)[0].shape)
    check(op + "BackpropInput", {"input_sizes": np.array(image, np.int32), "filter": f, "out_backprop": dy}, 1e-4, **attrs)
    check(op + "BackpropFilter", {"input": x, "filter_sizes": np.array(f.shape, np.int32), "out_backprop": dy}, 2e-3, **attrs)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size, stride, padding", [(2, 2, "VALID"), (3, 2, "SAME"), (3, 1, "SAME")])
def test_pools(data_format, size, stride, padding):
    def four(n):
        return [1, n, n, 1] if data_format == "NHWC" else [1, 1, n, n]

    attrs = {"ksize": four(size), "strides": four(stride), "padding": padding, "data_format": data_format}
    x = floats(2, 7, 8, 3)
    check("MaxPool", {"input": x}, **attrs)
    check("AvgPool", {"value": x}, **attrs)
    y = run(CPU, "MaxPool", {"input": x}, attrs)[0]
    dy = floats(*y.shape)
    check("MaxPoolGrad", {"orig_input": x, "orig_output": y, "grad": dy}, **attrs)
    check("AvgPoolGrad", {"orig_input_shape": np.array(x.shape, np.int32), "grad": dy}, **attrs)


BAD = [("MatMul", {"a": floats(2, 3), "b": floats(4, 5)}, {}, "size-incompatible"),
       ("Add", {"x": floats(2, 3), "y": floats(4)}, {}, "Incompatible shapes"),
       ("BiasAdd", {"value": floats(2, 3), "bias": floats(4)}, {}, "as many biases"),
       ("Transpose", {"x": floats(2, 3), "perm": np.array([0, 0], np.int32)}, {}, "twice"),
       ("Slice", {"input": floats(3), "begin": np.array([2], np.int32), "size": np.array([2], np.int32)}, {}, "size\\[0\\]"),
       ("Sum", {"input": floats(3), "axis": np.array([4], np.int32)}, {}, "Invalid reduction dimension"),
       ("Softmax", {"logits": np.float32(1)}, {}, "1 dimension"),
       ("Conv2D", {"input": floats(1, 4, 4, 2), "filter": floats(2, 2, 3, 4)}, {"strides": [1, 1, 1, 1], "padding": "SAME"}, "channels"),
       ("Reshape", {"tensor": floats(3), "shape": np.array([2], np.int32)}, {}, "reshape")]


@pytest.mark.parametrize("op, inputs, attrs, words", BAD)
def test_bad_input_is_refused(op, inputs, attrs, words):
    with pytest.raises(tw.errors.OpError, match=words):
        run(GPU, op, inputs, attrs)


def test_no_room_names_the_node():
    with tw.Graph().as_default(), tw.device(GPU):
        x = tw.placeholder(tw.float32)
        huge = tw.raw_ops.Tile(input=x, multiples=tw.constant([1 << 30]), name="the_huge_one")
        with tw.Session() as session:
            with pytest.raises(tw.errors.ResourceExhaustedError, match="the_huge_one"):
                session.run(huge.op, {x: np.ones(1000, np.float32)})
            assert session.run(x + 1, {x: np.ones(2, np.float32)}).tolist() == [2, 2]
