// SPDX-License-Identifier: Apache-2.0
// What tests of convolutions share: operands of a shape, what is made of them, and how near that
// is to what is made in another way.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {

struct ConvOperands {
  template <class ConvShape>
  explicit ConvOperands(const ConvShape& s)
      : x(RandomValues(s.batch * s.InPixels() * s.in_channels)),
        f(RandomValues(s.Taps() * s.in_channels * s.out_channels, -1, 1, 2)),
        g(RandomValues(s.batch * s.OutPixels() * s.out_channels, -1, 1, 3)) {}
  const std::vector<float> x, f, g;  // input, filter, gradient of the output
};

struct ConvResults {
  // What is to be written is not zero beforehand.
  explicit ConvResults(const ConvOperands& of)
      : y(of.g.size(), 7), dx(of.x.size(), 7), df(of.f.size(), 7) {}
  bool operator==(const ConvResults&) const = default;
  std::vector<float> y, dx, df;
};

inline void ExpectClose(const std::vector<float>& a, const std::vector<float>& b,
                        const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 3e-3) << what << " at " << i;
}

inline void ExpectClose(const ConvResults& a, const ConvResults& b) {
  ExpectClose(a.y, b.y, "output");
  ExpectClose(a.dx, b.dx, "input gradient");
  ExpectClose(a.df, b.df, "filter gradient");
}

}  // namespace thalweg::compute
