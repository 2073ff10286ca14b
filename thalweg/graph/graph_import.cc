// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <functional>
#include <queue>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/function.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/nearest_names.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace nd = pb::NodeDef;

constexpr int kControlPort = -1;
constexpr size_t kShownCycle = 10;

// "name", "name:1", "^name".
struct TensorName {
  std::string_view node;
  int port = 0;  // kControlPort for "^name"
};

std::optional<TensorName> ParseTensorName(std::string_view text) {
  TensorName name{text};
  if (text.starts_with('^')) {
    name = {text.substr(1), kControlPort};
  } else if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, name.port);
    if (error != std::errc() || stop != end || name.port < 0) return std::nullopt;
    name.node = text.substr(0, colon);
  }
  if (name.node.empty()) return std::nullopt;
  return name;
}

bool IsMerge(std::string_view op) { return op == "Merge" || op == "RefMerge"; }
bool IsNextIteration(std::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}

std::string FrameText(const Message& debug_info, const Message& frame) {
  namespace fl = pb::GraphDebugInfo::FileLineCol;
  const auto files = debug_info.Repeated<std::string_view>(pb::GraphDebugInfo::kFiles);
  const auto file = static_cast<size_t>(frame.GetInt(fl::kFileIndex));
  if (file >= files.size()) return {};
  std::string text(files[file]);
  if (frame.GetInt(fl::kLine) > 0) text.append(StrCat(":", frame.GetInt(fl::kLine)));
  if (!frame.GetString(fl::kFunc).empty()) text.append(StrCat(" in ", frame.GetString(fl::kFunc)));
  return text;
}

class GraphImporter {
 public:
  GraphImporter(const Message& def, Graph& graph, const ImportOptions& options)
      : def_(def),
        nodes_(def.Messages(pb::GraphDef::kNode)),
        graph_(graph),
        options_(options),
        claim_budget_(options.claim_budget) {
    if (!options.prefix.empty()) {
      prefix_ = options.prefix.ends_with('/') ? options.prefix : options.prefix + "/";
    }
  }

  Result<ImportedGraph> Import() {
    RETURN_IF_ERROR(CheckVersions());
    RETURN_IF_ERROR(IndexNames());
    RETURN_IF_ERROR(MapInputs());
    RETURN_IF_ERROR(ResolveInputs());
    RETURN_IF_ERROR(OrderNodes());
    RETURN_IF_ERROR(ImportFunctions(def_.GetMessage(pb::GraphDef::kLibrary), graph_.library()));
    Status status = MakeNodes();
    ImportedGraph result;
    if (status.ok()) status = CollectReturns(result);
    if (!status.ok()) {
      graph_.TakeBack(added_);
      return status;
    }
    MergeVersions();
    result.nodes = std::move(made_);
    return result;
  }

 private:
  // Where an input comes from: a node of the GraphDef, or an output of the graph.
  struct Source {
    int node = -1;    // index in the GraphDef; -1: mapped
    int port = 0;     // kControlPort for control inputs
    int mapped = -1;  // index in options_.input_map
    bool is_back_edge = false;
  };

  int64_t Producer() const;
  Status CheckVersions();
  void MergeVersions();
  Status IndexNames();
  Status MapInputs();
  Status ResolveInputs();
  Status ResolveInput(int node, std::string_view text, Source* source);
  Status OrderNodes();
  Status CycleError(const std::vector<int>& pending) const;
  Status MakeNodes();
  Status MakeNode(int index);
  Status SetAttrs(const Message& def, AttrMap& attrs);
  Result<bool> IsProducerDefault(const Message& def, std::string_view name, const AttrValue& value);
  AttrValue PrefixedClass(const AttrValue& value) const;
  uint32_t SiteOf(std::string_view name);
  void KeepExtras(const Message& def, const Node& node);
  Status CollectReturns(ImportedGraph& result);

  std::string_view Name(int i) const { return nodes_[i]->GetString(nd::kName); }
  std::string_view Op(int i) const { return nodes_[i]->GetString(nd::kOp); }
  std::span<const Source> Sources(int i) const {
    return {sources_.data() + first_source_[i], first_source_[i + 1] - first_source_[i]};
  }
  int num_nodes() const { return static_cast<int>(nodes_.size()); }

