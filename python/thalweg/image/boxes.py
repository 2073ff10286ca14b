# SPDX-License-Identifier: Apache-2.0
"""Boxes and windows of images."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply
from thalweg.operations import array_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DynamicShape, IntLike, IntsLike, TensorLike
    from thalweg.graph.tensor import Tensor


_NEVER = float("-inf")


def crop_and_resize(image: TensorLike, boxes: TensorLike, box_ind: TensorLike | None = None,
                    crop_size: DynamicShape | None = None, method: str = "bilinear", extrapolation_value: float = 0,
                    name: str | None = None, box_indices: TensorLike | None = None) -> Tensor:
    """Boxes of images, brought to one size."""
    if (box_ind is None) == (box_indices is None):
        raise ValueError("Must specify exactly one of 'box_indices' and its older name 'box_ind'")
    return apply("CropAndResize", [image, boxes, box_ind if box_indices is None else box_indices, crop_size],
                 {"method": method, "extrapolation_value": extrapolation_value}, name)


def non_max_suppression(boxes: TensorLike, scores: TensorLike, max_output_size: IntLike, iou_threshold: TensorLike = 0.5,
                        score_threshold: TensorLike = _NEVER, name: str | None = None) -> Tensor:
    """The boxes with the best scores that do not overlap a better one too much."""
    with name_scope(name, "non_max_suppression") as scope:
        return apply("NonMaxSuppressionV3", [boxes, scores, max_output_size, iou_threshold, score_threshold], {}, scope)


def non_max_suppression_with_scores(boxes: TensorLike, scores: TensorLike, max_output_size: IntLike, iou_threshold: TensorLike = 0.5,
                                    score_threshold: TensorLike = _NEVER, soft_nms_sigma: TensorLike = 0.0,
                                    name: str | None = None) -> tuple[Tensor, Tensor]:
    """(boxes, their scores), where scores go down with what overlaps."""
    with name_scope(name, "non_max_suppression_with_scores") as scope:
        made = apply("NonMaxSuppressionV5", [boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma],
                     {"pad_to_max_output_size": False}, scope)
        return made[0], made[1]


def non_max_suppression_padded(boxes: TensorLike, scores: TensorLike, max_output_size: IntLike, iou_threshold: TensorLike = 0.5,
                               score_threshold: TensorLike = _NEVER, pad_to_max_output_size: bool = False,
                               name: str | None = None) -> tuple[Tensor, Tensor]:
    """(boxes, how many of them count): non_max_suppression with a result of fixed size."""
    with name_scope(name, "non_max_suppression_padded") as scope:
        return apply("NonMaxSuppressionV4", [boxes, scores, max_output_size, iou_threshold, score_threshold],
                     {"pad_to_max_output_size": pad_to_max_output_size}, scope)


def non_max_suppression_overlaps(overlaps: TensorLike, scores: TensorLike, max_output_size: IntLike,
                                 overlap_threshold: TensorLike = 0.5, score_threshold: TensorLike = _NEVER,
                                 name: str | None = None) -> Tensor:
    """non_max_suppression where the overlap of each pair is given."""
    with name_scope(name, "non_max_suppression_overlaps") as scope:
        return apply("NonMaxSuppressionWithOverlaps", [overlaps, scores, max_output_size, overlap_threshold, score_threshold], {},
                     scope)


def draw_bounding_boxes(images: TensorLike, boxes: TensorLike, name: str | None = None,
                        colors: TensorLike | None = None) -> Tensor:
    """Images with the frames of boxes, in the given colors or in ten of its own."""
    if colors is None:
        return apply("DrawBoundingBoxes", [images, boxes], {}, name)
    return apply("DrawBoundingBoxesV2", [images, boxes, colors], {}, name)


def extract_glimpse(input: TensorLike, size: IntsLike, offsets: TensorLike, centered: bool = True, normalized: bool = True,
                    uniform_noise: bool = True, name: str | None = None) -> Tensor:
    """Windows of images, with noise where they reach over the edges."""
    return apply("ExtractGlimpse", [input, size, offsets],
                 {"centered": centered, "normalized": normalized, "uniform_noise": uniform_noise}, name)


def extract_patches(images: TensorLike, sizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str,
                    name: str | None = None) -> Tensor:
    """Patches side by side in the last dimension."""
    return array_layout.extract_image_patches(images, sizes, strides, rates, padding, name)
