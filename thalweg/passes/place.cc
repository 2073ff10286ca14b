// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/place.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "thalweg/kernel/losable.h"

namespace thalweg {
namespace {

// Executors run these themselves, on any device.
bool NeedsNoKernel(const Node& node) {
  return node.control() != Node::Control::kNone || node.op_name() == "Const" || IsPlaceholder(node);
}

std::string At(const Node& node) {
  return node.site() == 0
             ? node.Label()
             : StrCat(node.Label(), " (created at ", node.graph().Site(node.site()), ")");
}

bool IsFreeReadOfReference(const Node& node) {
  if (node.op_name() != "Identity" || !node.device().empty()) return false;
  const Output& input = node.input(0);
  return input.node != nullptr && input.node->output_is_ref(input.index);
}

bool TakesHandle(const Node& node) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output& input = node.input(i);
    if (input.node != nullptr && input.dtype() == DType::kResource) return true;
  }
  return false;
}

// Kinds of devices that TensorFlow's programs name and that a machine may lack. Any other name is
// taken for a mistake where there is no such device.
bool IsAccelerator(std::string_view type) {
  constexpr std::array<std::string_view, 6> kTypes = {"GPU",        "TPU",     "SYCL",
                                                      "TPU_SYSTEM", "XLA_CPU", "XLA_GPU"};
  return std::ranges::count(kTypes, type) > 0;
}

Status CannotAssign(const Node& node, std::string_view why, PlacementRule rule) {
  return InvalidArgument("Cannot assign a device for operation ", node.name(), ": ", why,
                         rule == PlacementRule::kSoft
                             ? "; soft placement changes neither job nor task"
                             : "; allow_soft_placement of the session's ConfigProto is off");
}

// Whether something is kept between steps there: what makes references or handles.
bool KeepsState(const Node& node) {
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (node.output_is_ref(i) || node.output_type(i) == DType::kResource) return true;
  }
  return false;
}

// Whether it does the same on any task: it keeps nothing, touches no file and no function of the
// program, and what it reads and makes can go from task to task. Names of files are strings.
bool RunsOnAnyTask(const Node& node) {
  const auto stays = [](DType type) {
    return type == DType::kResource || type == DType::kVariant || type == DType::kString;
  };
  if (node.op().def.is_stateful || node.op_name().starts_with("PyFunc")) return false;
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (stays(node.output_type(i))) return false;
  }
  return std::ranges::none_of(node.inputs(), [&](const Output& input) {
    return input.node != nullptr && stays(input.dtype());
  });
}

// How far from the preferred device costs may take a group.
enum class Reach : uint8_t { kDevice, kTask, kAnywhere };

Reach ReachOf(std::span<const Node* const> members) {
  Reach reach = Reach::kAnywhere;
  for (const Node* member : members) {
    // State goes where other steps and other sessions expect it, whatever this step costs.
    if (KeepsState(*member)) return Reach::kDevice;
    if (!RunsOnAnyTask(*member)) reach = Reach::kTask;
  }
  return reach;
}

// What soft placement keeps of a constraint.
DeviceName TaskOf(const DeviceName& name) {
  return {.job = name.job, .replica = name.replica, .task = name.task, .type = {}, .index = {}};
}

}  // namespace

ConstraintPlacer::Mask ConstraintPlacer::AllDevices() const {
  return Mask(options_.devices.size(), true);
}

// Another task's accelerator is no reason to leave the first task that can run it. What must be on
// a device that is lost goes there, and says so when it runs.
int ConstraintPlacer::Preferred(const Mask& feasible) const {
  int first = -1;
  bool is_first_lost = false;
  for (size_t d = 0; d < options_.devices.size(); ++d) {
    if (!feasible.Has(d)) continue;
    const Device& device = *options_.devices[d];
    const bool is_lost = !WhyLost(device).ok();
    const bool is_near = first < 0 || is_first_lost ||
                         TaskOf(options_.devices[first]->name()) == TaskOf(device.name());
    if (!device.host_addressable() && !is_lost && is_near && IsWorthIt(d)) {
      return static_cast<int>(d);
    }
    if (first < 0 || (is_first_lost && !is_lost)) {
      first = static_cast<int>(d);
      is_first_lost = is_lost;
    }
  }
  return first;
}

