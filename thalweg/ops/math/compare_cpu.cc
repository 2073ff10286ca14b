// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "thalweg/kernel/element_wise.h"

using thalweg::compute::BinaryOp;

namespace thalweg {
namespace {

// Quantized numbers are compared as the integers they are stored as.
DType Comparable(DType dtype) {
  switch (dtype) {
    case DType::kQint8:
      return DType::kInt8;
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint16:
      return DType::kInt16;
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

void CompareStrings(const compute::Broadcast& broadcast, bool equal, const std::string* a,
                    const std::string* b, bool* out) {
  const int last = broadcast.rank() - 1;
  compute::RowCursor row(broadcast, 0);
  for (int64_t r = 0; r < broadcast.rows(); ++r, row.Next()) {
    for (int64_t i = 0; i < broadcast.inner(); ++i) {
      const bool same = a[row.offset(0) + i * broadcast.stride(0, last)] ==
                        b[row.offset(1) + i * broadcast.stride(1, last)];
      *out++ = same == equal;
    }
  }
}

// Equal and NotEqual.
class EqualityCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<EqualityCpu>();
    ASSIGN_OR_RETURN(kernel->strict_, c.Attr<bool>("incompatible_shape_error"));
    kernel->equal_ = c.node().op_name() == "Equal";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    const BinaryOp op = equal_ ? BinaryOp::kEqual : BinaryOp::kNotEqual;
    // Scalars, as the predicates of loops and conditionals compare them: no shapes to make.
    constexpr auto kInline = Tensor::Kind::kInline;
    if (a.kind() == kInline && b.kind() == kInline && Comparable(a.dtype()) == a.dtype()) {
      return RunBinaryKernel(ctx, op);
    }
    const Shape a_shape = a.shape(), b_shape = b.shape();
    Result<compute::Broadcast> broadcast =
        compute::Broadcast::Make({a_shape.dims(), b_shape.dims()});
    if (!broadcast.ok()) {
      if (strict_) return std::move(broadcast).status();
      ctx.set_output(0, Tensor::Scalar(!equal_));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     ctx.AllocateOutput(0, DType::kBool, Shape(broadcast->output_dims())));
    if (a.dtype() == DType::kString) {
      CompareStrings(*broadcast, equal_, a.data<std::string>(), b.data<std::string>(),
                     out->mutable_data<bool>());
      return OkStatus();
    }
    return compute::RunBinary(ctx.work(), op, Comparable(a.dtype()), *broadcast, a.raw_data(),
                              b.raw_data(), out->mutable_raw_data());
  }

 private:
  bool strict_ = true;
  bool equal_ = true;
};

template <class T>
class ApproximateEqualCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<ApproximateEqualCpu<T>>();
    ASSIGN_OR_RETURN(kernel->tolerance_, c.Attr<float>("tolerance"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return InvalidArgument("x and y must have one shape, got ", a.shape(), " and ", b.shape());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kBool, a.shape()));
    const T *x = a.data<T>(), *y = b.data<T>();
    bool* to = out->mutable_data<bool>();
    const T tolerance = static_cast<T>(tolerance_);
    return compute::ForBlocks(ctx.work(), a.num_elements(), 65536, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) to[i] = std::abs(x[i] - y[i]) < tolerance;
    });
  }

 private:
  float tolerance_ = 0;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(compare, cpu) {
  for (const char* op : {"Equal", "NotEqual"}) {
    for (DType dtype : kNumbers) registry.Add<EqualityCpu>(op, kCpu, {{"T", dtype}});
    for (DType dtype : {DType::kBool, DType::kString, DType::kQint8, DType::kQuint8, DType::kQint16,
                        DType::kQuint16, DType::kQint32}) {
      registry.Add<EqualityCpu>(op, kCpu, {{"T", dtype}});
    }
  }
  AddBinary<BinaryOp::kLess>(registry, "Less", kReals);
  AddBinary<BinaryOp::kLessEqual>(registry, "LessEqual", kReals);
  AddBinary<BinaryOp::kGreater>(registry, "Greater", kReals);
  AddBinary<BinaryOp::kGreaterEqual>(registry, "GreaterEqual", kReals);
  registry.AddFunction<BinaryFunction<BinaryOp::kLogicalAnd>>("LogicalAnd", kCpu);
  registry.AddFunction<BinaryFunction<BinaryOp::kLogicalOr>>("LogicalOr", kCpu);
  ForEachType<Types<float, double>>([&]<class T> {
    registry.Add<ApproximateEqualCpu<T>>("ApproximateEqual", kCpu, {{"T", kDTypeOf<T>}});
  });
}
