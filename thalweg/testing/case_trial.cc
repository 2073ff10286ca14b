// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/case_trial.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "thalweg/base/check.h"
#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/writing_operations.h"

namespace thalweg {
namespace {

constexpr std::chrono::milliseconds kTrialTime{200};
constexpr std::chrono::seconds kValidTime{60};
constexpr size_t kMostFetches = 1000;  // of a node that was told to have a million outputs

OwnedMessage ReadCase(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  Result<OwnedMessage> graph_def = ParseText(pb::GraphDef::Descriptor(), text.str());
  CHECK(graph_def.ok());
  return std::move(*graph_def);
}

bool IsFetchable(const Output& output) {
  const DType dtype = output.dtype();
  return !output.node->output_is_ref(output.index) && dtype != DType::kResource &&
         dtype != DType::kVariant && output.node->control() == Node::Control::kNone;
}

bool Holds(const Graph& graph, std::string_view op) {
  const std::vector<Node*> nodes = graph.Nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](Node* n) { return n->op_name() == op; });
}

// Operations of which inference knows more than they ask for, as in TensorFlow: a resource variable
// takes a value of any shape, as does a reference where validate_shape is off; the flow of a
// TensorArray is whatever was given as such; functions give what they give, whatever output_shapes
// says, and a gradient has the shape of what came in; a scalar is parsed, and reversed, like a
// vector. What is promised of them, and of all that comes of them, holds where graphs keep to it.
bool MayBreakPromises(const Graph& graph) {
  static const std::set<std::string_view> kLenient = {
      "BlockLSTMGrad",        "BlockLSTMGradV2",  "Case",          "If",
      "ParseSequenceExample", "Reverse",          "StatelessCase", "StatelessIf",
      "StatelessWhile",       "SymbolicGradient", "VarHandleOp",   "While"};
  const std::vector<Node*> nodes = graph.Nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
    const Result<bool> validate =
        n->op_name() == "Assign" ? n->Attr<bool>("validate_shape") : Result<bool>(true);
    return kLenient.contains(n->op_name()) || n->op_name().starts_with("TensorArray") ||
           (validate.ok() && !*validate);
  });
}

bool HoldsInFunction(const Message& graph_def, std::string_view op) {
  for (const Message* function :
       graph_def.GetMessage(pb::GraphDef::kLibrary).Messages(pb::FunctionDefLibrary::kFunction)) {
    for (const Message* node : function->Messages(pb::FunctionDef::kNodeDef)) {
      if (node->GetString(pb::NodeDef::kOp) == op) return true;
    }
  }
  return false;
}

std::shared_ptr<KernelRegistry> AllCpuKernels() {
  auto kernels = std::make_shared<KernelRegistry>();
  RegisterAllCpuKernels(*kernels);
  return kernels;
}

}  // namespace

struct CaseTrials::Trial {
  std::shared_ptr<Graph> graph;
  Signature signature;  // nodes that no other reads
  std::vector<Output> fed;
  std::vector<GradientValue> gradients;  // of `fed`; empty: not asked for
  std::vector<Tensor> fetched;
  RunMetadata metadata;
  bool wants_partitions = false;
  bool checks_shapes = true;
  std::string wrong;
};

CaseTrials::CaseTrials(const std::string& folder, int64_t memory_limit)
    : CaseTrials(folder, AllCpuKernels(), MakeCpuDevices, memory_limit) {}

CaseTrials::CaseTrials(const std::string& folder, std::shared_ptr<KernelRegistry> kernels,
                       DeviceFactory devices, int64_t memory_limit)
    : kernels_(std::move(kernels)) {
  Registries registries;
  RegisterAllOps(*registries.ops);
  registries.kernels = kernels_;
  registries.devices = {devices};
  environment_ = *Environment::Create({.threads = 0,
                                       .cpu_devices = 2,
                                       .memory_limit = memory_limit,
                                       .log_level = LogLevel::kNothing},
                                      std::move(registries));
  changes_ = std::make_unique<CaseChanges>(environment_->shared_ops(), kernels_);
  std::set<std::string> with_kernel;
  for (const KernelEntry* entry : kernels_->Entries()) {
    if (entry->device_type == kCpu) with_kernel.insert(entry->op);
  }
  with_kernel_.assign(with_kernel.begin(), with_kernel.end());
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".pbtxt") continue;
    cases_.emplace(entry.path().stem().string(), ReadCase(entry.path()));
  }
  for (const auto& [op, graph_def] : cases_) ops_.push_back(op);
}

