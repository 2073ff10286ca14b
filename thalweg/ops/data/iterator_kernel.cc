// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/iterator_kernel.h"

namespace thalweg {
namespace {

Result<std::shared_ptr<Iteration>> IterationOf(const Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Iterator> iterator, ctx.Resource<Iterator>(0));
  return iterator->Current();
}

}  // namespace

Status IteratorKernel::Told(Context& ctx, const Result<Poll>& poll) {
  if (!poll.ok()) return poll.status();
  return *poll == Poll::kEnd ? AtEnd(ctx) : OkStatus();
}

std::optional<Status> IteratorKernel::TryCompute(Context& ctx) {
  const Result<std::shared_ptr<Iteration>> iteration = IterationOf(ctx);
  if (!iteration.ok()) return iteration.status();
  const std::optional<Result<Poll>> polled =
      (*iteration)
          ->TryDo(ctx.step().cancellation, [this, &ctx](const Poller& poller, Stage& stage) {
            return Ask(ctx, poller, stage);
          });
  if (!polled.has_value()) return std::nullopt;
  return Told(ctx, *polled);
}

void IteratorKernel::Wait(Context& ctx, Done done) {
  const Result<RefPtr<Iterator>> iterator = ctx.Resource<Iterator>(0);
  if (!iterator.ok()) return std::move(done)(iterator.status());
  const Result<std::shared_ptr<Iteration>> iteration = (*iterator)->Current();
  if (!iteration.ok()) return std::move(done)(iteration.status());
  const auto told = std::make_shared<Done>(std::move(done));
  (*iteration)
      ->Do(
          ctx.step().cancellation,
          [this, &ctx](const Poller& poller, Stage& stage) { return Ask(ctx, poller, stage); },
          [this, &ctx, told, held = *iterator](const Result<Poll>& poll) {
            std::move (*told)(Told(ctx, poll));
          });
}

std::string IteratorKernel::WaitsFor(Context& ctx) const {
  const Result<RefPtr<Iterator>> iterator = ctx.Resource<Iterator>(0);
  return iterator.ok() ? (*iterator)->DebugString() : "";
}

}  // namespace thalweg
