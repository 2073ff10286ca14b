// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/listed_shapes.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(multi_device_iterator) {
  using thalweg::ScalarShape;
  constexpr std::string_view kNoNumber = "an iterator is no number";
  const auto add = [&](std::string_view op, thalweg::Status (*shape)(thalweg::ShapeContext&),
                       std::string_view doc) {
    registry.Op(op).Shape(shape).NotDifferentiable(kNoNumber).Doc(doc);
  };
  for (const char* op :
       {"MultiDeviceIterator", "AnonymousMultiDeviceIterator", "AnonymousMultiDeviceIteratorV3"}) {
    add(op, ScalarShape, "An iterator whose elements several devices take in turn.");
  }
  add("MultiDeviceIteratorInit", ScalarShape,
      "Lets an iterator of several devices begin with a dataset; gives the number of the pass.");
  add("MultiDeviceIteratorGetNextFromShard", thalweg::ElementShapes,
      "The next element of one device.");
  add("MultiDeviceIteratorToStringHandle", ScalarShape,
      "The name of an iterator of several devices, as a string.");
  add("MultiDeviceIteratorFromStringHandle", ScalarShape,
      "The iterator of several devices of a name.");
  add("DeleteMultiDeviceIterator", thalweg::NoOutputs, "Ends an iterator of several devices.");
}
