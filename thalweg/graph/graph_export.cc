// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/site_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace nd = pb::NodeDef;

// What one message can hold, less something for everything that is no constant.
constexpr size_t kMaxConstantBytes = kMaxMessageBytes - (size_t{1} << 20);
constexpr size_t kShownNodes = 10;

size_t ConstantBytes(const Node& node) {
  size_t bytes = 0;
  for (const auto& [name, value] : node.attrs()) {
    if (const Tensor* tensor = value.GetIf<Tensor>(); tensor != nullptr) {
      bytes += TensorWireBytes(*tensor);
    }
  }
  return bytes;
}

Status CheckSize(const std::vector<Node*>& nodes) {
  size_t total = 0;
  std::vector<std::pair<size_t, const Node*>> sizes;
  for (const Node* node : nodes) {
    const size_t bytes = ConstantBytes(*node);
    if (bytes == 0) continue;
    total += bytes;
    sizes.emplace_back(bytes, node);
  }
  if (total <= kMaxConstantBytes) return OkStatus();
  const size_t shown = std::min(kShownNodes, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(shown), sizes.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    text.append(StrCat(i == 0 ? "" : ", ", "'", sizes[i].second->name(), "' ", sizes[i].first));
  }
  return ResourceExhausted("the constants of the graph have ", total,
                           " bytes, a GraphDef cannot hold more than 2 GB; the largest: ", text,
                           ". Keep such values in variables and load them from a checkpoint");
}

// Whether an attribute that holds its default is written.
bool WritesDefault(const AttrDef& attr, const ExportOptions& options) {
  return !options.strip_defaults && !(options.for_1_15 && attr.newer_than_1_15);
}

Status WriteAttrs(const Node& node, Message* proto, const ExportOptions& options) {
  std::vector<std::pair<std::string_view, const AttrValue*>> attrs;
  for (const auto& [name, value] : node.attrs()) attrs.emplace_back(name, &value);
  for (const AttrDef& attr : node.op().def.attrs) {
    if (!attr.default_value.has_value()) continue;
    const AttrValue* given = node.attrs().Find(attr.name);
    if (given == nullptr && WritesDefault(attr, options)) {
      attrs.emplace_back(attr.name, &*attr.default_value);
    } else if (given != nullptr && *given == *attr.default_value && !WritesDefault(attr, options)) {
      std::erase_if(attrs, [&](const auto& a) { return a.second == given; });
    }
  }
  std::sort(attrs.begin(), attrs.end());
  const TensorWriteOptions tensor_options = {.as_1_15 = options.for_1_15};
  for (const auto& [name, value] : attrs) {
    Status status = AttrValueToProto(*value, proto->MapMutable(nd::kAttr, name), tensor_options);
    if (!status.ok()) {
      return status.WithContext(StrCat(node.Label(), ", attribute '", name, "'"));
    }
  }
  return OkStatus();
}

}  // namespace

Status NodeToProto(const Node& node, Message* proto, const ExportOptions& options) {
  if (std::string extras = node.graph().WireExtras(node); !extras.empty()) {
    RETURN_IF_ERROR(MergeFromBytes(*proto, extras));
  }
  proto->SetString(nd::kName, node.name());
  proto->SetString(nd::kOp, node.op_name());
  proto->SetString(nd::kDevice, node.device());
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input(i).node == nullptr) {
      return FailedPrecondition(node.Label(), ": back edge ", i, " was never set");
    }
    proto->AddString(nd::kInput, node.input(i).ToString());
  }
  for (const Node* before : node.control_inputs()) {
    proto->AddString(nd::kInput, StrCat("^", before->name()));
  }
  return WriteAttrs(node, proto, options);
}

void ExportFunctions(const FunctionLibrary& functions, Message* library) {
  namespace fl = pb::FunctionDefLibrary;
  // What was parsed and serialized before parses again.
  for (const std::string& name : functions.Names()) {
    MergeFromBytes(*library->Add(fl::kFunction), functions.FindDefinition(name)).IgnoreError();
  }
  for (const std::string& name : functions.NamesWithGradient()) {
    Message* gradient = library->Add(fl::kGradient);
    gradient->SetString(pb::GradientDef::kFunctionName, name);
    gradient->SetString(pb::GradientDef::kGradientFunc, functions.FindGradient(name));
  }
  MergeFromBytes(*library, functions.Extras()).IgnoreError();
}

Result<OwnedMessage> ExportGraphDef(const Graph& graph, const ExportOptions& options) {
  std::vector<Node*> nodes = graph.Nodes();
  nodes.erase(nodes.begin(),
              nodes.begin() + static_cast<ptrdiff_t>(std::min(nodes.size(), options.first_node)));
  RETURN_IF_ERROR(CheckSize(nodes));
  OwnedMessage def(pb::GraphDef::Descriptor());
  for (const Node* node : nodes) {
    RETURN_IF_ERROR(NodeToProto(*node, def->Add(pb::GraphDef::kNode), options));
  }
  Message* versions = def->Mutable(pb::GraphDef::kVersions);
  versions->SetInt(pb::VersionDef::kProducer, graph.versions().producer);
  versions->SetInt(pb::VersionDef::kMinConsumer, graph.versions().min_consumer);
  for (int bad : graph.versions().bad_consumers) {
    versions->AddInt(pb::VersionDef::kBadConsumers, bad);
  }
  ExportFunctions(graph.library(), def->Mutable(pb::GraphDef::kLibrary));
  if (options.call_sites) {
    SiteWriter sites(def->Mutable(pb::GraphDef::kDebugInfo));
    std::ranges::sort(nodes, {}, &Node::name);  // entries of a map are added fastest in order
    for (const Node* node : nodes) {
      if (node->site() != 0) sites.Add(node->name(), graph.Site(node->site()));
    }
    WriteFunctionSites(graph.library(), sites);
  }
  return def;
}

Result<std::string> ExportGraphDefBytes(const Graph& graph, const ExportOptions& options) {
  ASSIGN_OR_RETURN(OwnedMessage def, ExportGraphDef(graph, options));
  return Serialize(*def);
}

Result<std::string> ExportGraphDefText(const Graph& graph, const ExportOptions& options) {
  ASSIGN_OR_RETURN(OwnedMessage def, ExportGraphDef(graph, options));
  return PrintText(*def);
}

}  // namespace thalweg
