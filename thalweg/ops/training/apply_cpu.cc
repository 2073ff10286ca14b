// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/compute/optimizer/optimizer.h"
#include "thalweg/compute/optimizer/plain.h"
#include "thalweg/compute/optimizer/proximal.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

using compute::ProximalRule;
using compute::UpdateRule;

// What the arguments of an operation are called, in the order of compute/.
struct UpdateArgs {
  std::vector<std::string_view> slots;
  std::vector<std::string_view> scalars;
  std::string_view grad = "grad";
};

// A scalar of any number type; real ones have no imaginary part.
using Number = std::complex<double>;

Result<Number> NumberOf(const Tensor& tensor, std::string_view what) {
  // TensorFlow takes the rate of decay of signs in other shapes too.
  if (tensor.rank() != 0 && !(what == "sign_decay" && IsLegacyScalar(tensor))) {
    const bool strength = what == "l1" || what == "l2";
    return InvalidArgument(what, strength ? " regularization strength" : "",
                           " is not a scalar: ", tensor.shape());
  }
  switch (tensor.dtype()) {
    case DType::kFloat:
      return Number(tensor.scalar<float>());
    case DType::kDouble:
      return Number(tensor.scalar<double>());
    case DType::kHalf:
      return Number(static_cast<float>(tensor.scalar<Half>()));
    case DType::kBfloat16:
      return Number(static_cast<float>(tensor.scalar<Bfloat16>()));
    case DType::kInt64:
      return Number(static_cast<double>(tensor.scalar<int64_t>()));
    case DType::kComplex64:
      return Number(tensor.scalar<std::complex<float>>());
    case DType::kComplex128:
      return tensor.scalar<std::complex<double>>();
    default:
      return Unimplemented(what, " of type ", tensor.dtype());
  }
}

// A gradient has one row of the variable's shape for each of `count` indices.
Status CheckRows(const Shape& var, int64_t count, const Shape& grad) {
  Dims expected = var.dims();
  expected[0] = count;
  if (grad == Shape(expected)) return OkStatus();
  const int shared = std::min(var.rank(), grad.rank());
  int d = 1;
  while (d < shared && var.dim(d) == grad.dim(d)) ++d;
  if (d < shared) {
    return InvalidArgument("var and grad must match in dimension ", d, ": they are ", var, " and ",
                           grad);
  }
  return InvalidArgument("grad must be the same size as indices in the first dimension: ",
                         Shape(expected), " of ", count, " indices, got ", grad);
}

// Each in [0, rows), as int64. One that is not is looked for once more, for words of its own.
Result<Tensor> IndicesOfRows(Context& ctx, const Tensor& given, int64_t rows) {
  Result<Tensor> indices = CheckedIndices(ctx.allocator(), given, rows, "indices");
  for (int64_t i = 0; !indices.ok() && i < given.num_elements(); ++i) {
    const int64_t index = IntAt(given, i);
    if (index >= 0 && index < rows) continue;
    return InvalidArgument("Index ", index, " at offset ", i,
                           " in indices is out of range: var has ", rows, " rows");
  }
  return indices;
}

class UpdateKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c, const UpdateArgs& args) {
    ASSIGN_OR_RETURN(use_locking_, c.Attr<bool>("use_locking"));
    if (c.node().FindAttr("update_slots") != nullptr) {
      ASSIGN_OR_RETURN(update_slots_, c.Attr<bool>("update_slots"));
    }
    if (c.node().FindAttr("multiply_linear_by_lr") != nullptr) {
      ASSIGN_OR_RETURN(linear_times_lr_, c.Attr<bool>("multiply_linear_by_lr"));
    }
    variables_.push_back(0);
    for (std::string_view slot : args.slots) {
      ASSIGN_OR_RETURN(const auto range, c.node().InputRange(slot));
      variables_.push_back(range.first);
    }
    for (std::string_view scalar : args.scalars) {
      ASSIGN_OR_RETURN(const auto range, c.node().InputRange(scalar));
      scalars_.push_back({range.first, std::string(scalar)});
    }
    grad_name_ = args.grad;
    ASSIGN_OR_RETURN(const auto grad, c.node().InputRange(args.grad));
    grad_ = grad.first;
    const Result<std::pair<int, int>> indices = c.node().InputRange("indices");
    if (indices.ok()) indices_ = indices->first;
    return OkStatus();
  }

  Status Compute(Context& ctx) override {
    std::vector<Number> scalars;
    for (const auto& [input, name] : scalars_) {
      ASSIGN_OR_RETURN(const Number value, NumberOf(ctx.input(input), name));
      scalars.push_back(value);
    }
    std::vector<RefPtr<Variable>> variables;
    for (int i : variables_) {
      ASSIGN_OR_RETURN(RefPtr<Variable> variable, VariableOf(ctx, i));
      variables.push_back(std::move(variable));
    }
    Variable::Updates updates;
    ASSIGN_OR_RETURN(const std::vector<Tensor*> tensors,
                     updates.Open(std::move(variables), ctx.allocator(), use_locking_));
    const Tensor& grad = ctx.input(grad_);
    const Shape shape = tensors[0]->shape();
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (tensors[k]->dtype() != grad.dtype() || tensors[k]->shape() != shape) {
        return InvalidArgument("variables and gradient must agree: var is ", grad.dtype(),
                               shape.ToString(), ", slot ", k, " is ", tensors[k]->dtype(),
                               tensors[k]->shape());
      }
    }
    RETURN_IF_ERROR(indices_ ? RunSparse(ctx, tensors, grad, scalars)
                             : RunDense(ctx, tensors, grad, scalars));
    updates.Commit();
    if (ctx.num_outputs() == 1) ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 protected:
  struct Rows {
    const int64_t* indices;
    int64_t count, inner;
  };
  // `rows` is null for a dense update of n elements.
  virtual Status Run(Context& ctx, DType dtype, int64_t n, const Rows* rows,
                     const std::vector<Tensor*>& tensors, const Tensor& grad,
                     const std::vector<Number>& scalars) = 0;

  // The rules of compute/optimizer/plain.h.
  Status RunPlainRule(Context& ctx, UpdateRule rule, DType dtype, int64_t n, const Rows* rows,
                      const std::vector<Tensor*>& tensors, const Tensor& grad,
                      const std::vector<Number>& scalars) const {
    compute::PlainUpdate update{.rule = rule,
                                .update_slots = update_slots_,
                                .var = tensors[0]->mutable_raw_data(),
                                .slots = {},
                                .grad = grad.raw_data(),
                                .scalars = {}};
    for (size_t k = 1; k < tensors.size(); ++k) {
      update.slots[k - 1] = tensors[k]->mutable_raw_data();
    }
    std::ranges::copy(scalars, update.scalars.begin());
    if (rows == nullptr) return compute::RunPlain(ctx.work(), dtype, n, update);
    return compute::RunSparsePlain(ctx.work(), dtype, rows->indices, rows->count, rows->inner,
                                   update);
  }
  bool update_slots() const { return update_slots_; }
  bool linear_times_lr() const { return linear_times_lr_; }

 private:
  Status RunDense(Context& ctx, const std::vector<Tensor*>& tensors, const Tensor& grad,
                  const std::vector<Number>& scalars) {
    if (grad.shape() != tensors[0]->shape()) {
      return InvalidArgument("var and ", grad_name_, " do not have the same shape",
                             tensors[0]->shape(), " ", grad.shape());
    }
    return Run(ctx, grad.dtype(), grad.num_elements(), nullptr, tensors, grad, scalars);
  }

  Status RunSparse(Context& ctx, const std::vector<Tensor*>& tensors, const Tensor& grad,
                   const std::vector<Number>& scalars) {
    const Tensor& given = ctx.input(*indices_);
    const Shape var = tensors[0]->shape();
    if (var.rank() < 1) return InvalidArgument("var must be at least 1 dimensional");
    if (given.rank() != 1) {
      return InvalidArgument("indices must be one-dimensional, got shape ", given.shape());
    }
    RETURN_IF_ERROR(CheckRows(var, given.num_elements(), grad.shape()));
    ASSIGN_OR_RETURN(const Tensor indices, IndicesOfRows(ctx, given, var.dim(0)));
    const int64_t count = given.num_elements();
    if (count == 0) return OkStatus();
    const Rows rows{indices.data<int64_t>(), count, grad.num_elements() / count};
    return Run(ctx, grad.dtype(), grad.num_elements(), &rows, tensors, grad, scalars);
  }

  bool use_locking_ = false;
  bool update_slots_ = true;
  bool linear_times_lr_ = false;
  std::vector<int> variables_;  // inputs: var, then slots
  std::vector<std::pair<int, std::string>> scalars_;
  int grad_ = 0;
  std::string grad_name_;
  std::optional<int> indices_;
};

