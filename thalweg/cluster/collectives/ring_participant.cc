// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/ring_participant.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "thalweg/cluster/collectives/collective_schedule.h"
#include "thalweg/compute/ew/ew.h"

namespace thalweg {
namespace {

// 1.15 cuts larger sections in two, where the node does not say how many it wants.
constexpr int64_t kMostSectionBytes = 4 << 20;

Result<int> RingsOf(const CollectiveCall& call, const CollectiveGroup& group, int64_t elements) {
  if (call.num_rings > 0 || call.kind != CollectiveKind::kReduce)
    return std::max(1, call.num_rings);
  if (call.num_rings < 0) {
    return Unimplemented("subdiv_offsets below 0 in ", group.Kind());
  }
  const int64_t bytes = elements * static_cast<int64_t>(DTypeSize(call.dtype));
  const bool large = bytes / static_cast<int64_t>(group.members.size()) > kMostSectionBytes;
  return large && group.Has(PeerVersion::k1_15) ? 2 : 1;
}

Result<Shape> ResultShape(const CollectiveCall& call, const CollectiveGroup& group) {
  if (call.is_receiver() && !call.shape.IsFullyDefined()) {
    return InvalidArgument("the receiver on ", call.device.ToString(), " expects shape ",
                           call.shape, ": in ", group.Kind(), " it must be known");
  }
  if (call.is_receiver()) return call.shape.ToShape();
  Dims dims = call.value.shape().dims();
  if (call.kind != CollectiveKind::kGather) return call.value.shape();
  if (__builtin_mul_overflow(dims[0], call.keys.group_size, &dims[0])) {
    return InvalidArgument("the members' values joined have more than 2^63 rows");
  }
  return Shape::Make(dims);
}

class Member : public std::enable_shared_from_this<Member> {
 public:
  Member(std::shared_ptr<BufferTransport> port, CollectiveGroups::Found found, Context& ctx,
         CollectiveCall call, Done done)
      : port_(std::move(port)),
        found_(std::move(found)),
        ctx_(ctx),
        call_(std::move(call)),
        done_(std::move(done)) {}

  void Start(const RingParticipant::Timeout& timeout) {
    if (Status ready = Prepare(); !ready.ok()) return End(std::move(ready));
    if (timeout.seconds > 0 && timeout.seconds < 1e9) {
      const auto span = std::chrono::nanoseconds(static_cast<int64_t>(timeout.seconds * 1e9));
      timer_ = timeout.timer;
      const Timer::Entry entry = timer_->Add(Deadline::After(*timeout.clock, span),
                                             [self = weak_from_this(), seconds = timeout.seconds] {
                                               if (const auto member = self.lock())
                                                 member->TimeOut(seconds);
                                             });
      MutexLock lock(mutex_);
      entry_ = entry;
    }
    const auto self = shared_from_this();
    for (size_t s = 0; s < self->sections_.size(); ++s) Go(s, 0);
    EndOne();  // Prepare's count
  }

 private:
  Status Prepare() EXCLUDES(mutex_) {
    const CollectiveGroup& group = *found_.group;
    ASSIGN_OR_RETURN(const Shape shape, ResultShape(call_, group));
    ASSIGN_OR_RETURN(result_, Tensor::Allocate(ctx_.allocator(), call_.dtype, shape));
    const int64_t elements =
        call_.is_receiver() ? shape.num_elements() : call_.value.num_elements();
    if (elements == 0 && call_.kind != CollectiveKind::kReduce) {
      return Unimplemented("a ", CollectiveKindName(call_.kind), " of no elements in ",
                           group.Kind());
    }
    ASSIGN_OR_RETURN(const int rings, RingsOf(call_, group, elements));
    ASSIGN_OR_RETURN(sections_, PlanBuffers(call_, elements,
                                            {.size = static_cast<int>(group.members.size()),
                                             .rank = group.RankOf(call_.device.ToString()),
                                             .source = found_.source,
                                             .rings = rings}));
    MutexLock lock(mutex_);
    open_ = sections_.size() + 1;
    values_.resize(sections_.size());
    for (size_t s = 0; s < sections_.size(); ++s) {
      if (sections_[s].begins_empty) continue;
      ASSIGN_OR_RETURN(values_[s], NewPiece(sections_[s].count));
      std::memcpy(values_[s].mutable_raw_data(),
                  static_cast<const char*>(call_.value.raw_data()) + sections_[s].from * size(),
                  values_[s].bytes());
    }
    return OkStatus();
  }
  int64_t size() const { return static_cast<int64_t>(DTypeSize(call_.dtype)); }
  Result<Tensor> NewPiece(int64_t elements) const {
    return Tensor::Allocate(ctx_.allocator(), call_.dtype, Shape{elements});
  }

  // Sections go on without each other; nothing is held while others are called.
  void Go(size_t section, size_t hop) {
    for (; hop < sections_[section].hops.size(); ++hop) {
      const ScheduleStep& next = sections_[section].hops[hop];
      if (next.recv.has_value()) return Recv(section, hop);
      if (!Send(section, next)) return;
    }
    Finish(section);
  }

