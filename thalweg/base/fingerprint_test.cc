// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

namespace thalweg {
namespace {

// Recorded with TensorFlow 2.21 (Fingerprint, farmhash64): byte i is 'a' + i * 7 % 26.
TEST(FingerprintTest, IsThatOfFarmHash) {
  const struct {
    int length;
    uint64_t fingerprint;
  } kRecorded[] = {
      {0, 0x9ae16a3b2f90404fu},   {1, 0xb3454265b6df75e3u},   {3, 0x2d5b0cbcc48fdc6bu},
      {4, 0x7b803bc75cee3292u},   {7, 0xed26868869003b0au},   {8, 0x93b52af6d9b92820u},
      {16, 0xf496a3696582095eu},  {17, 0x1f0c64814df23a1au},  {32, 0x9636decce0f119bcu},
      {33, 0x6fa5de3a3dd81cacu},  {63, 0xf47b000892b736d5u},  {64, 0xe01e9a6d5635769eu},
      {65, 0x266a26491da9530du},  {127, 0x44d86f1dc468d399u}, {128, 0x917472f7f980118du},
      {129, 0x0eb7d4a2cddb5078u}, {200, 0xd137238fe25cbe34u}};
  for (const auto& [length, fingerprint] : kRecorded) {
    std::string bytes;
    for (int i = 0; i < length; ++i) bytes += static_cast<char>('a' + i * 7 % 26);
    EXPECT_EQ(Fingerprint64(bytes), fingerprint) << length << " bytes";
  }
}

}  // namespace
}  // namespace thalweg
