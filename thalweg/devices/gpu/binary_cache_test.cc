// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/binary_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "thalweg/base/test_temporary_directory.h"

namespace thalweg {
namespace {

TEST(BinaryCacheTest, OnlyWholeFilesOfThisUserWithThisKeyAreRead) {
  const TemporaryDirectory folder;
  const BinaryCache cache(folder.path() + "/a/b");
  EXPECT_EQ(cache.Read("key"), "");
  cache.Write("key", "binary");
  EXPECT_EQ(cache.Read("key"), "binary");
  EXPECT_EQ(cache.Read("other"), "");
  const std::string path = cache.PathOf("key");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(cache.Read("key"), "") << "others may write it";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(cache.Read("key"), "binary");
  // A file of another key under this one's name.
  ASSERT_EQ(rename(cache.PathOf("key").c_str(), cache.PathOf("other").c_str()), 0);
  EXPECT_EQ(cache.Read("other"), "");
  cache.Write("key", "binary");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-6, std::ios::end);
  file.put('X');
  file.close();
  EXPECT_EQ(cache.Read("key"), "") << "a byte is another";
  ASSERT_EQ(truncate(path.c_str(), 10), 0);
  EXPECT_EQ(cache.Read("key"), "");
  BinaryCache("").Write("key", "binary");
  EXPECT_EQ(BinaryCache("").Read("key"), "");
}

}  // namespace
}  // namespace thalweg
