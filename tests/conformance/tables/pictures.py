# SPDX-License-Identifier: Apache-2.0
"""Pictures resampled, warped, cut and drawn upon."""
from cases import Fed, case, num, pos

PICTURES = pos(2, 5, 6, 3)
SIZES = ([3, 4], [5, 6], [9, 7], [1, 1])
CASES = []
for op in ("ResizeArea", "ResizeBicubic"):
    CASES += [case(op, PICTURES, Fed([3, 4]))]
    CASES += [case(op, PICTURES, Fed(size), align_corners=a) for size in SIZES for a in (False, True)]
    CASES += [case(op, num(0, 5, 6, 3), Fed([3, 4])), case(op, num(2, 0, 6, 3), Fed([3, 4])), case(op, PICTURES, Fed([0, 4]))]
CASES += [case("ResizeBicubic", PICTURES, Fed(size), half_pixel_centers=True) for size in SIZES]
CASES += [case("ResizeBicubicGrad", num(2, *size, 3), PICTURES, align_corners=a, half_pixel_centers=h) for size in SIZES for a, h in ((False, False), (True, False), (False, True))]
KERNELS = ("lanczos3", "lanczos1", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")
CASES += [case("ScaleAndTranslate", PICTURES, Fed([7, 4]), Fed([1.4, 0.7]), Fed([0.0, 0.0]), kernel_type=k, antialias=a) for k in KERNELS for a in (True, False)]
CASES += [case("ScaleAndTranslate", PICTURES, Fed([7, 4]), Fed([1.4, 0.7]), Fed([2.5, -3.0])), case("ScaleAndTranslate", PICTURES, Fed([7, 4]), Fed([1.4, -0.7]), Fed([0.0, 0.0])), case("ScaleAndTranslate", PICTURES, Fed([7, 4]), Fed([1.0, 1.0]), Fed([99.0, 0.0]))]
CASES += [case("ScaleAndTranslateGrad", num(2, 7, 4, 3), PICTURES, Fed([1.4, 0.7]), Fed([1.0, -0.5]), kernel_type=k, antialias=a) for k in KERNELS[:3] for a in (True, False)]

TURN = [[0.8, -0.6, 1.0, 0.6, 0.8, -1.0, 0.0, 0.0], [1.0, 0.1, 0.0, 0.0, 1.2, 0.5, 0.01, 0.02]]
for how in ("NEAREST", "BILINEAR"):
    for fill in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        CASES += [case("ImageProjectiveTransformV3", PICTURES, Fed(TURN), Fed([5, 6]), Fed(2.5), interpolation=how, fill_mode=fill), case("ImageProjectiveTransformV2", PICTURES, Fed(TURN[:1]), Fed([4, 9]), interpolation=how, fill_mode=fill)]
CASES += [case("ImageProjectiveTransformV2", PICTURES, Fed(TURN * 2), Fed([4, 9]), interpolation="NEAREST"), case("ImageProjectiveTransformV2", PICTURES, Fed(TURN), Fed([4, 9]), interpolation="CUBIC")]

BOXES = Fed([[[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0]], [[-0.5, 0.3, 0.4, 1.7], [0.9, 0.9, 0.1, 0.1]]])
CASES += [case("DrawBoundingBoxes", pos(2, 9, 8, 3), BOXES), case("DrawBoundingBoxesV2", pos(2, 9, 8, 3), BOXES, Fed([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])), case("DrawBoundingBoxes", pos(2, 9, 8, 4), BOXES), case("DrawBoundingBoxes", pos(2, 9, 8, 1), BOXES),
          case("DrawBoundingBoxes", pos(2, 9, 8, 2), BOXES), case("DrawBoundingBoxesV2", pos(2, 9, 8, 3), BOXES, Fed([[0.1, 0.2]])), case("DrawBoundingBoxes", pos(2, 9, 8, 3), Fed([[[0.1, 0.2, 0.8, 0.9]]]))]

for v in ("", "V2"):
    CASES += [case("ExtractGlimpse" + v, pos(2, 7, 8, 3), Fed([3, 4]), Fed([[0.1, -0.2], [0.6, 0.3]]), centered=c, normalized=n, uniform_noise=False, noise="zero") for c in (True, False) for n in (True, False)]
    CASES += [case("ExtractGlimpse" + v, pos(2, 7, 8, 3), Fed([3, 4]), Fed([[0.0, 0.0], [0.2, 0.1]])), case("ExtractGlimpse" + v, pos(2, 7, 8, 3), Fed([3, 4]), Fed([[0.1, 0.2]])), case("ExtractGlimpse" + v, pos(2, 7, 8, 3), Fed([0, 4]), Fed([[0.1, 0.2], [0.6, 0.3]])),
              case("ExtractGlimpse" + v, pos(2, 7, 8, 3), Fed([3, 4]), Fed([[5.1, -0.2], [0.6, 9.3]]), noise="zero", uniform_noise=False)]
