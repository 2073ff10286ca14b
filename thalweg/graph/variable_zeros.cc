// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/variable_zeros.h"

namespace thalweg {

Output ZerosOfVariable(GraphBuilder& b, const Output& handle, DType dtype) {
  const Output shape = b.Op("VariableShape", {handle});
  return b.Op("Fill", {shape, b.ScalarConst(dtype, 0)});
}

DType VariableType(const Output& handle) {
  const HandleShape* known = handle.node->output_handle_shape(handle.index);
  return known == nullptr || known->dtype == DType::kInvalid ? DType::kFloat : known->dtype;
}

}  // namespace thalweg
