// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "thalweg/devices/gpu/element_wise.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// For which types of T there is a kernel: numbers of the device are float and int64. int32 is the
// host's, as sizes and indices are.
enum class On : uint8_t { kFloat, kNumbers };
// What comes out, and whether operands may differ in shape.
enum class Gives : uint8_t { kSame, kBool };
enum class Shapes : uint8_t { kBroadcast, kEqual };

struct Function {
  std::string_view op;
  size_t operands;
  std::string_view expression;
  On on = On::kFloat;
  Gives gives = Gives::kSame;
  Shapes shapes = Shapes::kBroadcast;
};

// A NaN of either operand is the maximum and the minimum.
constexpr auto kFunctions = std::to_array<Function>({
    {"Abs", 1, "x0 < 0 ? -x0 : x0", On::kNumbers},
    {"Ceil", 1, "ceil(x0)"},
    {"Cos", 1, "cos(x0)"},
    {"Elu", 1, "x0 < 0 ? expm1(x0) : x0"},
    {"Erf", 1, "erf(x0)"},
    {"Exp", 1, "exp(x0)"},
    {"Expm1", 1, "expm1(x0)"},
    {"Floor", 1, "floor(x0)"},
    {"IsFinite", 1, "isfinite(x0)", On::kFloat, Gives::kBool},
    {"IsNan", 1, "isnan(x0)", On::kFloat, Gives::kBool},
    {"Log", 1, "log(x0)"},
    {"Log1p", 1, "log1p(x0)"},
    {"Neg", 1, "-x0", On::kNumbers},
    {"Reciprocal", 1, "1.0f / x0"},
    {"Inv", 1, "1.0f / x0"},
    {"Relu", 1, "x0 < 0 ? 0 : x0", On::kNumbers},
    {"Relu6", 1, "x0 < 0 ? 0 : x0 > 6 ? 6 : x0"},
    {"Rint", 1, "rint(x0)"},
    {"Round", 1, "rint(x0)"},
    {"Rsqrt", 1, "1.0f / sqrt(x0)"},
    {"Sigmoid", 1, "1.0f / (1.0f + exp(-x0))"},
    {"Sign", 1, "x0 != x0 ? x0 : (x0 > 0) - (x0 < 0)"},
    {"Sin", 1, "sin(x0)"},
    {"Softplus", 1, "x0 > 20.0f ? x0 : x0 < -20.0f ? exp(x0) : log1p(exp(x0))"},
    {"Softsign", 1, "x0 / (1.0f + fabs(x0))"},
    {"Sqrt", 1, "sqrt(x0)"},
    {"Square", 1, "x0 * x0", On::kNumbers},
    {"Tanh", 1, "tanh(x0)"},
    {"Add", 2, "x0 + x1", On::kNumbers},
    {"AddV2", 2, "x0 + x1", On::kNumbers},
    {"Div", 2, "x0 / x1"},
    {"DivNoNan", 2, "x1 == 0 ? 0 : x0 / x1"},
    {"FloorDiv", 2, "floor(x0 / x1)"},
    {"Maximum", 2, "x0 > x1 || x0 != x0 ? x0 : x1", On::kNumbers},
    {"Minimum", 2, "x0 < x1 || x0 != x0 ? x0 : x1", On::kNumbers},
    {"Mul", 2, "x0 * x1", On::kNumbers},
    {"Pow", 2, "pow(x0, x1)"},
    {"RealDiv", 2, "x0 / x1"},
    {"SquaredDifference", 2, "(x0 - x1) * (x0 - x1)", On::kNumbers},
    {"Sub", 2, "x0 - x1", On::kNumbers},
    {"Equal", 2, "x0 == x1", On::kNumbers, Gives::kBool},
    {"Greater", 2, "x0 > x1", On::kNumbers, Gives::kBool},
    {"GreaterEqual", 2, "x0 >= x1", On::kNumbers, Gives::kBool},
    {"Less", 2, "x0 < x1", On::kNumbers, Gives::kBool},
    {"LessEqual", 2, "x0 <= x1", On::kNumbers, Gives::kBool},
    {"NotEqual", 2, "x0 != x1", On::kNumbers, Gives::kBool},
    {"EluGrad", 2, "x1 < 0 ? x0 * (x1 + 1) : x0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"ReciprocalGrad", 2, "-x1 * x0 * x0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"InvGrad", 2, "-x1 * x0 * x0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"Relu6Grad", 2, "x1 > 0 && x1 < 6 ? x0 : 0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"ReluGrad", 2, "x1 > 0 ? x0 : 0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"RsqrtGrad", 2, "-0.5f * x1 * x0 * x0 * x0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"SigmoidGrad", 2, "x1 * x0 * (1.0f - x0)", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"SoftplusGrad", 2, "x0 / (exp(-x1) + 1.0f)", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"SoftsignGrad", 2, "x0 / ((1.0f + fabs(x1)) * (1.0f + fabs(x1)))", On::kFloat, Gives::kSame,
     Shapes::kEqual},
    {"SqrtGrad", 2, "x1 * 0.5f / x0", On::kFloat, Gives::kSame, Shapes::kEqual},
    {"TanhGrad", 2, "x1 * (1.0f - x0 * x0)", On::kFloat, Gives::kSame, Shapes::kEqual},
});

