// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/collective/device_member.h"

#include <memory>
#include <utility>

#include "thalweg/resources/group_collectives.h"

namespace thalweg {
namespace {

class DeviceMember final : DoneSink {
 public:
  DeviceMember(Context& ctx, CollectiveCall call, JoinOnHost join, Done done)
      : ctx_(ctx),
        group_(dynamic_cast<GroupCollectives*>(&ctx.device())),
        call_(std::move(call)),
        join_(std::move(join)),
        done_(std::move(done)),
        step_(ctx.step()) {
    step_.allocator = &ctx.device().host_allocator();
    step_.host_addressable = true;
    on_host_.Bind(&step_, ctx.tag());
    on_host_.SetBase(0, &result_);
    on_host_.SetOperands(&operand_, 0, 1);
  }

  // Ends itself with `done`.
  void Start(bool is_here) {
    if (is_here && group_ != nullptr && group_->Takes(call_)) {
      call_.memory = &ctx_.device();
      return Join();
    }
    if (call_.is_receiver()) return Join();
    ctx_.device().CopyToHost(call_.value, [this](Result<Tensor> copy) {
      if (!copy.ok()) return End(copy.status());
      call_.value = *std::move(copy);
      Join();
    });
  }

 private:
  void Join() {
    const JoinOnHost join = std::move(join_);  // this may have ended when it returns
    sends_ = call_.kind == CollectiveKind::kBroadcast && !call_.is_receiver();
    join(on_host_, std::move(call_), Done(this, 0));
  }
  void OnDone(uint64_t, Status status) override {
    if (!status.ok()) return End(std::move(status));
    if (sends_) return EndWith(ctx_.input(0));
    if (group_ != nullptr && group_->Has(result_)) return EndWith(std::move(result_));
    ctx_.device().CopyFromHost(result_, [this](Result<Tensor> there) {
      if (!there.ok()) return End(there.status());
      EndWith(*std::move(there));
    });
  }
  void EndWith(Tensor result) {
    ctx_.set_output(0, std::move(result));
    End(OkStatus());
  }
  // After `done` the step and its context may be gone.
  void End(Status status) {
    const std::unique_ptr<DeviceMember> self(this);
    std::move(done_)(std::move(status));
  }

  Context& ctx_;
  GroupCollectives* const group_;
  CollectiveCall call_;
  JoinOnHost join_;
  Done done_;
  bool sends_ = false;  // what it gets is what it has
  // What it joins with.
  StepContext step_;
  Tensor result_;
  const Operand operand_ = Operand::Make(0, 0);
  Context on_host_;
};

}  // namespace

void JoinFromDevice(Context& ctx, CollectiveCall call, bool is_here, JoinOnHost join, Done done) {
  // Deleted where it ends.
  auto* const member =
      new DeviceMember(ctx, std::move(call), std::move(join), std::move(done));  // NOLINT
  member->Start(is_here);
}

}  // namespace thalweg
