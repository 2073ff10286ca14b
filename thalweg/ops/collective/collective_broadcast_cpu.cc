// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/collective/collective_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

class BcastSendCpu : public CollectiveKernel {
 public:
  BcastSendCpu(CollectiveNode node, PartialShape declared)
      : CollectiveKernel(std::move(node)), declared_(std::move(declared)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(CollectiveNode node, CollectiveNode::Of(c, CollectiveKind::kBroadcast));
    PartialShape declared;
    if (!node.keys_are_inputs) {
      ASSIGN_OR_RETURN(declared, c.Attr<PartialShape>("shape"));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<BcastSendCpu>(std::move(node), std::move(declared)));
  }

 private:
  Result<CollectiveCall> CallOf(Context& ctx) const override {
    ASSIGN_OR_RETURN(CollectiveCall call, Bring(ctx));
    if (declared_.Admits(call.value.shape())) return call;
    return InvalidArgument("the node says shape ", declared_, ", its input has ",
                           call.value.shape());
  }

  const PartialShape declared_;
};

class BcastRecvCpu : public CollectiveKernel {
 public:
  BcastRecvCpu(CollectiveNode node, PartialShape expected)
      : CollectiveKernel(std::move(node)), expected_(std::move(expected)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(CollectiveNode node, CollectiveNode::Of(c, CollectiveKind::kBroadcast));
    PartialShape expected;
    if (!node.keys_are_inputs) {
      ASSIGN_OR_RETURN(expected, c.Attr<PartialShape>("shape"));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<BcastRecvCpu>(std::move(node), std::move(expected)));
  }

 private:
  Result<CollectiveCall> CallOf(Context& ctx) const override {
    ASSIGN_OR_RETURN(CollectiveCall call, Begin(ctx, 0));
    call.shape = expected_;
    if (node().keys_are_inputs) {
      ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(3), "shape"));
      call.shape = shape;
    }
    return call;
  }

  const PartialShape expected_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(collective_broadcast, cpu) {
  for (const DType dtype :
       {DType::kBool, DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
    for (const char* op : {"CollectiveBcastSend", "CollectiveBcastSendV2"}) {
      registry.Add<BcastSendCpu>(op, kCpu, {{"T", dtype}});
    }
    for (const char* op : {"CollectiveBcastRecv", "CollectiveBcastRecvV2"}) {
      registry.Add<BcastRecvCpu>(op, kCpu, {{"T", dtype}});
    }
  }
}
