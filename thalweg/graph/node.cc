// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph.h"

namespace thalweg {
namespace {

// Edges that an argument of `node` stands for.
int64_t ArgSize(const Node& node, const ArgDef& arg) {
  if (!arg.number_attr.empty()) {
    const AttrValue* value = node.FindAttr(arg.number_attr);
    return value == nullptr ? 0 : *value->Get<int64_t>();
  }
  if (!arg.type_list_attr.empty()) {
    const AttrValue* value = node.FindAttr(arg.type_list_attr);
    return value == nullptr ? 0 : static_cast<int64_t>(value->list_size());
  }
  return 1;
}

Result<std::pair<int, int>> FindRange(const Node& node, const std::vector<ArgDef>& args,
                                      std::string_view name, std::string_view what) {
  int begin = 0;
  for (const ArgDef& arg : args) {
    const int end = begin + static_cast<int>(ArgSize(node, arg));
    if (arg.name == name) return std::pair<int, int>(begin, end);
    begin = end;
  }
  return NotFound(node.Label(), " has no ", what, " '", name, "'");
}

}  // namespace

std::string Output::ToString() const {
  if (node == nullptr) return "<none>";
  return index == 0 ? node->name() : StrCat(node->name(), ":", index);
}

DType Output::dtype() const { return node == nullptr ? DType::kInvalid : node->output_type(index); }

const PartialShape& Output::shape() const {
  static const PartialShape kUnknown = PartialShape::Unknown();
  return node == nullptr ? kUnknown : node->output_shape(index);
}

Result<std::pair<int, int>> Node::InputRange(std::string_view arg) const {
  return FindRange(*this, op_->def.inputs, arg, "input");
}

Result<std::pair<int, int>> Node::OutputRange(std::string_view arg) const {
  return FindRange(*this, op_->def.outputs, arg, "output");
}

bool Node::RefInput(int i) const {
  int64_t end = 0;
  for (const ArgDef& arg : op_->def.inputs) {
    end += ArgSize(*this, arg);
    if (i < end) return arg.is_ref;
  }
  return false;
}

const AttrValue* Node::FindAttr(std::string_view name) const {
  if (const AttrValue* given = attrs_.Find(name); given != nullptr) return given;
  const AttrDef* def = op_->def.FindAttr(name);
  return def != nullptr && def->default_value.has_value() ? &*def->default_value : nullptr;
}

std::string Node::Label() const { return StrCat(op_->def.name, " '", name_, "'"); }

}  // namespace thalweg