// Rules of compute/optimizer/optimizer.h.
template <UpdateRule Rule>
class PlainUpdate : public UpdateKernel {
 public:
  static UpdateArgs Args();
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<PlainUpdate>();
    RETURN_IF_ERROR(kernel->Read(c, Args()));
    if (c.node().FindAttr("use_nesterov") != nullptr) {
      ASSIGN_OR_RETURN(const bool nesterov, c.Attr<bool>("use_nesterov"));
      if (nesterov && Rule == UpdateRule::kMomentum) kernel->rule_ = UpdateRule::kNesterov;
      if (nesterov && Rule == UpdateRule::kAdam) kernel->rule_ = UpdateRule::kAdamNesterov;
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  Status Run(Context& ctx, DType dtype, int64_t n, const Rows* rows,
             const std::vector<Tensor*>& tensors, const Tensor& grad,
             const std::vector<Number>& scalars) override {
    if (IsComplex(dtype) || !update_slots()) {
      std::vector<Number> numbers = scalars;
      if (Rule == UpdateRule::kAdam) {
        const Number alpha = scalars[0] * std::sqrt(1.0 - scalars[5]) / (1.0 - scalars[4]);
        numbers = {alpha, scalars[1], scalars[2], scalars[3]};
      }
      return RunPlainRule(ctx, rule_, dtype, n, rows, tensors, grad, numbers);
    }
    std::vector<double> reals;
    for (const Number& scalar : scalars) reals.push_back(scalar.real());
    compute::Update update{.rule = rule_,
                           .var = tensors[0]->mutable_raw_data(),
                           .slots = {},
                           .grad = grad.raw_data(),
                           .scalars = {}};
    for (size_t k = 1; k < tensors.size(); ++k) {
      update.slots[k - 1] = tensors[k]->mutable_raw_data();
    }
    if (Rule == UpdateRule::kAdam) {
      update.scalars =
          compute::AdamScalars(dtype, reals[0], reals[1], reals[2], reals[3], reals[4], reals[5]);
    } else {
      std::ranges::copy(reals, update.scalars.value);
    }
    if (rows == nullptr) return compute::RunUpdate(ctx.work(), dtype, n, update);
    return compute::RunSparseUpdate(ctx.work(), dtype, {rows->indices, rows->count, rows->inner},
                                    update);
  }

 private:
  UpdateRule rule_ = Rule;
};

template <UpdateRule Rule>
UpdateArgs PlainUpdate<Rule>::Args() {
  switch (Rule) {
    case UpdateRule::kGradientDescent:
      return {{}, {"alpha"}, "delta"};
    case UpdateRule::kMomentum:
      return {{"accum"}, {"lr", "momentum"}};
    case UpdateRule::kAdagrad:
      return {{"accum"}, {"lr"}};
    case UpdateRule::kAdagradV2:
      return {{"accum"}, {"lr", "epsilon"}};
    case UpdateRule::kAdadelta:
      return {{"accum", "accum_update"}, {"lr", "rho", "epsilon"}};
    case UpdateRule::kRmsProp:
      return {{"ms", "mom"}, {"lr", "rho", "momentum", "epsilon"}};
    case UpdateRule::kCenteredRmsProp:
      return {{"ms", "mom", "mg"}, {"lr", "rho", "momentum", "epsilon"}};
    default:
      return {{"m", "v"}, {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"}};
  }
}

// Rules of compute/optimizer/proximal.h.
template <ProximalRule Rule, bool Shrinkage = false>
class PenalizedUpdate : public UpdateKernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<PenalizedUpdate>();
    UpdateArgs args;
    switch (Rule) {
      case ProximalRule::kGradientDescent:
        args = {{}, {"alpha", "l1", "l2"}};
        // The dense forms call the gradient delta.
        if (c.node().op_name().find("Sparse") == std::string::npos) args.grad = "delta";
        break;
      case ProximalRule::kAdagrad:
        args = {{"accum"}, {"lr", "l1", "l2"}};
        break;
      case ProximalRule::kFtrl:
        args = {{"accum", "linear"}, {"lr", "l1", "l2", "lr_power"}};
        if (Shrinkage) args.scalars.push_back("l2_shrinkage");
        break;
      case ProximalRule::kDualAveraging:
        args = {{"gradient_accumulator", "gradient_squared_accumulator"},
                {"lr", "l1", "l2", "global_step"}};
        break;
    }
    RETURN_IF_ERROR(kernel->Read(c, args));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  Status Run(Context& ctx, DType dtype, int64_t n, const Rows* rows,
             const std::vector<Tensor*>& tensors, const Tensor& grad,
             const std::vector<Number>& scalars) override {
    compute::ProximalUpdate update{.rule = Rule,
                                   .var = tensors[0]->mutable_raw_data(),
                                   .slots = {},
                                   .grad = grad.raw_data(),
                                   .scalars = {}};
    for (size_t k = 1; k < tensors.size(); ++k) {
      update.slots[k - 1] = tensors[k]->mutable_raw_data();
    }
    update.scalars.lr = scalars[0].real();
    update.scalars.l1 = scalars[1].real();
    update.scalars.l2 = scalars[2].real();
    update.scalars.linear_times_lr = linear_times_lr();
    if (Rule == ProximalRule::kFtrl) update.scalars.lr_power = scalars[3].real();
    if (Shrinkage) update.scalars.l2_shrinkage = scalars[4].real();
    if (Rule == ProximalRule::kDualAveraging) update.scalars.step = scalars[3].real();
    if (rows == nullptr) return compute::RunProximal(ctx.work(), dtype, n, update);
    return compute::RunSparseProximal(ctx.work(), dtype, rows->indices, rows->count, rows->inner,
                                      update);
  }
};

// Rules that only compute/optimizer/plain.h has.
template <UpdateRule Rule>
class OtherUpdate : public UpdateKernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<OtherUpdate>();
    RETURN_IF_ERROR(kernel->Read(c, Args()));
    if (Rule == UpdateRule::kKerasMomentum) {
      ASSIGN_OR_RETURN(const bool nesterov, c.Attr<bool>("use_nesterov"));
      if (nesterov) kernel->rule_ = UpdateRule::kKerasNesterov;
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  Status Run(Context& ctx, DType dtype, int64_t n, const Rows* rows,
             const std::vector<Tensor*>& tensors, const Tensor& grad,
             const std::vector<Number>& scalars) override {
    if (Rule != UpdateRule::kAmsgrad) {
      return RunPlainRule(ctx, rule_, dtype, n, rows, tensors, grad, scalars);
    }
    const compute::UpdateScalars adam =
        compute::AdamScalars(dtype, scalars[0].real(), scalars[1].real(), scalars[2].real(),
                             scalars[3].real(), scalars[4].real(), scalars[5].real());
    return RunPlainRule(ctx, rule_, dtype, n, rows, tensors, grad,
                        {adam.value[0], adam.value[1], adam.value[2], adam.value[3]});
  }

 private:
  static UpdateArgs Args() {
    switch (Rule) {
      case UpdateRule::kAdaMax:
        return {{"m", "v"}, {"lr", "beta1", "beta2", "epsilon", "beta1_power"}};
      case UpdateRule::kAddSign:
        return {{"m"}, {"lr", "alpha", "sign_decay", "beta"}};
      case UpdateRule::kPowerSign:
        return {{"m"}, {"lr", "logbase", "sign_decay", "beta"}};
      case UpdateRule::kAmsgrad:
        return {{"m", "v", "vhat"},
                {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"}};
      default:
        return {{"accum"}, {"lr", "momentum"}};
    }
  }
  UpdateRule rule_ = Rule;
};

template <class K>
void AddUpdate(KernelRegistry& registry, std::string_view rule, DTypeList types,
               bool has_sparse = true) {
  for (DType dtype : types) {
    registry.Add<K>(StrCat("Apply", rule), kCpu, {{"T", dtype}});
    registry.Add<K>(StrCat("ResourceApply", rule), kCpu, {{"T", dtype}});
    if (!has_sparse) continue;
    registry.Add<K>(StrCat("SparseApply", rule), kCpu, {{"T", dtype}});
    registry.Add<K>(StrCat("ResourceSparseApply", rule), kCpu, {{"T", dtype}});
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(apply, cpu) {
  const DTypeList kFloatAndDouble = {DType::kFloat, DType::kDouble};
  AddUpdate<PlainUpdate<UpdateRule::kGradientDescent>>(registry, "GradientDescent",
                                                       kFloatsAndComplex, false);
  AddUpdate<PlainUpdate<UpdateRule::kMomentum>>(registry, "Momentum", kFloatsAndComplex);
  AddUpdate<PlainUpdate<UpdateRule::kAdagrad>>(registry, "Adagrad", kFloatsAndComplex);
  AddUpdate<PlainUpdate<UpdateRule::kAdagradV2>>(registry, "AdagradV2", kFloatsAndComplex);
  AddUpdate<PlainUpdate<UpdateRule::kAdadelta>>(registry, "Adadelta", kFloatsAndComplex);
  AddUpdate<PlainUpdate<UpdateRule::kRmsProp>>(registry, "RMSProp", kFloatsAndComplex);
  AddUpdate<PlainUpdate<UpdateRule::kCenteredRmsProp>>(registry, "CenteredRMSProp",
                                                       kFloatsAndComplex);
  AddUpdate<PlainUpdate<UpdateRule::kAdam>>(registry, "Adam", kFloatsAndComplex, false);
  AddUpdate<PenalizedUpdate<ProximalRule::kGradientDescent>>(registry, "ProximalGradientDescent",
                                                             kFloatAndDouble);
  AddUpdate<PenalizedUpdate<ProximalRule::kAdagrad>>(registry, "ProximalAdagrad", kFloatAndDouble);
  AddUpdate<PenalizedUpdate<ProximalRule::kFtrl>>(registry, "Ftrl", kFloats);
  AddUpdate<PenalizedUpdate<ProximalRule::kFtrl, true>>(registry, "FtrlV2", kFloats);
  AddUpdate<PenalizedUpdate<ProximalRule::kDualAveraging>>(registry, "AdagradDA", kFloatAndDouble);
  for (DType dtype : kFloats) {
    for (const char* prefix : {"Apply", "ResourceApply"}) {
      if (dtype != DType::kBfloat16) {
        registry.Add<OtherUpdate<UpdateRule::kAdaMax>>(StrCat(prefix, "AdaMax"), kCpu,
                                                       {{"T", dtype}});
      }
      registry.Add<OtherUpdate<UpdateRule::kAddSign>>(StrCat(prefix, "AddSign"), kCpu,
                                                      {{"T", dtype}});
      registry.Add<OtherUpdate<UpdateRule::kPowerSign>>(StrCat(prefix, "PowerSign"), kCpu,
                                                        {{"T", dtype}});
    }
    registry.Add<OtherUpdate<UpdateRule::kAmsgrad>>("ResourceApplyAdamWithAmsgrad", kCpu,
                                                    {{"T", dtype}});
  }
  for (DType dtype : kFloatsAndComplex) {
    for (const char* prefix : {"ResourceApply", "ResourceSparseApply"}) {
      registry.Add<OtherUpdate<UpdateRule::kKerasMomentum>>(StrCat(prefix, "KerasMomentum"), kCpu,
                                                            {{"T", dtype}});
    }
  }
}
