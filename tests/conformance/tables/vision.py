# SPDX-License-Identifier: Apache-2.0
"""Boxes, crops, colors, fused resampling; nearest neighbors; counts; crosses; low-discrepancy samples."""
import numpy as np
from cases import Fed, L, Typed, case, num, pos

BOXES = Fed([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, -0.1, 1.0, 0.9], [0.0, 10.0, 1.0, 11.0], [0.0, 10.1, 1.0, 11.1], [0.0, 100.0, 1.0, 101.0]])
SCORES = Fed([0.9, 0.75, 0.6, 0.95, 0.5, 0.3])
CROPS = Fed([[0.0, 0.0, 1.0, 1.0], [0.2, 0.3, 0.8, 0.7], [-0.5, 0.1, 0.4, 1.3], [0.9, 0.8, 0.1, 0.2]])
OF, IMAGE = Fed([0, 1, 1, 0]), pos(2, 5, 6, 3)
MANY = np.random.RandomState(3).uniform(0, 1, (2, 6, 3)).round(3)
PLACES = np.stack([np.random.RandomState(4).uniform(0, 0.4, (2, 6, 1, 2)), np.random.RandomState(4).uniform(0, 0.4, (2, 6, 1, 2)) + 0.4], 3).reshape(2, 6, 1, 4)
CASES = [
    *[case("CropAndResize", IMAGE, CROPS, OF, [3, 4], method=m, extrapolation_value=e) for m, e in (("bilinear", 0.0), ("nearest", 2.5))], case("CropAndResize", IMAGE, CROPS, OF, [1, 1]), case("CropAndResize", IMAGE, CROPS, Fed([0, 1, 2, 0]), [3, 4]), case("CropAndResize", IMAGE, Fed(np.zeros((0, 4))), Fed([]), [3, 4]),
    *[case("CropAndResizeGradImage", num(4, 3, 4, 3), CROPS, OF, [2, 5, 6, 3], method=m) for m in ("bilinear", "nearest")], case("CropAndResizeGradBoxes", num(4, 3, 4, 3), IMAGE, CROPS, OF), case("CropAndResizeGradBoxes", num(4, 1, 1, 3), IMAGE, CROPS, OF),
    case("NonMaxSuppression", BOXES, SCORES, Fed(3)), case("NonMaxSuppression", BOXES, SCORES, Fed(30), iou_threshold=0.1), case("NonMaxSuppression", BOXES, SCORES, Fed(0)), case("NonMaxSuppressionV2", BOXES, SCORES, Fed(3), Fed(0.5)), case("NonMaxSuppressionV2", BOXES, SCORES, Fed(3), Fed(1.5)),
    case("NonMaxSuppressionV3", BOXES, SCORES, Fed(5), Fed(0.5), Fed(0.4)), case("NonMaxSuppressionV3", Fed(np.zeros((0, 4))), Fed([]), Fed(5), Fed(0.5), Fed(0.0)), *[case("NonMaxSuppressionV4", BOXES, SCORES, Fed(5), Fed(0.5), Fed(0.4), pad_to_max_output_size=p) for p in (False, True)],
    *[case("NonMaxSuppressionV5", BOXES, SCORES, Fed(6), Fed(0.5), Fed(0.0), Fed(s), pad_to_max_output_size=p) for s, p in ((0.0, True), (0.5, False))], case("NonMaxSuppressionWithOverlaps", Fed(np.maximum(0, 1 - 0.4 * np.abs(np.arange(5)[:, None] - np.arange(5)))), Fed([0.5, 0.9, 0.3, 0.7, 0.8]), Fed(3), Fed(0.5), Fed(0.2)),
    *[case("CombinedNonMaxSuppression", Fed(PLACES), Fed(MANY), Fed(2), Fed(5), Fed(0.3), Fed(0.1), pad_per_class=p, clip_boxes=c) for p, c in ((False, True), (True, False))],
    case("AdjustContrastv2", pos(2, 3, 4, 3), num()), case("AdjustHue", pos(2, 3, 3), Fed(0.3)), case("AdjustHue", pos(4, 3), Fed(-0.7)), case("AdjustSaturation", pos(2, 3, 3), Fed(0.5)), case("AdjustSaturation", pos(2, 3, 3), Fed(2.5)),
    case("RandomCrop", num(7, 8, 2), Fed([3, 4]), seed=3, seed2=5, options=("bits",)), case("RandomCrop", num(3, 4, 2), Fed([3, 4]), seed=3, seed2=5, options=("bits",)), case("RandomCrop", num(3, 4, 2), Fed([4, 4]), seed=3, seed2=5),
    *[case("FusedPadConv2D", num(1, 4, 5, 2), [[0, 0], [1, 2], [2, 1], [0, 0]], num(2, 3, 2, 3), mode=m, strides=[1, s, s, 1], padding="VALID") for m in ("REFLECT", "SYMMETRIC") for s in (1, 2)],
    *[case("FusedResizeAndPadConv2D", num(1, 4, 5, 2), [6, 7], [[0, 0], [1, 2], [2, 1], [0, 0]], num(2, 3, 2, 3), mode=m, strides=[1, 1, 1, 1], padding="VALID", resize_align_corners=m == "REFLECT") for m in ("REFLECT", "SYMMETRIC")],
    case("FusedPadConv2D", num(2, 4, 5, 2), [[0, 0], [1, 2], [2, 1], [0, 0]], num(2, 3, 2, 3), mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID"),
    case("NearestNeighbors", num(7, 3), num(5, 3), Fed(2)), case("NearestNeighbors", num(7, 3), num(5, 3), Fed(9)), case("NearestNeighbors", num(7, 3), num(0, 3), Fed(1)), case("NearestNeighbors", num(7, 3), num(5, 3), Fed(1)),
    case("KmeansPlusPlusInitialization", num(9, 2), Fed(3), Fed(5), Fed(2), options=("bits",)), case("KMC2ChainInitialization", pos(6), Fed(5), options=("bits",)), case("SobolSample", 3, 5, 0), case("SobolSample", 7, 9, 11),
]
COUNTED = [dict(binary_output=b, minlength=low, maxlength=high) for b, low, high in ((False, -1, -1), (True, -1, -1), (False, 12, -1), (False, -1, 4))]
for attrs in COUNTED:
    weights = [Fed([])] if attrs["binary_output"] else [Fed([]), Fed([[1, 2, 3, 4], [5, 6, 7, 8]])]
    CASES += [case("DenseCountSparseOutput", Fed([[1, 3, 1, 7], [0, 0, 5, 3]]), w, **attrs) for w in weights]
    CASES.append(case("SparseCountSparseOutput", Fed([[0, 1], [0, 3], [2, 0], [2, 1]]), Fed([1, 1, 7, 3]), Fed([3, 4]), Fed([]), **attrs))
CASES += [case("DenseCountSparseOutput", Fed([1, 3, 1, 7]), Fed([1, 2, 3, 4]), binary_output=False), case("DenseCountSparseOutput", Fed([1, -3]), Fed([]), binary_output=False)]
AT, SHAPE = Fed([[0, 0], [1, 0], [1, 1]]), Fed([2, 2])
WORDS, NUMBERS = Typed("string", Fed(["a", "b", "c"])), Typed("int64", Fed([3, 5, 7]))
COLUMN, NAMES = Typed("int64", Fed([[11], [13]])), Typed("string", Fed([["x", "y"], ["z", "w"]]))
for sparse, dense in (([WORDS], [NAMES]), ([WORDS, WORDS], []), ([WORDS, NUMBERS], [COLUMN]), ([], [NAMES, COLUMN])):
    given = (L(*[AT] * len(sparse)), L(*sparse), L(*[SHAPE] * len(sparse)), L(*dense))
    CASES += [case("SparseCrossV2", *given, Fed("_X_")), case("SparseCrossHashed", *given, Fed(0), Fed(False), Fed([1, 2])), case("SparseCrossHashed", *given, Fed(97), Fed(True), Fed([9, 4]))]
    if not any(e.kind == "int64" for e in sparse + dense):
        CASES.append(case("SparseCross", *given, hashed_output=False, num_buckets=0, hash_key=7, out_type="string", internal_type="string"))
    CASES.append(case("SparseCross", *given, hashed_output=True, num_buckets=100, hash_key=956888297470, out_type="int64", internal_type="string" if not any(e.kind == "int64" for e in sparse + dense) else "int64"))

CASES += [case("AdjustContrast", num(2, 3, 4, 3), Fed(f), Fed(low), Fed(high)) for f, low, high in ((0.7, -5.0, 5.0), (2.5, 0.0, 3.0), (0.0, -1.0, 1.0), (-1.0, -5.0, 5.0), (0.7, 2.0, 1.0))]
SIZE, PLACE = Fed([40, 50, 3]), Fed([[[0.1, 0.2, 0.8, 0.9], [0.3, 0.3, 0.6, 0.5]]])
AREAS = ({}, dict(area_range=[0.3, 0.5], aspect_ratio_range=[0.5, 2.0]), dict(max_attempts=1), dict(area_range=[0.99, 1.0], max_attempts=3))
for how in AREAS:
    CASES += [case("StatelessSampleDistortedBoundingBox", SIZE, PLACE, Fed(least), Fed(seed), options=("bits",), **how) for least, seed in ((0.1, [5, 7]), (0.9, [3, 1]))]
    CASES += [case("SampleDistortedBoundingBox", SIZE, PLACE, seed=3, seed2=5, min_object_covered=0.5, options=("bits",), **how), case("SampleDistortedBoundingBoxV2", SIZE, PLACE, Fed(0.5), seed=3, seed2=5, options=("bits",), **how)]
NONE = Fed(np.zeros((1, 0, 4)))
for op, more in (("StatelessSampleDistortedBoundingBox", (Fed(0.1), Fed([5, 7]))), ("SampleDistortedBoundingBoxV2", (Fed(0.1),)), ("SampleDistortedBoundingBox", ())):
    seeds = {} if op.startswith("Stateless") else dict(seed=3, seed2=5)
    CASES += [case(op, SIZE, NONE, *more, use_image_if_no_bounding_boxes=use, options=("bits",), **seeds) for use in (True, False)]
    CASES += [case(op, SIZE, PLACE, *more, **{name: value}, **seeds) for name, value in (("area_range", [0.5, 0.3]), ("area_range", [-1.0, 1.0]), ("area_range", [0.5, 1.5]), ("aspect_ratio_range", [0.0, 1.0]), ("aspect_ratio_range", [1.0]), ("max_attempts", 0))]
    CASES += [case(op, Fed([40, 50]), PLACE, *more, **seeds), case(op, SIZE, Fed([[[0.1, 0.2, 1.8, 0.9]]]), *more, **seeds), case(op, SIZE, Fed([[[0.8, 0.2, 0.1, 0.9]]]), *more, **seeds)]
