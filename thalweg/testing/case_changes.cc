// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/case_changes.h"

#include <algorithm>
#include <cmath>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/testing/case_graph.h"

namespace thalweg {
namespace {

namespace av = pb::AttrValue;

std::vector<std::string> InputsOf(const Message& node) {
  std::vector<std::string> inputs;
  for (const std::string_view input : node.Repeated<std::string_view>(pb::NodeDef::kInput)) {
    inputs.emplace_back(input);
  }
  return inputs;
}

void SetInputs(Message& node, const std::vector<std::string>& inputs) {
  node.Clear(pb::NodeDef::kInput);
  for (const std::string& input : inputs) node.AddString(pb::NodeDef::kInput, input);
}

size_t NumDataInputs(const std::vector<std::string>& inputs) {
  return static_cast<size_t>(std::count_if(
      inputs.begin(), inputs.end(), [](const std::string& s) { return !s.starts_with('^'); }));
}

Shape ChangedShape(Choices& choices, const Shape& shape) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  switch (choices.Below(8)) {
    case 0:
      dims.insert(dims.begin(), 1);
      break;
    case 1:
      if (!dims.empty()) dims.erase(dims.begin());
      break;
    case 2:
      dims.clear();
      break;
    case 3:
      if (!dims.empty()) dims[choices.Below(dims.size())] = 0;
      break;
    case 4:
    case 5:
      if (!dims.empty()) dims[choices.Below(dims.size())] += 1;
      break;
    case 6:
      if (!dims.empty()) dims[choices.Below(dims.size())] /= 2;
      break;
    default:
      return RandomShape(choices);
  }
  return Shape(Dims(dims));
}

// One element replaced by one of `other`, of the same type.
Tensor WithElement(const Tensor& tensor, size_t at, const Tensor& other) {
  Tensor made = Reshaped(tensor, tensor.shape());
  if (tensor.num_elements() == 0) return made;
  const auto index = static_cast<int64_t>(at) % tensor.num_elements();
  if (tensor.dtype() == DType::kString) {
    made.mutable_data<std::string>()[index] = *other.data<std::string>();
    return made;
  }
  const size_t width = DTypeStride(tensor.dtype());
  std::copy_n(static_cast<const uint8_t*>(other.raw_data()), width,
              static_cast<uint8_t*>(made.mutable_raw_data()) + static_cast<size_t>(index) * width);
  return made;
}

double AsDouble(const Tensor& tensor, int64_t i) {
  double value = 0;
  ForEachType<RealTypes>([&]<class T>() {
    if (tensor.dtype() == kDTypeOf<T>)
      value = static_cast<double>(static_cast<float>(tensor.data<T>()[i]));
  });
  return value;
}

// The same small numbers in another type; others are chosen where a type has none.
Tensor Converted(Choices& choices, const Tensor& from, DType to) {
  Tensor made = RandomTensor(choices, to, from.shape());
  ForEachType<RealTypes>([&]<class T>() {
    if (made.dtype() != kDTypeOf<T>) return;
    for (int64_t i = 0; i < from.num_elements(); ++i) {
      const double number = AsDouble(from, i);
      const double value =
          std::isnan(number) ? 0 : std::clamp(number, std::is_signed_v<T> ? -100.0 : 0.0, 100.0);
      made.mutable_data<T>()[i] = static_cast<T>(static_cast<float>(value));
    }
  });
  return made;
}

void ChangeValue(Choices& choices, Message& node, Message& graph_def) {
  const Tensor value = ValueOf(node);
  if (value.empty()) return;
  Tensor other = RandomTensor(choices, value.dtype(), Shape());
  if (other.dtype() != value.dtype()) return;
  switch (choices.Below(6)) {
    case 0:
    case 1:
      return SetValue(node, WithElement(value, choices.Byte(), other), graph_def);
    case 2:
      return SetValue(node, Reshaped(other, value.shape()), graph_def);
    case 3:
      return SetValue(node, RandomTensor(choices, value.dtype(), value.shape()), graph_def);
    default:
      return SetValue(node, Reshaped(value, ChangedShape(choices, value.shape())), graph_def);
  }
}

void ChangeEdge(Choices& choices, Message& node, Message& graph_def) {
  std::vector<std::string> inputs = InputsOf(node);
  const size_t n = NumDataInputs(inputs);
  if (n == 0) return;
  std::string& input = inputs[choices.Below(n)];
  switch (choices.Below(3)) {
    case 0:
      std::swap(input, inputs[choices.Below(n)]);
      break;
    case 1:
      input = StrCat(choices.Of(NodesOf(graph_def))->GetString(pb::NodeDef::kName), ":",
                     choices.Below(2));
      break;
    default:
      inputs.resize(n);  // nothing is run before it any more
  }
  SetInputs(node, inputs);
}

}  // namespace

CaseChanges::CaseChanges(std::shared_ptr<const OpRegistry> ops,
                         std::shared_ptr<const KernelRegistry> kernels)
    : ops_(std::move(ops)), kernels_(std::move(kernels)) {
  for (const KernelEntry* entry : kernels_->Entries()) entries_.emplace(entry->op, entry);
}

