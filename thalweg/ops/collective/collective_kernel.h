// SPDX-License-Identifier: Apache-2.0
// CollectiveKernel: what the kernels of this family share: keys from attributes or, in the second
// versions, from inputs; joining the other members; the timeout.
//
//   class GatherCpu : public CollectiveKernel {
//     Result<CollectiveCall> CallOf(Context& ctx) const override;  // Begin(ctx), then its own part
//   };
//
// On a device whose memory the host does not address, members whose devices compute together
// (resources/group_collectives.h) bring values where they are; those of all others go by host
// memory, there and back.
// Ownership: a kernel shares its timer; the call goes to the instance, which keeps ctx until
// `done`.
// Threads: as WaitingKernel.
// Errors: come to `done`: InvalidArgument for keys and values that cannot be, those of
// CollectiveInstance.
#pragma once

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/waiting_kernel.h"
#include "thalweg/resources/collective_instance.h"

namespace thalweg {

// Where an environment has its CollectiveTimer.
inline constexpr std::string_view kCollectiveTimer = "collective_timer";

// What every node says.
struct CollectiveNode {
  CollectiveKind kind = CollectiveKind::kReduce;
  DType dtype = DType::kInvalid;
  bool keys_are_inputs = false;
  CollectiveKeys keys;
  double timeout_seconds = 0;  // 0: none
  RefPtr<CollectiveTimer> timer;

  static Result<CollectiveNode> Of(const KernelConstruction& c, CollectiveKind kind);
};

class CollectiveKernel : public WaitingKernel {
 public:
  std::optional<Status> TryCompute(Context& ctx) final;
  void Wait(Context& ctx, Done done) final;
  std::string WaitsFor(Context& ctx) const final;

 protected:
  explicit CollectiveKernel(CollectiveNode node) : node_(std::move(node)) {}
  const CollectiveNode& node() const { return node_; }

  virtual Result<CollectiveCall> CallOf(Context& ctx) const = 0;
  // Keys that are inputs begin at `first_key`.
  Result<CollectiveCall> Begin(Context& ctx, int first_key) const;
  // The call of a member that brings input 0.
  Result<CollectiveCall> Bring(Context& ctx) const;

 private:
  // Meets the others here or, where there are some in other tasks, by way of the step.
  void Join(Context& ctx, CollectiveCall call, Done done) const;

  const CollectiveNode node_;
};

}  // namespace thalweg