// Whether a device with memory of its own is fast enough for state to be there: not one that is the
// host's processor by another name.
bool ConstraintPlacer::IsWorthIt(size_t device) const {
  constexpr double kFaster = 2;  // less may be noise
  const Machine* const machine = options_.machine.get();
  const bool chooses = options_.method != PlacementMethod::kPreferred && !options_.shares_state;
  if (!chooses || machine == nullptr) return true;
  const DeviceModel& own = machine->device(static_cast<int>(device));
  const DeviceName task = TaskOf(options_.devices[device]->name());
  for (size_t d = 0; d < options_.devices.size(); ++d) {
    const Device& other = *options_.devices[d];
    const DeviceModel& host = machine->device(static_cast<int>(d));
    if (!other.host_addressable() || TaskOf(other.name()) != task) continue;
    if (own.source != RateSource::kMeasured || host.source != RateSource::kMeasured) continue;
    if (own.flops < kFaster * host.flops && own.bytes < kFaster * host.bytes) return false;
  }
  return true;
}

ConstraintPlacer::ConstraintPlacer(Options options) : options_(std::move(options)) {
  if (options_.method == PlacementMethod::kPreferred && !options_.costs_alternatives) return;
  by_cost_ = std::make_unique<PlaceByCost>(PlaceByCost::Options{
      .machine = options_.machine == nullptr ? Machine::Guess(options_.devices) : *options_.machine,
      .method = options_.method,
      .measured = options_.measured});
}

const ColocationGroups& ConstraintPlacer::ColocationOf(const Graph& graph) {
  if (groups_ == nullptr || groups_of_ != &graph || groups_->num_nodes() != graph.num_nodes()) {
    groups_ = std::make_unique<ColocationGroups>(graph);
    groups_of_ = &graph;
  }
  return *groups_;
}

bool ConstraintPlacer::IsLikeBefore(size_t device) const {
  return device > 0 && options_.devices[device]->type() == options_.devices[device - 1]->type() &&
         &KernelsOf(device) == &KernelsOf(device - 1);
}

ConstraintPlacer::Mask ConstraintPlacer::KernelMask(const Node& node) const {
  if (NeedsNoKernel(node)) return AllDevices();
  const std::vector<Device*>& devices = options_.devices;
  Mask mask(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    const bool found =
        IsLikeBefore(d) ? mask.Has(d - 1) : KernelsOf(d).Find(node, devices[d]->type()).ok();
    if (found) mask.Add(d);
  }
  return mask;
}

// The devices that can run every node of the group; if there is none, every node that is needed.
Result<ConstraintPlacer::Mask> ConstraintPlacer::RunnableMask(
    const std::vector<const Node*>& members,
    const std::unordered_map<const Node*, bool>& needed) const {
  Mask all = AllDevices();
  Mask must = AllDevices();
  const Node* first_limit = nullptr;
  for (const Node* node : members) {
    const Mask mask = KernelMask(*node);
    if (!mask.IsEmpty()) all = all & mask;
    if (!needed.contains(node)) continue;
    if (mask.IsEmpty()) {
      return options_.kernels->Find(*node, options_.devices[0]->type())
          .status()
          .WithContext(StrCat("Cannot place ", At(*node)));
    }
    const Mask both = must & mask;
    if (both.IsEmpty()) {
      return InvalidArgument("Cannot place ", At(*node), " and ", At(*first_limit),
                             " on one device, as their colocation asks: no device has kernels for ",
                             "both (", node->op_name(), " and ", first_limit->op_name(), ")");
    }
    if (both != must) first_limit = node;
    must = both;
  }
  return all.IsEmpty() ? must : all;
}

ConstraintPlacer::Mask ConstraintPlacer::Admitted(const DeviceName& constraint) const {
  Mask mask(options_.devices.size());
  for (size_t d = 0; d < options_.devices.size(); ++d) {
    if (constraint.Admits(options_.devices[d]->name())) mask.Add(d);
  }
  return mask;
}

std::string ConstraintPlacer::DevicesHere() const {
  std::string here;
  for (const Device* device : options_.devices) {
    here += StrCat(here.empty() ? "" : ", ", device->full_name());
  }
  return StrCat("(devices: ", here, ")");
}