constexpr auto kLogical = std::to_array<Function>({
    {"LogicalAnd", 2, "x0 && x1"},
    {"LogicalNot", 1, "!x0"},
    {"LogicalOr", 2, "x0 || x1"},
});

template <class List>
const Function* FindFunction(const List& list, std::string_view op) {
  for (const Function& function : list) {
    if (function.op == op) return &function;
  }
  return nullptr;
}

class FunctionKernel : public Kernel {
 public:
  FunctionKernel(const Function& function, ElementWise loop, DType result)
      : function_(function), loop_(loop), result_(result) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const Function* function = FindFunction(kFunctions, c.node().op_name());
    if (function == nullptr) function = FindFunction(kLogical, c.node().op_name());
    const DType result = c.output_type(0);
    const std::string type = GpuTypeName(c.input_type(0));
    ASSIGN_OR_RETURN(const ElementWise loop,
                     ElementWise::Make(GpuOf(c), std::vector<std::string>(function->operands, type),
                                       GpuTypeName(result), std::string(function->expression)));
    return std::unique_ptr<Kernel>(std::make_unique<FunctionKernel>(*function, loop, result));
  }

  Status Compute(Context& ctx) override {
    GpuQueue& queue = GpuOf(ctx).queue();
    const Tensor x = ctx.input(0);
    const Shape shape = x.shape();
    if (function_.operands == 1) {
      ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, result_, shape));
      return loop_.RunFlat(queue, {&x}, *y);
    }
    const Tensor x1 = ctx.input(1);
    const Shape shape1 = x1.shape();
    if (function_.shapes == Shapes::kEqual && shape != shape1) {
      return InvalidArgument("both inputs must have one shape, got ", shape, " and ", shape1);
    }
    ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({shape.dims(), shape1.dims()}));
    ASSIGN_OR_RETURN(Tensor * z, ctx.AllocateOutput(0, result_, Shape(broadcast.output_dims())));
    return loop_.Run(queue, broadcast, {&x, &x1}, *z);
  }

 private:
  const Function& function_;
  const ElementWise loop_;
  const DType result_;
};

class CastKernel : public Kernel {
 public:
  CastKernel(ElementWise loop, DType result) : loop_(loop), result_(result) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const DType result = c.output_type(0);
    ASSIGN_OR_RETURN(
        const ElementWise loop,
        ElementWise::Make(GpuOf(c), {GpuTypeName(c.input_type(0))}, GpuTypeName(result),
                          result == DType::kBool ? "x0 != 0" : "x0"));
    return std::unique_ptr<Kernel>(std::make_unique<CastKernel>(loop, result));
  }
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.dtype() == result_) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, result_, x.shape()));
    return loop_.RunFlat(GpuOf(ctx).queue(), {&x}, *y);
  }

 private:
  const ElementWise loop_;
  const DType result_;
};

class SelectKernel : public Kernel {
 public:
  SelectKernel(ElementWise loop, bool broadcasts) : loop_(loop), broadcasts_(broadcasts) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const std::string type = GpuTypeName(c.output_type(0));
    ASSIGN_OR_RETURN(const ElementWise loop,
                     ElementWise::Make(GpuOf(c), {"uchar", type, type}, type, "x0 ? x1 : x2"));
    return std::unique_ptr<Kernel>(
        std::make_unique<SelectKernel>(loop, c.node().op_name() == "SelectV2"));
  }
  Status Compute(Context& ctx) override {
    const Tensor &condition = ctx.input(0), &then = ctx.input(1), &otherwise = ctx.input(2);
    Dims dims = condition.shape().dims();
    const Shape a = then.shape(), b = otherwise.shape();
    if (!broadcasts_) {
      if (a != b) {
        return InvalidArgument("'then' and 'else' must have the same size, but received: ", a,
                               " vs. ", b);
      }
      // A vector chooses rows.
      if (dims.size() == 1 && a.rank() > 1 && dims[0] == a.dim(0)) {
        dims.resize(a.rank(), 1);
      } else if (dims.size() != 0 && !(dims == a.dims())) {
        return InvalidArgument(
            "'then' and 'condition' must have the same size, or 'condition' be "
            "a scalar or a vector of 'then's rows, got ",
            a, " and ", Shape(dims));
      }
    }
    ASSIGN_OR_RETURN(const auto broadcast, compute::Broadcast::Make({dims, a.dims(), b.dims()}));
    ASSIGN_OR_RETURN(Tensor * out,
                     ctx.AllocateOutput(0, then.dtype(), Shape(broadcast.output_dims())));
    return loop_.Run(GpuOf(ctx).queue(), broadcast, {&condition, &then, &otherwise}, *out);
  }

 private:
  const ElementWise loop_;
  const bool broadcasts_;
};

