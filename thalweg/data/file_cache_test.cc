// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/file_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/data/counting.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using testing::HasSubstr;
using Lines = std::vector<std::string>;

class FileCacheTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  // Numbers, counted each time one is made.
  DatasetPtr Counted(int64_t n) {
    const auto count = IntFunction([this](int64_t x) {
      ++made_;
      return x;
    });
    return FileCacheDataset(MapDataset(RangeOf(n), count, IntSpec(), {}), Path("c"));
  }
  size_t Files() { return fs_.List(directory_.path())->size(); }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
  int made_ = 0;
};

TEST_F(FileCacheTest, ThePassThatComesToItsEndWritesForAllOthers) {
  const DatasetPtr cached = Counted(4);
  (void)Puller(cached, 0).Rest(2);  // leaves nothing
  EXPECT_EQ(Files(), 0u);
  EXPECT_EQ(Texts(Puller(RepeatDataset(cached, 3), 2).Rest()),
            (Lines{"0", "1", "2", "3", "0", "1", "2", "3", "0", "1", "2", "3"}));
  EXPECT_EQ(made_, 6);
  EXPECT_EQ(Files(), 2u);
  EXPECT_EQ(Texts(Puller(Counted(9), 0).Rest()).size(), 4u);  // whoever has written it
  EXPECT_EQ(made_, 6);
}

TEST_F(FileCacheTest, OneWritesAtATime) {
  const DatasetPtr cached = Counted(3);
  {
    Puller first(cached, 0);
    ASSERT_TRUE(first.Next().ok());
    Puller second(cached, 0);
    const Status refused = second.Next().status();
    EXPECT_EQ(refused.code(), Code::kAlreadyExists);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("c_0.lockfile"));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("Created at: "));
    (void)first.Rest();
    EXPECT_EQ(Texts(second.Rest()), (Lines{"0", "1", "2"}));
  }
  EXPECT_EQ(Files(), 2u);
}

TEST_F(FileCacheTest, APassGoesOnWhereItWasSaved) {
  const DatasetPtr cached = Counted(5);
  std::vector<Tensor> writing;
  {
    Puller first(cached, 0);
    (void)first.Rest(2);
    writing = *first.Save();
  }
  Puller second(cached, 0);
  ASSERT_TRUE(second.Restore(writing).ok());
  EXPECT_EQ(Texts(second.Rest()), (Lines{"2", "3", "4"}));
  EXPECT_EQ(Files(), 0u);  // half of the elements are no cache
  (void)Puller(cached, 0).Rest();
  Puller reads(cached, 0);
  (void)reads.Rest(3);
  const Result<std::vector<Tensor>> reading = reads.Save();
  Puller third(cached, 0);
  ASSERT_TRUE(third.Restore(*reading).ok());
  EXPECT_EQ(Texts(third.Rest()), (Lines{"3", "4"}));
}

TEST_F(FileCacheTest, DamagedFilesAndThoseOfOtherElementsAreNamed) {
  const DatasetPtr cached = Counted(4);
  (void)Puller(cached, 0).Rest();
  const ElementSpec two = {{DType::kInt64, DType::kInt64}, {PartialShape(), PartialShape()}};
  const DatasetPtr three = ZipDataset({RangeOf(3), RangeOf(3), RangeOf(3)},
                                      {{DType::kInt64, DType::kInt64, DType::kInt64},
                                       {PartialShape(), PartialShape(), PartialShape()}});
  const auto says = [&](const DatasetPtr& input, const char* what) {
    const Status status = Puller(FileCacheDataset(input, Path("c")), 0).Next().status();
    EXPECT_THAT(status.ToString(), HasSubstr(what));
    EXPECT_THAT(status.ToString(), HasSubstr(Path("c")));
  };
  says(ZipDataset({RangeOf(3), RangeOf(3)}, two), "lacks component 1 of element 0");
  says(three, "4 tensors, which are no elements of 3 components");
  const auto change = [&](const std::string& file, std::string text) {
    const auto out = *fs_.OpenForWriting(Path(file));
    ASSERT_TRUE(out->Append(text).ok() && out->Close().ok());
  };
  std::string data = *ReadFile(fs_, Path("c.data-00000-of-00001"));
  data[9] = static_cast<char>(data[9] ^ 1);
  change("c.data-00000-of-00001", data);
  Puller damaged(cached, 0);
  ASSERT_TRUE(damaged.Next().ok());
  EXPECT_EQ(damaged.Next().status().code(), Code::kDataLoss);
  change("c.index", "no table");
  says(RangeOf(4), "c.index");
}

}  // namespace
}  // namespace thalweg