Result<DeviceName> ConstraintPlacer::Wanted(const Node& node, const std::string& device) const {
  Result<DeviceName> name = DeviceName::Parse(device);
  if (!name.ok()) return name.status().WithContext(At(node));
  if (options_.rule != PlacementRule::kAcceleratorsToCpu || !name->type.has_value() ||
      !IsAccelerator(*name->type)) {
    return name;
  }
  const auto is_of_that_type = [&](const Device* d) { return d->type() == *name->type; };
  if (std::ranges::any_of(options_.devices, is_of_that_type)) return name;
  name->type = kCpu;
  name->index.reset();
  return name;
}

void ConstraintPlacer::NoteReplaced(const Node& node, const std::string& device,
                                    const DeviceName& wanted) {
  if (warned_ || !replaced_.empty()) return;
  const Result<DeviceName> asked = DeviceName::Parse(device);
  if (!asked.ok() || *asked == wanted) return;
  replaced_ = StrCat(At(node), " asks for '", device, "'; there is no ", *asked->type,
                     " here, so the CPU runs it, and all else that asks for one (a ConfigProto "
                     "with allow_soft_placement says that this is meant, one without that it is "
                     "an error; said once)");
}

void ConstraintPlacer::WarnOfReplaced() {
  if (replaced_.empty() || std::exchange(warned_, true)) return;
  options_.logger.Warning(replaced_);
}

// The devices that meet the constraints of all nodes.
Result<ConstraintPlacer::Mask> ConstraintPlacer::ConstraintMask(
    const std::vector<const Node*>& members, Constraint* constraint) {
  for (const Node* node : members) {
    if (node->device().empty()) continue;
    ASSIGN_OR_RETURN(const DeviceName name, Wanted(*node, node->device()));
    Result<DeviceName> both = constraint->name.MergeWith(name);
    // What a handle names stays where it is: who uses it is moved there.
    if (!both.ok() && TakesHandle(*node)) continue;
    if (!both.ok()) {
      const Node& first = *constraint->first;
      constraint->text = StrCat(At(first), " asks for '", first.device(), "', ", At(*node),
                                " for '", node->device(), "', and they must be on one device");
      return Mask(options_.devices.size());
    }
    constraint->name = *both;
    if (constraint->first == nullptr) constraint->first = node;
  }
  if (constraint->first == nullptr) return AllDevices();
  constraint->text = StrCat(At(*constraint->first), " asks for '", constraint->name, "'");
  return Admitted(constraint->name);
}

Result<ConstraintPlacer::Choice> ConstraintPlacer::Choose(
    const std::vector<const Node*>& members, const std::unordered_map<const Node*, bool>& needed) {
  Choice choice;
  Constraint constraint;
  ASSIGN_OR_RETURN(const Mask runnable, RunnableMask(members, needed));
  ASSIGN_OR_RETURN(const Mask wanted, ConstraintMask(members, &constraint));
  for (const Node* node : members) {
    const auto pinned = pinned_.find(node);
    if (pinned == pinned_.end()) continue;
    if (!runnable.Has(static_cast<size_t>(pinned->second))) {
      return InvalidArgument(At(*node), " keeps its state on ",
                             options_.devices[pinned->second]->full_name(),
                             ", where not all nodes that use it have kernels");
    }
    choice.device = pinned->second;
    choice.may = Mask(options_.devices.size());
    choice.may.Add(static_cast<size_t>(choice.device));
    choice.why = "its state is there since an earlier run";
    return choice;
  }
  Mask feasible = runnable & wanted;
  if (feasible.IsEmpty()) {
    choice.why =
        StrCat(constraint.text,
               wanted.IsEmpty() ? "; no device here meets that "
                                : "; the devices that meet it have no kernel for all of the group ",
               DevicesHere());
    feasible = runnable & Admitted(TaskOf(constraint.name));
    if (options_.rule != PlacementRule::kSoft || feasible.IsEmpty()) {
      return CannotAssign(constraint.first == nullptr ? *members.front() : *constraint.first,
                          choice.why, options_.rule);
    }
    choice.moved = true;
  }
  choice.device = Preferred(feasible);
  choice.may = feasible;
  return choice;
}

