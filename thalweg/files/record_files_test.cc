// SPDX-License-Identifier: Apache-2.0
// Records of files: read, checked, counted, told.
#include "thalweg/files/record_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/files/event_file.h"
#include "thalweg/files/record_audit.h"
#include "thalweg/files/record_statistics.h"
#include "thalweg/files/record_text.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/io/test_example_bytes.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

std::string GoldenRecords(const std::string& name) {
  return StrCat(THALWEG_GOLDEN_DIR, "/records/", name, ".tfrecord");
}

class RecordFilesTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomically(fs_, directory_.Path(name), bytes).ok());
    return directory_.Path(name);
  }
  // How many records come before the end or an error.
  int Count(const std::vector<std::string>& paths, Status* end) {
    RecordFiles files(fs_, paths);
    for (int n = 0;; ++n) {
      const Result<std::optional<std::string_view>> record = files.Next();
      *end = record.status();
      if (!record.ok() || !*record) return n;
    }
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(RecordFilesTest, CompressionIsSeen) {
  for (const std::string release : {"1.15", "2.21"}) {
    std::vector<std::string> paths;
    for (const char* form : {"plain", "gzip", "zlib"}) {
      paths.push_back(GoldenRecords(release + "/example." + form));
      Status end;
      EXPECT_EQ(Count({paths.back()}, &end), 22) << form;
      EXPECT_TRUE(end.ok()) << end.ToString();
    }
    paths.insert(paths.begin() + 1, Write("empty", ""));
    Status end;
    EXPECT_EQ(Count(paths, &end), 66);
    EXPECT_EQ(*RecordFileBytes(fs_, paths), 0u);  // not known
  }
}

// tests/golden/records/*/damaged.json: ten good records, then the error, also where the releases
// end silently.
TEST_F(RecordFilesTest, DamageIsToldAfterWhatIsGood) {
  for (const std::string release : {"1.15", "2.21"}) {
    for (const char* damage : {"corrupt_length", "corrupt_payload", "gzip_truncated",
                               "truncated_footer", "truncated_header", "truncated_payload"}) {
      const std::string path = GoldenRecords(release + "/example." + damage);
      Status end;
      EXPECT_EQ(Count({path}, &end), 10) << damage;
      EXPECT_EQ(end.code(), Code::kDataLoss) << damage;
      const Result<Audit> audit = AuditRecords(fs_, {path});
      ASSERT_TRUE(audit.ok()) << audit.status().ToString();
      EXPECT_EQ(audit->num_damages, 1u) << damage << AuditJson(*audit);
      EXPECT_EQ(audit->damages[0].file, path);
    }
  }
}

TEST_F(RecordFilesTest, AnAuditGoesOnBehindWrongBytes) {
  const std::string record = FrameRecord("some bytes");
  std::string bytes = record + record + record;
  bytes[kRecordHeaderBytes] ^= 1;
  bytes[2 * record.size() - 1] ^= 1;
  const Audit audit = *AuditRecords(fs_, {Write("a", bytes), GoldenRecords("2.21/example.plain")});
  EXPECT_EQ(audit.num_damages, 2u);
  EXPECT_EQ(audit.records, 25u);
  EXPECT_EQ(audit.checksums, 50u);
  EXPECT_EQ(audit.damages[0].what, "the checksum of record 0");
  EXPECT_EQ(audit.damages[1].offset, record.size() + kRecordHeaderBytes);
  // Records are numbered within their file.
  EXPECT_EQ(
      AuditRecords(fs_, {GoldenRecords("2.21/example.plain"), Write("a", bytes)})->damages[0].what,
      "the checksum of record 0");
}

TEST_F(RecordFilesTest, TheEndIsTheEnd) {
  RecordFiles files(fs_, {Write("a", FrameRecord("one")), Write("b", FrameRecord("two"))});
  EXPECT_EQ(**files.Next(), "one");
  EXPECT_EQ(**files.Next(), "two");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*files.Next(), std::nullopt);
  EXPECT_EQ(files.path(), directory_.Path("b"));
}