class AddNKernel : public Kernel {
 public:
  explicit AddNKernel(ElementWise add) : add_(add) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const std::string type = GpuTypeName(c.output_type(0));
    ASSIGN_OR_RETURN(const ElementWise add,
                     ElementWise::Make(GpuOf(c), {type, type}, type, "x0 + x1"));
    return std::unique_ptr<Kernel>(std::make_unique<AddNKernel>(add));
  }
  Status Compute(Context& ctx) override {
    const Tensor& first = ctx.input(0);
    const Shape shape = first.shape();
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() != shape) {
        return InvalidArgument(
            "Inputs to operation of type AddN must have the same size and "
            "shape. Input 0: ",
            shape, " != input ", i, ": ", ctx.input(i).shape());
      }
    }
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, first);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * sum, ctx.AllocateOutput(0, first.dtype(), shape));
    GpuQueue& queue = GpuOf(ctx).queue();
    RETURN_IF_ERROR(add_.RunFlat(queue, {&first, &ctx.input(1)}, *sum));
    for (int i = 2; i < ctx.num_inputs(); ++i) {
      RETURN_IF_ERROR(add_.RunFlat(queue, {sum, &ctx.input(i)}, *sum));
    }
    return OkStatus();
  }

 private:
  const ElementWise add_;
};

// Every element the same: that of input 1 (Fill), or a number.
class FillKernel : public Kernel {
 public:
  FillKernel(ElementWise loop, bool of_shape) : loop_(loop), of_shape_(of_shape) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const std::string type = GpuTypeName(c.output_type(0));
    const std::string op = c.node().op_name();
    const bool of_shape = op == "Fill";
    std::vector<std::string> operands;
    if (of_shape) operands.push_back(type);
    ASSIGN_OR_RETURN(const ElementWise loop, ElementWise::Make(GpuOf(c), operands, type,
                                                               of_shape           ? "x0"
                                                               : op == "OnesLike" ? "1"
                                                                                  : "0"));
    return std::unique_ptr<Kernel>(std::make_unique<FillKernel>(loop, of_shape));
  }
  Status Compute(Context& ctx) override;

 private:
  const ElementWise loop_;
  const bool of_shape_;
};

Status FillKernel::Compute(Context& ctx) {
  GpuQueue& queue = GpuOf(ctx).queue();
  if (!of_shape_) {
    const Tensor& like = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, like.dtype(), like.shape()));
    return loop_.RunFlat(queue, {}, *y);
  }
  const Tensor& value = ctx.input(1);
  if (value.num_elements() != 1) {
    return InvalidArgument("value must be a scalar, got shape ", value.shape());
  }
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "dims"));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, value.dtype(), shape));
  return loop_.RunFlat(queue, {&value}, *y);
}

}  // namespace

void AddElementWiseKernels(KernelAdder& adder) {
  for (const Function& function : kFunctions) {
    adder.AddLimited<FunctionKernel::Create>(function.op, {{"T", DType::kFloat}});
    if (function.on == On::kNumbers) {
      adder.AddLimited<FunctionKernel::Create>(function.op, {{"T", DType::kInt64}});
    }
  }
  for (const Function& function : kLogical)
    adder.AddLimited<FunctionKernel::Create>(function.op, {});
  constexpr auto kCastTypes = std::to_array<DType>(
      {DType::kFloat, DType::kInt32, DType::kInt64, DType::kBool, DType::kUint8});
  for (const DType from : kCastTypes) {
    for (const DType to : kCastTypes) {
      adder.AddLimited<CastKernel::Create>("Cast", {{"SrcT", from}, {"DstT", to}});
    }
  }
  for (const DType dtype : {DType::kFloat, DType::kInt64, DType::kBool}) {
    adder.AddLimited<SelectKernel::Create>("Select", {{"T", dtype}});
    adder.AddLimited<SelectKernel::Create>("SelectV2", {{"T", dtype}});
    adder.AddLimited<FillKernel::Create>("ZerosLike", {{"T", dtype}});
    adder.AddLimited<FillKernel::Create>("OnesLike", {{"T", dtype}});
    for (const DType index : {DType::kInt32, DType::kInt64}) {
      adder.AddLimited<FillKernel::Create>("Fill", {{"T", dtype}, {"index_type", index}}, {"dims"});
    }
  }
  for (const DType dtype : {DType::kFloat, DType::kInt64}) {
    adder.AddLimited<AddNKernel::Create>("AddN", {{"T", dtype}});
  }
}

}  // namespace thalweg
