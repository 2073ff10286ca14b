// SPDX-License-Identifier: Apache-2.0
// DecodeRaw and DecodePaddedRaw, SerializeTensor and ParseTensor.
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status WithOneMoreDim(ShapeContext& c) {
  const PartialShape& bytes = c.input(0);
  if (!bytes.known_rank()) {
    c.set_output(0, PartialShape());
    return OkStatus();
  }
  Dims dims;
  for (int i = 0; i < bytes.rank(); ++i) dims.push_back(bytes.dim(i));
  dims.push_back(-1);
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

// How many elements stand in fixed_length bytes, the kernel knows.
Status PaddedShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return WithOneMoreDim(c);
}

Status ParsedShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  c.set_output(0, PartialShape());
  return OkStatus();
}

constexpr const char* kBytes = "bytes have no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(raw_bytes) {
  registry.Op("DecodePaddedRaw")
      .Shape(PaddedShape)
      .NotDifferentiable(kBytes)
      .Doc("The bytes of strings as numbers, each string cut or filled with zeros to one length.");
  registry.Op("DecodeRaw")
      .Shape(WithOneMoreDim)
      .NotDifferentiable(kBytes)
      .Doc("The bytes of strings of one length as numbers.");
  registry.Op("ParseTensor")
      .Shape(ParsedShape)
      .NotDifferentiable(kBytes)
      .Doc("A tensor from a TensorProto message.");
  registry.Op("SerializeTensor")
      .Shape(ScalarShape)
      .NotDifferentiable(kBytes)
      .Doc("A tensor as a TensorProto message.");
}
