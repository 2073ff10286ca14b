// SPDX-License-Identifier: Apache-2.0
// With one word that has a count, that word is all that can be drawn. Values recorded with
// TensorFlow 2.21, in a graph of version 10: later ones may not hold the operation.
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const std::vector<double> kIn = {-.5, -.25, 0, .25, .5, .75}, kOut = {.7, .5, .3, .1, -.1, -.3};

AttrMap Attrs(std::vector<int64_t> counts, int64_t negatives) {
  return {{"vocab_count", std::move(counts)}, {"num_negative_samples", negatives}};
}
In Words(const std::vector<int32_t>& words) { return In(Numbers(words)); }

void Expect(const std::vector<int32_t>& examples, const std::vector<int32_t>& labels, float rate,
            int64_t negatives, const std::vector<double>& in, const std::vector<double>& out) {
  OpCase("NegTrain")
      .Reference([&](RefCall<double>& r) {
        r.out = {Array<double>(Shape{3, 2}, in), Array<double>(Shape{3, 2}, out)};
      })
      .Tolerance(DType::kFloat, 1e-6)
      .Try({In({3, 2}, kIn), In({3, 2}, kOut), Words(examples), Words(labels),
            In(Tensor::Scalar(rate))},
           Attrs({0, 0, 1}, negatives))
      .Run();
}

TEST(NegTrainTest, RecordedSteps) {
  Expect({1}, {0}, .5f, 2, {-.5, -.25, .21201493, .525375, .5, .75},
         {.7, .5585988, .3, .1, -.1, -.41984555});
  Expect({1}, {0}, .5f, 0, {-.5, -.25, .16407672, .36719766, .5, .75},
         {.7, .5585988, .3, .1, -.1, -.3});
  Expect({1, 2, 1}, {0, 1, 2}, .1f, 3, {-.5, -.25, .038519066, .29537672, .52842546, .80035615},
         {.7, .51171976, .32219931, .13329896, -.15997542, -.41272968});
}

TEST(NegTrainTest, Refusals) {
  const In in = In({3, 2}), one = Words({1}), rate = In(Tensor::Scalar(.5f));
  const AttrMap attrs = Attrs({0, 1, 0}, 1);
  OpCase("NegTrain")
      .Reference([](RefCall<double>& r) {
        r.out = {r.in[0], r.in[1]};
      })
      .Trivial("a step on no example")
      .Try({in, in, Words({}), Words({}), rate}, attrs)
      .Bad({in, in, one, one, rate}, Attrs({0, 1}, 1), Code::kInvalidArgument, "vocab_size")
      .Bad({in, in, one, one, rate}, Attrs({0, 1, -1}, 1), Code::kInvalidArgument, "negative")
      .Bad({in, in, one, one, rate}, Attrs({0, 1, 0}, -1), Code::kInvalidArgument, "2^20")
      .Bad({in, In({2, 2}), one, one, rate}, attrs, Code::kInvalidArgument, "")
      .Bad({In({3}), in, one, one, rate}, attrs, Code::kInvalidArgument, "")
      .Bad({in, in, Words({1, 2}), one, rate}, attrs, Code::kInvalidArgument, "")
      .Bad({in, in, one, one, In({1})}, attrs, Code::kInvalidArgument, "")
      .Bad({in, in, Words({3}), one, rate}, attrs, Code::kInvalidArgument, "not in [0, 3)")
      .Bad({in, in, one, Words({-1}), rate}, attrs, Code::kInvalidArgument, "not in [0, 3)")
      .Run();
}

}  // namespace
}  // namespace thalweg
