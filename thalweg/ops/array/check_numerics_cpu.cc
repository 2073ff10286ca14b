// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

enum Found : uint32_t { kNan = 1, kInf = 2, kMinusInf = 4 };

template <class T>
uint32_t Scan(const T* values, int64_t n) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  // Finite numbers times zero are zero, the others NaN: no branch for what is all but always so.
  W sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<W>(values[i]) * W{0};
  if (sum == W{0}) return 0;
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const W value = static_cast<W>(values[i]);
    if (std::isnan(value)) found |= kNan;
    if (std::isinf(value)) found |= value > 0 ? kInf : kMinusInf;
  }
  return found;
}

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
          found.fetch_or(Scan(x.data<T>() + begin, end - begin), std::memory_order_relaxed);
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
      add(kMinusInf, "-Inf");
      add(kInf, "+Inf");
    } else {
      add(kInf | kMinusInf, "Inf");
    }
    add(kNan, "NaN");
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
