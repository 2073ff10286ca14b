// SPDX-License-Identifier: Apache-2.0
// For tests: datasets of groups, whose functions answer at once, or later, from threads of `queue`.
//
//   EXPECT_EQ(Texts(Puller(Reduced(), 2).Rest()).front(), "130");
#pragma once

#include "thalweg/data/batching.h"
#include "thalweg/data/grouping.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {

inline ElementSpec IntVectors() { return {{DType::kInt64}, {PartialShape{-1}}}; }

// Keys modulo 3, groups of key + 2 elements, each group one batch.
inline DatasetPtr Grouped(WorkQueue* queue = nullptr) {
  const auto batch = FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    ASSIGN_OR_RETURN(DatasetPtr group, DatasetOf(args[1]));
    ASSIGN_OR_RETURN(DatasetPtr batches, BatchDataset(std::move(group), 2, {}, IntVectors()));
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(std::move(batches)));
    return std::vector<Tensor>{std::move(tensor)};
  });
  return GroupByWindowDataset(RangeOf(11),
                              {.key = IntFunction([](int64_t x) { return -(x % 3); }, queue),
                               .size = IntFunction([](int64_t key) { return 2 - key; }, queue),
                               .reduce = batch},
                              IntVectors());
}

// Sums of the numbers of one key, times ten; each begins with its key.
inline DatasetPtr Reduced(WorkQueue* queue = nullptr) {
  const auto sum = FunctionOf(
      [](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{
            Tensor::Scalar(args[0].scalar<int64_t>() + args[1].scalar<int64_t>())};
      },
      queue);
  return GroupByReducerDataset(RangeOf(10),
                               {.key = IntFunction([](int64_t x) { return -(x % 3); }, queue),
                                .init = IntFunction([](int64_t key) { return key; }, queue),
                                .reduce = sum,
                                .finalize = IntFunction([](int64_t x) { return x * 10; }, queue)},
                               IntSpec());
}

}  // namespace thalweg