  void Recv(size_t section, size_t hop) {
    const ScheduleStep::Buffer& buffer = *sections_[section].hops[hop].recv;
    port_->RecvBuffer(
        KeyOf(buffer.peer, found_.group->RankOf(call_.device.ToString()), buffer.name), call_.dtype,
        sections_[section].count,
        [self = shared_from_this(), section, hop](const Result<Delivery>& got) {
          self->Received(section, hop, got);
        });
  }

  void Received(size_t section, size_t hop, const Result<Delivery>& got) EXCLUDES(mutex_) {
    const ScheduleStep& at = sections_[section].hops[hop];
    Status taken = got.status();
    if (taken.ok() && got->dead)
      taken = InvalidArgument("a member's value is on a branch not taken");
    {
      MutexLock lock(mutex_);
      if (ended_) return;
      if (taken.ok()) taken = Take(section, at, got->tensor);
    }
    if (!taken.ok()) return End(std::move(taken));
    if (Send(section, at)) Go(section, hop + 1);
  }

  Status Take(size_t section, const ScheduleStep& hop, const Tensor& got) REQUIRES(mutex_) {
    if (!hop.merges) {
      values_[section] = got;
      return OkStatus();
    }
    const int64_t n = sections_[section].count;
    ASSIGN_OR_RETURN(Tensor merged, NewPiece(n));
    RETURN_IF_ERROR(compute::RunBinary(ctx_.work(), call_.merge, call_.dtype,
                                       compute::Broadcast::Dense(n, 2), values_[section].raw_data(),
                                       got.raw_data(), merged.mutable_raw_data()));
    if (hop.divides) RETURN_IF_ERROR(DivideByMembers(ctx_, call_.keys.group_size, &merged));
    values_[section] = std::move(merged);
    return OkStatus();
  }

  // False: the operation has ended.
  bool Send(size_t section, const ScheduleStep& hop) EXCLUDES(mutex_) {
    Tensor value;
    {
      MutexLock lock(mutex_);
      if (ended_) return false;
      value = values_[section];
      open_ += hop.sends.size();
    }
    const int self = found_.group->RankOf(call_.device.ToString());
    for (const ScheduleStep::Buffer& to : hop.sends) {
      port_->SendBuffer(KeyOf(self, to.peer, to.name), value,
                        [self = shared_from_this()](const Status& taken) {
                          taken.ok() ? self->EndOne() : self->End(taken);
                        });
    }
    return true;
  }

  // As the task at the other end writes it.
  RendezvousKey KeyOf(int from, int to, const std::string& name) const {
    const std::vector<CollectiveGroup::Member>& members = found_.group->members;
    const CollectiveGroup::Member& source = members[static_cast<size_t>(from)];
    const CollectiveGroup::Member& target = members[static_cast<size_t>(to)];
    const bool is_old =
        source.version == PeerVersion::k1_15 || target.version == PeerVersion::k1_15;
    const std::string group = is_old ? "" : StrCat(call_.keys.group_key, ":");
    return {.source = source.device,
            .incarnation = source.incarnation,
            .destination = target.device,
            .edge = StrCat(kBufferEdge, group, call_.keys.instance_key, ":0:0", name),
            .tag = 0};
  }

  void Finish(size_t section) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (ended_) return;
      std::memcpy(static_cast<char*>(result_.mutable_raw_data()) + sections_[section].to * size(),
                  values_[section].raw_data(), values_[section].bytes());
    }
    EndOne();
  }
  void EndOne() EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (--open_ > 0) return;
    }
    End(OkStatus());
  }

  void TimeOut(double seconds) {
    End(DeadlineExceeded("the members of group ", call_.keys.group_key, ", instance ",
                         call_.keys.instance_key, " did not come within ", seconds, " s"));
  }

  // The first word counts.
  void End(Status status) EXCLUDES(mutex_) {
    Timer::Entry entry;
    {
      MutexLock lock(mutex_);
      if (std::exchange(ended_, true)) return;
      entry = entry_;
      values_.clear();
    }
    if (entry.id != 0) timer_->Remove(entry);
    if (status.ok()) ctx_.set_output(0, std::move(result_));
    std::move(done_)(std::move(status));
  }

  const std::shared_ptr<BufferTransport> port_;
  const CollectiveGroups::Found found_;
  Context& ctx_;
  const CollectiveCall call_;
  Done done_;
  std::vector<BufferSection> sections_;
  Tensor result_;
  Timer* timer_ = nullptr;
  Mutex mutex_;
  Timer::Entry entry_ GUARDED_BY(mutex_);
  size_t open_ GUARDED_BY(mutex_) = 0;  // sections, and buffers that nobody has taken yet
  std::vector<Tensor> values_ GUARDED_BY(mutex_);  // by section: what it has
  bool ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace

void RingParticipant::Start(std::shared_ptr<BufferTransport> port, CollectiveGroups::Found found,
                            const Timeout& timeout, Context& ctx, CollectiveCall call, Done done) {
  std::make_shared<Member>(std::move(port), std::move(found), ctx, std::move(call), std::move(done))
      ->Start(timeout);
}

}  // namespace thalweg
