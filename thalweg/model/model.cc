// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/model.h"

#include <algorithm>
#include <utility>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/nearest_names.h"
#include "thalweg/model/unknown_operations.h"
#include "thalweg/model/weights.h"
#include "thalweg/session/mapping_session.h"

namespace thalweg {
namespace {

Status CheckDevice(const std::string& device, const Environment& environment) {
  if (device.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const DeviceName asked, DeviceName::Parse(device));
  std::string there;
  for (const auto& one : environment.devices()) {
    if (asked.Admits(one->name())) return OkStatus();
    there += StrCat(there.empty() ? "" : ", ", one->full_name());
  }
  return InvalidArgument("there is no device '", device, "', but ", there);
}

// The message without what is not known, added to the graph.
Status Import(const ModelFiles& files, const UnknownOperations& unknown, Environment& environment,
              const std::string& device, Graph& graph) {
  ImportOptions options;
  options.allocator = environment.allocator().get();
  options.clear_devices = true;  // those of where it was made
  options.default_device = device;
  if (files.meta_graph != nullptr) {
    options.producer_ops = &files.meta_graph->GetMessage(pb::MetaGraphDef::kMetaInfoDef)
                                .GetMessage(pb::MetaGraphDef::MetaInfoDef::kStrippedOpList);
  }
  if (unknown.empty()) return ImportGraphDef(files.graph(), graph, options).status();
  return ImportGraphDef(*unknown.WithoutThem(), graph, options).status();
}

bool AnyUsable(const std::vector<ModelSignature>& signatures) {
  return std::any_of(signatures.begin(), signatures.end(),
                     [](const ModelSignature& s) { return s.usable.ok(); });
}

// "'x', 'y'"
std::string Listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += StrCat(text.empty() ? "'" : ", '", name, "'");
  return text;
}

std::string Listed(const std::vector<ModelTensor>& tensors) {
  std::string text;
  for (const ModelTensor& tensor : tensors) {
    text += StrCat(text.empty() ? "" : ", ", tensor, tensor.is_optional ? " (optional)" : "");
  }
  return text.empty() ? "none" : text;
}

std::string Found(const Tensor& value) { return StrCat(value.dtype(), " ", value.shape()); }

}  // namespace

Result<std::shared_ptr<Model>> Model::Load(const std::shared_ptr<Environment>& environment,
                                           const std::string& path, const ModelOptions& options) {
  const auto mapped = options.map_weights ? std::make_shared<MappedFiles>() : nullptr;
  Result<std::shared_ptr<Model>> model = LoadWith(mapped, environment, path, options);
  if (mapped == nullptr) return model;
  // What was made of pages that were gone meanwhile is no model, whatever it says.
  RETURN_IF_ERROR(mapped->Check().WithContext(path));
  return model;
}

Result<std::shared_ptr<Model>> Model::LoadWith(std::shared_ptr<MappedFiles> mapped,
                                               const std::shared_ptr<Environment>& environment,
                                               const std::string& path,
                                               const ModelOptions& options) {
  PosixFileSystem fs;
  ASSIGN_OR_RETURN(const ModelFiles files, ReadModelFiles(fs, path, options.tags));
  const UnknownOperations unknown(files.graph(), *environment->shared_ops());
  std::shared_ptr<Model> model(new Model);
  model->kind_ = files.kind;
  model->path_ = path;
  if (files.meta_graph != nullptr) {
    const auto tags = files.meta_graph->GetMessage(pb::MetaGraphDef::kMetaInfoDef)
                          .Repeated<std::string_view>(pb::MetaGraphDef::MetaInfoDef::kTags);
    model->tags_.assign(tags.begin(), tags.end());
  }
  model->unknown_operations_ = unknown.Text(unknown.all());
  model->graph_ = std::make_shared<Graph>(environment->shared_ops());
  RETURN_IF_ERROR(CheckDevice(options.device, *environment).WithContext(path));
  RETURN_IF_ERROR(
      Import(files, unknown, *environment, options.device, *model->graph_).WithContext(path));
  ASSIGN_OR_RETURN(model->signatures_, ReadSignatures(files, unknown, *model->graph_));
  if (options.restore && !unknown.empty() && !AnyUsable(model->signatures_)) {
    return NotFound(path,
                    ": no signature can do without operations that this build does not have: ",
                    model->unknown_operations_);
  }
  ASSIGN_OR_RETURN(
      std::unique_ptr<Session> session,
      MakeMappingSession(environment, model->graph_, options.session, std::move(mapped)));
  model->session_ = std::move(session);
  if (options.restore) {
    RETURN_IF_ERROR(RestoreWeights(files, unknown, options.run, *model->session_));
    RETURN_IF_ERROR(Initialize(files, unknown, options.run, *model->session_));
  }
  model->prepared_ = std::vector<Prepared>(model->signatures_.size());
  return model;
}

