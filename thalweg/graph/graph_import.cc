// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/import_plan.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/graph/site_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace nd = pb::NodeDef;

class GraphImporter {
 public:
  GraphImporter(const Message& def, Graph& graph, const ImportOptions& options)
      : def_(def),
        nodes_(def.Messages(pb::GraphDef::kNode)),
        graph_(graph),
        options_(options),
        claim_budget_(options.claim_budget),
        plan_(nodes_, options) {
    if (!options.prefix.empty()) {
      prefix_ = options.prefix.ends_with('/') ? options.prefix : options.prefix + "/";
    }
  }

  Result<ImportedGraph> Import() {
    RETURN_IF_ERROR(CheckVersions());
    RETURN_IF_ERROR(plan_.Make(graph_));
    RETURN_IF_ERROR(ImportFunctions(def_.GetMessage(pb::GraphDef::kLibrary), graph_.library()));
    AddFunctionSites(def_.GetMessage(pb::GraphDef::kDebugInfo), graph_.library());
    // The nodes' shapes depend on the version.
    const Versions before = graph_.versions();
    MergeVersions();
    Status status = MakeNodes();
    ImportedGraph result;
    if (status.ok()) status = CollectReturns(result);
    if (!status.ok()) {
      graph_.TakeBack(added_);
      graph_.versions() = before;
      return status;
    }
    result.nodes = std::move(made_);
    return result;
  }

 private:
  int64_t Producer() const;
  Status CheckVersions();
  void MergeVersions();
  Status MakeNodes();
  Status MakeNode(int index);
  Status SetAttrs(const Message& def, AttrMap& attrs);
  Status MayBeNewer(const Message& def, const Status& status) const;
  Result<bool> IsProducerDefault(const Message& def, std::string_view name, const AttrValue& value);
  AttrValue PrefixedClass(const AttrValue& value) const;
  uint32_t SiteOf(std::string_view name);
  void KeepExtras(const Message& def, const Node& node);
  Status CollectReturns(ImportedGraph& result);

  std::string_view Name(int i) const { return nodes_[i]->GetString(nd::kName); }
  std::string_view Op(int i) const { return nodes_[i]->GetString(nd::kOp); }

  const Message& def_;
  const std::span<const Message* const> nodes_;
  Graph& graph_;
  const ImportOptions& options_;
  std::string prefix_;
  size_t claim_budget_;
  ImportPlan plan_;
  std::vector<Node*> made_;   // by index
  std::vector<Node*> added_;  // in the order of creation
};

// Old graphs have a field of their own for it.
int64_t GraphImporter::Producer() const {
  const int64_t producer =
      def_.GetMessage(pb::GraphDef::kVersions).GetInt(pb::VersionDef::kProducer);
  return producer == 0 ? def_.GetInt(pb::GraphDef::kVersion) : producer;
}

Status GraphImporter::CheckVersions() {
  if (!options_.validate_versions) return OkStatus();
  const Message& versions = def_.GetMessage(pb::GraphDef::kVersions);
  const int64_t min_consumer = versions.GetInt(pb::VersionDef::kMinConsumer);
  if (Producer() < 0) {
    return InvalidArgument("GraphDef producer version ", Producer(),
                           " below min producer 0 supported here");
  }
  if (min_consumer > kGraphDefVersion) {
    return InvalidArgument("GraphDef min consumer version ", min_consumer,
                           " above current version ", kGraphDefVersion,
                           ": the graph needs a newer release");
  }
  for (int32_t bad : versions.Repeated<int32_t>(pb::VersionDef::kBadConsumers)) {
    if (bad == kGraphDefVersion) {
      return InvalidArgument("GraphDef disallows consumer version ", bad,
                             ": the graph must not run on this release");
    }
  }
  return OkStatus();
}

// The graph must be readable by those who can read both parts.
void GraphImporter::MergeVersions() {
  const Message& from = def_.GetMessage(pb::GraphDef::kVersions);
  const auto producer = static_cast<int>(Producer());
  Versions& to = graph_.versions();
  to.producer = graph_.num_nodes() == 0 ? producer : std::min(to.producer, producer);
  to.min_consumer =
      std::max(to.min_consumer, static_cast<int>(from.GetInt(pb::VersionDef::kMinConsumer)));
  for (int32_t bad : from.Repeated<int32_t>(pb::VersionDef::kBadConsumers)) {
    if (std::find(to.bad_consumers.begin(), to.bad_consumers.end(), bad) ==
        to.bad_consumers.end()) {
      to.bad_consumers.push_back(bad);
    }
  }
}

AttrValue GraphImporter::PrefixedClass(const AttrValue& value) const {
  Result<std::vector<std::string>> groups = value.Get<std::vector<std::string>>();
  if (!groups.ok()) return value;
  constexpr std::string_view kLocation = "loc:@";
  for (std::string& group : *groups) {
    if (group.starts_with(kLocation) &&
        plan_.FindNode(std::string_view(group).substr(kLocation.size())) >= 0) {
      group.insert(kLocation.size(), prefix_);
    }
  }
  return AttrValue(*std::move(groups));
}

