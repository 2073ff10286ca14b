# SPDX-License-Identifier: Apache-2.0
"""Thalweg: a virtual machine for tensor dataflow graphs.

    import thalweg as tw
    x = tw.placeholder(tw.float32, [None, 784])
    y = tw.nn.relu(tw.matmul(x, tw.Variable(tw.random_uniform([784, 100], -1, 1))))
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        sess.run(y, feed_dict={x: images})

Names, arguments and defaults are TensorFlow 1's. What is not used is not loaded.
"""
import importlib

# Modules that are public under their own name.
_MODULES = """
app
autograph
compat
contrib
debugging
distribute
distributions
dtypes
errors
estimator
feature_column
flags
gfile
graph_util
image
initializers
keras
layers
logging
lookup
losses
math
messages
metrics
nest
nn
profiler
python_io
ragged
raw_ops
saved_model
sets
signal
sparse
strings
summary
test
train
""".split()

# Where each public name lives; "name=other" is `other` there.
_PLACES = {
    "dtypes": "DType QUANTIZED_DTYPES as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64 half "
              "int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 "
              "variant",
    "messages": "AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef "
                "NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions Summary SummaryMetadata TensorInfo "
                "make_ndarray make_tensor_proto",
    "logging": "get_logger",
    "lookup": "initialize_all_tables tables_initializer",
    "graph.default_session": "get_default_session",
    "graph.device_specs": "DeviceSpec",
    "graph.graph": "Graph GraphKeys add_to_collection add_to_collections colocate_with container control_dependencies "
                   "device get_collection get_collection_ref get_default_graph get_seed name_scope reset_default_graph "
                   "set_random_seed",
    "graph.graph_import": "import_graph_def",
    "graph.ops": "constant group no_op",
    "graph.session": "InteractiveSession Session",
    "graph.shapes": "Dimension TensorShape dimension_at_index dimension_value disable_v2_tensorshape enable_v2_tensorshape",
    "graph.sparse_tensor": "SparseTensor SparseTensorValue",
    "graph.tensor": "IndexedSlices IndexedSlicesValue Operation Tensor",
    "graph.tensor_util": "get_static_value=constant_value is_tensor",
    "operations.array_layout": "batch_gather batch_to_space broadcast_dynamic_shape broadcast_static_shape "
                               "edit_distance ensure_shape extract_image_patches matrix_diag matrix_diag_part "
                               "matrix_set_diag meshgrid parallel_stack repeat required_space_to_batch_paddings "
                               "reverse_sequence searchsorted sequence_mask setdiff1d space_to_batch sparse_to_dense",
    "operations.array_ops": "boolean_mask broadcast_to concat expand_dims fill gather gather_nd guarantee_const "
                            "identity matrix_transpose newaxis one_hot ones ones_like pad placeholder "
                            "placeholder_with_default rank reshape reverse shape shape_n size slice=slice_ split "
                            "squeeze stack stop_gradient strided_slice tile transpose tuple=tuple_ unique unstack where "
                            "zeros zeros_like",
    "operations.checks": "Assert add_check_numerics_ops assert_equal assert_greater assert_greater_equal assert_integer "
                         "assert_less assert_less_equal assert_near assert_negative assert_non_negative "
                         "assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank "
                         "assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_type "
                         "is_non_decreasing is_numeric_tensor is_strictly_increasing verify_tensor_all_finite",
    "operations.complex_ops": "angle complex=complex_ imag real",
    "operations.confusion": "confusion_matrix",
    "operations.conversions": "convert_to_tensor convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor "
                              "register_tensor_conversion_function",
    "operations.counting": "bincount histogram_fixed_width_bins",
    "operations.custom_gradients": "NoGradient NotDifferentiable RegisterGradient custom_gradient",
    "operations.data_flow_ops": "ConditionalAccumulator ConditionalAccumulatorBase FIFOQueue PaddingFIFOQueue "
                                "PriorityQueue QueueBase RandomShuffleQueue SparseConditionalAccumulator",
    "operations.gradient_ops": "AggregationMethod UnconnectedGradients clip_by_average_norm clip_by_global_norm "
                               "clip_by_norm clip_by_value global_norm gradients",
    "operations.math_ops": "abs=abs_ accumulate_n add add_n argmax argmin cast count_nonzero cumprod cumsum div divide "
                           "equal linspace logical_xor matmul multiply not_equal pow=pow_ range=range_ reduce_all "
                           "reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum "
                           "round=round_ saturate_cast scalar_mul sigmoid subtract tanh tensordot to_bfloat16 "
                           "to_complex128 to_complex64 to_double to_float to_int32 to_int64 truediv "
                           "unsorted_segment_sum",
    "operations.math_statistics": "lbeta unsorted_segment_mean unsorted_segment_sqrt_n",
    "operations.op_libraries": "load_file_system_library load_library load_op_library",
    "operations.parsing": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_csv parse_example "
                          "parse_single_example parse_single_sequence_example",
    "operations.printing": "Print print=print_",
    "operations.random_ops": "multinomial random_crop random_gamma random_normal random_poisson random_shuffle "
                             "random_uniform truncated_normal",
    "operations.readers": "FixedLengthRecordReader IdentityReader LMDBReader ReaderBase TFRecordReader TextLineReader "
                          "WholeFileReader",
    "operations.script_ops": "numpy_function py_func",
    "eager.python_functions": "py_function",
    "operations.session_handles": "delete_session_tensor get_session_handle get_session_tensor",
    "operations.sorting": "argsort sort",
    "operations.sparse_ops": "deserialize_many_sparse serialize_many_sparse serialize_sparse sparse_add sparse_concat "
                             "sparse_fill_empty_rows sparse_mask sparse_maximum sparse_merge sparse_minimum "
                             "sparse_placeholder sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum "
                             "sparse_reduce_sum_sparse sparse_reorder sparse_reset_shape sparse_reshape sparse_retain "
                             "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum sparse_slice sparse_softmax "
                             "sparse_split sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_indicator "
                             "sparse_transpose",
    "operations.string_ops": "decode_raw reduce_join string_join string_split string_to_hash_bucket string_to_number",
    "control.branches": "switch_case",
    "control.control_flow": "case cond while_loop",
    "control.critical_section": "CriticalSection",
    "control.differentiation": "GradientTape grad_pass_through hessians recompute_grad vectorized_map",
    "control.functional_ops": "foldl foldr map_fn scan",
    "control.tensor_array": "TensorArray",
    "control.type_specs": "IndexedSlicesSpec OptionalSpec SparseTensorSpec TensorArraySpec TensorSpec TypeSpec",
    "ragged.ragged_tensor": "RaggedTensor",
    "ragged.specs": "RaggedTensorSpec",
    "variables.eager": "control_flow_v2_enabled disable_control_flow_v2 disable_eager_execution disable_tensor_equality "
                       "disable_v2_behavior enable_control_flow_v2 enable_eager_execution "
                       "enable_tensor_equality enable_v2_behavior executing_eagerly init_scope "
                       "resource_variables_enabled",
    "variables.graph_functions": "function",
    "variables.init_ops": "constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer "
                          "orthogonal_initializer random_normal_initializer random_uniform_initializer "
                          "truncated_normal_initializer uniform_unit_scaling_initializer variance_scaling_initializer "
                          "zeros_initializer",
    "variables.module": "Module",
    "variables.partitioners": "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner",
    "variables.scattering": "batch_scatter_update scatter_add scatter_div scatter_max scatter_min scatter_mul "
                            "scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update",
    "variables.templates": "make_template",
    "variables.variable_scopes": "AUTO_REUSE VariableScope create_partitioned_variables get_local_variable get_variable "
                                 "get_variable_scope no_regularizer op_scope variable_op_scope variable_scope",
    "variables.variables": "Variable VariableAggregation VariableSynchronization VariableV1=Variable all_variables "
                           "assert_variables_initialized assign assign_add assign_sub disable_resource_variables "
                           "enable_resource_variables global_variables global_variables_initializer "
                           "initialize_all_variables initialize_local_variables initialize_variables "
                           "is_variable_initialized local_variables local_variables_initializer model_variables "
                           "moving_average_variables report_uninitialized_variables trainable_variables "
                           "variable_creator_scope variables_initializer",
    "saved_model.loaded": "load",
    "compatibility.versions": "COMPILER_VERSION CXX11_ABI_FLAG GIT_VERSION GRAPH_DEF_VERSION "
                              "GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD",
}