Model::~Model() = default;

std::string Model::Label(size_t signature) const {
  return StrCat(path_, ": signature '", signatures_[signature].name, "'");
}

Status Model::Named(size_t signature, Status of_run) const {
  return of_run.ok() ? of_run : of_run.WithContext(Label(signature));
}

Result<size_t> Model::Find(std::string_view name) const {
  if (signatures_.empty()) {
    return NotFound(path_, ": this ", ModelKindName(kind_),
                    " has no signatures: it was saved without any");
  }
  if (name.empty()) {
    if (signatures_.size() == 1) return size_t{0};
    name = kDefaultSignature;
  }
  std::vector<std::string_view> there;
  NearestNames near(name);
  for (size_t i = 0; i < signatures_.size(); ++i) {
    if (signatures_[i].name == name) return i;
    there.push_back(signatures_[i].name);
    near.Add(signatures_[i].name);
  }
  return NotFound(path_, ": there is no signature '", name, "'", near.ToString(), "; it has ",
                  Listed(there));
}

Status Model::Bind(size_t signature, std::span<const std::string_view> names,
                   std::span<size_t> places) const {
  RETURN_IF_ERROR(signatures_[signature].usable.WithContext(Label(signature)));
  const std::vector<ModelTensor>& inputs = signatures_[signature].inputs;
  std::vector<bool> given(inputs.size());
  std::vector<std::string_view> unknown, twice, missing;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = std::find_if(inputs.begin(), inputs.end(),
                                 [&](const ModelTensor& t) { return t.name == names[i]; });
    if (at == inputs.end()) {
      unknown.push_back(names[i]);
      continue;
    }
    places[i] = static_cast<size_t>(at - inputs.begin());
    if (given[places[i]]) twice.push_back(names[i]);
    given[places[i]] = true;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!given[i] && !inputs[i].is_optional) missing.push_back(inputs[i].name);
  }
  if (unknown.empty() && twice.empty() && missing.empty()) return OkStatus();
  std::string what;
  const auto say = [&](const char* verb, const std::vector<std::string_view>& of) {
    if (!of.empty()) what += StrCat(what.empty() ? "" : "; ", verb, " ", Listed(of));
  };
  say("missing", missing);
  say("unknown", unknown);
  say("given twice", twice);
  return InvalidArgument(Label(signature), ": ", what, "; its inputs are ", Listed(inputs));
}

Status Model::CheckInput(size_t signature, size_t i, const Tensor& value) const {
  const ModelTensor& input = signatures_[signature].inputs[i];
  if (value.dtype() == input.dtype && input.shape.Admits(value.shape())) return OkStatus();
  return InvalidArgument(Label(signature), ": input ", input, " got ", Found(value));
}

Callable* Model::Prepared::Find(const std::vector<bool>& left_out) const {
  for (const Plan& plan : plans) {
    if (plan.left_out == left_out) return plan.callable.get();
  }
  return nullptr;
}

