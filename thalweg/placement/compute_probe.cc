// SPDX-License-Identifier: Apache-2.0
#include "thalweg/placement/compute_probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/lone_call.h"
#include "thalweg/placement/awaited_copies.h"

namespace thalweg {
namespace {

constexpr std::chrono::milliseconds kCallsPatience{100};  // with a device, in all
constexpr std::chrono::seconds kFirstCallPatience{2};     // with each kernel's first call
constexpr double kLongCall = 2.5e-4;  // seconds, after which no larger one follows
constexpr std::array<int64_t, 6> kSides = {64, 128, 256, 512, 1024, 2048};  // of the matrices
constexpr int kEmptyCalls = 32;  // in a row, as one alone is hidden by the wait for it
constexpr int kCalls = 4;
constexpr int kTries = 3;  // of which the shortest is what nobody has disturbed

Result<std::unique_ptr<Kernel>> MakeKernel(std::string_view op, size_t inputs, Device& device,
                                           const KernelRegistry& kernels, GraphBuilder& builder,
                                           LoneCall& call) {
  std::vector<Output> from(inputs);
  for (Output& input : from) input = builder.Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Node* const node = builder.OpNode(op, from);
  RETURN_IF_ERROR(builder.status());
  ASSIGN_OR_RETURN(const KernelEntry* entry, kernels.Find(*node, device.type()));
  if (entry->is_async || entry->keeps_state || !entry->host_memory.empty()) {
    return Unimplemented(op, " of ", device.type(), " cannot be called outside a step");
  }
  return kernels.Make(*node, device, call.resources());
}

// Times calls by how much later the copy of one number comes that stands behind them.
class TimedCalls {
 public:
  TimedCalls(Device& device, LoneCall& call, Clock& clock)
      : device_(device),
        call_(call),
        clock_(clock),
        copies_(device, clock, Deadline::After(clock, kCallsPatience)) {}

  // What a first call takes is seen no more: libraries that it loads, code that the driver compiles
  // when it comes to run it.
  Status CallFirst(Kernel& kernel, size_t inputs) {
    ASSIGN_OR_RETURN(const Tensor x, Numbers(Shape{kSides[0], kSides[0]}));
    RETURN_IF_ERROR(call_.Compute(kernel, std::vector<Tensor>(inputs, x), 1).status());
    AwaitedCopies patient(device_, clock_, Deadline::After(clock_, kFirstCallPatience));
    return patient.ToHost(x).status();
  }
  Status Begin() {
    ASSIGN_OR_RETURN(one_, Numbers(Shape{1}));
    return MeasureWait();
  }
  // Of a call that has nothing to do.
  Result<double> EmptyCall(Kernel& kernel) { return SecondsOf(kernel, {one_}, kEmptyCalls); }
  // What a kernel does in a second, of which a call for matrices of a side does so much.
  Result<double> Rate(Kernel& kernel, size_t inputs, double (*amount)(double side)) {
    double rate = 0;
    for (const int64_t side : kSides) {
      const Result<double> seconds = AtSide(kernel, inputs, side);
      // What was found before the device had no more memory, or no more time, is true.
      if (!seconds.ok() && rate > 0) break;
      RETURN_IF_ERROR(seconds.status());
      rate = amount(static_cast<double>(side)) / *seconds;
      if (*seconds > kLongCall) break;
    }
    return rate;
  }

 private:
  Result<Tensor> Numbers(const Shape& shape) {
    ASSIGN_OR_RETURN(Tensor here, Tensor::Allocate(device_.host_allocator(), DType::kFloat, shape));
    std::fill_n(here.mutable_data<float>(), here.num_elements(), 0.5F);
    return copies_.ToDevice(here);
  }
  Result<double> AtSide(Kernel& kernel, size_t inputs, int64_t side) {
    ASSIGN_OR_RETURN(const Tensor x, Numbers(Shape{side, side}));
    const std::vector<Tensor> all(inputs, x);
    ASSIGN_OR_RETURN(const double seconds, SecondsOf(kernel, all, kCalls));
    if (seconds <= kLongCall) return seconds;
    // Another program may have had the processor all the while.
    ASSIGN_OR_RETURN(const double again, SecondsOf(kernel, all, kCalls));
    return std::min(seconds, again);
  }
  // Of one call among several.
  Result<double> SecondsOf(Kernel& kernel, const std::vector<Tensor>& inputs, int calls) {
    const auto call_all = [&]() -> Status {
      for (int i = 0; i < calls; ++i) {
        RETURN_IF_ERROR(call_.Compute(kernel, inputs, 1).status());
      }
      return OkStatus();
    };
    ASSIGN_OR_RETURN(const double seconds, Seconds(call_all));
    // What has disturbed the wait before would count as the device's speed.
    RETURN_IF_ERROR(MeasureWait());
    // Clocks have steps: nothing takes no time.
    return std::max(seconds - wait_, 1e-9) / calls;
  }
  // For the copy alone: the shortest that was seen.
  Status MeasureWait() {
    ASSIGN_OR_RETURN(const double wait, Seconds([] { return OkStatus(); }));
    wait_ = std::min(wait_, wait);
    return OkStatus();
  }
  template <class Work>
  Result<double> Seconds(const Work& work) {
    double shortest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      const Clock::TimePoint begin = clock_.Now();
      RETURN_IF_ERROR(work());
      RETURN_IF_ERROR(copies_.ToHost(one_).status());
      shortest = std::min(shortest, SecondsSince(begin, clock_));
    }
    return shortest;
  }

  Device& device_;
  LoneCall& call_;
  Clock& clock_;
  AwaitedCopies copies_;
  Tensor one_;
  double wait_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Result<MeasuredRates::Processor> MeasureCompute(Device& device, const KernelRegistry& kernels,
                                                std::shared_ptr<const OpRegistry> ops,
                                                Clock& clock) {
  Graph graph(std::move(ops));
  GraphBuilder builder(&graph);
  CancellationManager cancellation;
  LoneCall call(device, compute::GetIsaTable(compute::BestIsaLevel()), cancellation);
  ASSIGN_OR_RETURN(const auto product, MakeKernel("MatMul", 2, device, kernels, builder, call));
  ASSIGN_OR_RETURN(const auto negation, MakeKernel("Neg", 1, device, kernels, builder, call));
  RETURN_IF_ERROR(TimedCalls(device, call, clock).CallFirst(*product, 2));
  RETURN_IF_ERROR(TimedCalls(device, call, clock).CallFirst(*negation, 1));
  TimedCalls timed(device, call, clock);
  RETURN_IF_ERROR(timed.Begin());
  MeasuredRates::Processor rates;
  ASSIGN_OR_RETURN(rates.node_seconds, timed.EmptyCall(*negation));
  ASSIGN_OR_RETURN(rates.flops, timed.Rate(*product, 2, [](double n) { return 2 * n * n * n; }));
  ASSIGN_OR_RETURN(rates.bytes,
                   timed.Rate(*negation, 1, [](double n) { return 2 * sizeof(float) * n * n; }));
  return rates;
}

}  // namespace thalweg
