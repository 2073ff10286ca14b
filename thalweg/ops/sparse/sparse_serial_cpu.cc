// SPDX-License-Identifier: Apache-2.0
// A sparse tensor as three elements: TensorProto messages, or variants that hold the tensors.
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_stack.h"
#include "thalweg/proto/wire.h"
#include "thalweg/resources/held_tensor.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

Status Write(const Tensor& tensor, Tensor* out, int64_t i) {
  if (out->dtype() == DType::kVariant) {
    return HoldTensor(tensor, &out->mutable_data<Variant>()[i]);
  }
  OwnedMessage message(pb::TensorProto::Descriptor());
  RETURN_IF_ERROR(TensorToProto(tensor, &*message, {.borrow = true}));
  ASSIGN_OR_RETURN(out->mutable_data<std::string>()[i], Serialize(*message));
  return OkStatus();
}

Status WriteParts(const SparseParts& part, Tensor* out, int64_t row) {
  RETURN_IF_ERROR(Write(part.indices, out, 3 * row));
  RETURN_IF_ERROR(Write(part.values, out, 3 * row + 1));
  return Write(part.shape, out, 3 * row + 2);
}

class SerializeCpu : public Kernel {
 public:
  explicit SerializeCpu(const KernelConstruction& c)
      : dtype_(c.output_type(0)), many_(c.node().op_name() == "SerializeManySparse") {}

  Status Compute(Context& ctx) override {
    std::vector<SparseParts> parts;
    if (many_) {
      ASSIGN_OR_RETURN(parts, SplitFirstDim(ctx));
    } else {
      RETURN_IF_ERROR(SparseInput::Of(ctx.input(0), ctx.input(1), ctx.input(2)).status());
      parts.push_back({ctx.input(0), ctx.input(1), ctx.input(2)});
    }
    const auto n = static_cast<int64_t>(parts.size());
    ASSIGN_OR_RETURN(Tensor * out,
                     ctx.AllocateOutput(0, dtype_, many_ ? Shape{n, int64_t{3}} : Shape{3}));
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < n; ++i) {
      RETURN_IF_ERROR(looks.Did(kElementsPerPart));
      RETURN_IF_ERROR(WriteParts(parts[static_cast<size_t>(i)], out, i));
    }
    return OkStatus();
  }

 private:
  const DType dtype_;
  const bool many_;
};

Result<Tensor> Read(Context& ctx, const Tensor& serialized, int64_t i) {
  if (serialized.dtype() == DType::kVariant) {
    const auto* held = serialized.data<Variant>()[i].As<HeldTensor>();
    if (held == nullptr) {
      return InvalidArgument("serialized_sparse", IndexText(serialized.shape(), i),
                             " does not hold a tensor");
    }
    return held->tensor();
  }
  Result<OwnedMessage> message = ParseMessage(pb::TensorProto::Descriptor(),
                                              std::string_view(serialized.data<std::string>()[i]));
  if (!message.ok()) {
    return InvalidArgument("Could not parse serialized proto ", IndexText(serialized.shape(), i),
                           ": ", message.status().message());
  }
  Result<Tensor> tensor = TensorFromProto(**message, {.allocator = &ctx.allocator()});
  if (!tensor.ok() && tensor.status().code() == Code::kInvalidArgument) {
    return InvalidArgument("Could not construct tensor from proto ",
                           IndexText(serialized.shape(), i), ": ", tensor.status().message());
  }
  return tensor;
}

class DeserializeCpu : public Kernel {
 public:
  explicit DeserializeCpu(const KernelConstruction& c) : dtype_(c.output_type(1)) {}

  Status Compute(Context& ctx) override {
    const Tensor& serialized = ctx.input(0);
    const Shape shape = serialized.shape();
    const int rank = shape.rank();
    if (rank == 0 || shape.dim(rank - 1) != 3) {
      return InvalidArgument("Serialized sparse should have 3 as the last dimension ", shape);
    }
    if (shape.num_elements() == 0) {
      return InvalidArgument("Serialized sparse should have at least 1 serialized tensor, but has ",
                             "a zero dimension ", shape);
    }
    std::vector<SparseParts> parts;
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < shape.num_elements(); i += 3) {
      RETURN_IF_ERROR(looks.Did(kElementsPerPart));
      SparseParts part;
      ASSIGN_OR_RETURN(part.indices, Read(ctx, serialized, i));
      ASSIGN_OR_RETURN(part.values, Read(ctx, serialized, i + 1));
      ASSIGN_OR_RETURN(part.shape, Read(ctx, serialized, i + 2));
      parts.push_back(std::move(part));
    }
    Dims outer = shape.dims();
    outer.resize(rank - 1);
    return SetStacked(ctx, dtype_, outer, parts);
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_serial, cpu) {
  for (DType form : {DType::kString, DType::kVariant}) {
    registry.Add<SerializeCpu>("SerializeSparse", kCpu, {{"out_type", form}});
    registry.Add<SerializeCpu>("SerializeManySparse", kCpu, {{"out_type", form}});
    registry.Add<DeserializeCpu>("DeserializeSparse", kCpu, {{"Tserialized", form}});
  }
  registry.Add<DeserializeCpu>("DeserializeManySparse", kCpu);
}
