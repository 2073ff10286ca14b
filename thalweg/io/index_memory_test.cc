// SPDX-License-Identifier: Apache-2.0
// What opening and reading a checkpoint of N bytes may take: for every field of its index, for
// indexes of many short keys, and for tensors that claim more than is there.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/table.h"
#include "thalweg/io/test_memory_files.h"
#include "thalweg/proto/messages.h"
#include "thalweg/testing/hostile_fields.h"
#include "thalweg/testing/process_counters.h"

namespace thalweg {
namespace {

// README.md promises this: for each byte of index and data, and beside it.
constexpr int64_t kMostPerByte = 512;
constexpr int64_t kMostBeside = int64_t{64} << 10;

class IndexFile : public WritableFile {
 public:
  Status Append(std::string_view more) override {
    bytes.append(more);
    return OkStatus();
  }
  Status AppendWhole(std::string_view more) override { return Append(more); }
  Status Sync() override { return OkStatus(); }
  Status Close() override { return OkStatus(); }
  const std::string& path() const override { return path_; }
  std::string bytes;

 private:
  const std::string path_ = "index";
};

class IndexMemoryTest : public ::testing::Test {
 protected:
  IndexMemoryTest() {
    PosixFileSystem fs;
    const std::string prefix = directory_.path() + "/model";
    auto writer = *BundleWriter::Create(fs, prefix);
    EXPECT_TRUE(writer->Add("numbers", Tensor::Vector<float>({1, 2, 3})).ok());
    EXPECT_TRUE(writer->Add("texts", Tensor::Vector<std::string>({"a", "bc"})).ok());
    const Tensor row = *Tensor::Vector<int32_t>({1, 2}).Reshaped(Shape{1, 2});
    for (const char* slice : {"0,1:-", "1,1:-"}) {
      EXPECT_TRUE(writer->AddSlice("parts", Shape{2, 2}, *TensorSlice::Parse(slice), row).ok());
    }
    EXPECT_TRUE(writer->Finish().ok());
    data_ = *ReadFile(fs, BundleDataPath(prefix, 0, 1));
    const std::string index = *ReadFile(fs, BundleIndexPath(prefix));
    const TableEntries rows = *ReadTable(MemoryFile(index), "index");
    rows_.insert(rows.begin(), rows.end());
  }

  static std::string IndexOf(const std::map<std::string, std::string>& rows) {
    IndexFile file;
    TableWriter writer(file);
    for (const auto& [key, value] : rows) EXPECT_TRUE(writer.Add(key, value).ok());
    EXPECT_TRUE(writer.Finish().ok());
    return file.bytes;
  }

  // The most that was held while all that the index names was read; of that, tensors hold what
  // their limit allows.
  int64_t PeakOf(const std::string& index, Status* opened) {
    const auto bytes = static_cast<int64_t>(index.size() + data_.size());
    const AllocatorPtr memory = MakeCpuAllocator(64 * bytes + kMostBeside);
    MemoryFileSystem fs([&](const std::string& path) {
      return std::string_view(path.ends_with(".index") ? index : data_);
    });
    const int64_t before = BytesHeld();
    ForgetPeak();
    {
      const auto reader = BundleReader::Open(fs, "model");
      *opened = reader.status();
      if (reader.ok()) {
        for (const std::string& name : (*reader)->Names()) {
          (*reader)->Read(name, *memory).status().IgnoreError();
        }
      }
    }
    return PeakBytes() - before;
  }
  void ExpectBounded(const std::string& index, const std::string& what) {
    Status opened;
    const auto size = static_cast<int64_t>(index.size() + data_.size());
    EXPECT_LE(PeakOf(index, &opened), kMostPerByte * size + kMostBeside)
        << what << " of " << size << " bytes: " << opened.ToString();
    accepted_ += opened.ok() ? 1 : 0;
    ++tried_;
  }

  TemporaryDirectory directory_;
  std::string data_;
  std::map<std::string, std::string> rows_;  // of the index; the header's key is empty
  int accepted_ = 0, tried_ = 0;
};

TEST_F(IndexMemoryTest, NoFieldTakesMoreThanAMultipleOfItsBytes) {
  Status opened;
  PeakOf(IndexOf(rows_), &opened);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  for (const auto& [key, bytes] : rows_) {
    const MessageDescriptor& type =
        key.empty() ? pb::BundleHeaderProto::Descriptor() : pb::BundleEntryProto::Descriptor();
    const HostileWrap whole = [&](const std::string& changed) {
      auto rows = rows_;
      rows[key] = changed;
      return IndexOf(rows);
    };
    ForEachHostileMessage(type, bytes, whole,
                          [&](const MessageDescriptor& at, const HostileWrap& add) {
                            for (const FieldDescriptor& field : at.fields) {
                              for (const std::string& hostile : HostileFields(field)) {
                                ExpectBounded(add(hostile), StrCat(at.full_name, ".", field.name));
                              }
                            }
                          });
  }
  // That the test reaches what it is there for.
  EXPECT_GT(tried_, 300);
  EXPECT_GT(accepted_, tried_ / 4);
}

TEST_F(IndexMemoryTest, ManyKeysThatShareTheirBeginnings) {
  auto rows = rows_;
  const std::string value = rows.at("numbers");
  for (int i = 0; i < 2000; ++i) {
    rows[std::string(200, 'k') + static_cast<char>('a' + i / 100) +
         static_cast<char>(' ' + i % 100)] = value;
  }
  ExpectBounded(IndexOf(rows), "2000 keys");
  EXPECT_EQ(accepted_, 1);
}

// That the measure can fail: an index is not as small as its bytes.
TEST_F(IndexMemoryTest, TheMeasureCounts) {
  auto rows = rows_;
  for (int i = 0; i < 2000; ++i) rows["k" + std::to_string(i)] = rows.at("numbers");
  const std::string index = IndexOf(rows);
  Status opened;
  EXPECT_GT(PeakOf(index, &opened), static_cast<int64_t>(4 * index.size()));
  EXPECT_TRUE(opened.ok()) << opened.ToString();
}

}  // namespace
}  // namespace thalweg
