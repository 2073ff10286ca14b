// SPDX-License-Identifier: Apache-2.0
// Input pipelines from C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/dataset.h"

namespace {

using ::testing::ElementsAre;

class DatasetsTest : public ::testing::Test {
 protected:
  static std::vector<int64_t> Numbers(const tw::Dataset& dataset) {
    std::vector<int64_t> numbers;
    for (const tw::Tensors& element : dataset.Elements()) {
      const int64_t* const values = element[0].data<int64_t>();
      numbers.insert(numbers.end(), values, values + element[0].num_elements());
    }
    return numbers;
  }
  tw::Environment environment_ = tw::Environment::Create({.threads = 1}).OrThrow();
  tw::Graph graph_{environment_};
};

TEST_F(DatasetsTest, Range) {
  EXPECT_THAT(Numbers(tw::Dataset::Range(graph_, 3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(Numbers(tw::Dataset::Range(graph_, 10, 4, -3)), ElementsAre(10, 7));
  const tw::Output two = graph_.Scalar<int64_t>(2);
  EXPECT_THAT(Numbers(tw::Dataset::Range(graph_, 5).Map([&](tw::Output x) { return x * two; }, 2)),
              ElementsAre(0, 2, 4, 6, 8));
}

}  // namespace
