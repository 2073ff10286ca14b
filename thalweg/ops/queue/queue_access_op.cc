// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

constexpr std::string_view kWhy = "what is in a queue comes from other steps";

// Shapes of the components, when the queue is made in the same graph and says; one for each output.
std::vector<PartialShape> ComponentShapes(const ShapeContext& c) {
  const size_t n = static_cast<size_t>(c.num_outputs());
  const Node* maker = c.node().input(0).node;
  std::vector<PartialShape> shapes;
  if (maker != nullptr && maker->op_name().find("Queue") != std::string::npos) {
    const Result<std::vector<PartialShape>> given =
        maker->Attr<std::vector<PartialShape>>("shapes");
    if (given.ok()) shapes = *given;
    if (maker->op_name().starts_with("PriorityQueue")) {
      shapes.insert(shapes.begin(), PartialShape(Shape()));
    }
  }
  if (shapes.size() != n) shapes.assign(n, PartialShape());
  return shapes;
}

Status DequeueShape(ShapeContext& c) {
  std::vector<PartialShape> shapes = ComponentShapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) {
    c.set_output(static_cast<int>(i), std::move(shapes[i]));
  }
  return OkStatus();
}

// n elements; with `exact`, no fewer.
Status BatchShape(ShapeContext& c, bool exact) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const Tensor n = c.InputValue(1);
  int64_t count = -1;
  if (!n.empty()) {
    count = n.scalar<int32_t>();
    if (count < 0) return InvalidArgument("Input 'n' must be >= 0, but is ", count);
  }
  const PartialShape first{exact ? count : -1};
  const std::vector<PartialShape> shapes = ComponentShapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) {
    c.set_output(static_cast<int>(i), first.Concatenate(shapes[i]));
  }
  return OkStatus();
}

// QueueEnqueueV2 of outputs of a ReaderReadV2, with what that reads from.
OpDef EnqueueRecordsDef() {
  using Kind = AttrValue::Kind;
  OpDef def;
  def.name = "_EnqueueRecords";
  def.inputs.push_back({.name = "handle", .type = DType::kResource});
  def.inputs.push_back({.name = "components", .type_list_attr = "Tcomponents"});
  def.inputs.push_back({.name = "reader", .type = DType::kResource});
  def.attrs = {{.name = "Tcomponents", .kind = Kind::kTypeList, .has_minimum = true, .minimum = 1},
               {.name = "timeout_ms", .kind = Kind::kInt, .default_value = AttrValue(int64_t{-1})},
               {.name = "read_outputs", .kind = Kind::kIntList, .has_minimum = true, .minimum = 1}};
  def.is_stateful = true;
  return def;
}

Status DequeueManyShape(ShapeContext& c) { return BatchShape(c, true); }
Status DequeueUpToShape(ShapeContext& c) { return BatchShape(c, false); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(queue_access) {
  const auto add = [&](std::string_view name, ShapeFn shape, std::string_view doc) {
    for (const char* version : {"", "V2"}) {
      registry.Op(StrCat(name, version)).Shape(shape).NotDifferentiable(kWhy).Doc(doc);
    }
  };
  add("QueueEnqueue", NoOutputs, "Puts an element into a queue; waits for room.");
  CHECK(registry.Define(EnqueueRecordsDef(), nullptr, nullptr).ok());
  registry.Op("_EnqueueRecords")
      .Shape(NoOutputs)
      .NotDifferentiable(kWhy)
      .Doc("QueueEnqueueV2 of a record of a reader; a row of steps enqueues several at once.");
  add("QueueEnqueueMany", NoOutputs, "Puts each row of its inputs into a queue; waits for room.");
  add("QueueDequeue", DequeueShape, "Takes an element out of a queue; waits for one.");
  add("QueueDequeueMany", DequeueManyShape, "Takes n elements out of a queue as one batch.");
  add("QueueDequeueUpTo", DequeueUpToShape,
      "Takes n elements out of a queue as one batch, or what is left when the queue is closed.");
  add("QueueClose", NoOutputs, "Says that nothing more will be put into a queue.");
  add("QueueIsClosed", ScalarShape, "Whether a queue is closed.");
  add("QueueSize", ScalarShape, "How many elements are in a queue.");
}
