// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/mutex.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/kernel/resource_manager.h"
#include "thalweg/ops/math/matmul_kernel.h"

namespace thalweg {
namespace {

using compute::UnaryOp;

// A matrix in the form that PackedGemm reads, kept from step to step; kernels of one session that
// multiply by the same weight share one. It holds on to the tensor it has packed: nobody can change
// those bytes meanwhile (an update of the variable makes a copy), so the same buffer means the same
// values. Another buffer is packed anew and the former one let go. With its last user it gives its
// memory back. Any thread.
class PackedWeight final : public Resource {
 public:
  void AddUser();
  void RemoveUser();
  Result<Tensor> Get(Context& ctx, const compute::GemmShape& shape, const Tensor& b);
  std::string DebugString() const override;

 private:
  mutable Mutex mutex_;
  int users_ GUARDED_BY(mutex_) = 0;
  Tensor source_ GUARDED_BY(mutex_);
  compute::Transpose transpose_ GUARDED_BY(mutex_) = compute::Transpose::kNo;
  compute::IsaLevel level_ GUARDED_BY(mutex_) = compute::IsaLevel::kSse4;
  Tensor packed_ GUARDED_BY(mutex_);
};

class PackedWeightUser {
 public:
  PackedWeightUser() = default;
  PackedWeightUser(const PackedWeightUser&) = delete;
  PackedWeightUser& operator=(const PackedWeightUser&) = delete;
  ~PackedWeightUser() {
    if (weight_) weight_->RemoveUser();
  }
  Status Open(ResourceManager& resources, const std::string& name);
  bool is_open() const { return static_cast<bool>(weight_); }
  Result<Tensor> Get(Context& ctx, const compute::GemmShape& shape, const Tensor& b) const {
    return weight_->Get(ctx, shape, b);
  }

 private:
  RefPtr<PackedWeight> weight_;
};

void PackedWeight::AddUser() {
  MutexLock lock(mutex_);
  ++users_;
}

void PackedWeight::RemoveUser() {
  Tensor source, packed;  // released after the lock
  MutexLock lock(mutex_);
  if (--users_ > 0) return;
  source.swap(source_);
  packed.swap(packed_);
}

Result<Tensor> PackedWeight::Get(Context& ctx, const compute::GemmShape& shape, const Tensor& b) {
  const compute::IsaTable& isa = ctx.work().isa();
  {
    MutexLock lock(mutex_);
    if (!packed_.empty() && source_.raw_data() == b.raw_data() && source_.dtype() == b.dtype() &&
        source_.shape() == b.shape() && transpose_ == shape.b && level_ == isa.level) {
      return packed_;
    }
  }
  // Two steps may both come here: each packs, the later one stays.
  ASSIGN_OR_RETURN(const int64_t size, compute::PackedSize(isa, b.dtype(), shape.n, shape.k));
  ASSIGN_OR_RETURN(Tensor packed,
                   Tensor::Allocate(ctx.allocator(), compute::PackedType(b.dtype()), Shape{size}));
  RETURN_IF_ERROR(
      compute::PackGemm(ctx.work(), b.dtype(), shape, b.raw_data(), packed.mutable_raw_data()));
  Tensor source = b, result = packed;
  MutexLock lock(mutex_);
  source.swap(source_);
  packed.swap(packed_);
  transpose_ = shape.b;
  level_ = isa.level;
  return result;
}

std::string PackedWeight::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("packed weight, ", packed_.empty() ? 0 : packed_.bytes(), " bytes");
}

Status PackedWeightUser::Open(ResourceManager& resources, const std::string& name) {
  ASSIGN_OR_RETURN(weight_, resources.LookupOrCreate<PackedWeight>(
                                "_packed_weights", name, []() -> Result<RefPtr<PackedWeight>> {
                                  return RefPtr<PackedWeight>::Adopt(new PackedWeight());
                                }));
  weight_->AddUser();
  return OkStatus();
}

// What follows the product. TensorFlow's names, in the order in which they may come.
struct Fusion {
  bool bias = false;
  bool residual = false;
  bool relu = false;
  std::optional<UnaryOp> activation;  // any but relu, which the product does itself
  bool leaky_relu = false;

  int args() const { return static_cast<int>(bias) + static_cast<int>(residual); }

