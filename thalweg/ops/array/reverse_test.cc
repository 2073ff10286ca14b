// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

template <class V, class Turn>
void TurnReference(RefCall<V>& r, Turn turn) {
  r.out = {Array<V>(r.in[0].shape)};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from = at;
    for (size_t i = 0; i < at.size(); ++i) {
      if (turn(i)) from[i] = r.in[0].shape.dim(static_cast<int>(i)) - 1 - at[i];
    }
    r.out[0].At(at) = r.in[0].values[static_cast<size_t>(r.in[0].Offset(from))];
  });
}

TEST(ReverseTest, TurnsDimensionsRound) {
  EveryElementType("Reverse")
      .Reference([]<class V>(RefCall<V>& r) {
        TurnReference(r, [&](size_t i) { return r.in[1].values[i] != V{}; });
      })
      .Try({In({3, 4, 2}), In({3}, {1, 0, 1})})
      .Bad({In({3, 4}), In({1}, {1})}, {}, Code::kInvalidArgument,
           "Shape must be rank 1 but is rank 2 for ", "'dims' must be a vector of 2")
      .Run();
  EveryElementType("ReverseV2")
      .Reference([]<class V>(RefCall<V>& r) {
        TurnReference(r, [&](size_t i) {
          for (const V& axis : r.in[1].values) {
            const auto at = static_cast<int64_t>(std::real(axis));
            if ((at < 0 ? at + r.in[0].shape.rank() : at) == static_cast<int64_t>(i)) return true;
          }
          return false;
        });
      })
      .Try({In({3, 4, 2}), In({2}, {0, -1})})
      .Try({In({3, 40}), In({1}, {1})}, {{"Tidx", DType::kInt64}})
      .Try({In({3, 0}), In({1}, {0})})
      .Bad({In({3, 4}), In({1}, {2})}, {}, Code::kInvalidArgument,
           "'axis'[0] = 2 is out of valid range [0, 1")
      .Bad({In({3, 4}), In({2}, {0, -2})}, {}, Code::kInvalidArgument, "more than once")
      .Run();
}

TEST(ReverseSequenceTest, TurnsTheBeginningOfEachSequence) {
  EveryElementType("ReverseSequence")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(r.in[0].shape)};
        ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
          const auto length = static_cast<int64_t>(std::real(r.in[1][at[0]]));
          std::vector<int64_t> from = at;
          if (at[2] < length) from[2] = length - 1 - at[2];
          r.out[0].At(at) = r.in[0].values[static_cast<size_t>(r.in[0].Offset(from))];
        });
      })
      .Try({In({3, 2, 5}), In({3}, {0, 3, 5})}, {{"seq_dim", 2}})
      .Bad({In({1, 2, 5}), In({1}, {6})}, {{"seq_dim", 2}}, Code::kInvalidArgument,
           "seq_lens(0) > input.dims(2)")
      .Bad({In({1, 2, 5}), In({1}, {1})}, {{"seq_dim", 0}}, Code::kInvalidArgument,
           "batch_dim == seq_dim")
      .Bad({In({1, 2, 5}), In({2}, {1, 1})}, {{"seq_dim", 2}}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
