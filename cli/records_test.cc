// SPDX-License-Identifier: Apache-2.0
// `thalweg records` on what both releases wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class RecordsCommandTest : public CommandFolder {
 protected:
  static std::string Example(const std::string& form = "plain") {
    return Golden("records/2.21/example." + form + ".tfrecord");
  }
};

TEST_F(RecordsCommandTest, HeadAndCat) {
  ASSERT_EQ(Run("records head -n 1 " + Example()), 0) << output;
  EXPECT_THAT(output, StartsWith("record 0: 93 bytes at 0 of "));
  const std::string plain = output.substr(output.find('\n'));
  ASSERT_EQ(Run("records head -n 1 " + Example("gzip")), 0) << output;
  EXPECT_EQ(output.substr(output.find('\n')), plain);
  ASSERT_EQ(Run("records cat --json -n 2 --skip 3 " + Example()), 0) << output;
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 2);
  EXPECT_THAT(output, StartsWith("{\"features\": {\"feature\": {"));
  ASSERT_EQ(Run("records cat -n 1 " + Example()), 0) << output;
  EXPECT_THAT(output, StartsWith("features {\n  feature {\n    key: "));
  ASSERT_EQ(Run("records cat --raw -n 1 " + Example()), 0);
  EXPECT_EQ(output, ReadFile(Example()).substr(12, 93));
  ASSERT_EQ(Run("records cat -n 1 --type tensorflow.Event " +
                Golden("events/1.15/events.out.tfevents.1.host")),
            0);
  EXPECT_THAT(output, HasSubstr("file_version: \"brain.Event:2\""));
  EXPECT_EQ(Run("records head " + Example() + " /no/such"), 0);
  EXPECT_EQ(Run("records cat --raw " + Example() + " /no/such"), 1);
  EXPECT_THAT(output, HasSubstr("/no/such"));
  EXPECT_EQ(Run("records cat --type nothing " + Example()), 1);
  EXPECT_THAT(output, HasSubstr("record at 0: no message type is called 'nothing'"));
}

TEST_F(RecordsCommandTest, StatsAndVerify) {
  ASSERT_EQ(Run("records stats " + Example() + " " + Example("zlib")), 0) << output;
  EXPECT_THAT(output, StartsWith("44 records, "));
  EXPECT_THAT(output, HasSubstr("42 Examples, 0 SequenceExamples, 2 others\n"));
  ASSERT_EQ(Run("records verify " + Example()), 0) << output;
  EXPECT_THAT(output, HasSubstr("22 records, 44 checksums: all well\n"));
  EXPECT_EQ(Run("records verify " + Example("corrupt_payload")), 1);
  EXPECT_THAT(output, HasSubstr("the checksum of record 10: expected crc32c "));
  EXPECT_EQ(Run("records stats " + Example("truncated_header")), 1);
  EXPECT_THAT(output, HasSubstr("truncated record at "));
}

TEST_F(RecordsCommandTest, ShuffleAndSplit) {
  const std::string shuffle = "records shuffle --seed 5 " + Example() + " --out " + Path("s");
  ASSERT_EQ(Run(shuffle), 0) << output;
  EXPECT_THAT(output, StartsWith("22 records, "));
  EXPECT_THAT(output, HasSubstr("; seed 5\n"));
  EXPECT_EQ(ReadFile(Path("s")).size(), ReadFile(Example()).size());
  EXPECT_NE(ReadFile(Path("s")), ReadFile(Example()));
  EXPECT_EQ(Run(shuffle), 1);
  EXPECT_THAT(output, HasSubstr("the file is there already; --force replaces it"));
  EXPECT_EQ(Run(shuffle + " --force"), 0) << output;
  ASSERT_EQ(Run("records split --json --shards 2 --compression none " + Example("gzip") +
                " --out " + Path("p")),
            0);
  EXPECT_THAT(output, HasSubstr("p-00001-of-00002"));
  EXPECT_EQ(ReadFile(Path("p-00000-of-00002")) + ReadFile(Path("p-00001-of-00002")),
            ReadFile(Example()));
  ASSERT_EQ(Run("records split --shards 1 " + Example("gzip") + " --out " + Path("z")), 0);
  EXPECT_THAT(ReadFile(Path("z-00000-of-00001")), StartsWith("\x1f\x8b"));
  EXPECT_EQ(Run("records split --shards 1 --compression lz " + Example() + " --out " + Path("q")),
            2);
  EXPECT_EQ(Run("records split " + Example() + " --out " + Path("q")), 2);
  EXPECT_EQ(Run("records split --shards 2 --bytes 1MB " + Example() + " --out " + Path("q")), 2);
  EXPECT_EQ(Run("records shuffle " + Example()), 2);
  EXPECT_EQ(Run("records shuffle --shards 100000000 " + Example() + " --out " + Path("q")), 2);
}

}  // namespace
}  // namespace cli