  const Message& def_;
  const std::span<const Message* const> nodes_;
  Graph& graph_;
  const ImportOptions& options_;
  std::string prefix_;
  size_t claim_budget_;
  std::unordered_map<std::string_view, int> by_name_;
  std::unordered_map<std::string_view, int> input_map_;
  std::vector<size_t> first_source_;
  std::vector<Source> sources_;
  std::vector<int> order_;
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
  const bool was_empty = graph_.num_nodes() == static_cast<int>(added_.size());
  to.producer = was_empty ? producer : std::min(to.producer, producer);
  to.min_consumer =
      std::max(to.min_consumer, static_cast<int>(from.GetInt(pb::VersionDef::kMinConsumer)));
  for (int32_t bad : from.Repeated<int32_t>(pb::VersionDef::kBadConsumers)) {
    if (std::find(to.bad_consumers.begin(), to.bad_consumers.end(), bad) ==
        to.bad_consumers.end()) {
      to.bad_consumers.push_back(bad);
    }
  }
}

Status GraphImporter::IndexNames() {
  by_name_.reserve(nodes_.size());
  for (int i = 0; i < num_nodes(); ++i) {
    if (!by_name_.emplace(Name(i), i).second) {
      return InvalidArgument("GraphDef: Duplicate node name in graph: '", Name(i), "'");
    }
  }
  return OkStatus();
}

Status GraphImporter::MapInputs() {
  for (size_t i = 0; i < options_.input_map.size(); ++i) {
    const auto& [key, output] = options_.input_map[i];
    const std::optional<TensorName> name = ParseTensorName(key);
    if (!name.has_value()) return InvalidArgument("input map: '", key, "' names no tensor");
    if (output.node == nullptr || &output.node->graph() != &graph_ || output.index < 0 ||
        (name->port != kControlPort && output.index >= output.node->num_outputs())) {
      return InvalidArgument("input map: the value of '", key, "' is no output of this graph");
    }
    // "name:0" is spelled "name".
    const std::string_view spelled = name->port == 0 ? name->node : std::string_view(key);
    if (!input_map_.emplace(spelled, static_cast<int>(i)).second) {
      return InvalidArgument("input map: '", key, "' is there twice");
    }
  }
  return OkStatus();
}

Status GraphImporter::ResolveInput(int node, std::string_view text, Source* source) {
  const std::optional<TensorName> name = ParseTensorName(text);
  if (!name.has_value()) {
    return InvalidArgument("Node '", Name(node), "': '", text,
                           "' is no input: expected \"node\", \"node:output\" or \"^node\"");
  }
  source->port = name->port;
  if (!input_map_.empty()) {
    auto mapped = input_map_.find(name->port == 0 ? name->node : text);
    if (mapped != input_map_.end()) {
      source->mapped = mapped->second;
      return OkStatus();
    }
  }
  auto found = by_name_.find(name->node);
  if (found == by_name_.end()) {
    NearestNames near(name->node);
    for (const auto& [candidate, index] : by_name_) near.Add(candidate);
    return InvalidArgument("Node '", Name(node), "': Unknown input node '", text, "'",
                           near.ToString());
  }
  source->node = found->second;
  source->is_back_edge = name->port >= 0 && IsMerge(Op(node)) && IsNextIteration(Op(source->node));
  return OkStatus();
}

Status GraphImporter::ResolveInputs() {
  first_source_.reserve(nodes_.size() + 1);
  sources_.reserve(2 * nodes_.size());
  for (int i = 0; i < num_nodes(); ++i) {
    first_source_.push_back(sources_.size());
    bool had_control = false;
    for (std::string_view text : nodes_[i]->Repeated<std::string_view>(nd::kInput)) {
      Source& source = sources_.emplace_back();
      RETURN_IF_ERROR(ResolveInput(i, text, &source));
      if (source.port != kControlPort && had_control) {
        return InvalidArgument("Node '", Name(i), "': Control dependencies must come after ",
                               "regular dependencies, '", text, "' comes late");
      }
      had_control = source.port == kControlPort;
    }
  }
  first_source_.push_back(sources_.size());
  return OkStatus();
}

