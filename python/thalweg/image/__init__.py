# SPDX-License-Identifier: Apache-2.0
"""Images: tw.image."""
from thalweg.base import names

names.complete(globals(), {
    "image.boxes": "crop_and_resize draw_bounding_boxes extract_glimpse extract_patches non_max_suppression "
                   "non_max_suppression_overlaps non_max_suppression_padded non_max_suppression_with_scores",
    "image.colors": "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation convert_image_dtype "
                    "grayscale_to_rgb per_image_standardization random_brightness random_contrast random_hue "
                    "random_saturation rgb_to_grayscale rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb",
    "image.files": "adjust_jpeg_quality decode_image random_jpeg_quality",
    "image.geometry": "ResizeMethod central_crop crop_to_bounding_box flip_left_right flip_up_down is_jpeg "
                      "pad_to_bounding_box random_flip_left_right random_flip_up_down resize "
                      "resize_image_with_crop_or_pad resize_image_with_pad resize_images resize_with_crop_or_pad rot90 "
                      "transpose transpose_image",
    "image.similarity": "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation"})
