// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/listed_shapes.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr std::string_view kNoNumber = "an iterator is no number";

void Add(OpRegistry& registry, std::string_view op, Status (*shape)(ShapeContext&),
         std::string_view doc) {
  registry.Op(op).Shape(shape).NotDifferentiable(kNoNumber).Doc(doc);
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(iterator) {
  for (const char* op : {"Iterator", "IteratorV2", "AnonymousIterator", "AnonymousIteratorV2",
                         "AnonymousIteratorV3"}) {
    Add(registry, op, ScalarShape, "An iterator, which MakeIterator gives a dataset.");
  }
  Add(registry, "MakeIterator", NoOutputs, "Lets an iterator begin with a dataset.");
  Add(registry, "DeleteIterator", NoOutputs, "Ends an iterator.");
  Add(registry, "IteratorGetNext", ElementShapes, "The next element.");
  Add(registry, "IteratorGetNextSync", ElementShapes, "The next element.");
  Add(registry, "IteratorGetNextAsOptional", ScalarShape, "The next element, if there is one.");
  Add(registry, "IteratorToStringHandle", ScalarShape, "The name of an iterator, as a string.");
  Add(registry, "IteratorGetDevice", ScalarShape, "The device of an iterator.");
  Add(registry, "ExperimentalIteratorGetDevice", ScalarShape, "The device of an iterator.");
  Add(registry, "IteratorFromStringHandle", ScalarShape, "The iterator of a name.");
  Add(registry, "IteratorFromStringHandleV2", ScalarShape, "The iterator of a name.");
  Add(registry, "SerializeIterator", ScalarShape, "Where an iterator stands.");
  Add(registry, "DeserializeIterator", NoOutputs, "Lets an iterator go on where one stood.");
}
