// SPDX-License-Identifier: Apache-2.0
// Placer: chooses a device for every node of a step.
//
//   ConstraintPlacer placer({.devices = devices, .kernels = &kernels, .logger = logger});
//   ASSIGN_OR_RETURN(std::vector<int> device, placer.Place(*user_graph, step));   // by node id
//
// ConstraintPlacer: of the devices that have a kernel for every node of a colocation group and meet
// the constraints of all of them, one by placement_method.h; by cost that is not said of state,
// which goes to the preferred one: no accelerator that was measured to be less than twice as fast
// as its host. What becomes of a constraint that leaves none is placement_rule.h's. Groups are
// those of the whole user graph, so a variable stands where its updates can run, also those of
// later steps; once placed, state stays where it is. Nodes of a group that no device can run are
// nobody's concern until a step needs them.
// Ownership: devices, registry and log outlive a placer, which points at nodes of the user's graph,
// too.
// Threads: all calls from any thread.
// Errors: NotFound for a node without any kernel, InvalidArgument that names nodes, constraints and
// kernels when nothing is left.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/log.h"
#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/passes/colocation.h"
#include "thalweg/passes/pass.h"
#include "thalweg/passes/place_by_cost.h"
#include "thalweg/passes/placement_explanation.h"
#include "thalweg/passes/placement_method.h"
#include "thalweg/passes/placement_rule.h"

namespace thalweg {

class Placer {
 public:
  virtual ~Placer() = default;
  // The index of a device for each node of step.graph, by id. `graph` is the graph of the origins.
  virtual Result<std::vector<int>> Place(const Graph& graph, const StepGraph& step) = 0;
  // Whether there is a device for each constraint of the step's nodes by itself: also for nodes
  // that rewriting will fold away. The error of the first for which there is none.
  virtual Status Check(const StepGraph& step) = 0;
  // Why one node of the user's graph is where it is.
  virtual Result<PlacementExplanation> Explain(const Graph& graph, const Node& node) = 0;
};

class ConstraintPlacer : public Placer {
 public:
  struct Options {
    std::vector<Device*> devices;  // at least one; in order of preference
    const KernelRegistry* kernels = nullptr;
    std::vector<const KernelRegistry*> kernels_of = {};  // by device; empty: `kernels` for all
    PlacementRule rule = PlacementRule::kAcceleratorsToCpu;
    PlacementMethod method = PlacementMethod::kPreferred;
    // What the devices can do, by number; null: by their kinds.
    std::shared_ptr<const Machine> machine;
    const MeasuredCosts* measured = nullptr;  // for what is placed by cost
    // Others look for state where the rule puts it that is the same for all.
    bool shares_state = false;
    // Explain knows the costs of the alternatives, however nodes are placed.
    bool costs_alternatives = false;
    Logger logger;
  };
  explicit ConstraintPlacer(Options options);

  Result<std::vector<int>> Place(const Graph& graph, const StepGraph& step) override;
  Status Check(const StepGraph& step) override;
  Result<PlacementExplanation> Explain(const Graph& graph, const Node& node) override;
  // The step that was placed last, by id of its nodes; null where costs are not asked for.
  std::optional<Simulation> Foresee() EXCLUDES(mutex_);

 private:
  // What the nodes of a group ask for together.
  struct Constraint {
    DeviceName name;
    const Node* first = nullptr;  // that asks for anything; null: none does
    std::string text;             // in words
  };
  // A set of devices, by number.
  class Mask {
   public:
    explicit Mask(size_t size, bool all = false) : bits_(size, all ? 1 : 0) {}
    bool Has(size_t device) const { return bits_[device] != 0; }
    void Add(size_t device) { bits_[device] = 1; }
    bool IsEmpty() const { return std::find(bits_.begin(), bits_.end(), 1) == bits_.end(); }
    friend Mask operator&(Mask a, const Mask& b) {
      for (size_t i = 0; i < a.bits_.size(); ++i) a.bits_[i] &= b.bits_[i];
      return a;
    }
    friend bool operator==(const Mask&, const Mask&) = default;

   private:
    std::vector<char> bits_;
  };
  // What was found out about one group.
  struct Choice {
    int device = 0;      // the preferred one
    Mask may{0};         // all that are possible
    bool moved = false;  // against the user's constraint
    std::string why;     // of the move
  };
  // The groups that a step has nodes of.
  struct Groups {
    std::vector<int> of_node;  // by id in the step; an index of `groups`
    struct Group {
      const Node* first = nullptr;  // in the user's graph; null: of a node that a pass made
      int number = 0;               // of ColocationGroups
      std::vector<const Node*> members;
      Choice choice;
    };
    std::vector<Group> groups;
  };

  const ColocationGroups& ColocationOf(const Graph& graph) REQUIRES(mutex_);
  Result<Groups> FindGroups(const ColocationGroups& colocation, const StepGraph& step,
                            const std::unordered_map<const Node*, bool>& needed) REQUIRES(mutex_);
  // Decides between the devices that are possible for each group, or learns what they cost.
  Status ChooseByCost(const StepGraph& step, Groups* groups) REQUIRES(mutex_);
  Result<Choice> Choose(const std::vector<const Node*>& members,
                        const std::unordered_map<const Node*, bool>& needed) REQUIRES(mutex_);
  std::vector<std::string> ConstraintsOf(const Node& node, const ColocationGroups& groups,
                                         std::span<const Node* const> members);
  const KernelRegistry& KernelsOf(size_t device) const {
    return options_.kernels_of.empty() ? *options_.kernels : *options_.kernels_of[device];
  }
  // Whether the device is of the type of the one before, with the same kernels.
  bool IsLikeBefore(size_t device) const;
  Mask KernelMask(const Node& node) const;
  Result<Mask> RunnableMask(const std::vector<const Node*>& members,
                            const std::unordered_map<const Node*, bool>& needed) const;
  // What the node, or one made of it, asks for, an accelerator that is not here replaced as the
  // rule says.
  Result<DeviceName> Wanted(const Node& node, const std::string& device) const;
  // Remembers the first node for which something else stands in; says so once, when a placement
  // has come of it.
  void NoteReplaced(const Node& node, const std::string& device, const DeviceName& wanted)
      REQUIRES(mutex_);
  void WarnOfReplaced() REQUIRES(mutex_);
  Result<Mask> ConstraintMask(const std::vector<const Node*>& members, Constraint* constraint)
      REQUIRES(mutex_);
  Mask Admitted(const DeviceName& constraint) const;
  Mask AllDevices() const;
  // The one of these, which are not none, that nodes go to.
  int Preferred(const Mask& feasible) const;
  bool IsWorthIt(size_t device) const;
  // "(devices: A, B)".
  std::string DevicesHere() const;

  const Options options_;
  Mutex mutex_;
  std::unique_ptr<ColocationGroups> groups_ GUARDED_BY(mutex_);
  const Graph* groups_of_ GUARDED_BY(mutex_) = nullptr;
  std::unordered_map<const Node*, int> pinned_ GUARDED_BY(mutex_);  // where state is
  // Null: not by cost. Its groups of the last step, by number of ColocationGroups.
  std::unique_ptr<PlaceByCost> by_cost_ GUARDED_BY(mutex_);
  std::unordered_map<int, int> costed_ GUARDED_BY(mutex_);
  // What is to be said of accelerators that the step asks for and are missing; whether it was said.
  std::string replaced_ GUARDED_BY(mutex_);
  bool warned_ GUARDED_BY(mutex_) = false;
};

}  // namespace thalweg
