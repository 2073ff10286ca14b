// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/iterator_kernel.h"

namespace thalweg {
Result<IteratorKernel::Asked> IteratorKernel::Find(Context& ctx) const {
  ASSIGN_OR_RETURN(RefPtr<Iterator> iterator, ctx.Resource<Iterator>(0));
  ASSIGN_OR_RETURN(std::shared_ptr<Iteration> iteration, iterator->Current());
  return Asked{std::move(iteration), RefPtr<Resource>::Adopt(iterator.release())};
}

Status IteratorKernel::Told(Context& ctx, const Result<Poll>& poll) {
  if (!poll.ok()) return poll.status();
  return *poll == Poll::kEnd ? AtEnd(ctx) : OkStatus();
}

std::optional<Status> IteratorKernel::TryCompute(Context& ctx) {
  const Result<Asked> asked = Find(ctx);
  if (!asked.ok()) return asked.status();
  const std::optional<Result<Poll>> polled = asked->iteration->TryDo(
      ctx.step().cancellation,
      [this, &ctx](const Poller& poller, Stage& stage) { return Ask(ctx, poller, stage); });
  if (!polled.has_value()) return std::nullopt;
  return Told(ctx, *polled);
}

void IteratorKernel::Wait(Context& ctx, Done done) {
  const Result<Asked> asked = Find(ctx);
  if (!asked.ok()) return std::move(done)(asked.status());
  const auto told = std::make_shared<Done>(std::move(done));
  asked->iteration->Do(
      ctx.step().cancellation,
      [this, &ctx](const Poller& poller, Stage& stage) { return Ask(ctx, poller, stage); },
      [this, &ctx, told, held = asked->resource](const Result<Poll>& poll) {
        std::move (*told)(Told(ctx, poll));
      });
}

std::string IteratorKernel::WaitsFor(Context& ctx) const {
  const Result<Asked> asked = Find(ctx);
  return asked.ok() ? asked->resource->DebugString() : "";
}

Result<Poll> GetNextKernel::Ask(Context& ctx, const Poller& poller, Stage& stage) {
  Element element;
  ASSIGN_OR_RETURN(const Poll poll, stage.Next(poller, &element));
  if (poll != Poll::kElement) return poll;
  RETURN_IF_ERROR(spec_.Check(element));
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ctx.set_output(i, std::move(element[static_cast<size_t>(i)]));
  }
  return poll;
}

Status GetNextKernel::AtEnd(Context&) { return OutOfRange("End of sequence"); }

}  // namespace thalweg
