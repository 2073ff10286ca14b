// SPDX-License-Identifier: Apache-2.0
// Event files of both releases, and such as are damaged or still grow.
#include "thalweg/files/event_tags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

std::string EventBytes(const std::string& text) {
  return FrameRecord(*Serialize(**ParseText(pb::Event::Descriptor(), text)));
}

class EventTagsTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(fs_.MakeDirectories(ParentDirectory(directory_.Path(name))).ok());
    EXPECT_TRUE(WriteFileAtomically(fs_, directory_.Path(name), bytes).ok());
    return directory_.Path(name);
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(EventTagsTest, WhatTheReleasesWrote) {
  for (const std::string release : {"1.15", "2.21"}) {
    const EventTags tags = *ReadEventTags(fs_, StrCat(THALWEG_GOLDEN_DIR, "/events/", release));
    EXPECT_TRUE(tags.problems.empty());
    const auto& run = tags.runs.at(".");
    EXPECT_EQ(run.at("loss").kind, EventKind::kScalar);
    EXPECT_EQ(run.at("y_hist").kind, EventKind::kHistogram);
    EXPECT_EQ(run.at("picture/image/0").kind, EventKind::kImage);
    EXPECT_EQ(run.at("[graph]").count, 1u);
  }
}

TEST_F(EventTagsTest, ScalarsOfBothKinds) {
  const std::string plugin = R"(metadata { plugin_data { plugin_name: "scalars" } })";
  Write("a/events.out.tfevents.1",
        EventBytes("wall_time: 10 file_version: 'brain.Event:2'") +
            EventBytes("wall_time: 11 step: 1 summary { value { tag: 'x' simple_value: 0.5 } }") +
            EventBytes("wall_time: 12 step: 2 summary { value { tag: 'y' " + plugin +
                       " tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 } } "
                       "value { tag: 'x' simple_value: nan } }") +
            // The metadata come once; other types are read as well.
            EventBytes("wall_time: 13 step: 3 summary { value { tag: 'y' "
                       "tensor { dtype: DT_INT64 tensor_shape { } int64_val: 7 } } }"));
  Write("a/deep/events.out.tfevents.2", EventBytes("summary { value { tag: 'z' histo { } } }"));
  const EventTags tags = *ReadEventTags(fs_, directory_.path(), {.scalars = true});
  const auto& run = tags.runs.at("a");
  ASSERT_EQ(run.at("y").points.size(), 2u);
  EXPECT_EQ(run.at("y").points[0].value, 3);
  EXPECT_EQ(run.at("y").points[1].value, 7);
  EXPECT_EQ(run.at("y").points[1].step, 3);
  EXPECT_EQ(run.at("x").points[0].wall_time, 11);
  EXPECT_TRUE(tags.runs.at("a/deep").empty());
  EXPECT_THAT(EventTagsJson(tags), HasSubstr("\"points\": [[1, 11, 0.5], [2, 12, \"NaN\"]]"));
  const EventTags some =
      *ReadEventTags(fs_, directory_.path(), {.scalars = true, .run = "a", .tag = "y*"});
  EXPECT_EQ(some.runs.at("a").size(), 1u);
  EXPECT_EQ(some.runs.size(), 1u);
}

TEST_F(EventTagsTest, TagsComeInAnyOrder) {
  std::string bytes;
  std::map<char, uint64_t> wanted;
  for (const char tag : std::string_view("xyxyxxzyzxyzzyxxyy")) {
    bytes += EventBytes(StrCat("summary { value { tag: '", tag, "' simple_value: 1 } }"));
    ++wanted[tag];
  }
  const std::string path = Write("e.tfevents", bytes);
  for (const std::string pattern : {"", "[xz]"}) {
    const EventTags tags = *ReadEventTags(fs_, path, {.tag = pattern});
    const auto& run = tags.runs.at(".");
    EXPECT_EQ(run.at("x").count, wanted['x']);
    EXPECT_EQ(run.at("z").count, wanted['z']);
    EXPECT_EQ(run.size(), pattern.empty() ? 3u : 2u);
  }
}

TEST_F(EventTagsTest, WhatStillGrowsIsNoDamage) {
  const std::string good = EventBytes("step: 1 summary { value { tag: 'x' simple_value: 1 } }");
  for (size_t n = 1; n < good.size(); ++n) {
    const std::string path = Write("e.tfevents", good + good.substr(0, n));
    const EventTags tags = *ReadEventTags(fs_, path);
    ASSERT_EQ(tags.problems.size(), 1u) << n;
    EXPECT_TRUE(tags.problems[0].is_growing) << n;
    EXPECT_EQ(tags.runs.at(".").at("x").count, 1u);
  }
  std::string bad = good + good;
  bad[bad.size() - 6] ^= 1;
  const EventTags damaged = *ReadEventTags(fs_, Write("e.tfevents", bad));
  EXPECT_FALSE(damaged.problems.at(0).is_growing);
  EXPECT_THAT(damaged.problems[0].message, HasSubstr("corrupted record at"));
  const EventTags other = *ReadEventTags(fs_, Write("e.tfevents", good + FrameRecord("\x0d")));
  EXPECT_THAT(other.problems.at(0).message, HasSubstr("is no Event"));
}

TEST_F(EventTagsTest, NoEventFilesIsAnError) {
  EXPECT_EQ(ReadEventTags(fs_, directory_.path()).status().code(), Code::kNotFound);
  EXPECT_EQ(ReadEventTags(fs_, directory_.Path("none")).status().code(), Code::kNotFound);
}

TEST(ScalarOfTensorTest, FormsOfANumber) {
  const auto scalar = [](const std::string& text) -> std::optional<double> {
    const std::string bytes = *Serialize(**ParseText(pb::TensorProto::Descriptor(), text));
    double value = 0;
    return ScalarOfTensor(bytes, &value) ? std::optional<double>(value) : std::nullopt;
  };
  EXPECT_EQ(scalar("dtype: DT_FLOAT tensor_shape { } tensor_content: '\\000\\000\\200\\077'"), 1);
  EXPECT_EQ(scalar("dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 2"), 2);
  EXPECT_EQ(scalar("dtype: DT_DOUBLE tensor_shape { } double_val: 0.1"), 0.1);
  EXPECT_EQ(scalar("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 2"), std::nullopt);
  EXPECT_EQ(scalar("dtype: DT_STRING tensor_shape { } string_val: 'x'"), std::nullopt);
  // Claims more than it has.
  EXPECT_EQ(scalar("dtype: DT_FLOAT tensor_shape { dim { size: 1000000000 } } float_val: 2"),
            std::nullopt);
}

}  // namespace
}  // namespace thalweg
