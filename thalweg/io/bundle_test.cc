// SPDX-License-Identifier: Apache-2.0
// Checkpoints against the golden files of both releases, damage, slices, merging.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/table.h"
#include "thalweg/io/table_block.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

std::string Golden(const std::string& name) {
  return std::string(THALWEG_GOLDEN_DIR) + "/checkpoints/" + name;
}

class BundleTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }

  PosixFileSystem fs_;
  AllocatorPtr allocator_ = MakeCpuAllocator();
  TemporaryDirectory directory_;
};

// Reading every tensor (each checked against its checksum) and writing them in the same order must
// give the same files.
void ExpectSameFiles(PosixFileSystem& fs, Allocator& allocator, const std::string& golden,
                     const std::string& copy) {
  Result<std::unique_ptr<BundleReader>> reader = BundleReader::Open(fs, golden);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  std::vector<std::string> names = (*reader)->Names();
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    const auto* x = (*reader)->Find(a);
    const auto* y = (*reader)->Find(b);
    return std::pair(x->offset, x->size) < std::pair(y->offset, y->size);
  });
  Result<std::unique_ptr<BundleWriter>> writer = BundleWriter::Create(fs, copy);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (const std::string& name : names) {
    Result<Tensor> value = (*reader)->Read(name, allocator);
    ASSERT_TRUE(value.ok()) << value.status().ToString();
    ASSERT_TRUE((*writer)->Add(name, *value).ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(*ReadFile(fs, BundleDataPath(copy, 0, 1)), *ReadFile(fs, BundleDataPath(golden, 0, 1)));
  EXPECT_EQ(*ReadFile(fs, BundleIndexPath(copy)), *ReadFile(fs, BundleIndexPath(golden)));
}

TEST_F(BundleTest, EveryTypeByteForByte) {
  for (const char* release : {"1.15", "2.21"}) {
    ExpectSameFiles(fs_, *allocator_, Golden(std::string(release) + "/typed"), Path("typed"));
  }
}

// A checkpoint of TensorFlow 2.21 has these bytes for these messages.
TEST_F(BundleTest, VariantsAreWrittenAsTheirMessages) {
  const auto variant = [](std::string bytes) {
    return Variant(std::make_shared<const OpaqueVariant>("t", std::move(bytes)));
  };
  Tensor two = *Tensor::AllocateHost(DType::kVariant, Shape{2});
  two.mutable_data<Variant>()[0] = variant("\x0a\x01t");
  two.mutable_data<Variant>()[1] = variant("\x0a\x01t\x12\x02me");
  Result<std::unique_ptr<BundleWriter>> writer = BundleWriter::Create(fs_, Path("v"));
  ASSERT_TRUE((*writer)->Add("v", two).ok());
  TensorSlice half;
  half.extents = {{0, 1}};
  EXPECT_EQ((*writer)
                ->AddSlice("s", Shape{4}, half, *Tensor::AllocateHost(DType::kVariant, Shape{1}))
                .code(),
            Code::kUnimplemented);
  ASSERT_TRUE((*writer)->Finish().ok());
  const std::string data = *ReadFile(fs_, BundleDataPath(Path("v"), 0, 1));
  ASSERT_EQ(data.size(), 1u + 3 + 4 + 1 + 7 + 4);
  EXPECT_EQ(data.substr(0, 4), "\x03\x0a\x01t");

  const Result<std::unique_ptr<BundleReader>> reader = BundleReader::Open(fs_, Path("v"));
  const Tensor back = *(*reader)->Read("v", *allocator_);
  EXPECT_EQ(back.flat<Variant>()[1].As<OpaqueVariant>()->bytes(), "\x0a\x01t\x12\x02me");
  EXPECT_EQ((*reader)->ReadSlice("v", half, *allocator_).status().code(), Code::kUnimplemented);
  for (size_t i = 0; i < data.size(); ++i) {
    std::string damaged = data;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    const auto file = *fs_.OpenForWriting(BundleDataPath(Path("v"), 0, 1));
    ASSERT_TRUE(file->Append(damaged).ok() && file->Close().ok());
    const Result<std::unique_ptr<BundleReader>> again = BundleReader::Open(fs_, Path("v"));
    EXPECT_EQ((*again)->Read("v", *allocator_).status().code(), Code::kDataLoss) << i;
  }
}

TEST_F(BundleTest, ABoolIsTrueUnlessItsByteIsZero) {
  Tensor value = *Tensor::AllocateHost(DType::kBool, Shape{4});
  std::memcpy(value.mutable_raw_data(), "\0\1\x52\xff", 4);
  Result<std::unique_ptr<BundleWriter>> writer = BundleWriter::Create(fs_, Path("b"));
  ASSERT_TRUE((*writer)->Add("b", value).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  const Tensor back = *(*BundleReader::Open(fs_, Path("b")))->Read("b", *allocator_);
  EXPECT_EQ(std::memcmp(back.raw_data(), "\0\1\1\1", 4), 0);
}

TEST_F(BundleTest, ManyTensorsInSeveralIndexBlocks) {
  ExpectSameFiles(fs_, *allocator_, Golden("2.21/many"), Path("many"));
}

TEST_F(BundleTest, ShardedAndPartitioned) {
  for (const char* release : {"1.15", "2.21"}) {
    auto sharded = BundleReader::Open(fs_, Golden(std::string(release) + "/sharded/model-7"));
    ASSERT_TRUE(sharded.ok()) << sharded.status().ToString();
    auto partitioned =
        BundleReader::Open(fs_, Golden(std::string(release) + "/partitioned/model-2"));
    ASSERT_TRUE(partitioned.ok()) << partitioned.status().ToString();
    int in_slices = 0;
    for (const auto* reader : {sharded->get(), partitioned->get()}) {
      for (const std::string& name : reader->Names()) {
        in_slices += reader->Find(name)->slices.empty() ? 0 : 1;
        const Result<Tensor> value = reader->Read(name, *allocator_);
        EXPECT_TRUE(value.ok()) << value.status().ToString();
      }
    }
    EXPECT_GT(in_slices, 0);
  }
}

Tensor Matrix(int64_t rows, int64_t cols, float first) {
  Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{rows, cols});
  for (int64_t i = 0; i < rows * cols; ++i)
    t.mutable_data<float>()[i] = first + static_cast<float>(i);
  return t;
}

TEST_F(BundleTest, SlicesAreWrittenAndReadAcrossTheirBorders) {
  auto writer = *BundleWriter::Create(fs_, Path("sliced"));
  ASSERT_TRUE(
      writer->AddSlice("m", Shape{4, 3}, *TensorSlice::Parse("0,1:-"), Matrix(1, 3, 0)).ok());
  ASSERT_TRUE(
      writer->AddSlice("m", Shape{4, 3}, *TensorSlice::Parse("1,3:-"), Matrix(3, 3, 3)).ok());
  EXPECT_EQ(
      writer->AddSlice("m", Shape{4, 3}, *TensorSlice::Parse("1,3:-"), Matrix(2, 3, 3)).code(),
      Code::kInvalidArgument);
  ASSERT_TRUE(writer->Finish().ok());
  auto reader = *BundleReader::Open(fs_, Path("sliced"));
  EXPECT_EQ(reader->Names(), (std::vector<std::string>{"m"}));
  const Tensor whole = *reader->Read("m", *allocator_);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(whole.data<float>()[i], i);
  const Tensor part = *reader->ReadSlice("m", *TensorSlice::Parse("0,2:1,2"), *allocator_);
  EXPECT_EQ(part.shape(), (Shape{2, 2}));
  EXPECT_EQ(std::vector<float>(part.data<float>(), part.data<float>() + 4),
            (std::vector<float>{1, 2, 4, 5}));
  EXPECT_FALSE(reader->ReadSlice("m", *TensorSlice::Parse("3,2:-"), *allocator_).ok());
}

TEST_F(BundleTest, ASliceThatIsTheWholeIsWrittenAsTheWhole) {
  for (const char* slice : {"0,2:0,3", "-:-"}) {
    auto writer = *BundleWriter::Create(fs_, Path("whole"));
    ASSERT_TRUE(
        writer->AddSlice("m", Shape{2, 3}, *TensorSlice::Parse(slice), Matrix(2, 3, 0)).ok());
    ASSERT_TRUE(writer->Finish().ok());
    auto reader = *BundleReader::Open(fs_, Path("whole"));
    EXPECT_TRUE(reader->Find("m")->slices.empty()) << slice;
    EXPECT_EQ(reader->Read("m", *allocator_)->data<float>()[5], 5);
  }
}

TEST_F(BundleTest, SlicesOfDifferentTensorsAreNotMixed) {
  const TensorSlice top = *TensorSlice::Parse("0,1:-"), rest = *TensorSlice::Parse("1,3:-");
  auto writer = *BundleWriter::Create(fs_, Path("mixed"));
  ASSERT_TRUE(writer->AddSlice("m", Shape{4, 3}, top, Matrix(1, 3, 0)).ok());
  EXPECT_EQ(writer->AddSlice("m", Shape{5, 3}, rest, Matrix(3, 3, 0)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(writer->AddSlice("m", Shape{4, 3}, top, Matrix(1, 3, 0)).code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(writer->Add("w", Matrix(4, 3, 0)).ok());
  EXPECT_EQ(writer->AddSlice("w", Shape{4, 3}, top, Matrix(1, 3, 0)).code(),
            Code::kInvalidArgument);
  for (const int rows : {4, 5}) {
    auto part = *BundleWriter::Create(fs_, Path(StrCat("part", rows)));
    ASSERT_TRUE(part->AddSlice("m", Shape{rows, 3}, *TensorSlice::Parse(StrCat(rows - 4, ",1:-")),
                               Matrix(1, 3, 0))
                    .ok());
    ASSERT_TRUE(part->Finish().ok());
  }
  EXPECT_EQ(MergeBundles(fs_, {Path("part4"), Path("part5")}, Path("all")).code(),
            Code::kInvalidArgument);
}

TEST_F(BundleTest, MergedShardsHoldEverything) {
  for (int i = 0; i < 3; ++i) {
    auto writer = *BundleWriter::Create(fs_, Path(StrCat("part", i)));
    ASSERT_TRUE(writer->Add(StrCat("t", i), Matrix(2, 2, static_cast<float>(i))).ok());
    ASSERT_TRUE(writer
                    ->AddSlice("s", Shape{3, 2}, *TensorSlice::Parse(StrCat(i, ",1:-")),
                               Matrix(1, 2, static_cast<float>(2 * i)))
                    .ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  ASSERT_TRUE(MergeBundles(fs_, {Path("part0"), Path("part1"), Path("part2")}, Path("all")).ok());
  auto reader = *BundleReader::Open(fs_, Path("all"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(reader->Read(StrCat("t", i), *allocator_)->data<float>()[0], static_cast<float>(i));
  }
  const Tensor s = *reader->Read("s", *allocator_);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(s.data<float>()[i], i);
  EXPECT_EQ(fs_.List(directory_.path())->size(), 4u);  // one index, three data files
}

TEST_F(BundleTest, NothingIsLeftOfAnUnfinishedCheckpoint) {
  {
    auto writer = *BundleWriter::Create(fs_, Path("never"));
    ASSERT_TRUE(writer->Add("t", Matrix(2, 2, 0)).ok());
    EXPECT_EQ(writer->Add("t", Matrix(2, 2, 0)).code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(fs_.List(directory_.path())->empty());
}

TEST_F(BundleTest, AFileThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(BundleWriter::Create(fs_, Path(std::string(300, 'a'))).ok());
}

TEST_F(BundleTest, MissingTensorsAndFilesAreNamed) {
  auto reader = *BundleReader::Open(fs_, Golden("2.21/typed"));
  const Status missing = reader->Read("f32/matrices", *allocator_).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_NE(missing.message().find("'f32/matrices' is not in checkpoint"), std::string_view::npos)
      << missing.ToString();
  EXPECT_EQ(BundleReader::Open(fs_, Path("absent")).status().code(), Code::kNotFound);
}

TEST_F(BundleTest, FlippedBitsAndTruncationAreDataLoss) {
  auto writer = *BundleWriter::Create(fs_, Path("good"));
  ASSERT_TRUE(writer->Add("m", Matrix(8, 8, 1)).ok());
  ASSERT_TRUE(writer->Add("s", Tensor::Vector<std::string>({"one", "", "three"})).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const std::string data = *ReadFile(fs_, BundleDataPath(Path("good"), 0, 1));
  const std::string index = *ReadFile(fs_, BundleIndexPath(Path("good")));
  const auto write = [&](const std::string& path, const std::string& bytes) {
    auto file = *fs_.OpenForWriting(path);
    ASSERT_TRUE(file->Append(bytes).ok());
    ASSERT_TRUE(file->Close().ok());
  };
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 300; ++i) {
    const bool in_data = i % 2 == 0;
    std::string damaged = in_data ? data : index;
    if (i % 5 == 0) {
      damaged.resize(random() % damaged.size());
    } else {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    write(BundleDataPath(Path("bad"), 0, 1), in_data ? damaged : data);
    write(BundleIndexPath(Path("bad")), in_data ? index : damaged);
    auto reader = BundleReader::Open(fs_, Path("bad"));
    if (!reader.ok()) continue;
    const Result<Tensor> m = (*reader)->Read("m", *allocator_);
    const Result<Tensor> s = (*reader)->Read("s", *allocator_);
    if (!m.ok() || !s.ok()) continue;
    // Bits of the footer's padding and of the empty meta index mean nothing; the values must be
    // right.
    EXPECT_FALSE(in_data) << i;
    EXPECT_EQ(m->data<float>()[63], 64.0f);
    EXPECT_EQ(s->data<std::string>()[2], "three");
    ++accepted;
  }
  EXPECT_LT(accepted, 60);
}

// An index with right checksums that says what no writer would.
class ForgedBundleTest : public BundleTest {
 protected:
  static std::string EntryOf(DType dtype, int64_t elements, int64_t bytes,
                             const std::vector<TensorSlice>& slices = {}) {
    OwnedMessage entry(pb::BundleEntryProto::Descriptor());
    entry->SetInt(pb::BundleEntryProto::kDtype, static_cast<int64_t>(dtype));
    ShapeToProto(Shape{elements}, entry->Mutable(pb::BundleEntryProto::kShape));
    entry->SetInt(pb::BundleEntryProto::kSize, bytes);
    entry->SetUint(pb::BundleEntryProto::kCrc32c,
                   MaskCrc32c(Crc32c(std::string(static_cast<size_t>(bytes), '\0'))));
    for (const TensorSlice& slice : slices)
      slice.ToProto(entry->Add(pb::BundleEntryProto::kSlices));
    return *Serialize(*entry);
  }
  // What reading "m" says. The data file has 64 zeros.
  Status Read(const std::map<std::string, std::string>& rows) {
    OwnedMessage header(pb::BundleHeaderProto::Descriptor());
    header->SetInt(pb::BundleHeaderProto::kNumShards, 1);
    auto index = *fs_.OpenForWriting(BundleIndexPath(Path("forged")));
    TableWriter writer(*index);
    EXPECT_TRUE(writer.Add("", *Serialize(*header)).ok());
    for (const auto& [key, value] : rows) EXPECT_TRUE(writer.Add(key, value).ok());
    EXPECT_TRUE(writer.Finish().ok() && index->Close().ok());
    auto data = *fs_.OpenForWriting(BundleDataPath(Path("forged"), 0, 1));
    EXPECT_TRUE(data->Append(std::string(64, '\0')).ok() && data->Close().ok());
    auto reader = BundleReader::Open(fs_, Path("forged"));
    return reader.ok() ? (*reader)->Read("m", *allocator_).status() : reader.status();
  }
};

TEST_F(ForgedBundleTest, ClaimsAreCheckedBeforeMemoryIsTakenOrWritten) {
  const TensorSlice all{{{0, 8}}}, tail{{{4, 4}}};
  const std::string right = EntryOf(DType::kFloat, 8, 32, {all});
  EXPECT_TRUE(Read({{"m", right}, {SliceKey("m", all), EntryOf(DType::kFloat, 8, 32)}}).ok());
  // A piece of another type, whose elements are wider.
  const Status other = Read({{"m", right}, {SliceKey("m", all), EntryOf(DType::kDouble, 8, 64)}});
  EXPECT_EQ(other.code(), Code::kDataLoss);
  EXPECT_NE(other.message().find("is of type float32, its slice '0,8' of type float64"),
            std::string_view::npos)
      << other.ToString();
  const Status overlap = Read({{"m", EntryOf(DType::kFloat, 8, 32, {all, tail})},
                               {SliceKey("m", all), EntryOf(DType::kFloat, 8, 32)},
                               {SliceKey("m", tail), EntryOf(DType::kFloat, 4, 16)}});
  EXPECT_EQ(overlap.code(), Code::kDataLoss);
  EXPECT_NE(overlap.message().find("overlap"), std::string_view::npos) << overlap.ToString();
  // As many elements as there are, but some twice and the last two never.
  const TensorSlice head{{{0, 4}}}, middle{{{2, 4}}};
  const Status gap = Read({{"m", EntryOf(DType::kFloat, 8, 32, {head, middle})},
                           {SliceKey("m", head), EntryOf(DType::kFloat, 4, 16)},
                           {SliceKey("m", middle), EntryOf(DType::kFloat, 4, 16)}});
  EXPECT_EQ(gap.code(), Code::kDataLoss) << gap.ToString();
  // One piece named for both halves: fewer bytes than the tensor.
  const Status twice = Read({{"m", EntryOf(DType::kFloat, 8, 32, {head, head})},
                             {SliceKey("m", head), EntryOf(DType::kFloat, 4, 16)}});
  EXPECT_EQ(twice.code(), Code::kDataLoss) << twice.ToString();
  // 2^60 floats are more bytes than the file has, and those of 2^60 elements of 16 bytes are not
  // none, though their number is in 64 bits.
  const TensorSlice huge{{{0, int64_t{1} << 60}}};
  EXPECT_EQ(Read({{"m", EntryOf(DType::kFloat, int64_t{1} << 60, 0, {huge})},
                  {SliceKey("m", huge), EntryOf(DType::kFloat, int64_t{1} << 60, 0)}})
                .code(),
            Code::kDataLoss);
  EXPECT_EQ(Read({{"m", EntryOf(DType::kComplex128, int64_t{1} << 60, 0)}}).code(),
            Code::kDataLoss);
}

TEST_F(ForgedBundleTest, KeysThatDoNotRiseAreDataLoss) {
  // The writer refuses them, so the second key is changed in a block and its checksum set right.
  ASSERT_TRUE(
      Read({{"m", EntryOf(DType::kFloat, 8, 32)}, {"n", EntryOf(DType::kFloat, 8, 32)}}).ok());
  const std::string path = BundleIndexPath(Path("forged"));
  std::string bytes = *ReadFile(fs_, path);
  const size_t n = bytes.find(
      "\x01" + std::string(1, static_cast<char>(EntryOf(DType::kFloat, 8, 32).size())) + "n");
  ASSERT_NE(n, std::string::npos);
  bytes[n + 2] = 'm';
  const std::string block = bytes.substr(0, bytes.find(std::string("\x01\0\0\0\0", 5)) + 5);
  const uint32_t crc = MaskCrc32c(Crc32c(block));
  std::memcpy(bytes.data() + block.size(), &crc, 4);
  auto file = *fs_.OpenForWriting(path);
  ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
  const Status status = BundleReader::Open(fs_, Path("forged")).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("do not rise"), std::string_view::npos) << status.ToString();
}

// Keys share their beginnings: one long one could be said again by every few bytes.
TEST(TableBlockTest, KeysAreBoundedByAMultipleOfTheBlock) {
  const auto block_of = [](int restart_interval, int count) {
    TableBlockBuilder builder(restart_interval);
    for (int i = 0; i < count; ++i) {
      builder.Add(StrCat(std::string(10000, 'a'), 100000 + i), "value");
    }
    return builder.Finish();
  };
  const auto keys_read = [](const std::string& block) -> Result<int> {
    ASSIGN_OR_RETURN(TableBlockReader reader, TableBlockReader::Open(block));
    int count = 0;
    while (reader.Next()) ++count;
    RETURN_IF_ERROR(reader.status());
    return count;
  };
  const Result<int> as_written = keys_read(block_of(16, 500));
  ASSERT_TRUE(as_written.ok()) << as_written.status().ToString();
  EXPECT_EQ(*as_written, 500);
  const std::string small = block_of(1 << 30, 2000);
  EXPECT_LT(small.size(), 40000u);  // and 20 MB of keys
  const Status refused = keys_read(small).status();
  EXPECT_EQ(refused.code(), Code::kDataLoss);
  EXPECT_NE(refused.message().find("more than 64 times"), std::string_view::npos)
      << refused.ToString();
}

TEST(TensorSliceTest, ParsesAndRefuses) {
  EXPECT_EQ(TensorSlice::Parse("0,5:-")->ToString(), "0,5:-");
  for (const char* bad : {"x", "1", "-1,2", "1,2,3"})
    EXPECT_FALSE(TensorSlice::Parse(bad).ok()) << bad;
  Shape shape;
  TensorSlice slice;
  EXPECT_TRUE(ParseShapeAndSlice("4 3 0,1:-", &shape, &slice).ok());
  EXPECT_EQ(shape, (Shape{4, 3}));
  EXPECT_FALSE(ParseShapeAndSlice("4 3 0,9:-", &shape, &slice).ok());
  EXPECT_FALSE(ParseShapeAndSlice("4 3 -", &shape, &slice).ok());
}

}  // namespace
}  // namespace thalweg
