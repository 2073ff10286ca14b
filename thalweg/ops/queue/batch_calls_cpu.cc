// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/batcher.h"

namespace thalweg {
namespace {

// Gives the rows of a batch to its last call, and says which rows are whose.
class RowBatcher final : public Batcher {
 public:
  using Batcher::Batcher;
  static Status WithoutRows(Context&) {
    return InvalidArgument("a call of Batch brings at least one row");
  }

 private:
  Status Deliver(Task& task) override {
    RETURN_IF_ERROR(SetRows(task));
    const int n = static_cast<int>(task.inputs.size());
    const std::vector<int64_t>& index = task.closed->index;
    const size_t numbers = task.leads ? index.size() : 0;
    task.ctx.set_output(n, Tensor::Of<int64_t>({index.data(), numbers},
                                               Shape{static_cast<int64_t>(numbers / 3), 3}));
    task.ctx.set_output(n + 1, Tensor::Scalar(task.id));
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(batch_calls, cpu) { registry.Add<BatchKernel<RowBatcher>>("Batch", kCpu); }
