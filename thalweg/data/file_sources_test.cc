// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/file_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "thalweg/data/test_puller.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

using Lines = std::vector<std::string>;

ElementSpec TextSpec() { return {{DType::kString}, {PartialShape(Shape())}}; }

class FileSourcesTest : public testing::Test {
 protected:
  FileSourcesTest() : folder_(testing::TempDir() + "/file_sources_XXXXXX") {
    CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~FileSourcesTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static Lines All(const DatasetPtr& dataset) {
    Lines lines;
    for (const Element& element : Puller(dataset, 0).Rest(100000)) {
      lines.push_back(element[0].scalar<std::string>());
    }
    return lines;
  }

  std::string folder_;
};

TEST_F(FileSourcesTest, LinesEndAsTheyMay) {
  const FilesOptions options{
      {Write("a", "one\ntwo\r\n\nlast"), Write("none", ""), Write("b", "b\n")}, 1};
  EXPECT_EQ(All(LinesDataset(options, TextSpec())), (Lines{"one", "two", "", "last", "b"}));
}

TEST_F(FileSourcesTest, LinesAreLongerThanBlocks) {
  std::string text;
  Lines wanted;
  for (size_t i = 0; i < 300; ++i) {
    wanted.emplace_back(i * 97 % 20000, static_cast<char>('a' + i % 26));
    text += wanted.back() + "\n";
  }
  EXPECT_EQ(All(LinesDataset({{Write("long", text)}, 4096}, TextSpec())), wanted);
}

TEST_F(FileSourcesTest, AMissingFileIsAnErrorWithItsNameAndTheNextOneFollows) {
  Puller puller(LinesDataset({{folder_ + "/gone", Write("a", "x\n")}}, TextSpec()), 0);
  const Result<std::optional<Element>> first = puller.Next();
  EXPECT_EQ(first.status().code(), Code::kNotFound);
  EXPECT_NE(first.status().message().find(folder_ + "/gone"), std::string::npos);
  EXPECT_EQ((**puller.Next())[0].scalar<std::string>(), "x");
}

TEST_F(FileSourcesTest, NoFlippedBitOfARecordIsOverlooked) {
  std::string bytes;
  for (const char* record : {"first", "", "third"}) bytes += FrameRecord(record);
  EXPECT_EQ(All(RecordsDataset({{Write("whole", bytes)}}, TextSpec())),
            (Lines{"first", "", "third"}));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Puller puller(RecordsDataset({{Write("damaged", damaged)}}, TextSpec()), 0);
    bool seen = false;
    for (int i = 0; i < 4 && !seen; ++i) {
      const Result<std::optional<Element>> next = puller.Next();
      seen = !next.ok();
      if (!seen) continue;
      EXPECT_EQ(next.status().code(), Code::kDataLoss) << next.status().ToString();
    }
    EXPECT_TRUE(seen) << "bit " << bit;
  }
  for (size_t length = 12; length < bytes.size(); ++length) {
    Puller puller(RecordsDataset({{Write("short", bytes.substr(0, length))}}, TextSpec()), 0);
    Result<std::optional<Element>> next = puller.Next();
    while (next.ok() && next->has_value()) next = puller.Next();
    EXPECT_EQ(next.status().code(), next.ok() ? Code::kOk : Code::kDataLoss);
  }
}

TEST_F(FileSourcesTest, PiecesLieBetweenHeaderAndFooter) {
  const std::string path = Write("pieces", "HHaabbccF");
  EXPECT_EQ(All(*PiecesDataset({{path, path}}, {2, 2, 1}, TextSpec())),
            (Lines{"aa", "bb", "cc", "aa", "bb", "cc"}));
  Puller uneven(*PiecesDataset({{path}}, {0, 4, 0}, TextSpec()), 0);
  EXPECT_EQ(uneven.Next().status().code(), Code::kInvalidArgument);
  for (const PiecesOptions& wrong : {PiecesOptions{0, 0, 0}, {-1, 2, 0}, {0, 2, -1}}) {
    EXPECT_EQ(PiecesDataset({{path}}, wrong, TextSpec()).status().code(), Code::kInvalidArgument);
  }
}

TEST_F(FileSourcesTest, APassGoesOnWhereItWasSaved) {
  const std::string a = Write("a", "1\n2\n3\n"), b = Write("b", "4\n5\n");
  const DatasetPtr lines = LinesDataset({{a, b}}, TextSpec());
  for (size_t at = 0; at <= 5; ++at) {
    Puller first(lines, 0);
    (void)first.Rest(at);
    Puller second(lines, 0);
    ASSERT_TRUE(second.Restore(*first.Save()).ok());
    EXPECT_EQ(second.Rest().size(), 5 - at);
  }
}

}  // namespace
}  // namespace thalweg
