// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/special.h"
#include "thalweg/kernel/element_wise.h"

namespace thalweg {
namespace {

using compute::SpecialUnary;

template <SpecialUnary Op>
Status Special(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const DType dtype = x.dtype();
  const int64_t n = x.num_elements();
  const void* data = x.raw_data();
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, dtype, x.shape()));
  return compute::RunSpecial(ctx.work(), Op, dtype, n, data, y->mutable_raw_data());
}

template <SpecialUnary Op>
void Add(KernelRegistry& registry, std::string_view name, DTypeList types) {
  for (DType dtype : types) registry.AddFunction<Special<Op>>(name, kCpu, {{"T", dtype}});
}

constexpr DTypeList kBesselTypes = {DType::kHalf, DType::kFloat, DType::kDouble};
constexpr DTypeList kWide = {DType::kFloat, DType::kDouble};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(special, cpu) {
  Add<SpecialUnary::kBesselI0>(registry, "BesselI0", kBesselTypes);
  Add<SpecialUnary::kBesselI0e>(registry, "BesselI0e", kBesselTypes);
  Add<SpecialUnary::kBesselI1>(registry, "BesselI1", kBesselTypes);
  Add<SpecialUnary::kBesselI1e>(registry, "BesselI1e", kBesselTypes);
  Add<SpecialUnary::kBesselJ0>(registry, "BesselJ0", kBesselTypes);
  Add<SpecialUnary::kBesselJ1>(registry, "BesselJ1", kBesselTypes);
  Add<SpecialUnary::kBesselK0>(registry, "BesselK0", kBesselTypes);
  Add<SpecialUnary::kBesselK0e>(registry, "BesselK0e", kBesselTypes);
  Add<SpecialUnary::kBesselK1>(registry, "BesselK1", kBesselTypes);
  Add<SpecialUnary::kBesselK1e>(registry, "BesselK1e", kBesselTypes);
  Add<SpecialUnary::kBesselY0>(registry, "BesselY0", kBesselTypes);
  Add<SpecialUnary::kBesselY1>(registry, "BesselY1", kBesselTypes);
  Add<SpecialUnary::kDawsn>(registry, "Dawsn", kWide);
  Add<SpecialUnary::kErfinv>(registry, "Erfinv", kWide);
  Add<SpecialUnary::kExpint>(registry, "Expint", kWide);
  Add<SpecialUnary::kFresnelCos>(registry, "FresnelCos", kWide);
  Add<SpecialUnary::kFresnelSin>(registry, "FresnelSin", kWide);
  Add<SpecialUnary::kNdtri>(registry, "Ndtri", kWide);
  Add<SpecialUnary::kSpence>(registry, "Spence", kWide);
}
