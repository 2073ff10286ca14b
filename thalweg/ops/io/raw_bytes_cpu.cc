// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

static_assert(std::endian::native == std::endian::little);

// Reads numbers of one type out of bytes.
class NumberReader {
 public:
  static Result<NumberReader> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool little_endian, c.Attr<bool>("little_endian"));
    return NumberReader(c.output_type(0), !little_endian);
  }
  DType dtype() const { return dtype_; }
  size_t size() const { return DTypeSize(dtype_); }

  // Whole numbers only; `to` is in the number of bytes that `from` is.
  Status Read(compute::CancelLooks& looks, std::string_view from, char* to) const {
    // A multiple of every size.
    constexpr size_t kBlock = 1 << 16;
    for (; from.size() > kBlock; from.remove_prefix(kBlock), to += kBlock) {
      RETURN_IF_ERROR(looks.Did(kBlock / 8));
      ReadBlock(from.substr(0, kBlock), to);
    }
    ReadBlock(from, to);
    return looks.Did(1 + static_cast<int64_t>(from.size() / 8));
  }

 private:
  NumberReader(DType dtype, bool swap) : dtype_(dtype), swap_(swap) {}

  void ReadBlock(std::string_view from, char* to) const {
    if (from.empty()) return;
    std::memcpy(to, from.data(), from.size());
    if (dtype_ == DType::kBool) {
      for (size_t i = 0; i < from.size(); ++i) to[i] = to[i] != 0;
    }
    // The parts of a complex number keep their order.
    const size_t part = IsComplex(dtype_) ? size() / 2 : size();
    if (!swap_ || part == 1) return;
    for (size_t i = 0; i < from.size(); i += part) std::reverse(to + i, to + i + part);
  }

  DType dtype_;
  bool swap_;
};

Result<Tensor*> AllocateNumbers(Context& ctx, DType dtype, size_t each) {
  Dims dims = ctx.input(0).shape().dims();
  dims.push_back(static_cast<int64_t>(each));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ctx.AllocateOutput(0, dtype, shape);
}

class DecodeRaw : public Kernel {
 public:
  explicit DecodeRaw(const NumberReader& reader) : reader_(reader) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const NumberReader reader, NumberReader::Make(c));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeRaw>(reader));
  }

  Status Compute(Context& ctx) override {
    const Tensor& input = ctx.input(0);
    const auto* strings = input.data<std::string>();
    const int64_t count = input.num_elements();
    const size_t length = count > 0 ? strings[0].size() : 0;
    for (int64_t i = 1; i < count; ++i) {
      if (strings[i].size() == length) continue;
      return InvalidArgument(
          "DecodeRaw requires input strings to all be the same size, but element ", i, " has size ",
          strings[i].size(), " != ", length);
    }
    if (length % reader_.size() != 0) {
      return InvalidArgument("Input to DecodeRaw has length ", length,
                             " that is not a multiple of ", reader_.size(), ", the size of ",
                             reader_.dtype());
    }
    ASSIGN_OR_RETURN(Tensor * out, AllocateNumbers(ctx, reader_.dtype(), length / reader_.size()));
    auto* to = static_cast<char*>(out->mutable_raw_data());
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(reader_.Read(looks, strings[i], to + static_cast<size_t>(i) * length));
    }
    return OkStatus();
  }

 private:
  const NumberReader reader_;
};

class DecodePaddedRaw : public Kernel {
 public:
  explicit DecodePaddedRaw(const NumberReader& reader) : reader_(reader) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const NumberReader reader, NumberReader::Make(c));
    return std::unique_ptr<Kernel>(std::make_unique<DecodePaddedRaw>(reader));
  }

  Status Compute(Context& ctx) override {
    const Tensor &input = ctx.input(0), &fixed = ctx.input(1);
    if (fixed.rank() != 0) {
      return InvalidArgument("fixed_length must be scalar, got shape ", fixed.shape());
    }
    const auto length = fixed.scalar<int32_t>();
    if (length <= 0) {
      return InvalidArgument("fixed_length (", length, ") must be greater than zero.");
    }
    const auto bytes = static_cast<size_t>(length);
    if (bytes % reader_.size() != 0) {
      return InvalidArgument("fixed_length (", length,
                             ") must be a multiple of the size of out_type (", reader_.size(), ")");
    }
    ASSIGN_OR_RETURN(Tensor * out, AllocateNumbers(ctx, reader_.dtype(), bytes / reader_.size()));
    auto* to = static_cast<char*>(out->mutable_raw_data());
    std::string padded;
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      padded = input.data<std::string>()[i];
      padded.resize(bytes, '\0');
      RETURN_IF_ERROR(reader_.Read(looks, padded, to + static_cast<size_t>(i) * bytes));
    }
    return OkStatus();
  }

 private:
  const NumberReader reader_;
};

Status SerializeTensor(Context& ctx) {
  OwnedMessage message(pb::TensorProto::Descriptor());
  const Tensor& tensor = ctx.input(0);
  if (IsPlain(tensor.dtype())) {  // always as bytes, also a single number
    message->SetInt(pb::TensorProto::kDtype, static_cast<int64_t>(tensor.dtype()));
    ShapeToProto(PartialShape(tensor.shape().dims()),
                 message->Mutable(pb::TensorProto::kTensorShape));
    message->SetBorrowed(pb::TensorProto::kTensorContent,
                         {static_cast<const char*>(tensor.raw_data()), tensor.bytes()});
  } else {
    RETURN_IF_ERROR(TensorToProto(tensor, &*message, {.borrow = true}));
  }
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(*message));
  ctx.set_output(0, Tensor::Scalar(bytes));
  return OkStatus();
}

class ParseTensor : public Kernel {
 public:
  explicit ParseTensor(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    const Tensor& serialized = ctx.input(0);
    if (serialized.rank() != 0) {
      return InvalidArgument("Expected `serialized` to be a scalar, got shape: ",
                             serialized.shape());
    }
    const Result<OwnedMessage> message = ParseMessage(
        pb::TensorProto::Descriptor(), std::string_view(serialized.data<std::string>()[0]));
    if (!message.ok()) {
      return InvalidArgument("Could not parse `serialized` as TensorProto: ",
                             message.status().message());
    }
    Result<Tensor> tensor = TensorFromProto(**message, {.allocator = &ctx.allocator()});
    if (!tensor.ok()) {
      return InvalidArgument("Cannot parse tensor from proto: ", tensor.status().message());
    }
    if (tensor->dtype() != dtype_) {
      return InvalidArgument("Type mismatch between parsed tensor (", tensor->dtype(),
                             ") and dtype (", dtype_, ")");
    }
    ctx.set_output(0, *std::move(tensor));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(raw_bytes, cpu) {
  for (DType dtype : {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble, DType::kInt8,
                      DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kInt64}) {
    registry.Add<DecodeRaw>("DecodeRaw", kCpu, {{"out_type", dtype}});
    registry.Add<DecodePaddedRaw>("DecodePaddedRaw", kCpu, {{"out_type", dtype}});
  }
  for (DType dtype : {DType::kBool, DType::kComplex64, DType::kComplex128}) {
    registry.Add<DecodeRaw>("DecodeRaw", kCpu, {{"out_type", dtype}});
  }
  registry.Add<ParseTensor>("ParseTensor", kCpu);
  registry.AddFunction<SerializeTensor>("SerializeTensor", kCpu);
}
