// SPDX-License-Identifier: Apache-2.0
// One element of a TensorArray written or read.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/list/array_gradient.h"

namespace thalweg {
namespace {

// Inputs: handle, index, value, flow.
Status WriteShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  if (const HandleShape* handle = c.input_handle_shape(0); handle != nullptr) {
    RETURN_IF_ERROR(handle->shape.MergeWith(c.input(2)).status());
  }
  return ScalarShape(c);
}

// Inputs: handle, index, flow.
Status ReadShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  if (const HandleShape* handle = c.input_handle_shape(0); handle != nullptr) {
    c.set_output(0, handle->shape);
  }
  return OkStatus();
}

Status WriteGradient(GradientContext& c) {
  const Output flow = c.grad(0);
  const GradientArray array = GradientArrayOf(c, flow);
  c.set_input_grad(
      2, c.b().Op(StrCat("TensorArrayRead", ArrayVersion(c.node())),
                  {array.handle, c.input(1), array.flow}, {{"dtype", c.input(2).dtype()}}));
  c.set_input_grad(3, flow);
  return c.b().status();
}

Status ReadGradient(GradientContext& c) {
  const Output grad = c.grad(0);
  const GradientArray array = GradientArrayOf(c, c.input(2));
  c.set_input_grad(2, c.b().Op(StrCat("TensorArrayWrite", ArrayVersion(c.node())),
                               {array.handle, c.input(1), grad, array.flow}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_array_element) {
  for (const char* op : {"TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"}) {
    registry.Op(op).Shape(WriteShape).Gradient(WriteGradient).Doc("Writes an element.");
  }
  for (const char* op : {"TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3"}) {
    registry.Op(op).Shape(ReadShape).Gradient(ReadGradient).Doc("Reads an element.");
  }
}
