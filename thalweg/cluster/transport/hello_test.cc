// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/hello.h"

#include <gtest/gtest.h>

#include <random>

#include "thalweg/base/file_system.h"

namespace thalweg {
namespace {

TEST(HelloTest, AHelloIsFoundAmongOtherFields) {
  const Hello hello{.task = "/job:ps/replica:0/task:1",
                    .process = 7,
                    .incarnation = 9,
                    .token = ~uint64_t{0},
                    .tcp = {.host = "10.0.0.5", .port = 65535, .secret = {3, ~uint64_t{4}}}};
  const std::string other(
      "\x08\x96\x01\x12\x02hi\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08", 21);
  const Hello bare{.task = "/job:ps/replica:0/task:1", .process = 7};
  Hello ucx = bare, taken = hello, able = hello;
  able.features = kAllFeatures | uint64_t{1} << 63;
  ucx.offers = {{kFirstOfferField, std::string(2000, '\x9f')}, {kLastOfferField, ""}};
  taken.offers = {{kFirstOfferField, std::string(16, '\x01')}};
  for (const Hello& said : {hello, bare, ucx, taken, able}) {
    for (const std::string& bytes : {EncodeHello(said), other + EncodeHello(said) + other}) {
      const Result<Hello> found = FindHello(bytes);
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      EXPECT_EQ(*found, said);
    }
  }
  EXPECT_EQ(FindHello("").status().code(), Code::kNotFound);
  EXPECT_EQ(FindHello(other).status().code(), Code::kNotFound);
}

TEST(HelloTest, AHelloIsAsTheFormatBookShowsIt) {
  const Hello hello{.task = "/job:ps/replica:0/task:1",
                    .process = 7,
                    .incarnation = 9,
                    .token = 0x0102030405060708,
                    .tcp = {.host = "10.0.0.5", .port = 8470, .secret = {3, 4}},
                    .features = kTracedSteps};
  PosixFileSystem fs;
  EXPECT_EQ(EncodeHello(hello), *ReadFile(fs, THALWEG_GOLDEN_DIR "/channels/hello.bin"));
}

TEST(HelloTest, AMalformedHelloIsRefused) {
  const std::string good = EncodeHello(
      {.task = "/job:a/replica:0/task:0", .process = 1, .tcp = {.host = "::1", .port = 1}});
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(FindHello(good.substr(0, size)).status().code(), Code::kInvalidArgument) << size;
  }
  std::string version = good;
  const size_t texts = std::string_view("::1/job:a/replica:0/task:0").size();
  version[good.size() - texts - 49] = 9;
  EXPECT_EQ(FindHello(version).status().code(), Code::kInvalidArgument);
  std::string host = good;  // longer than all that follows
  host[good.size() - texts - 4] = static_cast<char>(texts + 1);
  EXPECT_EQ(FindHello(host).status().code(), Code::kInvalidArgument);
  const std::string with_ucx =
      EncodeHello({.task = "a", .offers = {{kFirstOfferField, std::string(17, 'b')}}});
  for (size_t size = 1; size < with_ucx.size(); ++size) {
    EXPECT_FALSE(FindHello(with_ucx.substr(0, size)).ok()) << size;
  }
  const std::string vast =
      EncodeHello({.task = "a", .offers = {{kFirstOfferField, std::string(100'000, 'b')}}});
  EXPECT_EQ(FindHello(vast).status().code(), Code::kInvalidArgument);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = i % 3 == 0   ? good
                        : i % 3 == 1 ? with_ucx
                                     : std::string(random() % 80, '\0');
    for (int k = 0; k < 4 && !bytes.empty(); ++k) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    FindHello(bytes).status().IgnoreError();
  }
}

}  // namespace
}  // namespace thalweg
