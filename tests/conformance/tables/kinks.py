# SPDX-License-Identifier: Apache-2.0
"""Gradients where a function has a corner, a pole, or several largest elements: what TensorFlow gives there is what a program gets."""
from cases import Fed, case

CORNERS = [-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 6.0]
EVENLY = Fed([[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
TWICE = [[0.0, 1.0, -1.0, 0.0, 2.0, -0.0, 0.0], [0.0, 1.0, 1.0, -2.0, 2.0, 0.0, -0.0]]

CASES = [case(op, Fed(CORNERS)) for op in ("Abs", "Acos", "Acosh", "Asin", "Atanh", "Ceil", "Cosh", "Digamma", "Elu", "Erfinv", "Expm1", "Floor", "LeakyRelu", "Lgamma", "Log", "Log1p",
                                           "Ndtri", "Reciprocal", "Relu", "Relu6", "Rint", "Rsqrt", "Selu", "Sign", "Softplus", "Softsign", "Sqrt", "Square", "L2Loss")]
CASES += [case(op, Fed(TWICE[0]), Fed(TWICE[1])) for op in ("Atan2", "Div", "DivNoNan", "FloorDiv", "FloorMod", "Maximum", "Minimum", "Mod", "MulNoNan", "Pow", "RealDiv", "SquaredDifference",
                                                           "TruncateMod", "Xdivy", "Xlog1py", "Xlogy")]
CASES += [case(op, EVENLY, axes) for op in ("Max", "Min", "EuclideanNorm") for axes in ([1], [0, 1])]
CASES += [case(op, Fed([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]]), axes) for op in ("Prod", "EuclideanNorm") for axes in ([1], [0])]
CASES += [case("Cumprod", Fed([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0]]), 1), case("ClipByValue", Fed(CORNERS), -1.0, 1.0, options=("real",))]
CASES += [case(op, Fed([[3.0, 1.0], [3.0, 2.0], [0.0, 2.0]]), Fed([0, 0, 1])) for op in ("SegmentMax", "SegmentMin", "SegmentProd")]
CASES += [case(op, Fed([[3.0, 1.0], [3.0, 2.0], [0.0, 2.0]]), Fed([0, 0, 1]), 3) for op in ("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")]
CASES += [case("TopKV2", EVENLY, 2), case("MaxPool", Fed([[[[1.0], [3.0]], [[3.0], [3.0]]]]), ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME"),
          case("MaxPool3D", Fed([[[[[1.0], [3.0]], [[3.0], [2.0]]], [[[0.0], [3.0]], [[1.0], [1.0]]]]]), ksize=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="SAME")]