// Sources first, otherwise as the GraphDef has them.
Status GraphImporter::OrderNodes() {
  const int n = num_nodes();
  std::vector<int> pending(n, 0);
  std::vector<int> first_reader(n + 1, 0);
  bool in_order = true;
  for (int i = 0; i < n; ++i) {
    for (const Source& source : Sources(i)) {
      if (source.node < 0 || source.is_back_edge) continue;
      in_order &= source.node < i;
      ++pending[i];
      ++first_reader[source.node + 1];
    }
  }
  order_.reserve(n);
  if (in_order) {
    for (int i = 0; i < n; ++i) order_.push_back(i);
    return OkStatus();
  }
  for (int i = 0; i < n; ++i) first_reader[i + 1] += first_reader[i];
  std::vector<int> readers(first_reader[n]);
  std::vector<int> next = first_reader;
  for (int i = 0; i < n; ++i) {
    for (const Source& source : Sources(i)) {
      if (source.node >= 0 && !source.is_back_edge) readers[next[source.node]++] = i;
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < n; ++i) {
    if (pending[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order_.push_back(i);
    for (int r = first_reader[i]; r < first_reader[i + 1]; ++r) {
      if (--pending[readers[r]] == 0) ready.push(readers[r]);
    }
  }
  return static_cast<int>(order_.size()) == n ? OkStatus() : CycleError(pending);
}

// Every node with pending > 0 has a source with pending > 0: walking up must end in a cycle.
Status GraphImporter::CycleError(const std::vector<int>& pending) const {
  std::vector<int> path;
  std::vector<int> place(pending.size(), -1);
  int i = static_cast<int>(
      std::find_if(pending.begin(), pending.end(), [](int p) { return p > 0; }) - pending.begin());
  while (place[i] < 0) {
    place[i] = static_cast<int>(path.size());
    path.push_back(i);
    for (const Source& source : Sources(i)) {
      if (source.node >= 0 && !source.is_back_edge && pending[source.node] > 0) {
        i = source.node;
        break;
      }
    }
  }
  path.erase(path.begin(), path.begin() + place[i]);
  std::string text = StrCat("'", Name(path[0]), "'");
  for (size_t shown = 1; shown < path.size(); ++shown) {
    if (shown == kShownCycle) {
      text.append(StrCat(" <- ... (", path.size() - shown, " more)"));
      break;
    }
    text.append(StrCat(" <- '", Name(path[shown]), "'"));
  }
  return InvalidArgument("GraphDef: the nodes ", text, " <- '", Name(path[0]),
                         "' form a cycle; only a NextIteration that feeds a Merge may close one");
}

AttrValue GraphImporter::PrefixedClass(const AttrValue& value) const {
  Result<std::vector<std::string>> groups = value.Get<std::vector<std::string>>();
  if (!groups.ok()) return value;
  constexpr std::string_view kLocation = "loc:@";
  for (std::string& group : *groups) {
    if (group.starts_with(kLocation) &&
        by_name_.contains(std::string_view(group).substr(kLocation.size()))) {
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
    Result<const OpEntry*> found = graph_.registry().Find(def.GetString(nd::kOp));
    if (found.ok()) op = *found;
  }
  for (const Message* entry : def.Messages(nd::kAttr)) {
    const std::string_view name = entry->GetString(pb::kMapKey);
    const Message& message = entry->GetMessage(pb::kMapValue);
    if (name.starts_with('_') && message.WhichOneof(pb::AttrValue::kI) == nullptr) continue;
    Result<AttrValue> value = AttrValueFromProto(message, {.claim_budget = &claim_budget_});
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

uint32_t GraphImporter::SiteOf(std::string_view name) {
  const Message* debug_info = def_.FindMessage(pb::GraphDef::kDebugInfo);
  if (debug_info == nullptr) return 0;
  const Message* trace = debug_info->MapFind(pb::GraphDebugInfo::kTraces, name);
  if (trace == nullptr) return 0;
  const auto frames = trace->Messages(pb::GraphDebugInfo::StackTrace::kFileLineCols);
  return frames.empty() ? 0 : graph_.InternSite(FrameText(*debug_info, *frames[0]));
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
  const std::span<const Source> sources = Sources(index);
  spec.inputs.reserve(sources.size());
  for (const Source& source : sources) {
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
  ASSIGN_OR_RETURN(made_[index], graph_.AddNode(std::move(spec)));
  added_.push_back(made_[index]);
  KeepExtras(def, *made_[index]);
  return OkStatus();
}

Status GraphImporter::MakeNodes() {
  made_.assign(nodes_.size(), nullptr);
  added_.reserve(nodes_.size());
  for (int index : order_) RETURN_IF_ERROR(MakeNode(index));
  for (int index : order_) {
    if (!IsMerge(Op(index))) continue;
    const std::span<const Source> sources = Sources(index);
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
    auto mapped = input_map_.find(name->port == 0 ? name->node : std::string_view(text));
    if (mapped != input_map_.end()) {
      result.return_outputs.push_back(options_.input_map[mapped->second].second);
      continue;
    }
    auto found = by_name_.find(name->node);
    if (found == by_name_.end() || name->port >= made_[found->second]->num_outputs()) {
      return NotFound("return output '", text, "' is not in the GraphDef");
    }
    result.return_outputs.push_back({made_[found->second], name->port});
  }
  for (const std::string& name : options_.return_nodes) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return NotFound("return node '", name, "' is not in the GraphDef");
    result.return_nodes.push_back(made_[found->second]);
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
