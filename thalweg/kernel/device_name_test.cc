// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/device_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(DeviceNameTest, ParsesFullPartialAndOldForms) {
  const DeviceName full = *DeviceName::Parse("/job:worker/replica:0/task:17/device:gpu:3");
  EXPECT_TRUE(full.IsFull());
  EXPECT_EQ(full.ToString(), "/job:worker/replica:0/task:17/device:GPU:3");
  EXPECT_EQ(DeviceName::Parse("/cpu:0")->ToString(), "/device:CPU:0");
  EXPECT_TRUE(DeviceName::Parse("/task:17")->Admits(full));
  EXPECT_FALSE(DeviceName::Parse("/task:1")->Admits(full));
  EXPECT_TRUE(DeviceName::Parse("")->Admits(full));
  EXPECT_TRUE(DeviceName::Parse("/device:GPU:*")->Admits(full));
  for (const char* bad : {"cpu:0", "/job:", "/task:x", "/device:CPU:-1", "/foo:1"}) {
    EXPECT_EQ(DeviceName::Parse(bad).status().code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(DeviceName::Parse("/task:1")->MergeWith(full).ok());
}

TEST(DeviceNameTest, WhatIsWrongIsQuotedWithTheWholeName) {
  const auto words = [](std::string_view text) {
    return std::string(DeviceName::Parse(text).status().message());
  };
  EXPECT_THAT(words("/job:a/task:seven"),
              testing::AllOf(HasSubstr("'seven'"), HasSubstr("'/job:a/task:seven'")));
  EXPECT_THAT(words("/job:a/rack:1"),
              testing::AllOf(HasSubstr("'rack:1'"), HasSubstr("full name")));
  EXPECT_THAT(words("/device::0"), HasSubstr("device type missing"));
  EXPECT_THAT(words("/task:99999999999999999999"), HasSubstr("expected a number or '*'"));
  EXPECT_THAT(words("gpu"), HasSubstr("starts with '/'"));
}

TEST(DeviceNameTest, WhatToStringSaysParsesToTheSameName) {
  for (const char* text : {"", "/job:ps", "/replica:1/task:2", "/device:CPU:*", "/device:*:3",
                           "/job:a/replica:0/task:0/device:NPU:11"}) {
    const DeviceName name = *DeviceName::Parse(text);
    EXPECT_EQ(*DeviceName::Parse(name.ToString()), name) << text;
    EXPECT_EQ(name.ToString(), text);
  }
  EXPECT_EQ(*DeviceName::Parse("/job:*/task:*"), DeviceName()) << "a star constrains nothing";
  EXPECT_EQ(*DeviceName::Parse("/job:a/"), *DeviceName::Parse("/job:a"));
}

TEST(DeviceNameTest, EachPartAloneConstrains) {
  const DeviceName device = *DeviceName::Parse("/job:a/replica:1/task:2/device:CPU:3");
  for (const char* other : {"/job:b", "/replica:0", "/task:0", "/device:GPU:*", "/device:*:0"}) {
    EXPECT_FALSE(DeviceName::Parse(other)->Admits(device)) << other;
    EXPECT_EQ(DeviceName::Parse(other)->MergeWith(device).status().code(), Code::kInvalidArgument)
        << other;
  }
  EXPECT_FALSE(device.Admits(*DeviceName::Parse("/job:a"))) << "an unnamed part may be any";
}

TEST(DeviceNameTest, MergedConstraintsHaveThePartsOfBoth) {
  const DeviceName merged =
      *DeviceName::Parse("/job:a/device:CPU:*")->MergeWith(*DeviceName::Parse("/task:2/cpu:1"));
  EXPECT_EQ(merged.ToString(), "/job:a/task:2/device:CPU:1");
  const Status clash =
      DeviceName::Parse("/job:a")->MergeWith(*DeviceName::Parse("/job:b")).status();
  EXPECT_THAT(std::string(clash.message()),
              testing::AllOf(HasSubstr("'/job:a'"), HasSubstr("'/job:b'")));
}

}  // namespace
}  // namespace thalweg
