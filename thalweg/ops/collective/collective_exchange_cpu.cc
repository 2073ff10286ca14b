// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/collective/collective_kernel.h"

namespace thalweg {
namespace {

// The attribute `shape` of a gather is only a hint, as in TensorFlow.
template <CollectiveKind Kind>
class ExchangeCpu : public CollectiveKernel {
 public:
  explicit ExchangeCpu(CollectiveNode node) : CollectiveKernel(std::move(node)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(CollectiveNode node, CollectiveNode::Of(c, Kind));
    return std::unique_ptr<Kernel>(std::make_unique<ExchangeCpu>(std::move(node)));
  }

 private:
  Result<CollectiveCall> CallOf(Context& ctx) const override { return Bring(ctx); }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(collective_exchange, cpu) {
  for (const DType dtype :
       {DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
    for (const char* op : {"CollectiveGather", "CollectiveGatherV2"}) {
      registry.Add<ExchangeCpu<CollectiveKind::kGather>>(op, kCpu, {{"T", dtype}});
    }
  }
  for (const DType dtype : {DType::kBfloat16, DType::kHalf, DType::kFloat, DType::kDouble,
                            DType::kInt32, DType::kInt64}) {
    registry.Add<ExchangeCpu<CollectiveKind::kAllToAll>>("CollectiveAllToAllV2", kCpu,
                                                         {{"T", dtype}});
  }
}
