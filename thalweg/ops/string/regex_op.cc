// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Pattern and rewrite are scalars.
Status RegexShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return UnchangedShape(c);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(regex) {
  constexpr std::string_view kWhy = "strings have no derivative";
  constexpr std::string_view kMatch = "Whether the whole of a string matches the pattern.";
  constexpr std::string_view kReplace = "Strings with what matches the pattern rewritten.";
  registry.Op("RegexFullMatch").Shape(RegexShape).NotDifferentiable(kWhy).Doc(kMatch);
  registry.Op("RegexReplace").Shape(RegexShape).NotDifferentiable(kWhy).Doc(kReplace);
  registry.Op("StaticRegexFullMatch").Shape(UnchangedShape).NotDifferentiable(kWhy).Doc(kMatch);
  registry.Op("StaticRegexReplace").Shape(UnchangedShape).NotDifferentiable(kWhy).Doc(kReplace);
}