Result<bool> GraphImporter::IsProducerDefault(const Message& def, std::string_view name,
                                              const AttrValue& value) {
  for (const Message* op : options_.producer_ops->Messages(pb::OpList::kOp)) {
    if (op->GetString(pb::OpDef::kName) != def.GetString(nd::kOp)) continue;
    for (const Message* attr : op->Messages(pb::OpDef::kAttr)) {
      const Message* standard = attr->FindMessage(pb::OpDef::AttrDef::kDefaultValue);
      if (attr->GetString(pb::OpDef::AttrDef::kName) != name || standard == nullptr) continue;
      ASSIGN_OR_RETURN(const AttrValue other, AttrValueFromProto(*standard));
      return value == other;
    }
  }
  return false;
}

Status GraphImporter::SetAttrs(const Message& def, AttrMap& attrs) {
  const OpEntry* op = nullptr;
  if (options_.producer_ops != nullptr) {
    op = graph_.library().FindOp(def.GetString(nd::kOp));
    if (op == nullptr) {
      const Result<const OpEntry*> found = graph_.registry().Find(def.GetString(nd::kOp));
      if (found.ok()) op = *found;
    }
  }
  for (const Message* entry : def.Messages(nd::kAttr)) {
    const std::string_view name = entry->GetString(pb::kMapKey);
    const Message& message = entry->GetMessage(pb::kMapValue);
    if (name.starts_with('_') && message.WhichOneof(pb::AttrValue::kI) == nullptr) continue;
    Result<AttrValue> value = AttrValueFromProto(
        message, {.allocator = options_.allocator, .claim_budget = &claim_budget_});
    if (!value.ok()) return value.status().WithContext(StrCat("attribute '", name, "'"));
    if (op != nullptr && !name.starts_with('_') && op->def.FindAttr(name) == nullptr) {
      ASSIGN_OR_RETURN(const bool is_default, IsProducerDefault(def, name, *value));
      if (is_default) continue;
    }
    attrs.Set(name,
              name == "_class" && !prefix_.empty() ? PrefixedClass(*value) : *std::move(value));
  }
  return OkStatus();
}

// Where a node's operation, or an attribute of it, is not known here: which release may have
// written it, and what helps.
Status GraphImporter::MayBeNewer(const Message& def, const Status& status) const {
  Result<const OpEntry*> op = graph_.registry().Find(def.GetString(nd::kOp));
  const std::string producer =
      Producer() == 0 ? "; the graph does not say which version produced it"
                      : StrCat("; the graph was written by producer version ", Producer());
  const std::string versions = StrCat(producer, ", known here is version ", kGraphDefVersion, ": ");
  if (!op.ok()) {
    if (graph_.library().FindOp(def.GetString(nd::kOp)) != nullptr) return status;
    return Status(status.code(),
                  StrCat(status.message(), versions,
                         "import only what your outputs need (extract_sub_graph), load the library "
                         "that defines the operation (load_op_library), or export the graph again "
                         "without it"));
  }
  const auto entries = def.Messages(nd::kAttr);
  const bool known = std::all_of(entries.begin(), entries.end(), [&](const Message* entry) {
    const std::string_view name = entry->GetString(pb::kMapKey);
    return name.starts_with('_') || (*op)->def.FindAttr(name) != nullptr;
  });
  if (known) return status;
  return Status(status.code(),
                StrCat(status.message(), versions,
                       "export it again without attributes at their defaults, or give the "
                       "producer's list of operations when it is imported"));
}

uint32_t GraphImporter::SiteOf(std::string_view name) {
  const std::string site = SiteIn(def_.GetMessage(pb::GraphDef::kDebugInfo), name);
  return site.empty() ? 0 : graph_.InternSite(site);
}

void GraphImporter::KeepExtras(const Message& def, const Node& node) {
  constexpr int kKept[] = {nd::kExperimentalDebugInfo, nd::kExperimentalType};
  if (std::none_of(std::begin(kKept), std::end(kKept), [&](int f) { return def.Has(f); })) return;
  OwnedMessage extras(nd::Descriptor());
  for (int field : kKept) {
    if (def.Has(field)) extras->Mutable(field)->MergeFrom(def.GetMessage(field));
  }
  Result<std::string> bytes = Serialize(*extras);
  if (bytes.ok()) graph_.SetWireExtras(node, *std::move(bytes));
}

