// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph_text.h"

#include <algorithm>

namespace thalweg {
namespace {

bool NamesAttr(const std::vector<ArgDef>& args, std::string_view attr) {
  return std::any_of(args.begin(), args.end(), [&](const ArgDef& arg) {
    return arg.type_attr == attr || arg.number_attr == attr || arg.type_list_attr == attr;
  });
}

bool IsShown(const Node& node, std::string_view name, const AttrValue& value) {
  const OpDef& def = node.op().def;
  if (NamesAttr(def.inputs, name) || NamesAttr(def.outputs, name)) return false;
  const AttrDef* attr = def.FindAttr(name);
  return attr == nullptr || !attr->default_value.has_value() || !(*attr->default_value == value);
}

void AppendOutputs(const Node& node, const GraphTextOptions& options, std::string& text) {
  if (node.num_outputs() == 0) text.append(node.name());
  for (int i = 0; i < node.num_outputs(); ++i) {
    text.append(StrCat(i == 0 ? "" : ", ", node.name(), ":", i, " ", node.output_type(i),
                       node.output_is_ref(i) ? "&" : ""));
    if (options.shapes) text.append(node.output_shape(i).ToString());
  }
}

}  // namespace

std::string NodeText(const Node& node, const GraphTextOptions& options) {
  std::string text;
  AppendOutputs(node, options, text);
  text.append(StrCat(" = ", node.op_name(), "("));
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& input = node.input(i);
    text.append(StrCat(i == 0 ? "" : ", ", input.node == nullptr ? "?" : input.ToString()));
  }
  text.append(")");
  std::string attrs;
  for (const auto& [name, value] : node.attrs()) {
    if (!IsShown(node, name, value)) continue;
    attrs.append(StrCat(attrs.empty() ? "" : ", ", name, ": ", value.ToString()));
  }
  if (!attrs.empty()) text.append(StrCat(" {", attrs, "}"));
  if (!node.device().empty()) text.append(StrCat(" @", node.device()));
  for (const Node* before : node.control_inputs()) text.append(StrCat(" ^", before->name()));
  if (options.sites && node.site() != 0) {
    text.append(StrCat("  # ", node.graph().Site(node.site())));
  }
  return text;
}

std::string GraphText(const Graph& graph, const GraphTextOptions& options) {
  std::string text;
  for (const Node* node : graph.Nodes()) text.append(NodeText(*node, options)).append("\n");
  return text;
}

}  // namespace thalweg
