// SPDX-License-Identifier: Apache-2.0
// GroupCollectives: a device that computes collective operations together with others of its
// process, each in its own memory, without the host's.
//
//   if (GroupCollectives* const group = GroupOf(calls)) return group->ComputeTogether(ctx, calls);
//
// Ownership: of the device that derives from it; the devices that it joins live as long as it.
// Threads: every member from any.
// Errors: ComputeTogether: those of the devices, Unavailable where one of them is lost;
// AddCollectiveKernels: those of AddUserKernel.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {

class GroupCollectives {
 public:
  // Whether it computes what this call asks for, with somebody; all members of an operation get the
  // same answer of devices that join each other. Else the values go by host memory.
  virtual bool Takes(const CollectiveCall& call) const = 0;
  virtual bool JoinsWith(const Device& other) const = 0;
  // What the members get, by rank, each in the memory of its device for what is queued there later;
  // nobody waits. `calls`: all that come, at least two, of devices that take them and join each
  // other, of which one is called. `ctx`: any member's, for work on the host.
  virtual Result<std::vector<Tensor>> ComputeTogether(Context& ctx,
                                                      std::span<const CollectiveCall> calls) = 0;
  // Whether the tensor's bytes are in its memory.
  virtual bool Has(const Tensor& tensor) const = 0;

 protected:
  ~GroupCollectives() = default;
};

// Of the device of rank 0, where the devices of all members join each other; else null.
GroupCollectives* GroupOf(std::span<const CollectiveCall> calls);

// The CPU's kernels of collective operations for this type of device, too: they bring values into
// host memory where its devices do not compute together. A registry that has them is as it was.
// Threads: as KernelRegistry::AddUserKernel; may race with Find.
Status AddCollectiveKernels(KernelRegistry& registry, std::string_view device_type);

}  // namespace thalweg
