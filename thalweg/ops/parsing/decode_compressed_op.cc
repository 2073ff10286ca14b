// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(decode_compressed) {
  registry.Op("DecodeCompressed")
      .Shape(UnchangedShape)
      .NotDifferentiable("bytes have no derivative")
      .Doc("What strings were before zlib or gzip compressed them.");
}
