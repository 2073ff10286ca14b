// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class FakeParamCpu : public Kernel {
 public:
  FakeParamCpu(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const PartialShape given, c.Attr<PartialShape>("shape"));
    Dims dims;
    for (int i = 0; given.known_rank() && i < given.rank(); ++i) {
      dims.push_back(std::max<int64_t>(given.dim(i), 0));
    }
    ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    return std::unique_ptr<Kernel>(
        std::make_unique<FakeParamCpu>(c.output_type(0), std::move(shape)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, shape_));
    return compute::FillZeros(ctx.work(), dtype_, out->mutable_raw_data(), out->num_elements());
  }

 private:
  const DType dtype_;
  const Shape shape_;
};

class DeviceIndexCpu : public Kernel {
 public:
  explicit DeviceIndexCpu(int32_t index) : index_(Tensor::Scalar(index)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     c.Attr<std::vector<std::string>>("device_names"));
    const auto found = std::find(names.begin(), names.end(), c.device().type());
    return std::unique_ptr<Kernel>(
        std::make_unique<DeviceIndexCpu>(static_cast<int32_t>(found - names.begin())));
  }

  Status Compute(Context& ctx) override {
    ctx.set_output(0, index_);
    return OkStatus();
  }

 private:
  const Tensor index_;
};

template <class T>
bool IsNotZero(const Tensor& value) {
  return *value.data<T>() != T{};
}

Result<bool> Truth(const Tensor& value) {
  if (value.rank() > 0) return value.num_elements() > 0;
  switch (value.dtype()) {
    case DType::kBool:
      return *value.data<bool>();
    case DType::kString:
      return !value.scalar<std::string>().empty();
    case DType::kFloat:
      return IsNotZero<float>(value);
    case DType::kDouble:
      return IsNotZero<double>(value);
    case DType::kInt8:
      return IsNotZero<int8_t>(value);
    case DType::kUint8:
      return IsNotZero<uint8_t>(value);
    case DType::kInt16:
      return IsNotZero<int16_t>(value);
    case DType::kUint16:
      return IsNotZero<uint16_t>(value);
    case DType::kInt32:
      return IsNotZero<int32_t>(value);
    case DType::kInt64:
      return IsNotZero<int64_t>(value);
    default:
      return InvalidArgument(value.dtype(), " cannot be converted to a boolean");
  }
}

Status ToBool(Context& ctx) {
  ASSIGN_OR_RETURN(const bool truth, Truth(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar(truth));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(function_value, cpu) {
  registry.Add<FakeParamCpu>("FakeParam", kCpu).Cost(KernelCost::kCheap);
  registry.Add<DeviceIndexCpu>("DeviceIndex", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<ToBool>("ToBool", kCpu).Cost(KernelCost::kCheap);
}
