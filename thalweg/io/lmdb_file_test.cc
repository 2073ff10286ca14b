// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/lmdb_file.h"

#include <gmock/gmock.h>

#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kPage = 4096;

std::string Golden(std::string_view name) {
  PosixFileSystem fs;
  const auto bytes = ReadFile(fs, StrCat(THALWEG_GOLDEN_DIR, "/lmdb/", name, ".mdb"));
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return bytes.ok() ? *bytes : "";
}

// "key=value" of each pair; the error as the last one.
std::vector<std::string> All(const std::string& bytes, uint64_t room = 1 << 20) {
  MemoryFileSystem fs([&](const std::string&) { return std::string_view(bytes); });
  auto file = LmdbFile::Open(fs, "a.mdb");
  if (!file.ok()) return {std::string(file.status().message())};
  std::vector<std::string> all;
  while (true) {
    const auto pair = file->Next([room](uint64_t more) -> Status {
      return more <= room ? OkStatus() : ResourceExhausted("no room for ", more, " bytes");
    });
    if (!pair.ok()) {
      all.emplace_back(pair.status().message());
      const auto again = file->Next([](uint64_t) { return OkStatus(); });
      EXPECT_TRUE(!again.ok() || pair.status().code() == Code::kResourceExhausted);
      return all;
    }
    if (!*pair) return all;
    all.push_back(StrCat((*pair)->key, "=", (*pair)->value));
  }
}

TEST(LmdbFileTest, WhatTheLibraryWrote) {
  EXPECT_THAT(All(Golden("empty")), ElementsAre());
  EXPECT_THAT(All(Golden("small")), ElementsAre("a=one", "b=two", "c="));
}

TEST(LmdbFileTest, ThreeLevelsAndValuesOfSeveralPages) {
  const std::vector<std::string> all = All(Golden("tall"));
  ASSERT_EQ(all.size(), 63u);
  for (size_t i = 0; i < 60; ++i) {
    const std::string number = StrCat(i);
    EXPECT_EQ(all[i], StrCat(std::string(500 - number.size(), '0'), number, "=v", number));
  }
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(all[59 + i], StrCat("w", i, "=", std::string(3000 * i, static_cast<char>(i))));
  }
}

TEST(LmdbFileTest, AFolderHasItsFile) {
  PosixFileSystem fs;
  const TemporaryDirectory directory;
  const std::string& folder = directory.path();
  ASSERT_TRUE(WriteFileAtomically(fs, folder + "/data.mdb", Golden("small")).ok());
  const auto file = LmdbFile::Open(fs, folder);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->path(), folder + "/data.mdb");
  EXPECT_EQ(LmdbFile::Open(fs, folder + "/none").status().code(), Code::kNotFound);
}

TEST(LmdbFileTest, TheNewerOfTwoStatesCounts) {
  // The second last state has one pair less.
  std::string bytes = Golden("small");
  const size_t newest = bytes[144] > bytes[kPage + 144] ? 0 : kPage;
  bytes[newest + 144] = 0;
  EXPECT_THAT(All(bytes), ElementsAre("a=one", "b=two"));
}

TEST(LmdbFileTest, ValuesAskForRoom) {
  const std::vector<std::string> all = All(Golden("tall"), 5000);
  ASSERT_EQ(all.size(), 62u);
  EXPECT_EQ(all.back(), "a.mdb: no room for 6000 bytes");
}

TEST(LmdbFileTest, WhatIsNotRead) {
  EXPECT_THAT(All(Golden("inner")).back(), HasSubstr("'inside' is that of a database inside"));
  std::string bytes = Golden("small");
  for (const size_t state : {size_t{0}, kPage}) bytes[state + 92] = 4;
  EXPECT_THAT(All(bytes), ElementsAre(HasSubstr("several values to a key")));
}

TEST(LmdbFileTest, DamageIsNamed) {
  EXPECT_THAT(All(""), ElementsAre(StartsWith("a.mdb: page 0 of an LMDB database: expected 152")));
  EXPECT_THAT(All(std::string(9000, 'x')),
              ElementsAre(HasSubstr("page 0 of an LMDB database: is none")));
  const std::string good = Golden("tall");
  EXPECT_THAT(All(good.substr(0, good.size() - kPage)),
              ElementsAre(HasSubstr("pages behind the first")));
  std::string bytes = good;
  bytes[20] = 2;
  EXPECT_THAT(All(bytes), ElementsAre(HasSubstr("expected version 1, got 2")));
  bytes = good;
  bytes[41] = 3;
  EXPECT_THAT(All(bytes), ElementsAre(HasSubstr("expected pages of 256 to 32768 bytes")));
  bytes = good;
  for (const size_t state : {size_t{0}, kPage}) ++bytes[state + 120];  // entries
  EXPECT_THAT(All(bytes).back(), HasSubstr("expected 64 entries of an LMDB database, got 63"));
}

// Every number of every page, changed to values where mistakes are made: an end or an error, soon.
TEST(LmdbFileTest, NoDamageLeadsOutOfTheFile) {
  const std::string good = Golden("tall");
  for (size_t page = 0; page < good.size(); page += kPage) {
    for (size_t at = page; at < page + 48; at += 2) {
      for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
        std::string bytes = good;
        bytes[at] = bytes[at + 1] = value;
        EXPECT_LE(All(bytes).size(), good.size());
      }
    }
  }
}

}  // namespace
}  // namespace thalweg
