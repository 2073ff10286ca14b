// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "thalweg/compute/ew/special.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/kernel/made_texts.h"

using thalweg::compute::BinaryOp;

namespace thalweg {
namespace {

// Strings are joined.
Status JoinStrings(Context& ctx) {
  const Shape a_shape = ctx.input(0).shape(), b_shape = ctx.input(1).shape();
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({a_shape.dims(), b_shape.dims()}));
  const std::string* a = ctx.input(0).data<std::string>();
  const std::string* b = ctx.input(1).data<std::string>();
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, DType::kString, Shape(broadcast.output_dims())));
  std::string* to = out->mutable_data<std::string>();
  TextMeter meter(ctx.allocator(), *out);
  const int last = broadcast.rank() - 1;
  compute::RowCursor row(broadcast, 0);
  for (int64_t r = 0; r < broadcast.rows(); ++r, row.Next()) {
    for (int64_t i = 0; i < broadcast.inner(); ++i) {
      const std::string& left = a[row.offset(0) + i * broadcast.stride(0, last)];
      const std::string& right = b[row.offset(1) + i * broadcast.stride(1, last)];
      if (!meter.Take(left.size() + right.size())) return meter.status();
      *to++ = left + right;
    }
  }
  return OkStatus();
}

Status TruncateDivFloats(Context& ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  const Shape a_shape = a.shape(), b_shape = b.shape();
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({a_shape.dims(), b_shape.dims()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.dtype(), Shape(broadcast.output_dims())));
  return compute::RunTruncateDiv(ctx.work(), a.dtype(), broadcast, a.raw_data(), b.raw_data(),
                                 out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(binary, cpu) {
  AddBinary<BinaryOp::kAdd>(registry, "Add", kSignedNumbers);
  AddBinary<BinaryOp::kAdd>(registry, "Add", {DType::kUint8});
  registry.AddFunction<JoinStrings>("Add", kCpu, {{"T", DType::kString}});
  AddBinary<BinaryOp::kAdd>(registry, "AddV2", kNumbers);
  AddBinary<BinaryOp::kSub>(registry, "Sub", kNumbers);
  AddBinary<BinaryOp::kMul>(registry, "Mul", kNumbers);
  AddBinary<BinaryOp::kDiv>(registry, "Div", kNumbers);
  AddBinary<BinaryOp::kDiv>(registry, "RealDiv", kFloatsAndComplex);
  AddBinary<BinaryOp::kFloorDiv>(registry, "FloorDiv", kReals);
  AddBinary<BinaryOp::kDiv>(registry, "TruncateDiv", kIntegers);
  for (DType dtype : kFloats) {
    registry.AddFunction<TruncateDivFloats>("TruncateDiv", kCpu, {{"T", dtype}});
  }
  AddBinary<BinaryOp::kFloorMod>(registry, "FloorMod", kReals);
  for (const char* op : {"Mod", "TruncateMod"}) {
    AddBinary<BinaryOp::kTruncateMod>(
        registry, op, {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64});
  }
  AddBinary<BinaryOp::kMaximum>(registry, "Maximum", kReals);
  AddBinary<BinaryOp::kMinimum>(registry, "Minimum", kReals);
  AddBinary<BinaryOp::kPow>(registry, "Pow", kSignedNumbers);
  AddBinary<BinaryOp::kSquaredDifference>(registry, "SquaredDifference", kFloatsAndComplex);
  AddBinary<BinaryOp::kSquaredDifference>(registry, "SquaredDifference",
                                          {DType::kInt32, DType::kInt64});
  AddBinary<BinaryOp::kDivNoNan>(registry, "DivNoNan", kFloatsAndComplex);
  AddBinary<BinaryOp::kMulNoNan>(registry, "MulNoNan", kFloatsAndComplex);
  AddBinary<BinaryOp::kXdivy>(registry, "Xdivy", kFloatsAndComplex);
  AddBinary<BinaryOp::kXlogy>(registry, "Xlogy", kFloatsAndComplex);
  AddBinary<BinaryOp::kAtan2>(registry, "Atan2", kFloats);
  AddBinary<BinaryOp::kBitwiseAnd>(registry, "BitwiseAnd", kIntegers);
  AddBinary<BinaryOp::kBitwiseOr>(registry, "BitwiseOr", kIntegers);
  AddBinary<BinaryOp::kBitwiseXor>(registry, "BitwiseXor", kIntegers);
  AddBinary<BinaryOp::kLeftShift>(registry, "LeftShift", kIntegers);
  AddBinary<BinaryOp::kRightShift>(registry, "RightShift", kIntegers);
}
