// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "thalweg/ops/math/einsum_equation.h"
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// The definition: for every value of every label, the product of the elements goes to the output.
template <class V>
void Naive(RefCall<V>& r) {
  const EinsumEquation equation =
      EinsumEquation::Parse(r.template Attr<std::string>("equation")).value();
  std::vector<int> ranks;
  for (const Array<V>& x : r.in) ranks.push_back(x.shape.rank());
  const EinsumLabels labels = equation.Expand(ranks).value();
  std::map<int, int64_t> sizes;
  for (size_t i = 0; i < r.in.size(); ++i) {
    for (size_t d = 0; d < labels.inputs[i].size(); ++d) {
      int64_t& size = sizes.try_emplace(labels.inputs[i][d], 1).first->second;
      size = size == 1 ? r.in[i].shape.dim(static_cast<int>(d)) : size;
    }
  }
  Dims all, out;
  std::vector<int> order;
  for (const auto& [label, size] : sizes) {
    all.push_back(size);
    order.push_back(label);
  }
  for (const int label : labels.output) out.push_back(sizes.at(label));
  r.out = {Array<V>(Shape(out))};
  ForEachIndex(Shape(all), [&](const std::vector<int64_t>& at) {
    const auto place = [&](const std::vector<int>& wanted) {
      std::vector<int64_t> found;
      for (const int label : wanted) {
        found.push_back(at[std::find(order.begin(), order.end(), label) - order.begin()]);
      }
      return found;
    };
    V product = 1;
    for (size_t i = 0; i < r.in.size(); ++i) product *= r.in[i].At(place(labels.inputs[i]));
    r.out[0].At(place(labels.output)) += product;
  });
}

AttrMap Equation(const char* text) { return {{"equation", text}}; }

OpCase Einsum() {
  OpCase made("Einsum");
  made.Reference([](auto& r) { Naive(r); })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kSum, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kSum, DType::kBfloat16))
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kSum, DType::kComplex64));
  return made;
}

TEST(EinsumTest, OneInput) {
  Einsum()
      .Trivial("transposes and diagonals of zeros and ones")
      .Try({In({3, 4})}, Equation("ij->ji"))
      .Try({In({3, 4, 2})}, Equation("ijk->ik"))
      .Try({In({3, 4})}, Equation("ij->"))
      .Try({In({3, 3})}, Equation("ii->i"))
      .Try({In({3, 3})}, Equation("ii->"))
      .Try({In({3, 3, 2, 2})}, Equation("iijj->ji"))
      .Try({In({4})}, Equation("i->ii"))
      .Try({In({4, 2})}, Equation("ij->jiji"))
      .Try({In({2, 3, 4})}, Equation("a...->...a"))
      .Try({In({2, 3, 4, 2})}, Equation("a...a->..."))
      .Try({In({2, 3, 4})}, Equation("...ij->...i"))
      .Try({In({3})}, Equation("...i->..."))
      .Try({In({3})}, Equation("...i->i"))
      .Try({In({})}, Equation("->"))
      .Try({In({0, 3})}, Equation("ij->j"))
      .Try({In({0, 3})}, Equation("ij->ji"))
      .Bad({In({2, 3})}, Equation("ii->i"), Code::kInvalidArgument,
           "Dimensions must be equal, but are 2 and 3 for ", "Expected dimension 2")
      .Bad({In({2, 3})}, Equation("ijk->i"), Code::kInvalidArgument,
           "Shape must be rank 3 but is rank 2 for ", "to have rank 3")
      .Bad({In({})}, Equation("i...->i..."), Code::kInvalidArgument,
           "Shape must be at least rank 1 but is rank 0 for ", "to have rank at least 1")
      .Bad({In({2, 3})}, Equation("ij"), Code::kInvalidArgument, "exactly one '->'")
      .Bad({In({2, 3})}, Equation("ij->i->j"), Code::kInvalidArgument, "exactly one '->'")
      .Bad({In({2, 3})}, Equation("ij->iz"), Code::kInvalidArgument, "in no input")
      .Bad({In({2, 3})}, Equation("i.j->i"), Code::kInvalidArgument, "ellipsis")
      .Bad({In({2, 3})}, Equation("...i...->i"), Code::kInvalidArgument, "ellipsis")
      .Bad({In({2, 3})}, Equation("...i->i"), Code::kInvalidArgument,
           "Shape must be at most rank 0 but is rank 1 for ", "no ellipsis")
      .Bad({In({2, 3})}, Equation("ij,jk->ik"), Code::kInvalidArgument, "Expected 2 inputs")
      .Run();
}

TEST(EinsumTest, TwoInputs) {
  Einsum()
      .Try({In({7, 31}), In({31, 5})}, Equation("ij,jk->ik"))
      .Try({In({31, 7}), In({5, 31})}, Equation("ji,kj->ki"))
      .Try({In({3, 4, 5}), In({3, 5, 2})}, Equation("bij,bjk->bik"))
      .Try({In({4, 3, 5}), In({5, 2, 3})}, Equation("ibj,jkb->bki"))
      .Try({In({2, 3, 4}), In({4, 3, 5})}, Equation("ijk,kjl->il"))
      .Try({In({3}), In({4})}, Equation("i,j->ij"))
      .Try({In({3}), In({3})}, Equation("i,i->i"))
      .Try({In({3}), In({3})}, Equation("i,i->"))
      .Try({In({}), In({3})}, Equation(",i->i"))
      .Try({In({2, 3}), In({4})}, Equation("ij,k->"))
      .Try({In({2, 2, 3}), In({3, 4})}, Equation("iij,jk->ik"))
      .Try({In({2, 2, 3}), In({3, 4})}, Equation("iij,jk->kik"))
      .Try({In({2, 5, 3}), In({3, 4, 2})}, Equation("iaj,jki->ik"))
      .Try({In({2, 0}), In({0, 3})}, Equation("ij,jk->ik"))
      .Try({In({0, 2}), In({2, 3})}, Equation("ij,jk->ki"))
      .Bad({In({2, 3}), In({2, 3})}, Equation("ij,jk->ik"), Code::kInvalidArgument,
           "Dimensions must be equal, but are 3 and 2 for ", "Expected dimension 3")
      .Bad({In({1, 2, 3}), In({4, 3, 2})}, Equation("bij,bjk->bik"), Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({3})}, Equation("ij,jk->ik"), Code::kInvalidArgument, "rank 2")
      .Run();
}

TEST(EinsumTest, Broadcasting) {
  Einsum()
      .Try({In({2, 1, 2, 3}), In({3, 3, 2})}, Equation("...ij,...jk->...ik"))
      .Try({In({2, 3}), In({2, 3})}, Equation("...j,...j->..."))
      .Try({In({1, 4, 3}), In({5, 1, 3})}, Equation("...j,...j->j..."))
      .Try({In({4, 3}), In({5, 1, 3})}, Equation("ij,...j->...i"))
      .Try({In({3, 4, 2}), In({3})}, Equation("i...j,i->j..."))
      .Try({In({3, 1}), In({1, 4})}, Equation("...,...->..."))
      .Try({In({3, 3, 1}), In({2})}, Equation("ii...,...->...ii"))
      .Bad({In({2, 3}), In({3, 3})}, Equation("...i,...i->...i"), Code::kInvalidArgument, "")
      .Bad({In({2, 3}), In({3})}, Equation("...i,i->"), Code::kInvalidArgument,
           "Shape must be at most rank 0 but is rank 1 for ", "no ellipsis")
      .Run();
}

}  // namespace
}  // namespace thalweg