  static Result<Fusion> Parse(const std::vector<std::string>& names) {
    constexpr std::pair<std::string_view, UnaryOp> kActivations[] = {
        {"Relu6", UnaryOp::kRelu6},
        {"Elu", UnaryOp::kElu},
        {"Tanh", UnaryOp::kTanh},
        {"Sigmoid", UnaryOp::kSigmoid}};
    Fusion fusion;
    size_t i = 0;
    const auto next = [&](std::string_view name) {
      if (i >= names.size() || names[i] != name) return false;
      ++i;
      return true;
    };
    fusion.bias = next("BiasAdd");
    fusion.residual = fusion.bias && next("Add");
    fusion.relu = next("Relu");
    if (!fusion.relu) fusion.leaky_relu = next("LeakyRelu");
    for (const auto& [name, op] : kActivations) {
      if (!fusion.relu && !fusion.leaky_relu && !fusion.activation && next(name)) {
        fusion.activation = op;
      }
    }
    if (i == names.size()) return fusion;
    return Unimplemented("fused_ops: '", names[i],
                         "' is unknown, or out of place: BiasAdd, Add and an activation may follow "
                         "each other");
  }
};

class FusedMatMulCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<FusedMatMulCpu>();
    ASSIGN_OR_RETURN(kernel->attrs_, MatMulAttrs::Parse(c));
    ASSIGN_OR_RETURN(const auto names, c.Attr<std::vector<std::string>>("fused_ops"));
    ASSIGN_OR_RETURN(kernel->fusion_, Fusion::Parse(names));
    ASSIGN_OR_RETURN(const int64_t args, c.Attr<int64_t>("num_args"));
    if (args != kernel->fusion_.args()) {
      return InvalidArgument("fused_ops need ", kernel->fusion_.args(), " args, got ", args);
    }
    ASSIGN_OR_RETURN(kernel->alpha_, c.Attr<float>("leakyrelu_alpha"));
    if (c.node().FindAttr("_fused_from") != nullptr) {
      ASSIGN_OR_RETURN(kernel->fused_from_, c.Attr<std::string>("_fused_from"));
    }
    if (c.node().FindAttr("_weight") != nullptr) {
      ASSIGN_OR_RETURN(const std::string weight, c.Attr<std::string>("_weight"));
      RETURN_IF_ERROR(kernel->weight_.Open(c.resources(), weight));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    Status status = Run(ctx);
    if (status.ok() || fused_from_.empty()) return status;
    return status.WithContext(StrCat("made of ", fused_from_));
  }

 private:
  Status Run(Context& ctx) {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const compute::GemmShape shape, attrs_.ShapeOf(a, b));
    const Shape result{shape.m, shape.n};
    compute::GemmEpilogue epilogue;
    epilogue.relu = fusion_.relu;
    if (fusion_.bias) {
      const Tensor& bias = ctx.input(2);
      if (bias.rank() != 1 || bias.dim(0) != shape.n) {
        return InvalidArgument("bias must have one element per column: the product is ",
                               result.ToString(), ", bias ", bias.shape());
      }
      epilogue.bias = bias.raw_data();
    }
    if (fusion_.residual) {
      const Tensor& residual = ctx.input(3);
      if (residual.shape() != result) {
        return InvalidArgument("what is added must have the shape of the product, ",
                               result.ToString(), ", got ", residual.shape());
      }
      epilogue.residual = residual.raw_data();
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, a.dtype(), result));
    if (weight_.is_open()) {
      ASSIGN_OR_RETURN(const Tensor packed, weight_.Get(ctx, shape, b));
      RETURN_IF_ERROR(compute::PackedGemm(ctx.work(), a.dtype(), shape, a.raw_data(),
                                          packed.raw_data(), y->mutable_raw_data(), epilogue));
    } else {
      RETURN_IF_ERROR(compute::Gemm(ctx.work(), a.dtype(), shape, a.raw_data(), b.raw_data(),
                                    y->mutable_raw_data(), epilogue));
    }
    return Activate(ctx, y);
  }

  Status Activate(Context& ctx, Tensor* y) const {
    void* const data = y->mutable_raw_data();
    if (fusion_.activation) {
      return compute::RunUnary(ctx.work(), *fusion_.activation, y->dtype(), y->num_elements(), data,
                               data);
    }
    if (!fusion_.leaky_relu) return OkStatus();
    const Half half(alpha_);
    const Bfloat16 bfloat16(alpha_);
    const void* alpha = y->dtype() == DType::kHalf       ? static_cast<const void*>(&half)
                        : y->dtype() == DType::kBfloat16 ? static_cast<const void*>(&bfloat16)
                                                         : static_cast<const void*>(&alpha_);
    const Shape shape = y->shape();
    ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({shape.dims(), Dims()}));
    return compute::RunBinary(ctx.work(), compute::BinaryOp::kLeakyRelu, y->dtype(), broadcast,
                              data, alpha, data);
  }

  MatMulAttrs attrs_;
  Fusion fusion_;
  float alpha_ = 0;
  std::string fused_from_;
  PackedWeightUser weight_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_matmul, cpu) {
  for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBfloat16}) {
    registry.Add<FusedMatMulCpu>("_FusedMatMul", kCpu, {{"T", dtype}});
  }
}