// The session lets one thread compile at a time; others wait there, within their own options.
Result<Callable*> Model::PlanFor(size_t signature, const RunOptions& options,
                                 const std::vector<bool>& left_out) const {
  const ModelSignature& wanted = signatures_[signature];
  RETURN_IF_ERROR(wanted.usable.WithContext(Label(signature)));
  Prepared& prepared = prepared_[signature];
  {
    MutexLock lock(prepared.mutex);
    if (Callable* const found = prepared.Find(left_out); found != nullptr) return found;
  }
  Signature request;
  bool is_whole = true;
  for (size_t i = 0; i < wanted.inputs.size(); ++i) {
    if (left_out[i]) {
      is_whole = false;
    } else {
      request.feeds.push_back(wanted.inputs[i].output);
    }
  }
  for (const ModelTensor& output : wanted.outputs) request.fetches.push_back(output.output);
  Result<std::shared_ptr<Callable>> made = session_->MakeCallable(request, RunOptions(), &options);
  RETURN_IF_ERROR(made.status().WithContext(Label(signature)));
  MutexLock lock(prepared.mutex);
  if (Callable* const found = prepared.Find(left_out); found != nullptr) return found;
  Callable* const callable = made->get();
  prepared.plans.push_back({left_out, std::move(*made)});
  if (is_whole) prepared.whole.store(callable, std::memory_order_release);
  return callable;
}

Status Model::Prepare(size_t signature, const RunOptions& options) const {
  const std::vector<bool> none(signatures_[signature].inputs.size());
  return PlanFor(signature, options, none).status();
}

Status Model::Run(size_t signature, const RunOptions& options, std::span<const Tensor> inputs,
                  std::span<Tensor> outputs, RunMetadata* metadata) const {
  const ModelSignature& wanted = signatures_[signature];
  // Before its inputs: their types are not known.
  if (!wanted.usable.ok()) return wanted.usable.WithContext(Label(signature));
  if (inputs.size() != wanted.inputs.size() || outputs.size() != wanted.outputs.size()) {
    return InvalidArgument(Label(signature), ": it has ", wanted.inputs.size(), " inputs and ",
                           wanted.outputs.size(), " outputs, got ", inputs.size(), " and ",
                           outputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) return RunWithout(signature, options, inputs, outputs, metadata);
    RETURN_IF_ERROR(CheckInput(signature, i, inputs[i]));
  }
  Callable* callable = prepared_[signature].whole.load(std::memory_order_acquire);
  if (callable == nullptr) {
    ASSIGN_OR_RETURN(callable, PlanFor(signature, options, std::vector<bool>(inputs.size())));
  }
  return Named(signature, callable->Run(options, inputs, outputs, metadata));
}

// Defaults of the signature are fed; what the graph itself has a default for is not.
Status Model::RunWithout(size_t signature, const RunOptions& options,
                         std::span<const Tensor> inputs, std::span<Tensor> outputs,
                         RunMetadata* metadata) const {
  const ModelSignature& wanted = signatures_[signature];
  std::vector<std::string_view> given;
  std::vector<bool> left_out(inputs.size());
  std::vector<Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ModelTensor& input = wanted.inputs[i];
    const Tensor& value = inputs[i].empty() ? input.default_value : inputs[i];
    if (!inputs[i].empty()) given.push_back(input.name);
    left_out[i] = value.empty();
    if (left_out[i]) continue;
    RETURN_IF_ERROR(CheckInput(signature, i, value));
    values.push_back(value);
  }
  std::vector<size_t> places(given.size());
  RETURN_IF_ERROR(Bind(signature, given, places));
  ASSIGN_OR_RETURN(Callable* const callable, PlanFor(signature, options, left_out));
  return Named(signature, callable->Run(options, values, outputs, metadata));
}

Status Model::Fetch(std::optional<size_t> signature, const RunOptions& options,
                    std::span<const Session::NamedTensor> feeds,
                    std::span<const std::string> fetches, std::span<Tensor> outputs) const {
  static const ModelSignature none;
  const ModelSignature& known = signature.has_value() ? signatures_[*signature] : none;
  Signature request;
  std::vector<Tensor> values;
  for (const auto& [name, value] : feeds) {
    Result<Output> feed = FindTensor(*graph_, known.inputs, name);
    if (!feed.ok())
      return std::move(feed).status().WithContext(StrCat(path_, ": feed '", name, "'"));
    request.feeds.push_back(*feed);
    values.push_back(value);
  }
  for (const std::string& name : fetches) {
    Result<Output> fetch = FindTensor(*graph_, known.outputs, name);
    if (!fetch.ok()) {
      return std::move(fetch).status().WithContext(StrCat(path_, ": fetch '", name, "'"));
    }
    request.fetches.push_back(*fetch);
  }
  return session_->Run(options, request, values, outputs).WithContext(path_);
}

}  // namespace thalweg