# Functions that are one operation with TF1's own arguments.
_OPERATIONS = dict(
    acos="Acos", acosh="Acosh", asin="Asin", asinh="Asinh", atan="Atan", atan2="Atan2", atanh="Atanh", ceil="Ceil",
    check_numerics="CheckNumerics", cos="Cos", cosh="Cosh", diag="Diag", digamma="Digamma", div_no_nan="DivNoNan",
    dynamic_partition="DynamicPartition", dynamic_stitch="DynamicStitch", erf="Erf", erfc="Erfc", exp="Exp", expm1="Expm1",
    floor="Floor", floor_div="FloorDiv", floordiv="FloorDiv", floormod="FloorMod", mod="FloorMod", greater="Greater",
    greater_equal="GreaterEqual", invert_permutation="InvertPermutation", is_finite="IsFinite", is_inf="IsInf", is_nan="IsNan",
    less="Less", less_equal="LessEqual", lgamma="Lgamma", log="Log", log1p="Log1p", logical_and="LogicalAnd",
    logical_not="LogicalNot", logical_or="LogicalOr", maximum="Maximum", minimum="Minimum", negative="Neg",
    reciprocal="Reciprocal", rint="Rint", rsqrt="Rsqrt", segment_max="SegmentMax", segment_mean="SegmentMean",
    segment_min="SegmentMin", segment_prod="SegmentProd", segment_sum="SegmentSum", sign="Sign", sin="Sin", sinh="Sinh",
    sqrt="Sqrt", square="Square", squared_difference="SquaredDifference", tan="Tan",
    # Elements that are moved.
    batch_to_space_nd="BatchToSpaceND", bitcast="Bitcast", diag_part="DiagPart",
    extract_volume_patches="ExtractVolumePatches", matrix_band_part="MatrixBandPart", roll="Roll",
    space_to_batch_nd="SpaceToBatchND", unravel_index="UnravelIndex",
    # Quantization.
    fake_quant_with_min_max_args="FakeQuantWithMinMaxArgs",
    fake_quant_with_min_max_args_gradient="FakeQuantWithMinMaxArgsGradient",
    fake_quant_with_min_max_vars="FakeQuantWithMinMaxVars",
    fake_quant_with_min_max_vars_gradient="FakeQuantWithMinMaxVarsGradient",
    fake_quant_with_min_max_vars_per_channel="FakeQuantWithMinMaxVarsPerChannel",
    fake_quant_with_min_max_vars_per_channel_gradient="FakeQuantWithMinMaxVarsPerChannelGradient")

