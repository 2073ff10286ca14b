// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/file_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/data/test_puller.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

using Lines = std::vector<std::string>;

ElementSpec TextSpec() { return {{DType::kString}, {PartialShape(Shape())}}; }

class FileSourcesTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.Path(name);
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

  TemporaryDirectory folder_;
};

TEST_F(FileSourcesTest, LinesEndAsTheyMay) {
  const FilesOptions options{
      {Write("a", "one\ntwo\r\n\nlast"), Write("none", ""), Write("b", "b\n")}, {1}};
  EXPECT_EQ(All(LinesDataset(options, TextSpec())), (Lines{"one", "two", "", "last", "b"}));
}

TEST_F(FileSourcesTest, LinesAreLongerThanBlocks) {
  std::string text;
  Lines wanted;
  for (size_t i = 0; i < 300; ++i) {
    wanted.emplace_back(i * 97 % 20000, static_cast<char>('a' + i % 26));
    text += wanted.back() + "\n";
  }
  EXPECT_EQ(All(LinesDataset({{Write("long", text)}, {4096}}, TextSpec())), wanted);
}

TEST_F(FileSourcesTest, AMissingFileIsAnErrorWithItsNameAndTheNextOneFollows) {
  Puller puller(LinesDataset({{folder_.Path("gone"), Write("a", "x\n")}}, TextSpec()), 0);
  const Result<std::optional<Element>> first = puller.Next();
  EXPECT_EQ(first.status().code(), Code::kNotFound);
  EXPECT_NE(first.status().message().find(folder_.Path("gone")), std::string::npos);
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

constexpr const char kGolden[] = THALWEG_GOLDEN_DIR "/records/2.21/example.";

TEST_F(FileSourcesTest, CompressedFilesAreWhatWasCompressed) {
  const auto records = [](const std::string& kind, Compression compression) {
    return RecordsDataset({{kGolden + kind + ".tfrecord"}, {4096, compression}}, TextSpec());
  };
  const Lines plain = All(records("plain", Compression::kNone));
  EXPECT_EQ(plain.size(), 22u);
  for (const auto& [kind, compression] :
       {std::pair{"gzip", Compression::kGzip}, {"zlib", Compression::kZlib}}) {
    const DatasetPtr dataset = records(kind, compression);
    EXPECT_EQ(All(dataset), plain) << kind;
    for (const size_t at : {0u, 1u, 9u, 22u}) {
      Puller first(dataset, 0);
      (void)first.Rest(at);
      Puller second(dataset, 0);
      ASSERT_TRUE(second.Restore(*first.Save()).ok());
      const std::vector<Element> rest = second.Rest();
      ASSERT_EQ(rest.size(), 22 - at) << kind;
      if (at < 22) {
        EXPECT_EQ(rest[0][0].scalar<std::string>(), plain[at]);
      }
    }
    // The first record as a piece between its header and its footer.
    const DatasetPtr pieces =
        *PiecesDataset({{kGolden + std::string(kind) + ".tfrecord"}, {4096, compression}},
                       {12, static_cast<int64_t>(plain[0].size()), 4}, TextSpec());
    EXPECT_EQ((**Puller(pieces, 0).Next())[0].scalar<std::string>(), plain[0]);
  }
  // It ends its file with an error, and the next one follows.
  Puller cut(RecordsDataset({{kGolden + std::string("gzip_truncated.tfrecord"),
                              kGolden + std::string("gzip.tfrecord")},
                             {4096, Compression::kGzip}},
                            TextSpec()),
             0);
  Result<std::optional<Element>> next = cut.Next();
  for (int i = 0; i < 22 && next.ok(); ++i) next = cut.Next();
  EXPECT_EQ(next.status().code(), Code::kDataLoss);
  EXPECT_NE(next.status().message().find("gzip_truncated"), std::string::npos);
  EXPECT_EQ(cut.Rest().size(), 22u);
  EXPECT_EQ(Puller(records("plain", Compression::kGzip), 0).Next().status().code(),
            Code::kDataLoss);
}

TEST_F(FileSourcesTest, AStateOfALongerCompressedFileIsNotTaken) {
  const std::string path = folder_.Path("records");
  const FilesOptions options{{path}, {4096, Compression::kGzip}};
  std::filesystem::copy_file(kGolden + std::string("gzip.tfrecord"), path);
  Puller first(RecordsDataset(options, TextSpec()), 0);
  (void)first.Rest(9);
  const std::vector<Tensor> state = *first.Save();
  (void)Write("records", "");
  const Status status = Puller(RecordsDataset(options, TextSpec()), 0).Restore(state);
  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
  EXPECT_NE(status.message().find("expected to go on at byte"), std::string::npos);
}

TEST_F(FileSourcesTest, ALineIsNoLongerThanMemory) {
  const std::string path = Write("long", std::string(3 << 20, 'x') + "\nshort\n");
  Puller puller(LinesDataset({{path, Write("next", "n\n")}, {4096}}, TextSpec()), 0, 1 << 20);
  const Result<std::optional<Element>> first = puller.Next();
  EXPECT_EQ(first.status().code(), Code::kResourceExhausted);
  EXPECT_NE(first.status().message().find(path + ": line at byte 0"), std::string::npos)
      << first.status().ToString();
  EXPECT_EQ((**puller.Next())[0].scalar<std::string>(), "n");
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
