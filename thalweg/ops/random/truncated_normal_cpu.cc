// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <vector>

#include "thalweg/compute/random/distributions.h"
#include "thalweg/ops/random/distribution_args.h"
#include "thalweg/ops/random/random_stream.h"

namespace thalweg {
namespace {

using compute::TruncatedNormalRow;

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// n numbers of one row to out[0], out[stride] ...; a row is cut into pieces of at most `piece`,
// each of which begins with a fresh block. Not in parallel: where a piece begins depends on the one
// before it.
template <class T>
Status DrawRow(Context& ctx, Philox& stream, const TruncatedNormalRow& row, int64_t n,
               int64_t piece, T* out, int64_t stride) {
  std::vector<Wide<T>> drawn(static_cast<size_t>(std::min(n, piece)));
  for (int64_t begin = 0; begin < n; begin += piece) {
    if (ctx.work().cancelled()) return CancelledStep();
    const int64_t count = std::min(piece, n - begin);
    if (!compute::DrawTruncatedNormals(stream, row, count, drawn.data())) {
      return InvalidArgument("Invalid parameters: mean ", row.mean, ", deviation ", row.deviation,
                             ", bounds ", row.low, " and ", row.high);
    }
    for (int64_t i = 0; i < count; ++i) {
      out[(begin + i) * stride] = FromDouble<T>(drawn[static_cast<size_t>(i)]);
    }
  }
  return OkStatus();
}

constexpr int64_t kPiece = 100;

// Parameters have one element, or one for each index of the first dimension.
template <class T>
class ParameterizedCpu : public RandomKernel {
 public:
  using RandomKernel::RandomKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithStream<ParameterizedCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
    if (shape.rank() < 1) return InvalidArgument("Shape tensor must not be empty");
    constexpr std::string_view kNames[] = {"means", "stdevs", "minvals", "maxvals"};
    const T* parameter[4];
    bool is_row[4];
    bool by_row = false;
    for (int i = 0; i < 4; ++i) {
      const Tensor& in = ctx.input(i + 1);
      if (in.rank() > 1 || (in.num_elements() != 1 && in.num_elements() != shape.dim(0))) {
        return InvalidArgument("Input ", kNames[i],
                               " should have length 1 or shape[0] = ", shape.dim(0),
                               ", got shape: ", in.shape());
      }
      parameter[i] = in.data<T>();
      is_row[i] = in.num_elements() != 1;
      by_row = by_row || is_row[i];
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, shape));
    const int64_t n = out->num_elements();
    if (n == 0) return OkStatus();
    const int64_t rows = by_row ? shape.dim(0) : (n + kPiece - 1) / kPiece;
    const int64_t piece = by_row ? n / shape.dim(0) : kPiece;
    Philox stream = this->stream().Reserve(500 * static_cast<uint64_t>(rows) *
                                           (static_cast<uint64_t>(piece) + 3));
    T* const drawn = out->mutable_data<T>();
    for (int64_t r = 0; r < (by_row ? rows : 1); ++r) {
      const auto at = [&](int i) { return ToDouble(parameter[i][is_row[i] ? r : 0]); };
      RETURN_IF_ERROR(DrawRow<T>(ctx, stream, {at(0), at(1), at(2), at(3)}, by_row ? piece : n,
                                 piece, drawn + (by_row ? r * piece : 0), 1));
    }
    return OkStatus();
  }
};

// Parameters broadcast to the end of the shape.
template <class T>
Status Stateless(Context& ctx) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(0), "shape"));
  ASSIGN_OR_RETURN(Philox stream, StreamOfSeed(ctx.input(1)));
  ASSIGN_OR_RETURN(const ParameterRows rows,
                   ParameterRows::Of(shape, {ctx.input(2).shape(), ctx.input(3).shape(),
                                             ctx.input(4).shape(), ctx.input(5).shape()}));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, kDTypeOf<T>, shape));
  const int64_t n = out->num_elements();
  if (n == 0) return OkStatus();
  const int64_t parameters = rows.count(), samples = n / parameters;
  T* const drawn = out->template mutable_data<T>();
  for (int64_t p = 0; p < parameters; ++p) {
    const auto at = [&](int i) {
      return ToDouble(ctx.input(i + 2).data<T>()[rows.Index(static_cast<size_t>(i), p)]);
    };
    RETURN_IF_ERROR(DrawRow<T>(ctx, stream, {at(0), at(1), at(2), at(3)}, samples,
                               parameters == 1 ? kPiece : samples, drawn + p, parameters));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(truncated_normal, cpu) {
  ForEachType<Types<Half, float, double>>([&]<class T>() {
    registry
        .Add<ParameterizedCpu<T>>("ParameterizedTruncatedNormal", kCpu, {{"dtype", kDTypeOf<T>}})
        .KeepsState();
    registry.AddFunction<Stateless<T>>("StatelessParameterizedTruncatedNormal", kCpu,
                                       {{"dtype", kDTypeOf<T>}});
  });
}
