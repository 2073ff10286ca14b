// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(decode_json) {
  registry.Op("DecodeJSONExample")
      .Shape(UnchangedShape)
      .NotDifferentiable("bytes have no derivative")
      .Doc("Example messages, serialized, out of their JSON form.");
}
