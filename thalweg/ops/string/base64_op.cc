// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(base64) {
  constexpr std::string_view kWhy = "strings have no derivative";
  registry.Op("EncodeBase64")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Bytes as letters, digits, '-' and '_'.");
  registry.Op("DecodeBase64")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("The bytes that EncodeBase64 was given.");
}
