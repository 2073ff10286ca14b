// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/body_names.h"

#include <charconv>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/nearest_names.h"

namespace thalweg {
namespace {

namespace nd = pb::NodeDef;

}  // namespace

Result<const OpDef*> BodyNames::FindOp(std::string_view op) const {
  const OpEntry* entry = library_.FindOp(op);
  if (entry == nullptr) {
    ASSIGN_OR_RETURN(entry, registry_.Find(op));
  }
  return &entry->def;
}

// How many values an output of a node stands for.
Result<int64_t> BodyNames::CountOf(const Message& node, const OpDef& def, const ArgDef& arg) const {
  const std::string& name = arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
  if (name.empty()) return 1;
  AttrValue value;
  if (const Message* given = node.MapFind(nd::kAttr, name); given != nullptr) {
    ASSIGN_OR_RETURN(value, AttrValueFromProto(*given));
  } else if (const AttrDef* attr = def.FindAttr(name); attr->default_value.has_value()) {
    value = *attr->default_value;
  }
  if (value.is_list()) return static_cast<int64_t>(value.list_size());
  ASSIGN_OR_RETURN(const int64_t count, value.Get<int64_t>());
  if (count < 0 || count > kMaxArgSize) {
    return InvalidArgument("attribute '", name, "' must be from 0 to ", kMaxArgSize, ", got ",
                           count);
  }
  return count;
}

// "output" or "output:1" of `node`, as outputs counted over all of them.
Result<std::pair<int64_t, int64_t>> BodyNames::OutputsOf(const Message& node,
                                                         std::string_view output) const {
  const size_t colon = output.find(':');
  const std::string_view name = output.substr(0, colon);
  int64_t index = -1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = output.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index < 0) {
      return InvalidArgument("'", digits, "' is no number of an output");
    }
  }
  ASSIGN_OR_RETURN(const OpDef* def, FindOp(node.GetString(nd::kOp)));
  int64_t begin = 0;
  for (const ArgDef& arg : def->outputs) {
    ASSIGN_OR_RETURN(const int64_t count, CountOf(node, *def, arg));
    if (arg.name == name) {
      if (index >= count) {
        return InvalidArgument("output '", name, "' has ", count, " values, there is no ", index);
      }
      if (index >= 0) return std::pair(begin + index, begin + index + 1);
      return std::pair(begin, begin + count);
    }
    begin += count;
  }
  return InvalidArgument("operation ", def->name, " has no output '", name, "'");
}

// The values that an input stands for, as a GraphDef names them.
Result<std::vector<std::string>> BodyNames::Resolve(std::string_view text) const {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (const auto arg = args.find(std::string(name)); arg != args.end()) {
    if (rest.empty()) return arg->second;
    size_t index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (error != std::errc() || end != rest.data() + rest.size() || index >= arg->second.size()) {
      return InvalidArgument("argument '", name, "' has no value '", rest, "'");
    }
    return std::vector<std::string>{arg->second[index]};
  }
  const auto node = nodes.find(name);
  if (node == nodes.end()) {
    NearestNames near(name);
    for (const auto& [candidate, message] : nodes) near.Add(candidate);
    for (const auto& [candidate, values] : args) near.Add(candidate);
    return InvalidArgument("no argument or node is named '", name, "'", near.ToString());
  }
  if (rest.empty() || (rest[0] >= '0' && rest[0] <= '9')) {
    return std::vector<std::string>{std::string(text)};
  }
  ASSIGN_OR_RETURN(const auto range, OutputsOf(*node->second, rest));
  std::vector<std::string> names;
  for (int64_t i = range.first; i < range.second; ++i) names.push_back(StrCat(name, ":", i));
  return names;
}

Result<std::string> BodyNames::ResolveControl(std::string_view name) const {
  if (nodes.contains(name)) return std::string(name);
  const auto arg = args.find(std::string(name));
  if (arg != args.end() && !arg->second.empty()) return arg->second[0];
  return InvalidArgument("no argument or node is named '", name, "'");
}

}  // namespace thalweg
