// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/collective_instance.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "thalweg/kernel/waited_copy.h"
#include "thalweg/resources/group_collectives.h"

namespace thalweg {
namespace {

auto RankOf(const DeviceName& device) {
  return std::tie(device.job, device.replica, device.task, device.type, device.index);
}

std::string NameOf(const CollectiveKeys& keys, uint64_t tag) {
  return StrCat("collective:", keys.group_key, ":", keys.instance_key, ":", tag);
}

// `calls` by rank. Devices that come with others than they compute with are waited for: here the
// last member's thread is held.
Result<std::vector<Tensor>> ResultsOf(Context& ctx, std::vector<CollectiveCall> calls) {
  if (GroupCollectives* const group = GroupOf(calls)) {
    if (calls.size() == 1) return std::vector<Tensor>{calls.front().value};
    return group->ComputeTogether(ctx, calls);
  }
  for (CollectiveCall& call : calls) {
    if (call.memory == nullptr || call.is_receiver()) continue;
    ASSIGN_OR_RETURN(call.value,
                     CopyAndWait(*call.memory, &Device::CopyToHost, call.value, ctx.step()));
  }
  return CollectiveResults(ctx, calls);
}

}  // namespace

Result<RefPtr<CollectiveInstance>> CollectiveInstance::At(ResourceManager& instances,
                                                          const CollectiveKeys& keys,
                                                          uint64_t tag) {
  std::string name = NameOf(keys, tag);
  return instances.LookupOrCreate<CollectiveInstance>(
      "", name, [&]() -> Result<RefPtr<CollectiveInstance>> {
        return RefPtr<CollectiveInstance>::Adopt(
            std::make_unique<CollectiveInstance>(std::move(name)).release());
      });
}

std::string CollectiveInstance::Describe(ResourceManager& instances, const CollectiveKeys& keys,
                                         uint64_t tag) {
  const auto found = instances.Lookup<CollectiveInstance>("", NameOf(keys, tag));
  return found.ok() ? (*found)->DebugString() : "";
}

void CollectiveInstance::Join(CollectiveJoinOptions join, Context& ctx, CollectiveCall call,
                              Done done) {
  auto member = std::make_unique<Member>(ctx, std::move(done), std::move(call));
  const double seconds = join.timeout_seconds;
  member->join = std::move(join);
  // A span too long for the clock is none.
  constexpr double kLongest = 1e9;
  if (seconds > 0 && seconds < kLongest) {
    const auto span = std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
    member->entry = member->join.timer->Add(Deadline::After(*member->join.clock, span),
                                            [this, seconds] { TimeOut(seconds); });
  }
  WaiterQueues::Join(std::move(member));
}

std::string CollectiveInstance::DebugString() const {
  MutexLock lock(mutex_);
  return DescribeLocked();
}

std::string CollectiveInstance::DescribeLocked() const {
  if (calls_.empty()) return "collective operation without members";
  const CollectiveCall& first = calls_.front();
  std::string text = StrCat("group ", first.keys.group_key, ", instance ", first.keys.instance_key,
                            " (", CollectiveKindName(first.kind), "): ", calls_.size(), " of ",
                            size_, " members are here:");
  for (const CollectiveCall& call : calls_) text += StrCat(" ", call.device.ToString());
  return text;
}

void CollectiveInstance::SetFailed(Status why) {
  failed_ = std::move(why);
  for (CollectiveCall& call : calls_) call.value = Tensor();
}

void CollectiveInstance::Fail(const Status& why) {
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (complete_ || !failed_.ok()) return;
    SetFailed(why);
    FailAll(0, failed_, &ended);
  }
  End(std::move(ended));
}

void CollectiveInstance::TimeOut(double seconds) {
  Fail(DeadlineExceeded("the members did not come within ", seconds, " s; ", DebugString()));
}

WaiterQueues::Progress CollectiveInstance::Advance(Waiter& waiter) {
  auto& member = static_cast<Member&>(waiter);
  const bool is_new = !std::exchange(member.has_come, true);
  if (is_new && failed_.ok()) Admit(member);
  if (!failed_.ok()) member.status = failed_;
  if (complete_ || !failed_.ok()) return Progress::kEnded;
  return is_new ? Progress::kSome : Progress::kNone;
}