_found = {}
for _module, _names in _PLACES.items():
    for _name in _names.split():
        _public, _, _other = _name.partition("=")
        _found[_public] = (_module, _other or _public)

__version__ = "0.1.0"
VERSION = __version__


def _own(name):
    """What this package has of itself under a name."""
    if name in _found:
        module, attribute = _found[name]
        return getattr(importlib.import_module("thalweg." + module), attribute)
    if name in _OPERATIONS:
        from thalweg import raw_ops
        return raw_ops.function(_OPERATIONS[name], name)
    if name in _MODULES:
        return importlib.import_module("thalweg." + name)
    raise AttributeError(f"module 'thalweg' has no attribute '{name}'")


def _names():
    """What knows the names of 1.15; loaded when first needed."""
    from thalweg.base import names
    return names


def __getattr__(name):
    if name == "__all__":  # what `from thalweg import *` brings
        return _names().exported("thalweg", _more())
    if name in _found or name in _OPERATIONS or name in _MODULES or name.startswith("_"):
        value = _own(name)
    else:
        names = _names()
        from thalweg.base import later
        if names.is_absent(name):
            return later.module_asked_for(f"tf.{name}")
        value = names.lookup("thalweg", name)
        if later.is_stand_in(value):
            return value
    globals()[name] = value
    return value


def _more():
    """What this package has beyond TensorFlow's names."""
    return {*_found, *_OPERATIONS, *_MODULES, "__version__"}


def __dir__():
    names = _names()
    return names.shown("thalweg", known={*_more(), *names.single("thalweg")})
