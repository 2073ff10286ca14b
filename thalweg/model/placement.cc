// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/placement.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "thalweg/graph/nearest_names.h"
#include "thalweg/kernel/described_device.h"
#include "thalweg/model/signature_step.h"
#include "thalweg/passes/place.h"
#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

// Those that are asked for, or those of the model's environment.
class PlacementDevices {
 public:
  static Result<PlacementDevices> Make(const Model& model, const std::vector<std::string>& names) {
    PlacementDevices devices;
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(DeviceName full, FullName(name));
      const bool on_host = *full.type == kCpu;
      devices.own_.push_back(
          std::make_unique<DescribedDevice>(std::move(full), 0, 0, /*host_addressable=*/on_host));
      Device* const device = devices.own_.back().get();
      if (std::ranges::count(devices.all_, device->full_name(), &Device::full_name) > 0) {
        return InvalidArgument("device '", device->full_name(), "' is named twice");
      }
      devices.all_.push_back(device);
    }
    if (!names.empty()) return devices;
    for (const auto& device : model.session()->environment().devices()) {
      devices.all_.push_back(device.get());
    }
    return devices;
  }
  const std::vector<Device*>& all() const { return all_; }

 private:
  static Result<DeviceName> FullName(const std::string& text) {
    ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(text));
    if (!name.type.has_value() || !name.index.has_value()) {
      return InvalidArgument("expected a device, as '/device:CPU:1', got '", text, "'");
    }
    name.job = name.job.value_or("localhost");
    name.replica = name.replica.value_or(0);
    name.task = name.task.value_or(0);
    return name;
  }

  std::vector<std::unique_ptr<Device>> own_;
  std::vector<Device*> all_;
};

Result<const Node*> FindNode(const Model& model, const std::string& name) {
  if (const Node* node = model.graph()->FindNode(name); node != nullptr) return node;
  NearestNames near(name);
  for (const Node* node : model.graph()->Nodes()) near.Add(node->name());
  return NotFound("there is no node '", name, "' in the graph", near.ToString());
}

void AppendExplanation(const PlacementExplanation& why, JsonWriter& json) {
  json.BeginObject().Key("node").Text(why.node).Key("device").Text(why.device);
  json.Key("error").Text(why.error).Key("reasons").BeginList();
  for (const std::string& reason : why.reasons) json.Text(reason);
  json.EndList().Key("alternatives").BeginList();
  for (const PlacementAlternative& other : why.alternatives) {
    json.BeginObject().Key("device").Text(other.device);
    json.Key("possible").Bool(other.is_possible).Key("chosen").Bool(other.is_chosen);
    if (other.is_possible) {
      json.Key("step_seconds").Number(other.step_seconds);
      json.Key("node_seconds").Number(other.node_seconds).Key("why").Text(other.why);
      json.Key("missing_bytes").Number(other.missing_bytes).Key("rates").Text(other.rates);
    }
    json.EndObject();
  }
  json.EndList().Key("text").Text(why.Text()).EndObject();
}

void AppendStep(const StepGraph& step, const std::vector<int>& device_of,
                const std::vector<Device*>& devices, const Simulation& foreseen, JsonWriter& json) {
  json.Key("step_seconds").Number(foreseen.makespan);
  json.Key("transfers").Number(foreseen.transfers);
  json.Key("transferred_bytes").Number(foreseen.transferred_bytes);
  json.Key("devices").BeginList();
  for (size_t d = 0; d < devices.size(); ++d) {
    json.BeginObject().Key("name").Text(devices[d]->full_name());
    json.Key("nodes").Number(std::ranges::count(device_of, static_cast<int>(d)));
    json.Key("busy_seconds").Number(foreseen.devices[d].busy);
    json.Key("peak_bytes").Number(foreseen.devices[d].peak_bytes).EndObject();
  }
  json.EndList().Key("nodes").BeginList();
  for (const Node* node : step.graph->Nodes()) {
    json.BeginObject().Key("name").Text(node->name()).Key("operation").Text(node->op_name());
    json.Key("device").Text(devices[device_of[node->id()]]->full_name()).EndObject();
  }
  json.EndList();
}

Result<std::string> PlacementOrFail(const Model& model, size_t place,
                                    const PlacementQuestion& question) {
  const ModelSignature& signature = model.signatures()[place];
  RETURN_IF_ERROR(signature.usable);
  std::vector<const Node*> asked;
  for (const std::string& name : question.nodes) {
    ASSIGN_OR_RETURN(asked.emplace_back(), FindNode(model, name));
  }
  ASSIGN_OR_RETURN(const PlacementDevices devices, PlacementDevices::Make(model, question.devices));
  ASSIGN_OR_RETURN(const InputShapes shapes, ShapesOfInputs(signature, question.inputs));
  WorkBudget work;
  ASSIGN_OR_RETURN(const SignatureStep part, StepOfSignature(model, place, work, shapes));
  ConstraintPlacer placer({.devices = devices.all(),
                           .kernels = &model.session()->environment().kernels(),
                           .method = question.method,
                           .costs_alternatives = true,
                           .logger = model.session()->environment().logger()});
  RETURN_IF_ERROR(placer.Check(part.step));
  ASSIGN_OR_RETURN(const std::vector<int> device_of, placer.Place(*model.graph(), part.step));
  JsonWriter json;
  json.BeginObject().Key("signature").Text(signature.name).Key("method");
  json.Text(question.method == PlacementMethod::kPreferred ? "preferred"
            : question.method == PlacementMethod::kGreedy  ? "cost"
                                                           : "search");
  AppendStep(part.step, device_of, devices.all(), *placer.Foresee(), json);
  json.Key("explained").BeginList();
  for (const Node* node : asked) {
    ASSIGN_OR_RETURN(const PlacementExplanation why, placer.Explain(*model.graph(), *node));
    AppendExplanation(why, json);
  }
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace

Result<std::string> DescribePlacement(const Model& model, size_t signature,
                                      const PlacementQuestion& question) {
  Result<std::string> json = PlacementOrFail(model, signature, question);
  if (json.ok()) return json;
  return std::move(json).status().WithContext(
      StrCat(model.path(), ": signature '", model.signatures()[signature].name, "'"));
}

}  // namespace thalweg
