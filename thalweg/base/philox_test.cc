// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/philox.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using Block = Philox::Block;

// The known answers published with the Random123 library.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox::Generate({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(Philox::Generate({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(Philox::Generate({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                             {0xa4093822u, 0x299f31d0u}),
            (Block{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(PhiloxTest, SeedIsTheKeyAndStreamTheUpperCounter) {
  const Philox gen(0x1122334455667788u, 0x99aabbccddeeff00u);
  EXPECT_EQ(gen.key(), (std::array<uint32_t, 2>{0x55667788u, 0x11223344u}));
  EXPECT_EQ(gen.counter(), (Block{0, 0, 0xddeeff00u, 0x99aabbccu}));
}

TEST(PhiloxTest, SkipIsManyNexts) {
  Philox a(7, 9), b(7, 9);
  for (int i = 0; i < 1000; ++i) a.Next();
  b.Skip(1000);
  EXPECT_EQ(a.Next(), b.Next());
}

TEST(PhiloxTest, CounterCarriesThroughAllWords) {
  Philox gen(Block{~0u, ~0u, ~0u, 4}, {1, 2});
  gen.Skip(1);
  EXPECT_EQ(gen.counter(), (Block{0, 0, 0, 5}));
  Philox wraps(Block{~0u, ~0u, ~0u, ~0u}, {1, 2});
  wraps.Skip(2);
  EXPECT_EQ(wraps.counter(), (Block{1, 0, 0, 0}));
}

}  // namespace
}  // namespace thalweg