Status ConstraintPlacer::Check(const StepGraph& step) {
  MutexLock lock(mutex_);
  replaced_.clear();
  std::unordered_set<std::string_view> met;  // most nodes ask for the same few
  for (const Node* node : step.graph->Nodes()) {
    if (node->device().empty() || !met.insert(node->device()).second) continue;
    const Node* const origin = step.Origin(*node);
    const Node& user = origin == nullptr ? *node : *origin;
    ASSIGN_OR_RETURN(DeviceName wanted, Wanted(user, node->device()));
    NoteReplaced(user, node->device(), wanted);
    if (options_.rule == PlacementRule::kSoft) wanted = TaskOf(wanted);
    if (!Admitted(wanted).IsEmpty()) continue;
    return CannotAssign(user,
                        StrCat(At(user), " asks for '", node->device(),
                               "'; no device here meets that ", DevicesHere()),
                        options_.rule);
  }
  return OkStatus();
}

Result<ConstraintPlacer::Groups> ConstraintPlacer::FindGroups(
    const ColocationGroups& colocation, const StepGraph& step,
    const std::unordered_map<const Node*, bool>& needed) {
  Groups found;
  std::unordered_map<int, int> index;  // by number of the group
  for (const Node* node : step.graph->Nodes()) {
    const Node* const origin = step.Origin(*node);
    const int next = static_cast<int>(found.groups.size());
    if (origin == nullptr) {  // the first device's
      found.of_node.push_back(next);
      found.groups.push_back({.choice = {.may = Mask(options_.devices.size())}});
      found.groups.back().choice.may.Add(0);
      continue;
    }
    const int number = colocation.Find(*origin);
    const auto [at, is_new] = index.emplace(number, next);
    found.of_node.push_back(at->second);
    if (!is_new) continue;
    std::vector<const Node*> members = colocation.Members(number);
    ASSIGN_OR_RETURN(Choice choice, Choose(members, needed));
    found.groups.push_back({.first = origin,
                            .number = number,
                            .members = std::move(members),
                            .choice = std::move(choice)});
  }
  return found;
}

Status ConstraintPlacer::ChooseByCost(const StepGraph& step, Groups* groups) {
  std::vector<Workload::Group> may;
  std::vector<int> preferred_of_group;
  std::vector<DeviceName> task;  // by device
  for (const Device* device : options_.devices) task.push_back(TaskOf(device->name()));
  costed_.clear();
  for (const Groups::Group& group : groups->groups) {
    if (group.first != nullptr) costed_[group.number] = static_cast<int>(may.size());
    Workload::Group& devices = may.emplace_back();
    const Reach reach = ReachOf(group.members);
    const auto preferred = static_cast<size_t>(group.choice.device);
    preferred_of_group.push_back(group.choice.device);
    for (size_t d = 0; d < options_.devices.size(); ++d) {
      devices.may.push_back(reach == Reach::kDevice ? d == preferred
                            : reach == Reach::kTask
                                ? group.choice.may.Has(d) && task[d] == task[preferred]
                                : group.choice.may.Has(d));
    }
  }
  Result<std::vector<int>> device =
      by_cost_->Place(step, groups->of_node, std::move(may), std::move(preferred_of_group));
  if (!device.ok()) {
    costed_.clear();
    return device.status();
  }
  for (size_t g = 0; g < device->size(); ++g) groups->groups[g].choice.device = (*device)[g];
  return OkStatus();
}

Result<std::vector<int>> ConstraintPlacer::Place(const Graph& graph, const StepGraph& step) {
  MutexLock lock(mutex_);
  const ColocationGroups& colocation = ColocationOf(graph);
  const std::vector<Node*> nodes = step.graph->Nodes();
  std::unordered_map<const Node*, bool> needed;
  for (const Node* node : nodes) {
    // What became a constant or a feed runs no kernel of its own.
    if (!NeedsNoKernel(*node)) needed.emplace(step.Origin(*node), true);
  }
  ASSIGN_OR_RETURN(Groups groups, FindGroups(colocation, step, needed));
  if (by_cost_ != nullptr) RETURN_IF_ERROR(ChooseByCost(step, &groups));
  for (const Groups::Group& group : groups.groups) {
    const auto& [device, may, moved, why] = group.choice;
    if (moved) {
      const size_t others = group.members.size() - 1;
      options_.logger.Info("placing ", group.first->Label(),
                           others > 0 ? StrCat(" and ", others, " with it") : "", " on ",
                           options_.devices[device]->full_name(), ": ", why);
    }
    for (const Node* member : group.members) {
      if (member->op().def.is_stateful && needed.contains(member)) pinned_[member] = device;
    }
  }
  std::vector<int> device(nodes.size());
  for (const Node* node : nodes) {
    device[node->id()] = groups.groups[groups.of_node[node->id()]].choice.device;
    // Sent elsewhere, a variable would be read before the updates that the read waits for.
    if (step.Origin(*node) != nullptr && IsFreeReadOfReference(*node) &&
        !options_.devices[device[node->id()]]->host_addressable()) {
      device[node->id()] = device[node->input(0).node->id()];
    }
  }
  WarnOfReplaced();
  return device;
}

