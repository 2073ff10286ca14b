// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(as_string) {
  constexpr std::string_view kWhy = "strings have no derivative";
  registry.Op("AsString")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("Numbers and truth values as text, in the formats of printf.");
  registry.Op("StringToNumber")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("The numbers that strings spell.");
  registry.Op("StringFormat")
      .Shape(ScalarShape)
      .NotDifferentiable(kWhy)
      .Doc("A template with the values of tensors in the places of its placeholders.");
}
