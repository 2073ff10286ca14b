// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"

#include "thalweg/graph/variable_zeros.h"

namespace thalweg {

Output GradientContext::grad(int i) {
  GradientValue& gradient = output_grads_[static_cast<size_t>(i)];
  if (!gradient.present() && output(i).dtype() == DType::kResource) {
    DType dtype = VariableType(output(i));
    for (const GradientValue& other : output_grads_) {  // of a Switch: the same variable's
      if (other.present() && node_.control() == Node::Control::kSwitch) {
        dtype = other.values.dtype();
      }
    }
    gradient = {ZerosOfVariable(builder_, output(i), dtype), {}, {}};
  } else if (!gradient.present()) {
    gradient = {builder_.Op("ZerosLike", {output(i)}), {}, {}};
  } else if (gradient.is_sparse()) {
    if (gradient.dense_shape.node == nullptr) {
      gradient.dense_shape = builder_.Op("Shape", {output(i)});
    }
    gradient = {Densify(builder_, gradient), {}, {}};
  }
  return gradient.values;
}

Output Densify(GraphBuilder& b, const GradientValue& gradient) {
  if (!gradient.is_sparse()) return gradient.values;
  if (gradient.dense_shape.node == nullptr) {
    b.Fail(InvalidArgument("sparse gradient '", gradient.values.ToString(),
                           "' cannot be made dense: its dense shape is not known"));
    return {};
  }
  // The number of rows is the first element of the shape.
  const DType index_type = gradient.dense_shape.dtype();
  if (index_type != DType::kInt32 && index_type != DType::kInt64) {
    b.Fail(InvalidArgument("the dense shape of a sparse gradient must be int32 or int64, got ",
                           index_type));
    return {};
  }
  const Output zero = b.Const(Tensor::Vector<int32_t>({0}));
  const Output one = b.Const(Tensor::Vector<int32_t>({1}));
  const Output rows = b.Op("StridedSlice", {gradient.dense_shape, zero, one, one},
                           {{"shrink_axis_mask", 1}}, "rows");
  return b.Op("UnsortedSegmentSum", {gradient.values, gradient.indices, rows});
}

}  // namespace thalweg
