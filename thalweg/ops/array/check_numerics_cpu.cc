// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "thalweg/compute/ew/nonfinite.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

template <class T>
class CheckNumericsCpu : public Kernel {
 public:
  CheckNumericsCpu(std::string message, bool signs) : message_(std::move(message)), signs_(signs) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string message, c.Attr<std::string>("message"));
    return std::unique_ptr<Kernel>(std::make_unique<CheckNumericsCpu<T>>(
        std::move(message), c.node().op_name() == "CheckNumericsV2"));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    std::atomic<uint32_t> found{0};
    RETURN_IF_ERROR(compute::ForBlocks(
        ctx.work(), x.num_elements(), 64 * 1024, [&](int64_t begin, int64_t end) {
          found.fetch_or(compute::NonfiniteKinds(x.data<T>() + begin, end - begin),
                         std::memory_order_relaxed);
        }));
    if (found != 0) return InvalidArgument(message_, " : Tensor had ", Text(found), " values");
    ctx.set_output(0, x);
    return OkStatus();
  }

 private:
  std::string Text(uint32_t found) const {
    std::string text;
    const auto add = [&](uint32_t bit, std::string_view name) {
      if ((found & bit) == 0) return;
      if (!text.empty()) text.append(" and ");
      text.append(name);
    };
    if (signs_) {
      add(compute::kMinusInf, "-Inf");
      add(compute::kPlusInf, "+Inf");
    } else {
      add(compute::kPlusInf | compute::kMinusInf, "Inf");
    }
    add(compute::kNan, "NaN");
    return text;
  }

  const std::string message_;
  const bool signs_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(check_numerics, cpu) {
  ForEachType<FloatTypes>([&]<class T>() {
    registry.Add<CheckNumericsCpu<T>>("CheckNumerics", kCpu, {{"T", kDTypeOf<T>}});
    registry.Add<CheckNumericsCpu<T>>("CheckNumericsV2", kCpu, {{"T", kDTypeOf<T>}});
  });
}
