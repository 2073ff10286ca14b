// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/collective/collective_kernel.h"

#include <utility>

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/ops/collective/device_member.h"
#include "thalweg/resources/collective_remote.h"
#include "thalweg/resources/local_collectives.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Result<RefPtr<CollectiveTimer>> TimerOf(ResourceManager& resources) {
  return resources.LookupOrCreate<CollectiveTimer>(
      "", kCollectiveTimer, []() -> Result<RefPtr<CollectiveTimer>> {
        return RefPtr<CollectiveTimer>::Adopt(
            std::make_unique<CollectiveTimer>(std::make_unique<SystemClock>()).release());
      });
}

// Null: all members are in this task.
CollectiveRemote* RemoteOf(Context& ctx, const CollectiveCall& call) {
  if (call.keys.group_size == 1) return nullptr;
  const LocalCollectives* const here = ctx.step().local_collectives;
  return here != nullptr && here->Contains(call.keys) ? nullptr : ctx.step().collectives;
}

Status CheckSize(int64_t size) {
  if (size >= 1) return OkStatus();
  return InvalidArgument("group_size must be positive integer but got ", size);
}

}  // namespace

Result<CollectiveNode> CollectiveNode::Of(const KernelConstruction& c, CollectiveKind kind) {
  CollectiveNode node;
  node.kind = kind;
  ASSIGN_OR_RETURN(node.dtype, c.Attr<DType>("T"));
  node.keys_are_inputs = c.node().FindAttr("group_key") == nullptr;
  if (!node.keys_are_inputs) {
    ASSIGN_OR_RETURN(node.keys.group_size, Int32Attr(c, "group_size"));
    ASSIGN_OR_RETURN(node.keys.group_key, Int32Attr(c, "group_key"));
    ASSIGN_OR_RETURN(node.keys.instance_key, Int32Attr(c, "instance_key"));
    RETURN_IF_ERROR(CheckSize(node.keys.group_size));
  }
  ASSIGN_OR_RETURN(const float timeout, c.Attr<float>("timeout_seconds"));
  if (timeout > 0) {  // neither NaN
    node.timeout_seconds = static_cast<double>(timeout);
    ASSIGN_OR_RETURN(node.timer, TimerOf(c.resources()));
  }
  return node;
}

Result<CollectiveCall> CollectiveKernel::Begin(Context& ctx, int first_key) const {
  CollectiveCall call;
  call.kind = node_.kind;
  call.dtype = node_.dtype;
  call.keys = node_.keys;
  call.device = ctx.device().name();
  if (!node_.keys_are_inputs) return call;
  ASSIGN_OR_RETURN(call.keys.group_size, IntScalar(ctx.input(first_key), "group_size"));
  ASSIGN_OR_RETURN(call.keys.group_key, IntScalar(ctx.input(first_key + 1), "group_key"));
  ASSIGN_OR_RETURN(call.keys.instance_key, IntScalar(ctx.input(first_key + 2), "instance_key"));
  RETURN_IF_ERROR(CheckSize(call.keys.group_size));
  return call;
}

Result<CollectiveCall> CollectiveKernel::Bring(Context& ctx) const {
  ASSIGN_OR_RETURN(CollectiveCall call, Begin(ctx, 1));
  call.value = ctx.input(0);
  call.shape = call.value.shape();
  RETURN_IF_ERROR(CheckCollectiveValue(call));
  return call;
}

std::optional<Status> CollectiveKernel::TryCompute(Context& ctx) {
  const Result<CollectiveCall> call = CallOf(ctx);
  if (!call.ok()) return call.status();
  return std::nullopt;
}

void CollectiveKernel::Wait(Context& ctx, Done done) {
  Result<CollectiveCall> call = CallOf(ctx);
  if (!call.ok()) return std::move(done)(call.status());
  if (ctx.device().host_addressable()) return Join(ctx, *std::move(call), std::move(done));
  const bool is_here = RemoteOf(ctx, *call) == nullptr;
  JoinFromDevice(
      ctx, *std::move(call), is_here,
      [this](Context& on_host, CollectiveCall what, Done joined) {
        Join(on_host, std::move(what), std::move(joined));
      },
      std::move(done));
}

void CollectiveKernel::Join(Context& ctx, CollectiveCall call, Done done) const {
  if (CollectiveRemote* const remote = RemoteOf(ctx, call); remote != nullptr) {
    return remote->Join(ctx, std::move(call), node_.timeout_seconds, std::move(done));
  }
  ResourceManager* const instances = ctx.step().step_resources;
  const auto instance = CollectiveInstance::At(*instances, call.keys, ctx.tag());
  if (!instance.ok()) return std::move(done)(instance.status());
  CollectiveJoinOptions join{.instances = instances};
  if (node_.timer) {
    join.timeout_seconds = node_.timeout_seconds;
    join.timer = &node_.timer->timer();
    join.clock = &node_.timer->clock();
  }
  (*instance)->Join(std::move(join), ctx, std::move(call), std::move(done));
}

std::string CollectiveKernel::WaitsFor(Context& ctx) const {
  const Result<CollectiveCall> call = CallOf(ctx);
  if (!call.ok()) return "";
  if (CollectiveRemote* const remote = RemoteOf(ctx, *call); remote != nullptr) {
    return remote->WaitsFor(call->keys, ctx.tag());
  }
  return CollectiveInstance::Describe(*ctx.step().step_resources, call->keys, ctx.tag());
}

}  // namespace thalweg
