// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/record.h"

#include <gtest/gtest.h>

#include <random>

#include "thalweg/base/file_system.h"
#include "thalweg/cluster/transport/message.h"

namespace thalweg {
namespace {

std::string TensorRecord(RecordKind kind, const TensorHead& head, uint64_t payload_bytes,
                         const std::string& payload = "") {
  std::string out(kMaxHeadBytes, '\0');
  out.resize(
      EncodeHead(kind, head, payload_bytes, {.piece = 1, .offset = 64, .loan = 5}, out.data()));
  return out + payload;
}

std::string ControlRecord(const std::string& text) {
  std::string out(8, '\0');
  EncodeControlPrefix(text.size(), out.data());
  return out + text;
}

const TensorHead kHead{
    .step = 1, .edge = 2, .frame = 3, .iteration = 4, .dtype = DType::kFloat, .shape = Shape{2}};

std::vector<std::string> GoodRecords() {
  const uint64_t loans[] = {1, 2, 3};
  return {ControlRecord("hello"),
          TensorRecord(RecordKind::kTensor, kHead, 8, "12345678"),
          TensorRecord(RecordKind::kBulk, kHead, 8),
          TensorRecord(RecordKind::kShared, kHead, 8),
          EncodeReleases(loans),
          EncodeClose(Aborted("why")),
          EncodeLentPiece({.piece = 6, .offset = 7, .loan = 8}, 9)};
}

// What the other side of a cluster may have been built of long ago.
TEST(Record, AStepIsAsTheFormatBookShowsIt) {
  const uint64_t step = MakeStep(0xabcdef, 7);
  const auto control = [](const StepMessage& message) {
    return ControlRecord(std::string(Encode(message).view()));
  };
  const auto tensor = [&](RecordKind kind, uint32_t edge, const Shape& shape,
                          const std::string& payload) {
    const TensorHead head{.step = step, .edge = edge, .dtype = DType::kFloat, .shape = shape};
    return TensorRecord(kind, head, 4 * static_cast<uint64_t>(shape.num_elements()), payload);
  };
  const uint64_t loans[] = {5};
  const std::string bytes =
      control(StartMessage{.step = step,
                           .lowest_open = 5,
                           .session = 99,
                           .plan = 3,
                           .incarnation = 0x1122334455667788,
                           .time_left = 1'000'000'000}) +
      tensor(RecordKind::kTensor, 2, Shape{2}, std::string("\0\0\x80\x3f\0\0\0\x40", 8)) +
      tensor(RecordKind::kShared, 3, Shape{1024, 1024}, "") + EncodeReleases(loans) +
      control(DoneMessage{.step = step}) + EncodeClose(Aborted("why"));
  PosixFileSystem fs;
  EXPECT_EQ(bytes, *ReadFile(fs, THALWEG_GOLDEN_DIR "/channels/step.bin"));
}

TEST(Record, ReadsWhatItWrote) {
  Record record;
  const std::vector<std::string> good = GoodRecords();
  for (const std::string& bytes : good) {
    EXPECT_EQ(*RecordLength(bytes + "more"), bytes.size());
  }
  ASSERT_TRUE(ParseRecord(good[0], &record).ok());
  EXPECT_EQ(record.control, "hello");
  ASSERT_TRUE(ParseRecord(good[1], &record).ok());
  EXPECT_EQ(record.payload, "12345678");
  EXPECT_EQ(record.head.iteration, 4u);
  EXPECT_EQ(record.head.shape, Shape{2});
  ASSERT_TRUE(ParseRecord(good[2], &record).ok());
  EXPECT_EQ(record.payload_bytes, 8u);
  ASSERT_TRUE(ParseRecord(good[3], &record).ok());
  EXPECT_EQ(record.place.offset, 64u);
  EXPECT_EQ(record.place.loan, 5u);
  ASSERT_TRUE(ParseRecord(good[4], &record).ok());
  EXPECT_EQ(record.releases.size(), 3u);
  ASSERT_TRUE(ParseRecord(good[5], &record).ok());
  EXPECT_EQ(record.why.ToString(), Aborted("why").ToString());
  ASSERT_TRUE(ParseRecord(good[6], &record).ok());
  EXPECT_EQ(record.place.piece, 6u);
  EXPECT_EQ(record.place.offset, 7u);
  EXPECT_EQ(record.place.loan, 8u);
  EXPECT_EQ(record.payload_bytes, 9u);
}

TEST(Record, RefusesWhatContradictsItself) {
  Record record;
  TensorHead bad = kHead;
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kBulk, kHead, 9), &record).ok());
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kTensor, kHead, 8, "123456789"), &record).ok());
  bad.dtype = static_cast<DType>(77);
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kBulk, bad, 8), &record).ok());
  bad = kHead;
  bad.shape = Shape(Dims({int64_t{1} << 62, 4}));
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kBulk, bad, 8), &record).ok());
  bad.shape = Shape(Dims({int64_t{1} << 62}));  // the bytes overflow, the elements do not
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kBulk, bad, 0), &record).ok());
  bad.shape = Shape(Dims({int64_t{-2}}));
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kBulk, bad, 8), &record).ok());
  bad = kHead;
  bad.dead = true;
  EXPECT_FALSE(ParseRecord(TensorRecord(RecordKind::kTensor, bad, 8, "12345678"), &record).ok());
  EXPECT_FALSE(RecordLength(std::string(8, '\0')).ok());
  std::string longer = EncodeLentPiece({}, 9) + "x";
  longer[0] = static_cast<char>(longer.size());
  EXPECT_FALSE(ParseRecord(longer, &record).ok());
  EXPECT_FALSE(RecordLength(std::string(8, '\xff')).ok());
  EXPECT_EQ(*RecordLength("1234567"), 0u);
}

// Cut or changed records are errors or other records, and nothing is read beyond their end.
TEST(Record, SurvivesDamage) {
  std::mt19937 random(1);
  for (const std::string& good : GoodRecords()) {
    for (size_t n = 0; n < good.size(); ++n) {
      Record record;
      const std::vector<char> cut(good.begin(), good.begin() + static_cast<int64_t>(n));
      EXPECT_FALSE(ParseRecord({cut.data(), cut.size()}, &record).ok()) << n;
    }
    for (int i = 0; i < 20'000; ++i) {
      std::vector<char> bytes(good.begin(), good.end());
      for (int changes = 0; changes < 3; ++changes) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      Record record;
      const std::string_view view(bytes.data(), bytes.size());
      const Result<size_t> length = RecordLength(view);
      if (!length.ok()) continue;
      ParseRecord(view, &record).IgnoreError();
    }
  }
}

}  // namespace
}  // namespace thalweg
