// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/list/array_handle.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

enum class Version { kReference, kStrings, kResource };

// The handle of a new array. The first two versions find it again by name, so the step keeps it.
Status SetHandle(Context& ctx, Version version, RefPtr<TensorArray> array) {
  if (version == Version::kResource) {
    ResourceHandle::Place place;
    place.device = ctx.device().full_name();
    place.container = kArrayContainer;
    place.name = array->name();
    place.type_name = "tensorflow::TensorArray";
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place),
                                                    RefPtr<Resource>::Adopt(array.release()))));
    return OkStatus();
  }
  const Tensor names = Tensor::Vector<std::string>({kArrayContainer, array->name()});
  RETURN_IF_ERROR(
      ctx.step()
          .step_resources
          ->LookupOrCreate<TensorArray>(kArrayContainer, array->name(),
                                        [&]() -> Result<RefPtr<TensorArray>> { return array; })
          .status());
  if (version == Version::kStrings) {
    ctx.set_output(0, names);
    return OkStatus();
  }
  auto variable = RefPtr<Variable>::Adopt(
      std::make_unique<Variable>(array->name(), DType::kString, PartialShape{2}).release());
  RETURN_IF_ERROR(variable->Assign(names));
  ctx.set_output(0, Tensor::Reference(RefPtr<Resource>::Adopt(variable.release()), DType::kString));
  return OkStatus();
}

class TensorArrayCpu : public Kernel {
 public:
  TensorArrayCpu(Version version, TensorArray::Options options)
      : version_(version), options_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    TensorArray::Options options;
    ASSIGN_OR_RETURN(options.name, c.Attr<std::string>("tensor_array_name"));
    ASSIGN_OR_RETURN(options.dtype, c.Attr<DType>("dtype"));
    ASSIGN_OR_RETURN(options.element_shape, c.Attr<PartialShape>("element_shape"));
    ASSIGN_OR_RETURN(options.dynamic_size, c.Attr<bool>("dynamic_size"));
    ASSIGN_OR_RETURN(options.clear_after_read, c.Attr<bool>("clear_after_read"));
    const std::string& op = c.node().op_name();
    const bool is_resource = op == "TensorArrayV3";
    if (is_resource) {
      ASSIGN_OR_RETURN(options.identical_element_shapes, c.Attr<bool>("identical_element_shapes"));
    }
    if (options.name.empty()) options.name = c.node().name();
    const Version version = is_resource             ? Version::kResource
                            : op == "TensorArrayV2" ? Version::kStrings
                                                    : Version::kReference;
    return std::unique_ptr<Kernel>(std::make_unique<TensorArrayCpu>(version, std::move(options)));
  }

  Status Compute(Context& ctx) override {
    if (ctx.input(0).rank() != 0) {
      return InvalidArgument("TensorArray size must be scalar, but had shape: ",
                             ctx.input(0).shape());
    }
    const int32_t size = ctx.input(0).scalar<int32_t>();
    if (size < 0) return InvalidArgument("Size should be >= 0, got ", size);
    TensorArray::Options options = options_;
    // Each time the node runs it makes an array of its own, also in a loop.
    if (version_ != Version::kResource) {
      options.name = StrCat(options.name, "_", made_.fetch_add(1, std::memory_order_relaxed));
    }
    auto array = RefPtr<TensorArray>::Adopt(
        std::make_unique<TensorArray>(std::move(options), size).release());
    RETURN_IF_ERROR(SetHandle(ctx, version_, std::move(array)));
    if (version_ == Version::kResource) ctx.set_output(1, Tensor::Scalar(0.0f));
    return OkStatus();
  }

 private:
  const Version version_;
  const TensorArray::Options options_;
  std::atomic<int64_t> made_ = 0;
};

class TensorArrayGradCpu : public Kernel {
 public:
  TensorArrayGradCpu(Version version, std::string source)
      : version_(version), source_(std::move(source)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string source, c.Attr<std::string>("source"));
    const std::string& op = c.node().op_name();
    const Version version = op == "TensorArrayGrad"     ? Version::kReference
                            : op == "TensorArrayGradV2" ? Version::kStrings
                                                        : Version::kResource;
    return std::unique_ptr<Kernel>(
        std::make_unique<TensorArrayGradCpu>(version, std::move(source)));
  }

  Status Compute(Context& ctx) override {
    Dims prepended;
    if (ctx.num_inputs() == 3) {
      ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(2), "shape_to_prepend"));
      prepended = shape.dims();
    }
    ASSIGN_OR_RETURN(const RefPtr<TensorArray> array, ArrayOf(ctx));
    ASSIGN_OR_RETURN(RefPtr<TensorArray> gradient,
                     array->Gradient(ctx.allocator(), source_, prepended));
    RETURN_IF_ERROR(SetHandle(ctx, version_, std::move(gradient)));
    if (version_ == Version::kResource) ctx.set_output(1, ctx.input(1));
    return OkStatus();
  }

 private:
  const Version version_;
  const std::string source_;
};

Status TensorArraySize(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TensorArray> array, ArrayOf(ctx));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(array->size())));
  return OkStatus();
}

Status TensorArrayClose(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<TensorArray> array, ArrayOf(ctx));
  array->Close();
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_array, cpu) {
  for (const char* op : {"TensorArray", "TensorArrayV2", "TensorArrayV3"}) {
    registry.Add<TensorArrayCpu>(op, kCpu).Cost(KernelCost::kCheap);
  }
  for (const char* op :
       {"TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3", "TensorArrayGradWithShape"}) {
    registry.Add<TensorArrayGradCpu>(op, kCpu).Cost(KernelCost::kCheap);
  }
  for (const char* op : {"TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3"}) {
    registry.AddFunction<TensorArraySize>(op, kCpu).Cost(KernelCost::kCheap);
  }
  for (const char* op : {"TensorArrayClose", "TensorArrayCloseV2", "TensorArrayCloseV3"}) {
    registry.AddFunction<TensorArrayClose>(op, kCpu).Cost(KernelCost::kCheap);
  }
}
