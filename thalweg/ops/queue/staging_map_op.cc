// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// A key is a scalar, indices are a vector.
template <int kKey, int kIndices>
Status PartsShape(ShapeContext& c) {
  if (kKey >= 0) RETURN_IF_ERROR(c.InputWithRank(kKey, 0).status());
  return c.InputWithRank(kIndices, 1).status();
}

Status NoKeyShape(ShapeContext& c) {
  c.set_output(0, Shape());
  return c.InputWithRank(0, 1).status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(staging_map) {
  constexpr std::string_view kWhy = "what is in a staging area comes from other steps";
  for (const char* kind : {"", "Ordered"}) {
    const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
      registry.Op(StrCat(kind, name)).Shape(shape).NotDifferentiable(kWhy).Doc(doc);
    };
    add("MapStage", PartsShape<0, 1>, "Puts parts of the element of a key into a staging map.");
    add("MapPeek", PartsShape<0, 1>, "Parts of the element of a key, which stay; waits for it.");
    add("MapUnstage", PartsShape<0, 1>, "Takes parts of the element of a key; waits for it.");
    add("MapUnstageNoKey", NoKeyShape, "Takes parts of an element; waits for one.");
    add("MapSize", ScalarShape, "How many complete elements are in a staging map.");
    add("MapIncompleteSize", ScalarShape, "How many elements still lack parts.");
    add("MapClear", NoOutputs, "Drops all elements of a staging map.");
  }
}
