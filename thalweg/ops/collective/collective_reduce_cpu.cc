// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/collective/collective_kernel.h"

namespace thalweg {
namespace {

Result<compute::BinaryOp> MergeOf(const std::string& name) {
  if (name == "Add") return compute::BinaryOp::kAdd;
  if (name == "Mul") return compute::BinaryOp::kMul;
  if (name == "Min") return compute::BinaryOp::kMinimum;
  if (name == "Max") return compute::BinaryOp::kMaximum;
  return InvalidArgument("merge_op must be one of {\"Min\", \"Max\", \"Mul\", \"Add\"} but got ",
                         name);
}

// subdiv_offsets, max_subdivs_per_device and communication_hint say how TensorFlow cuts and routes
// the values; the sum is the same. Only tasks of TensorFlow's must hear of the rings. wait_for
// orders instances, which need no order here.
Result<int> RingsOf(const KernelConstruction& c) {
  if (c.node().FindAttr("subdiv_offsets") == nullptr) return 0;
  ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                   c.Attr<std::vector<int64_t>>("subdiv_offsets"));
  if (std::ranges::any_of(offsets, [](int64_t offset) { return offset < 0; })) return -1;
  return static_cast<int>(std::min<size_t>(offsets.size(), 1000));
}

template <CollectiveKind Kind>
class ReduceCpu : public CollectiveKernel {
 public:
  ReduceCpu(CollectiveNode node, compute::BinaryOp merge, bool is_mean, int rings)
      : CollectiveKernel(std::move(node)), merge_(merge), is_mean_(is_mean), rings_(rings) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(CollectiveNode node, CollectiveNode::Of(c, Kind));
    ASSIGN_OR_RETURN(const std::string merge_name, c.Attr<std::string>("merge_op"));
    ASSIGN_OR_RETURN(const compute::BinaryOp merge, MergeOf(merge_name));
    ASSIGN_OR_RETURN(const std::string final_op, c.Attr<std::string>("final_op"));
    if (final_op != "Id" && final_op != "Div") {
      return InvalidArgument("final_op must be one of {\"Id\", \"Div\"} but got ", final_op);
    }
    ASSIGN_OR_RETURN(const int rings, RingsOf(c));
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceCpu>(std::move(node), merge, final_op == "Div", rings));
  }

 private:
  Result<CollectiveCall> CallOf(Context& ctx) const override {
    ASSIGN_OR_RETURN(CollectiveCall call, Bring(ctx));
    call.merge = merge_;
    call.is_mean = is_mean_;
    call.num_rings = rings_;
    return call;
  }

  const compute::BinaryOp merge_;
  const bool is_mean_;
  const int rings_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(collective_reduce, cpu) {
  for (const DType dtype : {DType::kBfloat16, DType::kHalf, DType::kFloat, DType::kDouble,
                            DType::kInt32, DType::kInt64}) {
    for (const char* op : {"CollectiveReduce", "CollectiveReduceV2"}) {
      registry.Add<ReduceCpu<CollectiveKind::kReduce>>(op, kCpu, {{"T", dtype}});
    }
    registry.Add<ReduceCpu<CollectiveKind::kReduceScatter>>("CollectiveReduceScatterV2", kCpu,
                                                            {{"T", dtype}});
  }
}
