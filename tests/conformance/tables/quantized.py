# SPDX-License-Identifier: Apache-2.0
"""Numbers of eight, sixteen and thirty-two bits with a range: made, brought back, computed with."""
from cases import Fed, L, case, num

LOW, HIGH = Fed(-3.0), Fed(5.0)
CASES = []
for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
    CASES += [case("QuantizeV2", num(3, 4), LOW, HIGH, mode=mode), case("Dequantize", num(3, 4), LOW, HIGH, mode=mode)]
CASES += [case("QuantizeV2", num(3, 4), LOW, HIGH, mode="SCALED", round_mode="HALF_TO_EVEN", narrow_range=True), case("QuantizeV2", num(3, 4), Fed([-1.0, -2.0, -3.0]), Fed([1.0, 2.0, 3.0]), mode="SCALED", axis=0), case("QuantizeV2", num(3, 4), HIGH, LOW), case("QuantizeV2", num(3, 4), Fed(0.0), Fed(0.0)),
          case("QuantizeV2", num(3, 4), Fed([-1.0, -2.0]), Fed([1.0, 2.0]), mode="SCALED", axis=0), case("Dequantize", num(3, 4), Fed([-1.0, -2.0, -3.0]), Fed([1.0, 2.0, 3.0]), mode="SCALED", axis=0), case("Dequantize", num(3, 4), HIGH, LOW),
          case("RequantizationRange", num(3, 4), Fed(-700.0), Fed(900.0)), case("Requantize", num(3, 4), Fed(-7e8), Fed(9e8), LOW, HIGH), case("Requantize", num(3, 4), Fed(-7e8), Fed(9e8), Fed(1.0), HIGH), case("QuantizeDownAndShrinkRange", num(3, 4), Fed(-700.0), Fed(900.0)),
          case("RequantizationRangePerChannel", num(2, 2, 2, 3), Fed([-1.0, -2.0, -3.0]), Fed([4.0, 3.0, 2.0]), clip_value_max=2.0, T="qint32"), case("RequantizePerChannel", num(2, 2, 2, 3), Fed([-1e8, -2e8, -3e8]), Fed([4e8, 3e8, 2e8]), Fed(0.0), HIGH, T="qint32"),
          case("RequantizationRangePerChannel", num(2, 3), Fed([-1.0, -2.0, -3.0]), Fed([4.0, 3.0, 2.0]), clip_value_max=2.0, T="qint32"), case("RequantizePerChannel", num(2, 3), Fed([-1e8, -2e8, -3e8]), Fed([4e8, 3e8, 2e8]), Fed(0.0), HIGH, T="qint32"),
          case("QuantizedAdd", num(3, 4), num(4), LOW, HIGH, Fed(-1.0), Fed(2.0)), case("QuantizedAdd", num(3, 4), num(3, 4), LOW, HIGH, Fed(-1.0), Fed(2.0)), case("QuantizedMul", num(3, 4), num(3, 4), LOW, HIGH, Fed(-1.0), Fed(2.0)), case("QuantizedMul", num(3, 4), num(4), LOW, HIGH, Fed(-1.0), Fed(2.0)),
          *[case("Quantized" + op, num(2, 5, 6, 3), LOW, HIGH, ksize=[1, 2, 3, 1], strides=[1, 2, 2, 1], padding=p) for op in ("AvgPool", "MaxPool") for p in ("VALID", "SAME")],
          case("QuantizedBatchNormWithGlobalNormalization", num(1, 2, 3, 4), LOW, HIGH, num(4), LOW, HIGH, num(4), Fed(0.1), HIGH, num(4), LOW, HIGH, num(4), LOW, HIGH, variance_epsilon=0.01, scale_after_normalization=True),
          case("QuantizedBiasAdd", num(2, 3), num(3), LOW, HIGH, Fed(-1.0), Fed(2.0)), case("QuantizedConcat", Fed(1), L(num(2, 3), num(2, 1)), L(LOW, Fed(-1.0)), L(HIGH, Fed(2.0))), case("QuantizedConcatV2", L(num(2, 3), num(2, 1)), Fed(1), L(LOW, Fed(-1.0)), L(HIGH, Fed(2.0))), case("QuantizedConcat", Fed(0), L(num(2, 3), num(1, 3)), L(LOW, LOW), L(HIGH, HIGH)), case("QuantizedConcat", Fed(5), L(num(2, 3), num(1, 3)), L(LOW, LOW), L(HIGH, HIGH)),
          *[case("QuantizedConv2D", num(2, 5, 6, 3), num(3, 2, 3, 4), LOW, HIGH, Fed(-1.0), Fed(2.0), strides=[1, s, s, 1], padding=p) for s, p in ((1, "VALID"), (2, "SAME"))], case("QuantizedInstanceNorm", num(2, 4, 3, 5), LOW, HIGH), case("QuantizedInstanceNorm", num(2, 4, 3, 5), LOW, HIGH, output_range_given=True, given_y_min=-1.0, given_y_max=1.0),
          case("QuantizedMatMul", num(3, 4), num(4, 5), LOW, HIGH, Fed(-1.0), Fed(2.0)), case("QuantizedMatMul", num(4, 3), num(5, 4), LOW, HIGH, Fed(-1.0), Fed(2.0), transpose_a=True, transpose_b=True), case("QuantizedMatMul", num(3, 4), num(3, 5), LOW, HIGH, Fed(-1.0), Fed(2.0)),
          case("QuantizedRelu", num(3, 4), LOW, HIGH), case("QuantizedRelu6", num(3, 4), LOW, Fed(9.0)), case("QuantizedReshape", num(3, 4), Fed([2, -1]), LOW, HIGH), case("QuantizedReshape", num(3, 4), Fed([5, -1]), LOW, HIGH)]
CASES += [case("QuantizedResizeBilinear", num(2, 5, 6, 3), Fed(size), LOW, HIGH, align_corners=a, half_pixel_centers=h) for size in ([3, 4], [9, 7], [5, 6], [1, 1]) for a, h in ((False, False), (True, False), (False, True))]
CASES += [case("QuantizedResizeBilinear", num(2, 5, 6, 3), Fed([3, 4]), LOW, HIGH, align_corners=True, half_pixel_centers=True), case("QuantizedResizeBilinear", num(2, 5, 6, 3), Fed([0, 4]), LOW, HIGH), case("QuantizedResizeBilinear", num(0, 5, 6, 3), Fed([3, 4]), LOW, HIGH)]
