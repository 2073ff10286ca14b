// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/optional_value.h"

namespace thalweg {
namespace {

Status SetOptional(Context& ctx, std::shared_ptr<const OptionalValue> value) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, Shape()));
  *out->mutable_data<Variant>() = Variant(std::move(value));
  return OkStatus();
}

Result<const OptionalValue*> OptionalInput(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const OptionalValue* const value = x.dtype() == DType::kVariant && x.rank() == 0
                                         ? x.scalar<Variant>().As<OptionalValue>()
                                         : nullptr;
  if (value != nullptr) return value;
  return InvalidArgument("the input must be a scalar variant that holds an optional, got ",
                         x.dtype(), x.shape());
}

Status OptionalNone(Context& ctx) {
  return SetOptional(ctx, std::make_shared<const OptionalValue>());
}

Status OptionalFromValue(Context& ctx) {
  std::vector<Tensor> components;
  for (int i = 0; i < ctx.num_inputs(); ++i) components.push_back(ctx.input(i));
  auto value = std::make_shared<const OptionalValue>(std::move(components));
  RETURN_IF_ERROR(CheckDepth(*value));
  return SetOptional(ctx, std::move(value));
}

Status OptionalHasValue(Context& ctx) {
  ASSIGN_OR_RETURN(const OptionalValue* value, OptionalInput(ctx));
  ctx.set_output(0, Tensor::Scalar(value->has_value()));
  return OkStatus();
}

class OptionalGetValueCpu : public Kernel {
 public:
  OptionalGetValueCpu(std::vector<DType> types, std::vector<PartialShape> shapes)
      : types_(std::move(types)), shapes_(std::move(shapes)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("output_types"));
    ASSIGN_OR_RETURN(std::vector<PartialShape> shapes,
                     c.Attr<std::vector<PartialShape>>("output_shapes"));
    if (types.size() != shapes.size()) {
      return InvalidArgument("output_types has ", types.size(), " entries, output_shapes has ",
                             shapes.size());
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<OptionalGetValueCpu>(std::move(types), std::move(shapes)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const OptionalValue* value, OptionalInput(ctx));
    if (!value->has_value()) return InvalidArgument("The given optional does not have a value.");
    const std::vector<Tensor>& components = value->components();
    if (components.size() != types_.size()) {
      return InvalidArgument("The given optional has ", components.size(), " components, expected ",
                             types_.size());
    }
    for (size_t i = 0; i < components.size(); ++i) {
      if (components[i].dtype() != types_[i]) {
        return InvalidArgument("The given optional does not match the expected type for component ",
                               i, ". Expected: ", types_[i], ". Actual: ", components[i].dtype(),
                               ".");
      }
      if (!shapes_[i].Admits(components[i].shape())) {
        return InvalidArgument(
            "The given optional does not match the expected shape for component ", i,
            ". Expected: ", shapes_[i], ". Actual: ", components[i].shape(), ".");
      }
    }
    for (size_t i = 0; i < components.size(); ++i) {
      ctx.set_output(static_cast<int>(i), components[i]);
    }
    return OkStatus();
  }

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(optional, cpu) {
  registry.AddFunction<OptionalNone>("OptionalNone", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<OptionalFromValue>("OptionalFromValue", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<OptionalHasValue>("OptionalHasValue", kCpu).Cost(KernelCost::kCheap);
  registry.Add<OptionalGetValueCpu>("OptionalGetValue", kCpu).Cost(KernelCost::kCheap);
}
