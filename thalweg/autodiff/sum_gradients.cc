// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/sum_gradients.h"

#include <algorithm>

namespace thalweg {
namespace {

// Indices of one type for all: int64 as soon as one is.
std::vector<Output> CommonIndexType(GraphBuilder& b, const std::vector<GradientValue>& partials) {
  const bool wide = std::any_of(partials.begin(), partials.end(), [](const GradientValue& g) {
    return g.indices.dtype() == DType::kInt64;
  });
  std::vector<Output> indices;
  for (const GradientValue& g : partials) {
    const bool widen = wide && g.indices.dtype() != DType::kInt64;
    indices.push_back(widen ? b.Op("Cast", {g.indices}, {{"DstT", DType::kInt64}}) : g.indices);
  }
  return indices;
}

Output ConcatRows(GraphBuilder& b, std::vector<Output> parts) {
  const auto n = static_cast<int64_t>(parts.size());
  parts.push_back(b.Const(Tensor::Scalar<int32_t>(0), "axis"));
  return b.Op("ConcatV2", std::move(parts), {{"N", n}});
}

}  // namespace

GradientValue SumGradients(GraphBuilder& b, const Output& of, std::vector<GradientValue> partials) {
  if (partials.empty()) return {};
  if (partials.size() == 1) return partials.front();
  GraphBuilder scope = b.Scope(StrCat(of.node->name(), "_sum"));
  if (std::all_of(partials.begin(), partials.end(),
                  [](const GradientValue& g) { return g.is_sparse(); })) {
    std::vector<Output> values;
    for (const GradientValue& g : partials) values.push_back(g.values);
    std::vector<Output> indices = CommonIndexType(scope, partials);
    return {ConcatRows(scope, std::move(values)), ConcatRows(scope, std::move(indices)),
            partials.front().dense_shape};
  }
  std::vector<Output> dense;
  for (const GradientValue& g : partials) dense.push_back(Densify(scope, g));
  const auto n = static_cast<int64_t>(dense.size());
  return {scope.Op("AddN", std::move(dense), {{"N", n}}), {}, {}};
}

}  // namespace thalweg
