// SPDX-License-Identifier: Apache-2.0
// Shape functions of operations whose outputs have the shapes that their attribute lists.
//
//   OpRegistry registry;
//   registry.Op("IteratorGetNext").Shape(ElementShapes);
//
// Ownership: values; the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: InvalidArgument where the lists of types and shapes differ in length or from the outputs.
#pragma once

#include <vector>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {

// As `output_shapes` says.
inline Status ListedShapes(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                   c.Attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return InvalidArgument("output_types has ", c.num_outputs(), " entries, output_shapes has ",
                           shapes.size());
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return OkStatus();
}

// The shapes of the element that a scalar, an iterator or an optional, gives.
inline Status ElementShapes(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return ListedShapes(c);
}

}  // namespace thalweg
