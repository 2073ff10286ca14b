// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/saved_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/data/saved_metadata.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using testing::HasSubstr;
using Lines = std::vector<std::string>;

class SavedDatasetTest : public testing::Test {
 protected:
  std::string Path() const { return directory_.Path("saved"); }
  // The elements of shard after shard.
  Lines Loaded() {
    const auto shards = SavedShards(Path(), Compression::kNone, IntSpec());
    EXPECT_TRUE(shards.ok()) << shards.status().ToString();
    Lines all;
    for (const DatasetPtr& shard : *shards) {
      const Lines some = Texts(Puller(shard, 0).Rest());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  std::string OnlyFile() {
    const SavedMetadata metadata = *ReadMetadata(fs_, Path());
    return ShardFiles(fs_, Path(), metadata.run_id)->at(0).second.at(0);
  }
  void Overwrite(const std::string& path, const std::string& text) {
    const auto file = *fs_.OpenForWriting(path);
    ASSERT_TRUE(file->Append(text).ok());
    ASSERT_TRUE(file->Close().ok());
  }

  TemporaryDirectory directory_;
  PosixFileSystem fs_;
};

TEST_F(SavedDatasetTest, WhatWasSavedIsLoaded) {
  for (const int threads : {0, 2}) {
    EXPECT_EQ(Texts(Puller(SavedDataset(RangeOf(3), Path(), Compression::kNone), threads).Rest()),
              (Lines{"0", "1", "2"}));
    EXPECT_EQ(Loaded(), (Lines{"0", "1", "2"}));
  }
}

TEST_F(SavedDatasetTest, FilesMayBeCompressed) {
  for (const Compression kind : {Compression::kGzip, Compression::kZlib}) {
    Puller(SavedDataset(RangeOf(300), Path(), kind), 0).Rest();
    const auto shards = SavedShards(Path(), kind, IntSpec());
    ASSERT_TRUE(shards.ok()) << shards.status().ToString();
    EXPECT_EQ(Texts(Puller(shards->at(0), 0).Rest()), Texts(Puller(RangeOf(300), 0).Rest()));
    EXPECT_LT(fs_.Stat(OnlyFile())->size, 300u * 16);  // a record has as many bytes around it
  }
}

TEST_F(SavedDatasetTest, AFunctionChoosesTheShard) {
  const auto parity = IntFunction([](int64_t x) { return x % 2; });
  Puller(SavedDataset(RangeOf(5), Path(), Compression::kNone, parity), 2).Rest();
  EXPECT_EQ(Loaded(), (Lines{"0", "2", "4", "1", "3"}));
  const auto negative = IntFunction([](int64_t x) { return -1 - x; });
  EXPECT_EQ(Puller(SavedDataset(RangeOf(5), Path(), Compression::kNone, negative), 0)
                .Next()
                .status()
                .code(),
            Code::kInvalidArgument);
}

TEST_F(SavedDatasetTest, ARunThatIsNotWholeLeavesTheOneBefore) {
  Puller(SavedDataset(RangeOf(3), Path(), Compression::kNone), 0).Rest();
  const size_t files = fs_.List(Path())->size();
  Puller(SavedDataset(RangeOf(9), Path(), Compression::kNone), 0).Rest(4);
  EXPECT_EQ(Loaded(), (Lines{"0", "1", "2"}));
  EXPECT_EQ(fs_.List(Path())->size(), files);
}

TEST_F(SavedDatasetTest, APassThatGoesOnGivesTheRest) {
  const DatasetPtr saved = SavedDataset(RangeOf(5), Path(), Compression::kNone);
  Puller first(saved, 0);
  first.Rest(2);
  const std::vector<Tensor> state = *first.Save();
  Puller second(saved, 0);
  ASSERT_TRUE(second.Restore(state).ok());
  EXPECT_EQ(Texts(second.Rest()), (Lines{"2", "3", "4"}));
}

TEST_F(SavedDatasetTest, DamageIsNamed) {
  EXPECT_THAT(std::string(SavedShards(Path(), Compression::kNone, IntSpec()).status().message()),
              HasSubstr("no dataset was saved in"));
  Puller(SavedDataset(RangeOf(3), Path(), Compression::kNone), 0).Rest();
  const ElementSpec texts = {{DType::kString}, {PartialShape(Shape())}};
  EXPECT_EQ(SavedShards(Path(), Compression::kNone, texts).status().code(), Code::kInvalidArgument);
  const std::string file = OnlyFile();
  Overwrite(file, "this is no record");
  const DatasetPtr shard = SavedShards(Path(), Compression::kNone, IntSpec())->at(0);
  const Status damaged = Puller(shard, 0).Next().status();
  EXPECT_EQ(damaged.code(), Code::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr(file));
  // Any prefix of it, and any changed byte, is refused or says the same.
  const std::string name = Path() + "/snapshot.metadata";
  const auto metadata = *fs_.OpenForReading(name);
  std::string whole(200, '\0');
  whole.resize(*metadata->Read(0, whole.data(), whole.size()));
  for (size_t n = 0; n < whole.size(); ++n) {
    Overwrite(name, whole.substr(0, n));
    EXPECT_FALSE(ReadMetadata(fs_, Path()).ok()) << n;
  }
  Overwrite(name, whole);
  EXPECT_TRUE(ReadMetadata(fs_, Path()).ok());
}

}  // namespace
}  // namespace thalweg
