// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/matching_paths.h"

#include <gtest/gtest.h>

#include "thalweg/base/test_temporary_directory.h"

namespace thalweg {
namespace {

TEST(MatchingPathsTest, Names) {
  for (const auto& [name, pattern] :
       std::vector<std::pair<const char*, const char*>>{{"", ""},
                                                        {"", "*"},
                                                        {"a", "?"},
                                                        {"abc", "a*c"},
                                                        {"abcbc", "a*bc"},
                                                        {"abc", "***"},
                                                        {"b", "[a-c]"},
                                                        {"d", "[!a-c]"},
                                                        {"d", "[^a-c]"},
                                                        {"]", "[]]"},
                                                        {"*", "\\*"},
                                                        {"a-b", "a[x-]b"},
                                                        {"\\", "\\"},
                                                        {"ab", "*?b"},
                                                        {"x]", "[\\x]\\]"},
                                                        {"mississippi", "m*iss*ip*i"}}) {
    EXPECT_TRUE(NameMatches(name, pattern)) << name << " " << pattern;
  }
  for (const auto& [name, pattern] :
       std::vector<std::pair<const char*, const char*>>{{"", "?"},
                                                        {"a", ""},
                                                        {"a", "b"},
                                                        {"abc", "a*d"},
                                                        {"d", "[a-c]"},
                                                        {"a", "[!a]"},
                                                        {"[", "["},
                                                        {"a", "[a"},
                                                        {"x", "\\*"},
                                                        {"ab", "?"},
                                                        {"a", "[]"},
                                                        {"a", "*[!a]"},
                                                        {"mississippi", "m*iss*ipp"}}) {
    EXPECT_FALSE(NameMatches(name, pattern)) << name << " " << pattern;
  }
}

TEST(MatchingPathsTest, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  EXPECT_FALSE(NameMatches(std::string(5000, 'a'), pattern + "b"));
}

TEST(MatchingPathsTest, Directories) {
  TemporaryDirectory directory;
  PosixFileSystem fs;
  ASSERT_TRUE(fs.MakeDirectories(directory.Path("x/y")).ok());
  ASSERT_TRUE(fs.MakeDirectories(directory.Path("u/y")).ok());
  for (const char* name : {"x/y/z", "u/y/z", "b.txt", "c.txt"}) {
    ASSERT_TRUE(WriteFileAtomically(fs, directory.Path(name), "1").ok());
  }
  const auto found = [&](const std::string& pattern) {
    const auto paths = MatchingPaths(fs, directory.Path(pattern));
    EXPECT_TRUE(paths.ok()) << paths.status().ToString();
    std::string text;
    for (const std::string& path : *paths) text += path.substr(directory.path().size()) + " ";
    return text;
  };
  EXPECT_EQ(found("*"), "/b.txt /c.txt /u /x ");
  EXPECT_EQ(found("*.txt"), "/b.txt /c.txt ");
  EXPECT_EQ(found("*/y/z"), "/u/y/z /x/y/z ");
  EXPECT_EQ(found("x/*/[z]"), "/x/y/z ");
  EXPECT_EQ(found("x/y/z"), "/x/y/z ");
  EXPECT_EQ(found("nothing*"), "");
  EXPECT_EQ(found("nothing/a"), "");
  EXPECT_EQ(found("b.txt/*"), "");
  EXPECT_EQ(found("b.tx\\t"), "/b.txt ");
  EXPECT_EQ(MatchingPaths(fs, "")->size(), 0u);
  EXPECT_EQ(MatchingPaths(fs, "/")->size(), 1u);
}

}  // namespace
}  // namespace thalweg
