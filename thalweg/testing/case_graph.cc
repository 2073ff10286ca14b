// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/case_graph.h"

#include <algorithm>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

namespace av = pb::AttrValue;

std::vector<Message*> NodesOf(Message& graph_def) {
  const std::span<Message* const> nodes = graph_def.MutableMessages(pb::GraphDef::kNode);
  return {nodes.begin(), nodes.end()};
}

std::vector<Message*> ConstsOf(Message& graph_def) {
  std::vector<Message*> consts = NodesOf(graph_def);
  std::erase_if(consts,
                [](const Message* node) { return node->GetString(pb::NodeDef::kOp) != "Const"; });
  return consts;
}

void SetAttr(Message& node, std::string_view name, const AttrValue& value) {
  node.EraseEntry(pb::NodeDef::kAttr, name);
  const Status set = AttrValueToProto(value, node.MapMutable(pb::NodeDef::kAttr, name));
  if (!set.ok()) node.EraseEntry(pb::NodeDef::kAttr, name);
}

Tensor ValueOf(const Message& node) {
  const Message* value = node.MapFind(pb::NodeDef::kAttr, "value");
  if (value == nullptr) return Tensor();
  Result<Tensor> tensor = TensorFromProto(value->GetMessage(av::kTensor));
  return tensor.ok() ? std::move(*tensor) : Tensor();
}

void SetValue(Message& node, const Tensor& value, Message& graph_def) {
  SetAttr(node, "dtype", value.dtype());
  SetAttr(node, "value", value);
  for (Message* reader : NodesOf(graph_def)) {
    if (reader->GetString(pb::NodeDef::kOp) != "PlaceholderWithDefault") continue;
    if (reader->Repeated<std::string_view>(pb::NodeDef::kInput).front() !=
        node.GetString(pb::NodeDef::kName))
      continue;
    SetAttr(*reader, "shape", PartialShape());
    SetAttr(*reader, "dtype", value.dtype());
  }
}

Tensor Reshaped(const Tensor& from, const Shape& shape) {
  Result<Tensor> made = Tensor::AllocateHost(from.dtype(), shape);
  if (!made.ok()) return from;
  const int64_t n = from.num_elements();
  if (from.dtype() == DType::kString) {
    for (int64_t i = 0; i < made->num_elements() && n > 0; ++i) {
      made->mutable_data<std::string>()[i] = from.data<std::string>()[i % n];
    }
    return std::move(*made);
  }
  const size_t width = DTypeStride(from.dtype());
  auto* to = static_cast<uint8_t*>(made->mutable_raw_data());
  if (n == 0) std::fill_n(to, made->bytes(), uint8_t{0});
  for (int64_t i = 0; i < made->num_elements() && n > 0; ++i) {
    std::copy_n(static_cast<const uint8_t*>(from.raw_data()) + static_cast<size_t>(i % n) * width,
                width, to + static_cast<size_t>(i) * width);
  }
  return std::move(*made);
}

}  // namespace thalweg
