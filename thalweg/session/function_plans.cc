// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/function_plans.h"

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

Result<std::string> KeyOf(const RuntimeCall& call, const Device& device) {
  OwnedMessage value(pb::AttrValue::Descriptor());
  RETURN_IF_ERROR(AttrValueToProto(AttrValue(call.call), &*value));
  ASSIGN_OR_RETURN(std::string key, Serialize(*value));
  for (const DType type : call.args) key += StrCat(",", static_cast<int>(type));
  return StrCat(key, "@", device.full_name());
}

// One call, from its beginning until the kernel has been told of its end.
struct OpenCall {
  OpenCall(Context& kernel, Done told, std::shared_ptr<FunctionPlan> of)
      : outer(kernel),
        done(std::move(told)),
        plan(std::move(of)),
        context(static_cast<const WatchedStepContext&>(kernel.step())) {}

  Context& outer;
  Done done;
  const std::shared_ptr<FunctionPlan> plan;
  WatchedStepContext context;
  StepContext* contexts[1] = {&context};
  std::vector<Tensor> feeds;
  std::vector<Tensor> fetches;
};

}  // namespace

Result<std::shared_ptr<FunctionPlan>> FunctionPlans::Get(const RuntimeCall& call, Device& device) {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(call, device));
  {
    MutexLock lock(mutex_);
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<FunctionPlan> made, make_(call, device));
  MutexLock lock(mutex_);
  return plans_.try_emplace(key, std::move(made)).first->second;
}

void FunctionPlans::Clear() {
  MutexLock lock(mutex_);
  plans_.clear();
}

void StepFunctions::Call(Context& ctx, const FunctionRef& call, Done done) {
  auto& step = static_cast<WatchedStepContext&>(ctx.step());
  if (step.call_depth >= kMaxDepth) {
    return std::move(done)(ResourceExhausted("function calls are inside each other more than ",
                                             kMaxDepth, " deep: does '", call.name, "' end?"));
  }
  RuntimeCall wanted{.call = call, .args = {}, .cancellation = step.cancellation};
  for (int i = 0; i < ctx.num_inputs(); ++i) wanted.args.push_back(ctx.input(i).dtype());
  Result<std::shared_ptr<FunctionPlan>> plan = plans_.Get(wanted, *step.device);
  if (!plan.ok()) return std::move(done)(plan.status());
  const auto open = std::make_shared<OpenCall>(ctx, std::move(done), *std::move(plan));
  ++open->context.call_depth;
  for (int i = 0; i < ctx.num_inputs(); ++i) open->feeds.push_back(ctx.input(i));
  open->fetches.resize(open->plan->num_fetches);
  // The lower half of a tag counts iterations.
  const uint64_t tag = next_tag_.fetch_add(1, std::memory_order_relaxed) << 32;
  open->plan->executor->RunAsync(
      {.contexts = open->contexts,
       .feeds = open->feeds,
       .fetches = open->fetches,
       .queue = &threads_,
       .tag = tag},
      [open](Status status) {
        for (size_t i = 0; status.ok() && i < open->fetches.size(); ++i) {
          open->outer.set_output(static_cast<int>(i), std::move(open->fetches[i]));
        }
        std::move(open->done)(std::move(status));
      });
}

}  // namespace thalweg
