// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/prefetch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace thalweg {
namespace {

TEST(PrefetchTest, ChangesNothingAndTakesAnyAddress) {
  const std::string text(5000, 'x');
  Prefetch(text.data(), text.size());
  EXPECT_EQ(text, std::string(5000, 'x'));
  // At the end of a list of free blocks there is none.
  Prefetch(nullptr, 0);
  Prefetch(nullptr, 256);
  Prefetch(reinterpret_cast<const void*>(~uintptr_t{0} - 100), 5000);
}

}  // namespace
}  // namespace thalweg