// A file of zlib's with one block that is stored: the header of a record of 3 GB.
TEST_F(RecordFilesTest, AClaimIsNotTakenAtItsWord) {
  std::string header;
  AppendFixed64(header, 3'000'000'000);
  AppendFixed32(header, MaskCrc32c(Crc32c(header)));
  const std::string path = Write("claim", std::string("\x78\x01\x01\x0c\x00\xf3\xff", 7) + header);
  RecordFiles claim(fs_, {path});
  const Status status = claim.Next().status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_THAT(status.ToString(), HasSubstr("claim: record at 0: a record of 3000000000 bytes"));
  RecordFiles within(fs_, {GoldenRecords("2.21/example.gzip")}, 90);
  EXPECT_EQ(within.Next().status().code(), Code::kResourceExhausted);
  EventProblem problem;
  Progress progress({}, 0);
  EXPECT_TRUE(ReadEvents(fs_, path, progress, &problem, [](const EventValue&) {}).ok());
  EXPECT_THAT(problem.message, HasSubstr("no Event has 3000000000 bytes"));
}

TEST_F(RecordFilesTest, EveryFlippedByteIsFound) {
  const std::string good = FrameRecord("a") + FrameRecord("");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    EXPECT_GT(AuditRecords(fs_, {Write("bad", bad)})->num_damages, 0u) << i;
  }
}

TEST_F(RecordFilesTest, StatisticsOfExamples) {
  RecordStatistics statistics;
  statistics.Add(ExampleBytes({{"i", Ints({1, 5})}, {"s", BytesList({"abc", ""})}}));
  statistics.Add(ExampleBytes({{"i", Ints({-3})}, {"f", Floats({0.5f, NAN})}}));
  statistics.Add(SequenceBytes({{"c", Ints({1})}}, {{"l", ListBytes({Ints({1}), Ints({2, 3})})}}));
  statistics.Add("no message");
  const std::string json = statistics.Json();
  EXPECT_THAT(json, HasSubstr("\"records\": 4"));
  EXPECT_THAT(json, HasSubstr("\"examples\": 2, \"sequence_examples\": 1, \"others\": 1"));
  EXPECT_THAT(json,
              HasSubstr("{\"name\": \"i\", \"place\": \"features\", \"kinds\": {\"int64\": 2}, "
                        "\"records\": 2, \"missing\": 0, \"values\": {\"count\": 2, \"min\": 1, "
                        "\"max\": 2, \"mean\": 1.5}, \"numbers\": {\"count\": 3, \"min\": -3, "
                        "\"max\": 5, \"mean\": 1}}"));
  EXPECT_THAT(json, HasSubstr("\"kinds\": {\"bytes\": 1}, \"records\": 1, \"missing\": 1"));
  EXPECT_THAT(json, HasSubstr("\"not_finite\": 1"));
  EXPECT_THAT(json, HasSubstr("\"name\": \"c\", \"place\": \"context\""));
  EXPECT_THAT(json,
              HasSubstr("\"place\": \"feature_lists\", \"kinds\": {\"int64\": 1}, \"records\": "
                        "1, \"missing\": 0, \"steps\": {\"count\": 1, \"min\": 2"));
}

TEST_F(RecordFilesTest, PercentilesAreNearTheTruth) {
  RecordStatistics statistics;
  for (size_t size = 1; size <= 1000; ++size) statistics.Add(std::string(size, 'x'));
  const std::string json = statistics.Json();
  const auto at = [&](const std::string& key) {
    return std::stod(json.substr(json.find("\"" + key + "\": ") + key.size() + 4));
  };
  EXPECT_NEAR(at("p50"), 500, 500 / 16.0);
  EXPECT_NEAR(at("p90"), 900, 900 / 16.0);
  EXPECT_EQ(at("max"), 1000);
}

TEST_F(RecordFilesTest, ARecordAsText) {
  const std::string example =
      ExampleBytes({{"id", Ints({1, 2, 3})}, {"name", BytesList({std::string(50, 'x')})}});
  EXPECT_EQ(RecordOutline(example), StrCat("  id    int64[3] 1 2 3\n  name  bytes[1] \"",
                                           std::string(40, 'x'), "...\" (50 bytes)\n"));
  EXPECT_THAT(*RecordJson(example, ""),
              HasSubstr("\"int64List\": {\"value\": [\"1\", \"2\", \"3\"]}"));
  EXPECT_THAT(*RecordText(example, ""), HasSubstr("key: \"id\""));
  const std::string sequence = SequenceBytes({}, {{"l", ListBytes({Ints({1}), Ints({2})})}});
  EXPECT_EQ(KindOfRecord(sequence), ExampleKind::kSequenceExample);
  EXPECT_EQ(RecordOutline(sequence), "  l  2 steps: int64[1] 1, ...\n");
  EXPECT_EQ(RecordJson("hello", "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordJson(example, "no.Type").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(RecordOutline("hello"), "  68 65 6c 6c 6f \n");
  for (size_t n = 0; n < example.size(); ++n) RecordOutline(example.substr(0, n));
}

}  // namespace
}  // namespace thalweg