bool CaseTrials::MayTryAnywhere(std::string_view op) const {
  const auto found = cases_.find(op);
  if (found == cases_.end()) return false;
  for (const Message* node : found->second->Messages(pb::GraphDef::kNode)) {
    if (WritesOutside(node->GetString(pb::NodeDef::kOp))) return false;
  }
  return true;
}

Status CaseTrials::Import(const Message& graph_def, Trial* trial) const {
  trial->graph = std::make_shared<Graph>(environment_->shared_ops());
  RETURN_IF_ERROR(ImportGraphDef(graph_def, *trial->graph).status());
  std::set<const Node*> read;
  for (const Node* node : trial->graph->Nodes()) {
    for (const Output& input : node->inputs()) read.insert(input.node);
    read.insert(node->control_inputs().begin(), node->control_inputs().end());
  }
  for (Node* node : trial->graph->Nodes()) {
    if (node->op_name() == "PlaceholderWithDefault") trial->fed.push_back({node, 0});
    if (read.contains(node)) continue;
    trial->signature.targets.push_back(node);
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (trial->signature.fetches.size() == kMostFetches) break;
      if (IsFetchable({node, i})) trial->signature.fetches.push_back({node, i});
    }
  }
  return OkStatus();
}

// Adds gradients of every number that is fetched, by all that are fed. What is fed is fetched, too.
Status CaseTrials::AddAllGradients(Trial& trial) {
  std::vector<Output> ys = trial.signature.fetches;
  std::erase_if(ys, [](const Output& y) { return !IsDifferentiable(y.dtype()); });
  std::erase_if(trial.fed, [](const Output& x) { return !IsDifferentiable(x.dtype()); });
  if (ys.empty() || trial.fed.empty()) return Unimplemented("nothing that has derivatives");
  ASSIGN_OR_RETURN(trial.gradients,
                   AddGradients(trial.graph.get(), ys, trial.fed, {.allow_unconnected = true}));
  std::vector<Output>& fetches = trial.signature.fetches;
  bool any = false;
  for (size_t i = 0; i < trial.fed.size(); ++i) {
    const GradientValue& gradient = trial.gradients[i];
    if (!gradient.present()) continue;
    any = true;
    fetches.insert(fetches.end(), {trial.fed[i], gradient.values});
    if (gradient.is_sparse()) fetches.push_back(gradient.indices);
  }
  return any ? OkStatus() : Unimplemented("nothing that is fed has a derivative");
}

