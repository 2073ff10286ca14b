// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/pushed_callable.h"

#include <atomic>
#include <utility>
#include <vector>

namespace thalweg {

Status RunCallablePushed(Callable& callable, size_t num_feeds, size_t num_fetches,
                         const std::shared_ptr<Link>& client, ChannelStep& step,
                         std::chrono::nanoseconds timeout, ChannelHub& hub) {
  std::vector<Tensor> feeds(num_feeds);
  for (size_t i = 0; i < num_feeds; ++i) {
    std::atomic<bool> here{false};
    Status status;
    // Any type: the callable checks its feeds.
    const ChannelEdge edge{.number = static_cast<uint32_t>(i), .link = client};
    step.RecvEdge(edge, [&feeds, &status, &here, i, wake = &hub](Result<Delivery> got) {
      if (got.ok()) feeds[i] = std::move(got->tensor);
      status = got.status();
      here.store(true, std::memory_order_release);
      wake->Wake();
    });
    hub.WorkUntil([&] { return here.load(std::memory_order_acquire); });
    RETURN_IF_ERROR(status);
    if (feeds[i].empty()) return InvalidArgument("feed ", i, " is no tensor");
  }
  std::vector<Tensor> fetches(num_fetches);
  RunOptions options;
  options.timeout = timeout;
  options.cancellation = &step.cancellation();
  RETURN_IF_ERROR(callable.Run(options, feeds, fetches));
  for (size_t i = 0; i < num_fetches; ++i) {
    const ChannelEdge edge{.number = static_cast<uint32_t>(num_feeds + i), .link = client};
    RETURN_IF_ERROR(ChannelStep::PushEdge(step.id(), edge, 0, {std::move(fetches[i]), false}));
  }
  return OkStatus();
}

}  // namespace thalweg
