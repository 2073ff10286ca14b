// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/hello.h"

#include <gtest/gtest.h>

#include <random>

namespace thalweg {
namespace {

TEST(HelloTest, AHelloIsFoundAmongOtherFields) {
  const Hello hello{
      .task = "/job:ps/replica:0/task:1", .process = 7, .incarnation = 9, .token = ~uint64_t{0}};
  const std::string other(
      "\x08\x96\x01\x12\x02hi\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08", 21);
  for (const std::string& bytes : {EncodeHello(hello), other + EncodeHello(hello) + other}) {
    const Result<Hello> found = FindHello(bytes);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(*found, hello);
  }
  EXPECT_EQ(FindHello("").status().code(), Code::kNotFound);
  EXPECT_EQ(FindHello(other).status().code(), Code::kNotFound);
}

TEST(HelloTest, AMalformedHelloIsRefused) {
  const std::string good = EncodeHello({.task = "/job:a/replica:0/task:0", .process = 1});
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(FindHello(good.substr(0, size)).status().code(), Code::kInvalidArgument) << size;
  }
  std::string version = good;
  version[good.size() - 48] = 9;
  EXPECT_EQ(FindHello(version).status().code(), Code::kInvalidArgument);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = i % 2 == 0 ? good : std::string(random() % 40, '\0');
    for (int k = 0; k < 4 && !bytes.empty(); ++k) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    FindHello(bytes).status().IgnoreError();
  }
}

}  // namespace
}  // namespace thalweg