Status CaseTrials::Run(Trial& trial, std::chrono::nanoseconds timeout,
                       CancellationManager* cancellation) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, MakeLocalSession(environment_, trial.graph));
  std::vector<Output>& fetches = trial.signature.fetches;
  trial.fetched.resize(fetches.size());
  RETURN_IF_ERROR(session->Run({.timeout = timeout,
                                .partition_graphs = trial.wants_partitions,
                                .cancellation = cancellation,
                                .inline_in_caller = true},
                               trial.signature, {}, trial.fetched,
                               trial.wants_partitions ? &trial.metadata : nullptr));
  std::map<std::pair<const Node*, int>, Shape> shapes;
  for (size_t i = 0; i < fetches.size(); ++i) {
    const Tensor& value = trial.fetched[i];
    if (value.empty()) {
      trial.wrong = StrCat(fetches[i].ToString(), " has no value");
    } else if (value.dtype() != fetches[i].dtype()) {
      trial.wrong = StrCat(fetches[i].ToString(), " is ", value.dtype(), ", inference promised ",
                           fetches[i].dtype());
    } else if (trial.checks_shapes && !fetches[i].shape().Admits(value.shape())) {
      trial.wrong = StrCat(fetches[i].ToString(), " has shape ", value.shape(),
                           ", inference promised ", fetches[i].shape());
    }
    if (!trial.wrong.empty()) return OkStatus();
    shapes.emplace(std::pair(fetches[i].node, fetches[i].index), value.shape());
  }
  for (size_t i = 0; i < trial.gradients.size(); ++i) {
    const GradientValue& gradient = trial.gradients[i];
    if (!gradient.present() || gradient.is_sparse()) continue;
    const Shape& expected = shapes.at({trial.fed[i].node, trial.fed[i].index});
    const Shape& found = shapes.at({gradient.values.node, gradient.values.index});
    if ((trial.checks_shapes && !(expected == found)) ||
        gradient.values.dtype() != trial.fed[i].dtype()) {
      trial.wrong = StrCat("the gradient of ", trial.fed[i].ToString(), ", ", trial.fed[i].dtype(),
                           expected, ", is ", gradient.values.dtype(), found);
    }
  }
  return OkStatus();
}

Status CaseTrials::RunValid(std::string_view op) {
  const auto found = cases_.find(op);
  if (found == cases_.end()) return NotFound("no case of ", op);
  last_ = Clone(*found->second);
  Trial trial;
  trial.wants_partitions = true;
  RETURN_IF_ERROR(Import(*last_, &trial));
  RETURN_IF_ERROR(Run(trial, kValidTime));
  if (!trial.wrong.empty()) return Internal(trial.wrong);
  bool holds = Holds(*trial.graph, op) || HoldsInFunction(*last_, op);
  for (const RunMetadata::Partition& part : trial.metadata.partition_graphs) {
    holds = holds || Holds(*part.graph, op);
  }
  if (!holds) return NotFound("the case of ", op, " does not run it");
  return OkStatus();
}

Status CaseTrials::RunGradients(std::string_view op) {
  const auto found = cases_.find(op);
  if (found == cases_.end()) return NotFound("no case of ", op);
  last_ = Clone(*found->second);
  Trial trial;
  RETURN_IF_ERROR(Import(*last_, &trial));
  RETURN_IF_ERROR(AddAllGradients(trial));
  RETURN_IF_ERROR(Run(trial, kValidTime));
  if (!trial.wrong.empty()) return Internal(trial.wrong);
  return OkStatus();
}

std::string CaseTrials::Try(std::string_view op, std::span<const uint8_t> bytes) {
  const auto found = cases_.find(op);
  if (found == cases_.end()) return StrCat("no case of ", op);
  Choices choices(bytes);
  last_ = Clone(*found->second);
  const bool with_gradients = choices.Chance(50);
  changes_->Apply(choices, op, *last_);
  Trial trial;
  Status status = Import(*last_, &trial);
  const bool differentiated = status.ok() && with_gradients && AddAllGradients(trial).ok();
  if (status.ok()) {
    trial.checks_shapes = !MayBreakPromises(*trial.graph);
    status = Run(trial, kTrialTime);
  }
  if (!status.ok()) return status.message().empty() ? "an error without words" : "";
  ++num_results_;
  if (differentiated) ++num_gradients_;
  return trial.wrong;
}

Status CaseTrials::RunGraph(OwnedMessage graph_def, std::chrono::nanoseconds timeout,
                            CancellationManager* cancellation) {
  last_ = std::move(graph_def);
  Trial trial;
  trial.checks_shapes = false;
  RETURN_IF_ERROR(Import(*last_, &trial));
  return Run(trial, timeout, cancellation);
}

std::string CaseTrials::last_trial() const {
  Result<std::string> text = PrintText(*last_);
  return text.ok() ? *text : text.status().ToString();
}

}  // namespace thalweg
