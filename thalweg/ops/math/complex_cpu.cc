// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/complex_parts.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

using compute::ComplexPart;

template <ComplexPart Part>
Status TakePart(Context& ctx) {
  const Tensor& z = ctx.input(0);
  const DType part = z.dtype() == DType::kComplex64 ? DType::kFloat : DType::kDouble;
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, part, z.shape()));
  return compute::RunComplexPart(ctx.work(), Part, z.dtype(), z.num_elements(), z.raw_data(),
                                 out->mutable_raw_data());
}

Status MakeComplex(Context& ctx) {
  const Tensor &re = ctx.input(0), &im = ctx.input(1);
  const Shape re_shape = re.shape(), im_shape = im.shape();
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({re_shape.dims(), im_shape.dims()}));
  const DType both = re.dtype() == DType::kFloat ? DType::kComplex64 : DType::kComplex128;
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, both, Shape(broadcast.output_dims())));
  return compute::RunMakeComplex(ctx.work(), re.dtype(), broadcast, re.raw_data(), im.raw_data(),
                                 out->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(complex, cpu) {
  const auto add = [&](DType whole, DType part) {
    const std::initializer_list<KernelType> types = {{"T", whole}, {"Tout", part}};
    registry.AddFunction<TakePart<ComplexPart::kAngle>>("Angle", kCpu, types);
    registry.AddFunction<TakePart<ComplexPart::kAbs>>("ComplexAbs", kCpu, types);
    registry.AddFunction<TakePart<ComplexPart::kImag>>("Imag", kCpu, types);
    registry.AddFunction<TakePart<ComplexPart::kReal>>("Real", kCpu, types);
    registry.AddFunction<MakeComplex>("Complex", kCpu, {{"T", part}, {"Tout", whole}});
  };
  add(DType::kComplex64, DType::kFloat);
  add(DType::kComplex128, DType::kDouble);
}