void CollectiveInstance::Admit(Member& member) {
  const CollectiveCall& call = member.call;
  if (complete_) {
    member.status = InvalidArgument(call.device.ToString(), " is one too many: ", size_,
                                    " members have met already in group ", call.keys.group_key,
                                    ", instance ", call.keys.instance_key);
    return;
  }
  if (calls_.empty()) {
    size_ = static_cast<size_t>(call.keys.group_size);
  } else if (Status fits = Fits(call); !fits.ok()) {
    return SetFailed(std::move(fits));
  }
  member.place_in_calls = calls_.size();
  calls_.push_back(call);
  if (calls_.size() < size_) return;
  if (Status sender = CheckSender(); !sender.ok()) return SetFailed(std::move(sender));
  complete_ = true;
}

Status CollectiveInstance::Fits(const CollectiveCall& call) const {
  const CollectiveCall& first = calls_.front();
  const auto differs = [&](std::string_view what, const auto& own, const auto& other) {
    return InvalidArgument("Collective instance ", call.keys.instance_key, " of group ",
                           call.keys.group_key, ": the member on ", call.device.ToString(), " has ",
                           what, " ", own, ", the one on ", first.device.ToString(), " ", other);
  };
  if (call.keys.group_size != first.keys.group_size) {
    return differs("group size", call.keys.group_size, first.keys.group_size);
  }
  if (call.kind != first.kind) {
    return differs("kind", CollectiveKindName(call.kind), CollectiveKindName(first.kind));
  }
  if (call.dtype != first.dtype) return differs("type", call.dtype, first.dtype);
  if (call.merge != first.merge) {
    return differs("merge", compute::BinaryOpName(call.merge), compute::BinaryOpName(first.merge));
  }
  if (call.is_mean != first.is_mean) {
    return differs("final operation", call.is_mean ? "Div" : "Id", first.is_mean ? "Div" : "Id");
  }
  for (const CollectiveCall& other : calls_) {
    if (other.device == call.device) {
      return InvalidArgument(call.device.ToString(), " comes twice to group ", call.keys.group_key,
                             ", instance ", call.keys.instance_key, ": a member is a device");
    }
    if (!call.shape.IsCompatibleWith(other.shape)) {
      return InvalidArgument("Shape mismatch in the collective instance ", call.keys.instance_key,
                             ". Op at device ", call.device.ToString(), " expected shape ",
                             call.shape, " but ", other.device.ToString(),
                             " in the group expected ", other.shape);
    }
  }
  return OkStatus();
}

Status CollectiveInstance::CheckSender() const {
  const CollectiveCall& first = calls_.front();
  if (first.kind != CollectiveKind::kBroadcast) return OkStatus();
  const auto senders = std::count_if(
      calls_.begin(), calls_.end(), [](const CollectiveCall& call) { return !call.is_receiver(); });
  if (senders == 1) return OkStatus();
  return InvalidArgument("a broadcast needs one sender, group ", first.keys.group_key,
                         ", instance ", first.keys.instance_key, " has ", senders, " among ", size_,
                         " members");
}

void CollectiveInstance::Withdraw(Waiter& waiter) {
  if (!failed_.ok() || static_cast<Member&>(waiter).join.may_leave) return;
  SetFailed(waiter.ctx.step().cancellation->Reason());
}

Result<Tensor> CollectiveInstance::ResultFor(const Member& member) {
  std::vector<CollectiveCall> calls;
  {
    MutexLock lock(mutex_);
    if (computed_) {
      RETURN_IF_ERROR(computing_);
      return std::move(results_[member.place_in_calls]);
    }
    calls = std::move(calls_);
  }
  // Here comes one thread alone, that of the member who came last: it ends all others.
  if (member.ctx.tag() != 0 && member.join.instances != nullptr) {
    (void)member.join.instances->Delete<CollectiveInstance>("", name_);
  }
  std::vector<size_t> order(calls.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return RankOf(calls[a].device) < RankOf(calls[b].device); });
  std::vector<CollectiveCall> ranked;
  for (const size_t i : order) ranked.push_back(std::move(calls[i]));
  Result<std::vector<Tensor>> results = ResultsOf(member.ctx, std::move(ranked));
  MutexLock lock(mutex_);
  computed_ = true;
  computing_ = results.status();
  RETURN_IF_ERROR(computing_);
  results_.resize(order.size());
  for (size_t r = 0; r < order.size(); ++r) results_[order[r]] = std::move((*results)[r]);
  return std::move(results_[member.place_in_calls]);
}

Status CollectiveInstance::Finish(Waiter& waiter) {
  ASSIGN_OR_RETURN(Tensor result, ResultFor(static_cast<Member&>(waiter)));
  waiter.ctx.set_output(0, std::move(result));
  return OkStatus();
}

}  // namespace thalweg