std::optional<Simulation> ConstraintPlacer::Foresee() {
  MutexLock lock(mutex_);
  if (by_cost_ == nullptr) return std::nullopt;
  return by_cost_->Foresee();
}

// What the node and those that must be where it is ask for, and which kinds have kernels.
std::vector<std::string> ConstraintPlacer::ConstraintsOf(const Node& node,
                                                         const ColocationGroups& groups,
                                                         std::span<const Node* const> members) {
  std::vector<std::string> found = {node.device().empty()
                                        ? "it asks for no device"
                                        : StrCat("it asks for '", node.device(), "'")};
  if (const Result<DeviceName> asked = DeviceName::Parse(node.device()),
      wanted = Wanted(node, node.device());
      asked.ok() && wanted.ok() && *asked != *wanted) {
    found.push_back(StrCat("there is no ", *asked->type, " here: the CPU stands in for it"));
  }
  constexpr size_t kShown = 10;
  for (size_t i = 0; members.size() > 1 && i < std::min(members.size(), kShown); ++i) {
    const Node& member = *members[i];
    const std::string reason = groups.Reason(member);
    found.push_back(
        StrCat("with it: ", member.Label(),
               member.device().empty() ? "" : StrCat(", which asks for '", member.device(), "'"),
               reason.empty() ? "" : StrCat(", which ", reason)));
  }
  if (members.size() > kShown) {
    found.push_back(StrCat("... and ", members.size() - kShown, " more nodes"));
  }
  std::set<std::pair<std::string_view, const KernelRegistry*>> named;
  for (size_t d = 0; d < options_.devices.size(); ++d) {
    const Device& device = *options_.devices[d];
    const KernelRegistry& kernels = KernelsOf(d);
    if (!named.emplace(device.type(), &kernels).second) continue;
    const bool has = NeedsNoKernel(node) || kernels.Find(node, device.type()).ok();
    found.push_back(StrCat(&kernels == options_.kernels ? device.type() : device.full_name(),
                           has ? " has" : " has no", " kernel for it"));
  }
  return found;
}

Result<PlacementExplanation> ConstraintPlacer::Explain(const Graph& graph, const Node& node) {
  MutexLock lock(mutex_);
  const ColocationGroups& groups = ColocationOf(graph);
  const std::vector<const Node*> members = groups.Members(groups.Find(node));
  PlacementExplanation why{.node = At(node), .reasons = ConstraintsOf(node, groups, members)};
  const Result<Choice> choice = Choose(members, {{&node, true}});
  if (!choice.ok()) {
    why.error = choice.status().message();
    return why;
  }
  const auto costed = costed_.find(groups.Find(node));
  const bool is_costed = costed != costed_.end();
  const bool by_cost = options_.method != PlacementMethod::kPreferred;
  why.device = options_.devices[is_costed ? by_cost_->DeviceOf(costed->second) : choice->device]
                   ->full_name();
  if (!choice->why.empty()) {
    why.reasons.push_back(StrCat(choice->moved ? "moved (soft placement): " : "", choice->why));
  }
  const Reach reach = ReachOf(members);
  if (by_cost && is_costed && reach == Reach::kDevice) {
    why.reasons.emplace_back(
        "what keeps state is not placed by cost: the first device that can run it, and no "
        "accelerator that was measured to be less than twice as fast as its host");
  } else if (by_cost && is_costed && reach == Reach::kTask) {
    why.reasons.emplace_back("what is not the same on every task is not sent to another by cost");
  } else if (by_cost && !is_costed && choice->why.empty()) {
    why.reasons.emplace_back(
        "by cost; no step that needs it was placed yet: the device before that");
  } else if (!by_cost && choice->why.empty()) {
    why.reasons.push_back(StrCat("the first device that can run it",
                                 members.size() > 1 ? " and its group" : "",
                                 node.device().empty() ? "" : " and meets the constraint"));
  }
  if (is_costed) by_cost_->Explain(node, costed->second, &why);
  return why;
}

}  // namespace thalweg
