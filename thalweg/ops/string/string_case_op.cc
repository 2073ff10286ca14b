// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(string_case) {
  constexpr std::string_view kWhy = "strings have no derivative";
  registry.Op("StringLower")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Strings with small letters, of ASCII or of all of UTF-8.");
  registry.Op("StringUpper")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Strings with capital letters, of ASCII or of all of UTF-8.");
  registry.Op("StringStrip")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Strings without white space at both ends.");
}
