// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// A reference is a vector of container and name, a handle a scalar.
Status QueueHandleOutput(ShapeContext& c) {
  const bool is_reference = c.node().output_type(0) == DType::kString;
  c.set_output(0, is_reference ? PartialShape{2} : PartialShape(Shape()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(queue_handle) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"FIFOQueue", "A queue: first in, first out."},
      {"PaddingFIFOQueue", "A queue whose batches are padded to their largest element."},
      {"PriorityQueue", "A queue that gives the element of the smallest number first."},
      {"RandomShuffleQueue", "A queue that gives any of its elements."}};
  for (const auto& [name, doc] : kKinds) {
    for (const char* version : {"", "V2"}) {
      registry.Op(StrCat(name, version))
          .Shape(QueueHandleOutput)
          .NotDifferentiable("a queue has no inputs")
          .Doc(doc);
    }
  }
  registry.Op("FakeQueue")
      .Shape(QueueHandleOutput)
      .NotDifferentiable("a queue is no number")
      .Doc("A reference to the queue of a handle.");
}
