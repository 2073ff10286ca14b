// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/case_graph.h"

#include <algorithm>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

namespace av = pb::AttrValue;
namespace tp = pb::TensorProto;

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

namespace {

// Lists of numbers take many times as long to write and read as their bytes.
void SetContent(const Tensor& value, Message& node) {
  Message* const attr = node.MapMutable(pb::NodeDef::kAttr, "value");
  attr->Clear();
  Message* const tensor = attr->Mutable(av::kTensor);
  tensor->SetInt(tp::kDtype, static_cast<int64_t>(value.dtype()));
  ShapeToProto(value.shape(), tensor->Mutable(tp::kTensorShape));
  tensor->SetString(tp::kTensorContent,
                    {static_cast<const char*>(value.raw_data()), value.bytes()});
}

}  // namespace

void SetValue(Message& node, const Tensor& value, Message& graph_def) {
  SetAttr(node, "dtype", value.dtype());
  if (value.num_elements() > 1 && IsPlain(value.dtype())) {
    SetContent(value, node);
  } else {
    SetAttr(node, "value", value);
  }
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
  auto* to = static_cast<uint8_t*>(made->mutable_raw_data());
  const size_t bytes = made->bytes();
  size_t done = std::min(from.bytes(), bytes);
  std::copy_n(static_cast<const uint8_t*>(from.raw_data()), done, to);
  if (done == 0) std::fill_n(to, bytes, uint8_t{0});
  while (done > 0 && done < bytes) {
    const size_t more = std::min(done, bytes - done);
    std::copy_n(to, more, to + done);
    done += more;
  }
  return std::move(*made);
}

}  // namespace thalweg
