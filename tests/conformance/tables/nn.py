# SPDX-License-Identifier: Apache-2.0
"""Convolution, pooling, normalization, recurrent cells, resampling, CTC."""
import numpy as np
from cases import Fed, N, case, num, pos, spread

IMAGES, FILTER = num(2, 5, 6, 3), num(3, 2, 3, 4)
WAYS = [dict(strides=[1, 1, 1, 1], padding="VALID"), dict(strides=[1, 2, 2, 1], padding="SAME"), dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1]),
        dict(strides=[1, 1, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])]
OUTPUTS = [(2, 3, 5, 4), (2, 3, 3, 4), (2, 5, 6, 4), (2, 6, 3, 4)]
CASES = []
for way, out in zip(WAYS, OUTPUTS):
    CASES += [case("Conv2D", IMAGES, FILTER, **way), case("Conv2DBackpropInput", [2, 5, 6, 3], FILTER, num(*out), **way),
              case("Conv2DBackpropFilter", IMAGES, [3, 2, 3, 4], num(*out), **way)]
    CASES.append(case("DepthwiseConv2dNative", IMAGES, num(3, 2, 3, 2), **dict(way, strides=[1, way["strides"][1], way["strides"][1], 1])))
CASES += [
    case("Conv2D", num(1, 2, 2, 1), num(3, 3, 1, 1), strides=[1, 1, 1, 1], padding="VALID"), case("Conv2D", num(0, 5, 5, 1), num(3, 3, 1, 2), strides=[1, 1, 1, 1], padding="SAME"), case("Conv2D", num(1, 3, 3, 4), num(2, 2, 2, 4), strides=[1, 1, 1, 1], padding="VALID"),
    case("Conv2D", num(1, 3, 3, 3), num(2, 2, 2, 4), strides=[1, 1, 1, 1], padding="VALID"), case("Conv2D", IMAGES, FILTER, strides=[2, 1, 1, 1], padding="VALID"),
    case("DepthwiseConv2dNativeBackpropInput", [2, 5, 6, 3], num(3, 2, 3, 2), num(2, 5, 6, 6), strides=[1, 1, 1, 1], padding="SAME"), case("DepthwiseConv2dNativeBackpropFilter", IMAGES, [3, 2, 3, 2], num(2, 3, 5, 6), strides=[1, 1, 1, 1], padding="VALID"),
    case("Conv", IMAGES, FILTER, strides=[1, 1, 1, 1], padding="VALID"), case("Conv3D", num(1, 4, 5, 4, 2), num(2, 3, 2, 2, 3), strides=[1, 1, 1, 1, 1], padding="VALID"), case("Conv3D", num(1, 4, 5, 4, 2), num(2, 3, 2, 2, 3), strides=[1, 2, 2, 1, 1], padding="SAME"),
    case("Conv3DBackpropInput", num(1, 4, 5, 4, 2), num(2, 3, 2, 2, 3), num(1, 3, 3, 3, 3), strides=[1, 1, 1, 1, 1], padding="VALID"), case("Conv3DBackpropFilter", num(1, 4, 5, 4, 2), num(2, 3, 2, 2, 3), num(1, 3, 3, 3, 3), strides=[1, 1, 1, 1, 1], padding="VALID"),
    case("Conv3DBackpropInputV2", [1, 4, 5, 4, 2], num(2, 3, 2, 2, 3), num(1, 2, 3, 4, 3), strides=[1, 2, 2, 1, 1], padding="SAME"), case("Conv3DBackpropFilterV2", num(1, 4, 5, 4, 2), [2, 3, 2, 2, 3], num(1, 2, 3, 4, 3), strides=[1, 2, 2, 1, 1], padding="SAME"),
    case("Dilation2D", num(1, 5, 6, 2), num(2, 3, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME"), case("Dilation2D", num(1, 5, 6, 2), num(2, 2, 2), strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], padding="VALID"),
    case("Dilation2DBackpropInput", num(1, 5, 6, 2), num(2, 3, 2), num(1, 5, 6, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME"), case("Dilation2DBackpropFilter", num(1, 5, 6, 2), num(2, 3, 2), num(1, 5, 6, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME"),
    case("BiasAdd", num(2, 3, 4), num(4)), case("BiasAdd", num(2, 3, 4, 2), num(3), data_format="NCHW"), case("BiasAddV1", num(3, 4), num(4)), case("BiasAddGrad", num(2, 3, 4)), case("BiasAddGrad", num(2, 3, 4), data_format="NCHW"), case("BiasAdd", num(2, 3), num(2)),
    case("L2Loss", num(3, 4)), case("Softmax", num(2, 3, 4)), case("LogSoftmax", num(3, 4)), case("BatchNormWithGlobalNormalization", num(2, 3, 4, 5), num(5), pos(5), num(5), num(5), variance_epsilon=0.01, scale_after_normalization=True),
    case("BatchNormWithGlobalNormalizationGrad", num(2, 3, 4, 5), num(5), pos(5), num(5), num(2, 3, 4, 5), variance_epsilon=0.01, scale_after_normalization=True), case("DataFormatVecPermute", Fed([1, 2, 3, 4])), case("DataFormatDimMap", Fed([0, 1, 2, 3]), dst_format="NCHW"),
]
WINDOWS = [dict(ksize=[1, 2, 3, 1], strides=[1, 2, 2, 1], padding="VALID"), dict(ksize=[1, 3, 2, 1], strides=[1, 1, 2, 1], padding="SAME"), dict(ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="VALID"), dict(ksize=[1, 9, 9, 1], strides=[1, 1, 1, 1], padding="VALID")]
for way, x, out in zip(WINDOWS, [(2, 5, 6, 3)] * 2 + [(2, 5, 6, 4)] + [(2, 5, 6, 3)], [(2, 2, 2, 3), (2, 5, 3, 3), (2, 5, 6, 2), None]):
    CASES += [case("AvgPool", num(*x), **way), case("MaxPool", spread(*x), **way), case("MaxPoolV2", spread(*x), way["ksize"], way["strides"], padding=way["padding"]), case("MaxPoolWithArgmax", spread(*x), **way)]
    if out:
        CASES += [case("AvgPoolGrad", list(x), num(*out), **way)]
for way, out in zip(WINDOWS[:2], [(2, 2, 2, 3), (2, 5, 3, 3)]):

    x = Fed((np.random.RandomState(1).permutation(180) * 0.25).reshape(2, 5, 6, 3))
    top = N("MaxPool", x, T="$T", **way)
    CASES += [case("MaxPoolGrad", x, top, num(*out), **way), case("MaxPoolGradV2", x, top, num(*out), way["ksize"], way["strides"], padding=way["padding"]), case("MaxPoolGradGrad", x, top, num(2, 5, 6, 3), **way),
              case("MaxPoolGradGradV2", x, top, num(2, 5, 6, 3), way["ksize"], way["strides"], padding=way["padding"]), case("MaxPoolGradWithArgmax", x, num(*out), N("MaxPoolWithArgmax", x, T="$T", **way)[1], Targmax="int64", **way)]
WAY3 = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 1, 2, 1], padding="SAME")
CUBE = Fed((np.random.RandomState(2).permutation(96) * 0.25).reshape(1, 4, 3, 4, 2))
CASES += [case("AvgPool3D", num(1, 4, 3, 4, 2), **WAY3), case("AvgPool3DGrad", [1, 4, 3, 4, 2], num(1, 2, 3, 2, 2), **WAY3), case("MaxPool3D", spread(1, 4, 3, 4, 2), **WAY3), case("MaxPool3DGrad", CUBE, N("MaxPool3D", CUBE, T="$T", **WAY3), num(1, 2, 3, 2, 2), TInput="float32", T="float32", **WAY3),
          case("MaxPool3DGradGrad", CUBE, N("MaxPool3D", CUBE, T="$T", **WAY3), num(1, 4, 3, 4, 2), **WAY3), case("FractionalAvgPool", num(1, 7, 8, 2), pooling_ratio=[1.0, 1.4, 1.7, 1.0], deterministic=True, seed=3, seed2=5), case("FractionalMaxPool", spread(1, 7, 8, 2), pooling_ratio=[1.0, 1.4, 1.7, 1.0], deterministic=True, seed=3, seed2=5, overlapping=True),
          case("FractionalAvgPoolGrad", [1, 4, 4, 1], num(1, 2, 2, 1), [0, 2, 4], [0, 1, 4]), case("FractionalMaxPoolGrad", Fed(np.arange(16).reshape(1, 4, 4, 1)), Fed(np.array([[4, 7], [12, 15]]).reshape(1, 2, 2, 1)), num(1, 2, 2, 1), [0, 2, 4], [0, 1, 4])]
for v in ("", "V2", "V3"):
    CASES += [case("FusedBatchNorm" + v, num(2, 3, 4, 5), num(5), num(5), num(0), num(0), options=("reserve",)), case("FusedBatchNorm" + v, num(2, 3, 4, 5), num(5), num(5), num(5), pos(5), is_training=False, options=("reserve",)),
              case("FusedBatchNormGrad" + v, num(2, 3, 4, 5), num(2, 3, 4, 5), num(5), num(5), pos(5), *([num(0)] if v == "V3" else []), options=("reserve",)), case("FusedBatchNormGrad" + v, num(2, 3, 4, 5), num(2, 3, 4, 5), num(5), num(5), pos(5), *([num(0)] if v == "V3" else []), is_training=False, options=("reserve",))]
for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
    CASES += [case(op, num(2, 3, 4, 2), [5, 6]), case(op, num(2, 3, 4, 2), [2, 7], align_corners=True), case(op, num(1, 3, 4, 1), [6, 2], half_pixel_centers=True), case(op, num(1, 3, 4, 1), [0, 2])]
CASES += [case("ResizeBilinearGrad", num(1, 5, 6, 2), num(1, 3, 4, 2)), case("ResizeNearestNeighborGrad", num(1, 5, 6, 2), [3, 4]), case("ResizeNearestNeighborGrad", num(1, 5, 6, 2), [3, 4], align_corners=True),
          case("LSTMBlockCell", num(2, 3), num(2, 4), num(2, 4), num(7, 16), num(4), num(4), num(4), num(16), use_peephole=True), case("LSTMBlockCell", num(2, 3), num(2, 4), num(2, 4), num(7, 16), num(4), num(4), num(4), num(16), cell_clip=0.5),
          case("LSTMBlockCellGrad", num(2, 3), num(2, 4), num(2, 4), num(7, 16), num(4), num(4), num(4), num(16), *[pos(2, 4)] * 7, num(2, 4), num(2, 4), use_peephole=True), case("GRUBlockCell", num(2, 3), num(2, 4), num(7, 8), num(7, 4), num(8), num(4)),
          case("GRUBlockCellGrad", num(2, 3), num(2, 4), num(7, 8), num(7, 4), num(8), num(4), pos(2, 4), pos(2, 4), pos(2, 4), num(2, 4)),
          case("CTCLoss", num(5, 2, 4), Fed([[0, 0], [0, 1], [1, 0]]), Fed([0, 2, 1]), Fed([5, 4])), case("CTCLoss", num(5, 2, 4), Fed([[0, 0], [0, 1], [1, 0]]), Fed([1, 1, 1]), Fed([5, 4]), preprocess_collapse_repeated=True),
          case("CTCGreedyDecoder", num(5, 2, 4), Fed([5, 3])), case("CTCGreedyDecoder", num(5, 2, 4), Fed([5, 3]), merge_repeated=True), case("CTCBeamSearchDecoder", num(5, 2, 4), Fed([5, 3]), beam_width=3, top_paths=2, merge_repeated=False), case("CTCGreedyDecoder", num(5, 2, 4), Fed([6, 3]))]
for v in ("", "V2"):
    CASES += [case("BlockLSTM" + v, Fed(4), num(4, 2, 3), num(2, 4), num(2, 4), num(7, 16), num(4), num(4), num(4), num(16), use_peephole=True),
              case("BlockLSTMGrad" + v, Fed(4), num(4, 2, 3), num(2, 4), num(2, 4), num(7, 16), num(4), num(4), num(4), num(16), *[pos(4, 2, 4)] * 9, use_peephole=True)]
