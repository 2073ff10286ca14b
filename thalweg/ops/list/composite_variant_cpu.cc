// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/resources/composite_value.h"

namespace thalweg {
namespace {

// The class of value that an encoded TypeSpecProto is about: its field 1; 0 where it does not say.
Result<uint64_t> KindOf(const std::string& metadata) {
  WireReader reader(metadata);
  uint64_t kind = 0;
  uint32_t tag = 0;
  while (reader.ReadTag(&tag)) {
    const bool is_kind = tag == WireTag(1, WireType::kVarint);
    if (!(is_kind ? reader.ReadVarint(&kind) : reader.Skip(tag))) break;
  }
  if (reader.AtEnd()) return kind;
  return InvalidArgument("Error parsing metadata: it is no TypeSpecProto");
}

class FromComponentsCpu : public Kernel {
 public:
  explicit FromComponentsCpu(uint64_t kind) : kind_(kind) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string metadata, c.Attr<std::string>("metadata"));
    ASSIGN_OR_RETURN(const uint64_t kind, KindOf(metadata));
    return std::unique_ptr<Kernel>(std::make_unique<FromComponentsCpu>(kind));
  }
  Status Compute(Context& ctx) override {
    std::vector<Tensor> components;
    for (int i = 0; i < ctx.num_inputs(); ++i) components.push_back(ctx.input(i));
    auto value = std::make_shared<const CompositeValue>(kind_, std::move(components));
    RETURN_IF_ERROR(CheckDepth(*value));
    ctx.set_output(0, Tensor::Scalar(Variant(std::move(value))));
    return OkStatus();
  }

 private:
  const uint64_t kind_;
};

class ToComponentsCpu : public Kernel {
 public:
  ToComponentsCpu(uint64_t kind, std::vector<DType> types)
      : kind_(kind), types_(std::move(types)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string metadata, c.Attr<std::string>("metadata"));
    ASSIGN_OR_RETURN(const uint64_t kind, KindOf(metadata));
    ASSIGN_OR_RETURN(std::vector<DType> types, c.Attr<std::vector<DType>>("Tcomponents"));
    return std::unique_ptr<Kernel>(std::make_unique<ToComponentsCpu>(kind, std::move(types)));
  }
  Status Compute(Context& ctx) override {
    const Tensor& encoded = ctx.input(0);
    const CompositeValue* const value =
        encoded.rank() == 0 ? encoded.scalar<Variant>().As<CompositeValue>() : nullptr;
    if (value == nullptr) {
      return InvalidArgument(
          "The input `encoded` is not a valid CompositeTensorVariant tensor, got ",
          encoded.ToString());
    }
    if (value->kind() != kind_) {
      return InvalidArgument("Expected a value of class ", kind_,
                             " (based on `type_spec`), but `encoded` contains one of class ",
                             value->kind());
    }
    const std::vector<Tensor>& found = value->components();
    if (found.size() != types_.size()) {
      return InvalidArgument("Encoded value has ", found.size(), " tensor components; expected ",
                             types_.size(), " components based on type_spec");
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      if (found[i].dtype() != types_[i]) {
        return InvalidArgument("Tensor component ", i, " had dtype ", found[i].dtype(),
                               "; expected dtype ", types_[i]);
      }
    }
    for (size_t i = 0; i < types_.size(); ++i) ctx.set_output(static_cast<int>(i), found[i]);
    return OkStatus();
  }

 private:
  const uint64_t kind_;
  const std::vector<DType> types_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(composite_variant, cpu) {
  registry.Add<FromComponentsCpu>("CompositeTensorVariantFromComponents", kCpu)
      .Cost(KernelCost::kCheap);
  registry.Add<ToComponentsCpu>("CompositeTensorVariantToComponents", kCpu)
      .Cost(KernelCost::kCheap);
}