void CaseChanges::ChangeAttr(Choices& choices, Message& node) const {
  const Result<const OpEntry*> op = ops_->Find(node.GetString(pb::NodeDef::kOp));
  if (!op.ok() || (*op)->def.attrs.empty()) return;
  const AttrDef& attr = choices.Of((*op)->def.attrs);
  if (attr.kind == AttrValue::Kind::kFunction) return;  // no other would be there
  SetAttr(node, attr.name, RandomAttr(choices, attr, 20));
}

// Changes the node's types to those of one of its kernels, wherever the graph has the same type.
void CaseChanges::ChangeType(Choices& choices, Message& node, Message& graph_def) const {
  const auto [first, last] = entries_.equal_range(node.GetString(pb::NodeDef::kOp));
  if (first == last) return;
  const auto way = static_cast<std::ptrdiff_t>(choices.Below(
      static_cast<size_t>(std::min<std::ptrdiff_t>(std::distance(first, last), 256))));
  for (const auto& [name, to] : std::next(first, way)->second->types) {
    const Message* old = node.MapFind(pb::NodeDef::kAttr, name);
    if (old == nullptr || old->GetInt(av::kType) == static_cast<int64_t>(to)) continue;
    const int64_t from = old->GetInt(av::kType);
    for (Message* other : NodesOf(graph_def)) {
      for (const Message* entry : other->Messages(pb::NodeDef::kAttr)) {
        const std::string attr(entry->GetString(pb::kMapKey));
        if (other->GetString(pb::NodeDef::kOp) == "Const") continue;
        if (entry->GetMessage(pb::kMapValue).GetInt(av::kType) == from) SetAttr(*other, attr, to);
      }
    }
    for (Message* constant : ConstsOf(graph_def)) {
      const Tensor value = ValueOf(*constant);
      if (value.empty() || static_cast<int64_t>(value.dtype()) != from) continue;
      SetValue(*constant, Converted(choices, value, to), graph_def);
    }
  }
}

void CaseChanges::ChangeListLength(Choices& choices, Message& node) const {
  const Result<const OpEntry*> op = ops_->Find(node.GetString(pb::NodeDef::kOp));
  if (!op.ok()) return;
  std::vector<std::string> inputs = InputsOf(node);
  size_t at = 0;
  for (const ArgDef& arg : (*op)->def.inputs) {
    if (!arg.type_list_attr.empty()) return;
    size_t length = 1;
    if (!arg.number_attr.empty()) {
      const Message* n = node.MapFind(pb::NodeDef::kAttr, arg.number_attr);
      if (n == nullptr) return;
      length = static_cast<size_t>(n->GetInt(av::kI));
      if (length == 0 || at + length > inputs.size()) return;
      const auto place = inputs.begin() + static_cast<std::ptrdiff_t>(at);
      if (choices.Chance(50)) {
        inputs.insert(place, std::string(*place));
        ++length;
      } else {
        inputs.erase(place);
        --length;
      }
      SetAttr(node, arg.number_attr, static_cast<int64_t>(length));
      return SetInputs(node, inputs);
    }
    at += length;
  }
}

void CaseChanges::ChangeOnce(Choices& choices, std::string_view op, Message& graph_def) const {
  std::vector<Message*> nodes = NodesOf(graph_def);
  std::vector<Message*> tried = nodes;
  std::erase_if(tried, [&](const Message* n) { return n->GetString(pb::NodeDef::kOp) != op; });
  Message& node = *choices.Of(tried.empty() || choices.Chance(20) ? nodes : tried);
  const std::vector<Message*> consts = ConstsOf(graph_def);
  const size_t way = choices.Below(16);
  if (way < 8 && !consts.empty()) return ChangeValue(choices, *choices.Of(consts), graph_def);
  if (way < 12) return ChangeAttr(choices, node);
  if (way == 12) return ChangeType(choices, node, graph_def);
  if (way == 13) return ChangeListLength(choices, node);
  ChangeEdge(choices, node, graph_def);
}

void CaseChanges::Apply(Choices& choices, std::string_view op, Message& graph_def) const {
  // How much is known of the shapes of what is fed.
  const size_t known = choices.Below(4);
  for (Message* node : NodesOf(graph_def)) {
    if (known < 2 || node->GetString(pb::NodeDef::kOp) != "PlaceholderWithDefault") continue;
    const Message* shape = node->MapFind(pb::NodeDef::kAttr, "shape");
    if (shape == nullptr) continue;
    const Result<PartialShape> was = PartialShapeFromProto(shape->GetMessage(av::kShape));
    const bool ranks = known == 2 && was.ok() && was->rank() >= 0;
    SetAttr(*node, "shape", ranks ? PartialShape::OfRank(was->rank()) : PartialShape());
  }
  for (size_t n = choices.Below(4); n > 0; --n) ChangeOnce(choices, op, graph_def);
}

}  // namespace thalweg
