// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// A handle is a scalar, the older kind a pair of strings.
Status TableHandleShape(ShapeContext& c) {
  if (c.num_inputs() > 0 && c.input(0).rank() > 1) {
    return InvalidArgument("empty_key must be a scalar or a vector, got shape ", c.input(0));
  }
  if (c.node().output_type(0) == DType::kResource) {
    c.set_output(0, Shape());
  } else {
    c.set_output(0, PartialShape{2});
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(table_handle) {
  constexpr std::string_view kWhy = "a table has no derivative";
  constexpr std::string_view kStatic = "A table that is filled once, from keys to scalars.";
  constexpr std::string_view kMutable = "A table that steps change, from keys to scalars.";
  constexpr std::string_view kTensors = "A table that steps change, from keys to tensors.";
  constexpr std::string_view kDense =
      "A table that steps change, in one block of memory: two keys are not allowed in it.";
  for (const std::string_view op : {"HashTable", "HashTableV2", "AnonymousHashTable"}) {
    registry.Op(op).Shape(TableHandleShape).NotDifferentiable(kWhy).Doc(kStatic);
  }
  for (const std::string_view op :
       {"MutableHashTable", "MutableHashTableV2", "AnonymousMutableHashTable"}) {
    registry.Op(op).Shape(TableHandleShape).NotDifferentiable(kWhy).Doc(kMutable);
  }
  for (const std::string_view op : {"MutableHashTableOfTensors", "MutableHashTableOfTensorsV2",
                                    "AnonymousMutableHashTableOfTensors"}) {
    registry.Op(op).Shape(TableHandleShape).NotDifferentiable(kWhy).Doc(kTensors);
  }
  for (const std::string_view op :
       {"MutableDenseHashTable", "MutableDenseHashTableV2", "AnonymousMutableDenseHashTable"}) {
    registry.Op(op).Shape(TableHandleShape).NotDifferentiable(kWhy).Doc(kDense);
  }
}