Status GraphImporter::MakeNode(int index) {
  const Message& def = *nodes_[index];
  NodeSpec spec;
  spec.op = def.GetString(nd::kOp);
  spec.name = StrCat(prefix_, Name(index));
  if (!options_.clear_devices) spec.device = def.GetString(nd::kDevice);
  if (spec.device.empty()) spec.device = options_.default_device;
  spec.site = SiteOf(Name(index));
  Status status = SetAttrs(def, spec.attrs);
  if (!status.ok()) return status.WithContext(StrCat(spec.op, " '", spec.name, "'"));
  if (spec.name.empty()) return InvalidArgument("GraphDef: node ", index, " has no name");
  const std::span<const ImportPlan::Source> sources = plan_.Sources(index);
  spec.inputs.reserve(sources.size());
  for (const ImportPlan::Source& source : sources) {
    if (source.port == kControlPort) {
      spec.control_inputs.push_back(
          source.node >= 0 ? made_[source.node] : options_.input_map[source.mapped].second.node);
    } else if (source.node < 0) {
      spec.inputs.push_back(options_.input_map[source.mapped].second);
    } else {
      spec.inputs.push_back(source.is_back_edge ? Output()
                                                : Output{made_[source.node], source.port});
    }
  }
  if (sources.empty()) spec.control_inputs = options_.control_dependencies;
  Result<Node*> made = graph_.AddNode(std::move(spec));
  if (!made.ok()) return MayBeNewer(def, made.status());
  made_[index] = *made;
  added_.push_back(made_[index]);
  KeepExtras(def, *made_[index]);
  return OkStatus();
}

Status GraphImporter::MakeNodes() {
  made_.assign(nodes_.size(), nullptr);
  added_.reserve(nodes_.size());
  for (int index : plan_.order()) RETURN_IF_ERROR(MakeNode(index));
  for (int index : plan_.order()) {
    if (made_[index]->control() != Node::Control::kMerge) continue;
    const std::span<const ImportPlan::Source> sources = plan_.Sources(index);
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!sources[i].is_back_edge) continue;
      RETURN_IF_ERROR(graph_.SetBackEdge(made_[index], static_cast<int>(i),
                                         {made_[sources[i].node], sources[i].port}));
    }
  }
  return OkStatus();
}

Status GraphImporter::CollectReturns(ImportedGraph& result) {
  for (const std::string& text : options_.return_outputs) {
    const std::optional<TensorName> name = ParseTensorName(text);
    if (!name.has_value() || name->port == kControlPort) {
      return InvalidArgument("return output '", text, "' names no tensor");
    }
    if (const int mapped = plan_.FindMapped(*name, text); mapped >= 0) {
      result.return_outputs.push_back(options_.input_map[mapped].second);
      continue;
    }
    const int found = plan_.FindNode(name->node);
    if (found < 0 || name->port >= made_[found]->num_outputs()) {
      return InvalidArgument("Requested return tensor '", text, "' not found in graph def");
    }
    result.return_outputs.push_back({made_[found], name->port});
  }
  for (const std::string& name : options_.return_nodes) {
    const int found = plan_.FindNode(name);
    if (found < 0) return NotFound("return node '", name, "' is not in the GraphDef");
    result.return_nodes.push_back(made_[found]);
  }
  return OkStatus();
}

}  // namespace

Result<ImportedGraph> ImportGraphDef(const Message& def, Graph& graph,
                                     const ImportOptions& options) {
  return GraphImporter(def, graph, options).Import();
}

Result<ImportedGraph> ImportGraphDefBytes(std::string_view bytes, Graph& graph,
                                          const ImportOptions& options) {
  ASSIGN_OR_RETURN(OwnedMessage def,
                   ParseMessage(pb::GraphDef::Descriptor(), bytes, {.borrow = true}));
  return ImportGraphDef(*def, graph, options);
}

Result<ImportedGraph> ImportGraphDefText(std::string_view text, Graph& graph,
                                         const ImportOptions& options) {
  ASSIGN_OR_RETURN(OwnedMessage def, ParseText(pb::GraphDef::Descriptor(), text));
  return ImportGraphDef(*def, graph, options);
}

Status ImportFunctions(const Message& library, FunctionLibrary& functions) {
  namespace fl = pb::FunctionDefLibrary;
  for (const Message* function : library.Messages(fl::kFunction)) {
    ASSIGN_OR_RETURN(OpDef signature,
                     OpDefFromProto(function->GetMessage(pb::FunctionDef::kSignature)));
    ASSIGN_OR_RETURN(std::string definition, Serialize(*function));
    RETURN_IF_ERROR(functions.Add(std::move(signature), std::move(definition)));
  }
  for (const Message* gradient : library.Messages(fl::kGradient)) {
    RETURN_IF_ERROR(functions.SetGradient(gradient->GetString(pb::GradientDef::kFunctionName),
                                          gradient->GetString(pb::GradientDef::kGradientFunc)));
  }
  const auto registered = library.Messages(fl::kRegisteredGradients);
  if (!registered.empty()) {
    OwnedMessage extras(fl::Descriptor());
    for (const Message* gradient : registered) {
      extras->Add(fl::kRegisteredGradients)->MergeFrom(*gradient);
    }
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*extras));
    functions.SetExtras(functions.Extras() + bytes);
  }
  return OkStatus();
}

}  // namespace thalweg
