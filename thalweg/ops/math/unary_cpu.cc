// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"
#include "thalweg/resources/variant_arithmetic.h"

namespace thalweg {
namespace {

Status ConjVariants(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, x.shape()));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const Variant& element = x.data<Variant>()[i];
    const auto* const value = element.As<ArithmeticVariant>();
    if (value == nullptr) {
      return Unimplemented("the conjugate of ",
                           element.get() == nullptr ? "nothing" : element.get()->TypeName(),
                           " is not known");
    }
    ASSIGN_OR_RETURN(out->mutable_data<Variant>()[i], value->Conjugate(ctx));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

using thalweg::compute::BinaryOp;
using thalweg::compute::UnaryOp;

THALWEG_KERNEL(unary, cpu) {
  AddUnary<UnaryOp::kNeg>(registry, "Neg", kSignedNumbers);
  AddUnary<UnaryOp::kAbs>(registry, "Abs", kSignedReals);
  AddUnary<UnaryOp::kSign>(registry, "Sign", kSignedNumbers);
  AddUnary<UnaryOp::kConj>(registry, "Conj", {DType::kComplex64, DType::kComplex128});
  registry.AddFunction<ConjVariants>("Conj", kCpu, {{"T", DType::kVariant}});
  AddUnary<UnaryOp::kSquare>(registry, "Square", kNumbers);
  AddUnary<UnaryOp::kSqrt>(registry, "Sqrt", kFloatsAndComplex);
  AddUnary<UnaryOp::kRsqrt>(registry, "Rsqrt", kFloatsAndComplex);
  AddUnary<UnaryOp::kReciprocal>(registry, "Reciprocal", kFloatsAndComplex);
  AddUnary<UnaryOp::kReciprocal>(registry, "Inv", kFloatsAndComplex);
  AddUnary<UnaryOp::kExp>(registry, "Exp", kFloatsAndComplex);
  AddUnary<UnaryOp::kExpm1>(registry, "Expm1", kFloatsAndComplex);
  AddUnary<UnaryOp::kLog>(registry, "Log", kFloatsAndComplex);
  AddUnary<UnaryOp::kLog1p>(registry, "Log1p", kFloatsAndComplex);
  AddUnary<UnaryOp::kTanh>(registry, "Tanh", kFloatsAndComplex);
  AddUnary<UnaryOp::kSigmoid>(registry, "Sigmoid", kFloatsAndComplex);
  AddUnary<UnaryOp::kSin>(registry, "Sin", kFloatsAndComplex);
  AddUnary<UnaryOp::kCos>(registry, "Cos", kFloatsAndComplex);
  AddUnary<UnaryOp::kTan>(registry, "Tan", kFloatsAndComplex);
  AddUnary<UnaryOp::kAsin>(registry, "Asin", kFloatsAndComplex);
  AddUnary<UnaryOp::kAcos>(registry, "Acos", kFloatsAndComplex);
  AddUnary<UnaryOp::kAtan>(registry, "Atan", kFloatsAndComplex);
  AddUnary<UnaryOp::kSinh>(registry, "Sinh", kFloatsAndComplex);
  AddUnary<UnaryOp::kCosh>(registry, "Cosh", kFloatsAndComplex);
  AddUnary<UnaryOp::kAsinh>(registry, "Asinh", kFloatsAndComplex);
  AddUnary<UnaryOp::kAcosh>(registry, "Acosh", kFloatsAndComplex);
  AddUnary<UnaryOp::kAtanh>(registry, "Atanh", kFloatsAndComplex);
  AddUnary<UnaryOp::kErf>(registry, "Erf", kFloats);
  AddUnary<UnaryOp::kErfc>(registry, "Erfc", kFloats);
  AddUnary<UnaryOp::kLgamma>(registry, "Lgamma", {DType::kFloat, DType::kDouble, DType::kHalf});
  AddUnary<UnaryOp::kDigamma>(registry, "Digamma", {DType::kFloat, DType::kDouble, DType::kHalf});
  AddUnary<UnaryOp::kFloor>(registry, "Floor", kFloats);
  AddUnary<UnaryOp::kCeil>(registry, "Ceil", kFloats);
  AddUnary<UnaryOp::kRound>(registry, "Round", kFloats);
  AddUnary<UnaryOp::kIdentity>(registry, "Round", {DType::kInt32, DType::kInt64});
  AddUnary<UnaryOp::kRound>(registry, "Rint", {DType::kFloat, DType::kDouble});
  AddUnary<UnaryOp::kIsNan>(registry, "IsNan", kFloats);
  AddUnary<UnaryOp::kIsInf>(registry, "IsInf", kFloats);
  AddUnary<UnaryOp::kIsFinite>(registry, "IsFinite", kFloats);
  AddUnary<UnaryOp::kInvert>(registry, "Invert", kIntegers);
  registry.AddFunction<UnaryFunction<UnaryOp::kLogicalNot>>("LogicalNot", kCpu);

  AddSameShape<BinaryOp::kTanhGrad>(registry, "TanhGrad", kFloatsAndComplex);
  AddSameShape<BinaryOp::kSigmoidGrad>(registry, "SigmoidGrad", kFloatsAndComplex);
  AddSameShape<BinaryOp::kSqrtGrad>(registry, "SqrtGrad", kFloatsAndComplex);
  AddSameShape<BinaryOp::kRsqrtGrad>(registry, "RsqrtGrad", kFloatsAndComplex);
  AddSameShape<BinaryOp::kReciprocalGrad>(registry, "ReciprocalGrad", kFloatsAndComplex);
  AddSameShape<BinaryOp::kReciprocalGrad>(registry, "InvGrad", kFloatsAndComplex);
}
