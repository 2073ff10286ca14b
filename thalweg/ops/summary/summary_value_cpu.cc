// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/summary/summary_parts.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace value = pb::Summary::Value;

Status GiveValue(Context& ctx, const OwnedMessage& summary) {
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(*summary));
  ctx.set_output(0, Tensor::Scalar(bytes));
  return OkStatus();
}

Status ScalarSummary(Context& ctx) {
  const Tensor &tags = ctx.input(0), &values = ctx.input(1);
  if (tags.shape() != values.shape()) {
    const bool one = tags.num_elements() == 1;
    return InvalidArgument("tags and values are not the same shape: ", tags.shape(),
                           " != ", values.shape(),
                           one ? StrCat(" (tag '", tags.data<std::string>()[0], "')") : "");
  }
  OwnedMessage summary(pb::Summary::Descriptor());
  RETURN_IF_ERROR(compute::WithType<RealTypes>(values.dtype(), "a summary", [&]<class T>() {
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      Message* one = summary->Add(pb::Summary::kValue);
      one->SetString(value::kTag, tags.data<std::string>()[i]);
      one->SetFloat(value::kSimpleValue, static_cast<float>(compute::ValueOf(values.data<T>()[i])));
    }
    return OkStatus();
  }));
  return GiveValue(ctx, summary);
}

class HistogramSummary : public Kernel {
 public:
  explicit HistogramSummary(std::string name) : name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return std::unique_ptr<Kernel>(
        std::make_unique<HistogramSummary>(std::string(c.node().name())));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(0)));
    OwnedMessage summary(pb::Summary::Descriptor());
    RETURN_IF_ERROR(AddHistogram(ctx.work(), *summary, tag, ctx.input(1), name_));
    return GiveValue(ctx, summary);
  }

 private:
  const std::string name_;
};

Status MergeSummary(Context& ctx) {
  OwnedMessage merged(pb::Summary::Descriptor());
  std::set<std::string, std::less<>> tags;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Tensor& input = ctx.input(i);
    for (int64_t k = 0; k < input.num_elements(); ++k) {
      auto part =
          ParseMessage(pb::Summary::Descriptor(), std::string_view(input.data<std::string>()[k]));
      if (!part.ok()) {
        return InvalidArgument("Could not parse one of the summary inputs: ",
                               part.status().message());
      }
      for (const Message* one : (*part)->Messages(pb::Summary::kValue)) {
        const std::string_view tag = one->GetString(value::kTag);
        if (!tag.empty() && !tags.emplace(tag).second) {
          return InvalidArgument("Duplicate tag ", tag, " found in summary inputs");
        }
        merged->Add(pb::Summary::kValue)->MergeFrom(*one);
      }
    }
  }
  return GiveValue(ctx, merged);
}

// One number too is written as bytes, in the form of TensorFlow's kernels.
Status NumbersToProto(const Tensor& tensor, Message* proto) {
  if (!IsPlain(tensor.dtype())) return TensorToProto(tensor, proto, {.borrow = true});
  proto->SetInt(pb::TensorProto::kDtype, static_cast<int64_t>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->Mutable(pb::TensorProto::kTensorShape));
  if (tensor.num_elements() == 0) return OkStatus();
  proto->SetBorrowed(pb::TensorProto::kTensorContent,
                     {static_cast<const char*>(tensor.raw_data()), tensor.bytes()});
  return OkStatus();
}

class TensorSummary : public Kernel {
 public:
  explicit TensorSummary(std::string name) : name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return std::unique_ptr<Kernel>(std::make_unique<TensorSummary>(std::string(c.node().name())));
  }
  Status Compute(Context& ctx) override {
    OwnedMessage summary(pb::Summary::Descriptor());
    Message* one = summary->Add(pb::Summary::kValue);
    one->SetString(value::kNodeName, name_);
    RETURN_IF_ERROR(NumbersToProto(ctx.input(0), one->Mutable(value::kTensor)));
    return GiveValue(ctx, summary);
  }

 private:
  const std::string name_;
};

Status TensorSummaryV2(Context& ctx) {
  ASSIGN_OR_RETURN(const std::string_view tag, SummaryTag(ctx.input(0)));
  const Tensor& metadata = ctx.input(2);
  if (metadata.rank() != 0) {
    return InvalidArgument("serialized_summary_metadata must be a scalar, got shape ",
                           metadata.shape());
  }
  OwnedMessage summary(pb::Summary::Descriptor());
  Message* one = summary->Add(pb::Summary::kValue);
  one->SetString(value::kTag, tag);
  RETURN_IF_ERROR(NumbersToProto(ctx.input(1), one->Mutable(value::kTensor)));
  RETURN_IF_ERROR(MergeFromBytes(*one->Mutable(value::kMetadata), metadata.scalar<std::string>()));
  return GiveValue(ctx, summary);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(summary_value, cpu) {
  ForEachType<RealTypes>([&]<class T>() {
    registry.AddFunction<ScalarSummary>("ScalarSummary", kCpu, {{"T", kDTypeOf<T>}});
    registry.Add<HistogramSummary>("HistogramSummary", kCpu, {{"T", kDTypeOf<T>}});
  });
  registry.AddFunction<MergeSummary>("MergeSummary", kCpu);
  registry.Add<TensorSummary>("TensorSummary", kCpu);
  registry.AddFunction<TensorSummaryV2>("TensorSummaryV2", kCpu);
}
