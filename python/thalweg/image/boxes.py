# SPDX-License-Identifier: Apache-2.0
"""Boxes and windows of images."""

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply
from thalweg.operations import array_layout


_NEVER = float("-inf")


def crop_and_resize(image, boxes, box_ind=None, crop_size=None, method="bilinear", extrapolation_value=0, name=None,
                    box_indices=None):
    """Boxes of images, brought to one size."""
    if (box_ind is None) == (box_indices is None):
        raise ValueError("Must specify exactly one of 'box_indices' and its older name 'box_ind'")
    return apply("CropAndResize", [image, boxes, box_ind if box_indices is None else box_indices, crop_size],
                 {"method": method, "extrapolation_value": extrapolation_value}, name)


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NEVER, name=None):
    """The boxes with the best scores that do not overlap a better one too much."""
    with name_scope(name, "non_max_suppression") as scope:
        return apply("NonMaxSuppressionV3", [boxes, scores, max_output_size, iou_threshold, score_threshold], {}, scope)


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NEVER, soft_nms_sigma=0.0,
                                    name=None):
    """(boxes, their scores), where scores go down with what overlaps."""
    with name_scope(name, "non_max_suppression_with_scores") as scope:
        made = apply("NonMaxSuppressionV5", [boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma],
                     {"pad_to_max_output_size": False}, scope)
        return made[0], made[1]


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NEVER,
                               pad_to_max_output_size=False, name=None):
    """(boxes, how many of them count): non_max_suppression with a result of fixed size."""
    with name_scope(name, "non_max_suppression_padded") as scope:
        return apply("NonMaxSuppressionV4", [boxes, scores, max_output_size, iou_threshold, score_threshold],
                     {"pad_to_max_output_size": pad_to_max_output_size}, scope)


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=_NEVER, name=None):
    """non_max_suppression where the overlap of each pair is given."""
    with name_scope(name, "non_max_suppression_overlaps") as scope:
        return apply("NonMaxSuppressionWithOverlaps", [overlaps, scores, max_output_size, overlap_threshold, score_threshold], {},
                     scope)


def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """Images with the frames of boxes, in the given colors or in ten of its own."""
    if colors is None:
        return apply("DrawBoundingBoxes", [images, boxes], {}, name)
    return apply("DrawBoundingBoxesV2", [images, boxes, colors], {}, name)


def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):  # noqa: A002
    """Windows of images, with noise where they reach over the edges."""
    return apply("ExtractGlimpse", [input, size, offsets],
                 {"centered": centered, "normalized": normalized, "uniform_noise": uniform_noise}, name)


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Patches side by side in the last dimension."""
    return array_layout.extract_image_patches(images, sizes, strides, rates, padding, name)
