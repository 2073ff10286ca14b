# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow 1.15 that are one operation: path, operation, and arguments that have other names there
(operation's=function's)."""
from __future__ import annotations

import functools

_TABLE = """
arg_max ArgMax
arg_min ArgMin
as_string AsString
audio.decode_wav DecodeWav
audio.encode_wav EncodeWav
betainc Betainc
bitwise.bitwise_and BitwiseAnd
bitwise.bitwise_or BitwiseOr
bitwise.bitwise_xor BitwiseXor
bitwise.invert Invert
bitwise.left_shift LeftShift
bitwise.right_shift RightShift
cholesky Cholesky
conj Conj input=x
count_up_to CountUpTo
cross Cross
decode_base64 DecodeBase64
decode_compressed DecodeCompressed
decode_json_example DecodeJSONExample
depth_to_space DepthToSpace
dequantize Dequantize
encode_base64 EncodeBase64
fft FFT
fft2d FFT2D
fft3d FFT3D
fingerprint Fingerprint
histogram_fixed_width HistogramFixedWidth
identity_n IdentityN
ifft IFFT
ifft2d IFFT2D
ifft3d IFFT3D
igamma Igamma
igammac Igammac
image.combined_non_max_suppression CombinedNonMaxSuppression
image.decode_and_crop_jpeg DecodeAndCropJpeg
image.decode_bmp DecodeBmp
image.decode_gif DecodeGif
image.decode_jpeg DecodeJpeg
image.decode_png DecodePng
image.encode_jpeg EncodeJpeg
image.encode_png EncodePng
image.extract_jpeg_shape ExtractJpegShape
image.hsv_to_rgb HSVToRGB
image.resize_area ResizeArea
image.resize_bicubic ResizeBicubic
image.resize_bilinear ResizeBilinear
image.resize_nearest_neighbor ResizeNearestNeighbor
image.rgb_to_hsv RGBToHSV
image.sample_distorted_bounding_box SampleDistortedBoundingBoxV2
lin_space LinSpace
linalg.logm MatrixLogarithm
linalg.lu Lu
matching_files MatchingFiles
math.bessel_i0 BesselI0
math.bessel_i0e BesselI0e
math.bessel_i1 BesselI1
math.bessel_i1e BesselI1e
math.cumulative_logsumexp CumulativeLogsumexp
math.multiply_no_nan MulNoNan
math.nextafter NextAfter
math.xdivy Xdivy
math.xlogy Xlogy
matrix_determinant MatrixDeterminant
matrix_inverse MatrixInverse
matrix_solve MatrixSolve
matrix_square_root MatrixSquareRoot
matrix_triangular_solve MatrixTriangularSolve
nn.conv3d_backprop_filter Conv3DBackpropFilterV2
nn.depthwise_conv2d_backprop_filter DepthwiseConv2dNativeBackpropFilter
nn.depthwise_conv2d_backprop_input DepthwiseConv2dNativeBackpropInput
nn.fractional_avg_pool FractionalAvgPool
nn.fractional_max_pool FractionalMaxPool
nn.max_pool_v2 MaxPoolV2
nn.quantized_avg_pool QuantizedAvgPool
nn.quantized_conv2d QuantizedConv2D
nn.quantized_max_pool QuantizedMaxPool
nn.quantized_relu_x QuantizedReluX
parse_tensor ParseTensor
polygamma Polygamma
qr Qr
quantization.quantize_and_dequantize QuantizeAndDequantizeV2
quantize QuantizeV2
quantize_v2 QuantizeV2
quantized_concat QuantizedConcat
random.stateless_multinomial StatelessMultinomial
read_file ReadFile
realdiv RealDiv
regex_replace RegexReplace
scatter_nd ScatterNd
serialize_tensor SerializeTensor
space_to_depth SpaceToDepth
sparse_matmul SparseMatMul
string_strip StringStrip
string_to_hash_bucket_fast StringToHashBucketFast
string_to_hash_bucket_strong StringToHashBucketStrong
strings.length StringLength
strings.lower StringLower
strings.regex_full_match RegexFullMatch
strings.substr Substr
strings.unicode_script UnicodeScript
strings.unicode_transcode UnicodeTranscode
strings.unsorted_segment_join UnsortedSegmentJoin
strings.upper StringUpper
substr Substr
tensor_scatter_add TensorScatterAdd
tensor_scatter_nd_sub TensorScatterSub
tensor_scatter_nd_update TensorScatterUpdate
timestamp Timestamp
train.sdca_fprint SdcaFprint
train.sdca_optimizer SdcaOptimizer
train.sdca_shrink_l1 SdcaShrinkL1
truncatediv TruncateDiv
truncatemod TruncateMod
unique_with_counts UniqueWithCounts
unsorted_segment_max UnsortedSegmentMax
unsorted_segment_min UnsortedSegmentMin
unsorted_segment_prod UnsortedSegmentProd
where_v2 SelectV2 t=x e=y
write_file WriteFile
zeta Zeta
"""


@functools.cache
def table() -> dict[str, tuple[str, dict[str, str]]]:
    """{path: (operation, {the operation's argument: the function's})}"""
    rows = (row.split() for row in _TABLE.strip().splitlines())
    return {"tf." + path: (op, dict(r.split("=") for r in renames)) for path, op, *renames in rows}
