// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

template <class T>
void AppendElement(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out.push_back(value ? '1' : '0');
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    AppendPart(out, static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    out.append(StrCat("(", value.real(), ",", value.imag(), ")"));
  } else {
    AppendPart(out, value);
  }
}

// The first values, and "..." when there are more; type and shape for elements without a text.
std::string Summary(const Tensor& tensor, int64_t limit) {
  const int64_t n = tensor.num_elements();
  const int64_t shown = limit < 0 ? n : std::min(limit, n);
  std::string out;
  bool printable = false;
  ForEachType<decltype(JoinTypes(PodTypes{}, Types<std::string>{}))>([&]<class T>() {
    if (kDTypeOf<T> != tensor.dtype()) return;
    printable = true;
    for (int64_t i = 0; i < shown; ++i) {
      if (i > 0) out.push_back(' ');
      AppendElement(out, tensor.data<T>()[i]);
    }
  });
  if (!printable) return StrCat(tensor.dtype(), tensor.shape());
  if (shown < n) out.append("...");
  return out;
}

class AssertCpu : public Kernel {
 public:
  explicit AssertCpu(int64_t summarize) : summarize_(summarize) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t summarize, Int32Attr(c, "summarize"));
    return std::unique_ptr<Kernel>(std::make_unique<AssertCpu>(summarize));
  }

  Status Compute(Context& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (condition.rank() != 0) {
      return InvalidArgument("condition must be a scalar, got ", condition.dtype(),
                             condition.shape());
    }
    if (condition.scalar<bool>()) return OkStatus();
    std::string message = "assertion failed:";
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      message.append(StrCat(" [", Summary(ctx.input(i), summarize_), "]"));
    }
    return InvalidArgument(message);
  }

 private:
  const int64_t summarize_;
};

class AbortCpu : public Kernel {
 public:
  explicit AbortCpu(std::string message) : message_(std::move(message)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string message, c.Attr<std::string>("error_msg"));
    return std::unique_ptr<Kernel>(std::make_unique<AbortCpu>(std::move(message)));
  }

  Status Compute(Context&) override {
    return Aborted("Abort was reached", message_.empty() ? "" : ": ", message_,
                   " (it ends the step, not the process)");
  }

 private:
  const std::string message_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(assert, cpu) {
  registry.Add<AssertCpu>("Assert", kCpu).Cost(KernelCost::kCheap);
  registry.Add<AbortCpu>("Abort", kCpu).Cost(KernelCost::kCheap);
}
