// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/boosted_trees/summary_tensor.h"
#include "thalweg/ops/boosted_trees/tree_inputs.h"
#include "thalweg/resources/quantile_streams.h"

namespace thalweg {
namespace {

class CreateStreamsCpu : public Kernel {
 public:
  explicit CreateStreamsCpu(int64_t max_elements) : max_elements_(max_elements) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t max_elements, c.Attr<int64_t>("max_elements"));
    return std::unique_ptr<Kernel>(std::make_unique<CreateStreamsCpu>(max_elements));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const float epsilon, ScalarInput<float>(ctx, 1, "epsilon"));
    ASSIGN_OR_RETURN(const int64_t streams, ScalarInput<int64_t>(ctx, 2, "num_streams"));
    ASSIGN_OR_RETURN(RefPtr<QuantileStreams> made,
                     QuantileStreams::Make(ctx.allocator(), epsilon, max_elements_, streams));
    return KeepResource(ctx, std::move(made));
  }

 private:
  const int64_t max_elements_;
};

Status AddSummaries(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<QuantileStreams> streams, ctx.Resource<QuantileStreams>(0));
  RETURN_IF_ERROR(streams->CheckNumber(ctx.num_inputs() - 1, "summaries"));
  HeapCharge charge;
  size_t bytes = 0;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    bytes +=
        sizeof(QuantileSummary) + static_cast<size_t>(ctx.input(i).num_elements()) * sizeof(float);
  }
  RETURN_IF_ERROR(charge.Set(ctx.allocator(), bytes));
  std::vector<QuantileSummary> summaries;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(QuantileSummary summary, SummaryOfTensor(ctx.input(i), i - 1));
    summaries.push_back(std::move(summary));
  }
  return streams->Add(ctx.allocator(), std::move(summaries));
}

class FlushStreamsCpu : public Kernel {
 public:
  explicit FlushStreamsCpu(bool quantiles) : quantiles_(quantiles) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool quantiles, c.Attr<bool>("generate_quantiles"));
    return std::unique_ptr<Kernel>(std::make_unique<FlushStreamsCpu>(quantiles));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<QuantileStreams> streams, ctx.Resource<QuantileStreams>(0));
    ASSIGN_OR_RETURN(const int64_t buckets, ScalarInput<int64_t>(ctx, 1, "num_buckets"));
    return streams->Flush(ctx.work(), ctx.allocator(), buckets, quantiles_);
  }

 private:
  const bool quantiles_;
};

Status FlushSummaries(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<QuantileStreams> streams, ctx.Resource<QuantileStreams>(0));
  ASSIGN_OR_RETURN(const std::vector<QuantileSummary> summaries,
                   streams->TakeSummaries(ctx.allocator(), ctx.num_outputs()));
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    RETURN_IF_ERROR(SetSummaryOutput(ctx, i, summaries[static_cast<size_t>(i)]));
  }
  return OkStatus();
}

Status DeserializeStreams(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<QuantileStreams> streams, ctx.Resource<QuantileStreams>(0));
  RETURN_IF_ERROR(streams->CheckNumber(ctx.num_inputs() - 1, "boundaries"));
  HeapCharge charge;
  size_t bytes = 0;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    RETURN_IF_ERROR(CheckInputRank(ctx, i, 1, "bucket_boundaries"));
    bytes += static_cast<size_t>(ctx.input(i).num_elements()) * sizeof(float);
  }
  RETURN_IF_ERROR(charge.Set(ctx.allocator(), bytes));
  QuantileStreams::Boundaries boundaries;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const std::span<const float> values = ctx.input(i).flat<float>();
    boundaries.emplace_back(values.begin(), values.end());
  }
  return streams->SetBoundaries(ctx.allocator(), std::move(boundaries));
}

Status BucketBoundaries(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<QuantileStreams> streams, ctx.Resource<QuantileStreams>(0));
  RETURN_IF_ERROR(streams->CheckNumber(ctx.num_outputs(), "boundaries"));
  return streams->ReadBoundaries([&](const QuantileStreams::Boundaries& all) -> Status {
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      const std::vector<float>& values = all[static_cast<size_t>(i)];
      ASSIGN_OR_RETURN(
          Tensor * out,
          ctx.AllocateOutput(i, DType::kFloat, Shape{static_cast<int64_t>(values.size())}));
      std::copy(values.begin(), values.end(), out->mutable_data<float>());
    }
    return OkStatus();
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantile_stream, cpu) {
  registry.Add<NamedHandleCpu<QuantileStreams>>("BoostedTreesQuantileStreamResourceHandleOp", kCpu)
      .Cost(KernelCost::kCheap);
  registry.Add<CreateStreamsCpu>("BoostedTreesCreateQuantileStreamResource", kCpu);
  registry.AddFunction<IsResourceThere<QuantileStreams>>(
      "IsBoostedTreesQuantileStreamResourceInitialized", kCpu);
  registry.AddFunction<AddSummaries>("BoostedTreesQuantileStreamResourceAddSummaries", kCpu);
  registry.Add<FlushStreamsCpu>("BoostedTreesQuantileStreamResourceFlush", kCpu);
  registry.AddFunction<FlushSummaries>("BoostedTreesFlushQuantileSummaries", kCpu);
  registry.AddFunction<DeserializeStreams>("BoostedTreesQuantileStreamResourceDeserialize", kCpu);
  registry.AddFunction<BucketBoundaries>("BoostedTreesQuantileStreamResourceGetBucketBoundaries",
                                         kCpu);
}
