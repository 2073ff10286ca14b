// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "thalweg/base/deadline.h"
#include "thalweg/base/test_file_size_limit.h"
#include "thalweg/base/test_temporary_directory.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FileSystemTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.Path(name); }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
};

TEST_F(FileSystemTest, AtomicWriteReadsBackAndLeavesNothingElse) {
  for (const std::string& contents :
       {std::string(), std::string("abc"), std::string(300000, 'x')}) {
    ASSERT_TRUE(WriteFileAtomically(fs_, Path("f"), contents).ok());
    EXPECT_EQ(*ReadFile(fs_, Path("f")), contents);
    EXPECT_THAT(*fs_.List(directory_.path()), ElementsAre("f"));
  }
}

TEST_F(FileSystemTest, FailedAtomicWriteKeepsTheOldFileAndRemovesTheNew) {
  ASSERT_TRUE(fs_.MakeDirectories(Path("d/inner")).ok());
  const Status status =
      WriteFileAtomically(fs_, Path("d"), "new");  // a directory that is not empty
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(*fs_.List(directory_.path()), ElementsAre("d"));
}

TEST_F(FileSystemTest, NewFilesHaveOrdinaryPermissions) {
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("f"), "abc").ok());
  struct stat info;
  ASSERT_EQ(::stat(Path("f").c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
}

TEST_F(FileSystemTest, PositionalReads) {
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("f"), "0123456789").ok());
  const auto file = *fs_.OpenForReading(Path("f"));
  char buffer[8] = {};
  EXPECT_EQ(*file->Read(3, buffer, 4), 4u);
  EXPECT_EQ(std::string(buffer, 4), "3456");
  EXPECT_EQ(*file->Read(8, buffer, 4), 2u);
  EXPECT_EQ(*file->Read(10, buffer, 4), 0u);
  EXPECT_EQ(*file->Read(1000, buffer, 4), 0u);
  EXPECT_EQ(*file->Size(), 10u);
  EXPECT_TRUE(ReadExactly(*file, 6, buffer, 4).ok());
  const Status status = ReadExactly(*file, 7, buffer, 4);
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_EQ(status.message(), "expected 4 bytes at offset 7, the file ends after 3");
}

TEST_F(FileSystemTest, AppendContinues) {
  for (const char* part : {"ab", "cd"}) {
    const auto file = *fs_.OpenForAppending(Path("f"));
    ASSERT_TRUE(file->Append(part).ok());
    ASSERT_TRUE(file->Close().ok());
    EXPECT_EQ(file->Append("x").code(), Code::kFailedPrecondition);
  }
  EXPECT_EQ(*ReadFile(fs_, Path("f")), "abcd");
}

TEST_F(FileSystemTest, ErrorsNamePathAndReason) {
  const Status missing = ReadFile(fs_, Path("none")).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.message(), Path("none") + "; No such file or directory");
  EXPECT_EQ(ReadFile(fs_, directory_.path()).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(ReadFile(fs_, "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ReadFile(fs_, std::string("a\0b", 3)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(fs_.List(Path("none")).status().code(), Code::kNotFound);
  EXPECT_EQ(fs_.RemoveFile(Path("none")).code(), Code::kNotFound);
  EXPECT_EQ(fs_.Rename(Path("none"), Path("x")).code(), Code::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("f"), "abc").ok());
  EXPECT_THAT(fs_.MakeDirectories(Path("f/d")).ToString(), StartsWith("FAILED_PRECONDITION"));
}

TEST_F(FileSystemTest, FullDiskIsResourceExhausted) {
  const auto file = fs_.OpenForWriting("/dev/full");
  if (!file.ok()) GTEST_SKIP() << "no /dev/full here";
  ASSERT_TRUE((*file)->Append("x").ok());
  const Status status = (*file)->Close();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.ToString(), HasSubstr("/dev/full"));
}

TEST_F(FileSystemTest, AppendWholeLeavesNothingHalfWritten) {
  const std::string path = directory_.Path("whole");
  auto file = fs_.OpenForWriting(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("a").ok());
  ASSERT_TRUE((*file)->AppendWhole("bc").ok());
  EXPECT_EQ(*ReadFile(fs_, path), "abc");  // at once, and in order
  {
    const FileSizeLimit limit(10);
    const Status status = (*file)->AppendWhole(std::string(20, 'x'));
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
    EXPECT_NE(status.message().find(path), std::string_view::npos) << status.ToString();
    EXPECT_EQ(*ReadFile(fs_, path), "abc");
  }
  ASSERT_TRUE((*file)->AppendWhole("de").ok());
  EXPECT_EQ(*ReadFile(fs_, path), "abcde");
  ASSERT_TRUE(fs_.RemoveFile(path).ok());
  const Status gone = (*file)->AppendWhole("f");
  EXPECT_EQ(gone.code(), Code::kNotFound) << gone.ToString();
}

// A large file is written past the page cache from a certain size on: nothing is lost or out of
// place there, whatever pieces it comes in.
TEST_F(FileSystemTest, LargeFilesAreWhatWasAppended) {
  constexpr size_t kSize = size_t{20} << 20;
  std::string bytes(kSize, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const size_t piece : {1000, 4096, 60'000, 65'536, 100'000, 131'072, 1 << 22}) {
    for (const bool syncs : {false, true}) {
      auto file = *fs_.OpenForWriting(Path("large"));
      size_t at = 0;
      // Small pieces first, so that some wait when the file becomes large.
      for (size_t n = 1000; at < kSize; at += n) {
        if (at > (size_t{15} << 20)) n = piece;
        ASSERT_TRUE(file->Append(std::string_view(bytes).substr(at, n)).ok()) << piece;
        if (syncs && (at >> 20) != ((at + n) >> 20)) {
          ASSERT_TRUE(file->Sync().ok());
          EXPECT_EQ(fs_.Stat(Path("large"))->size, std::min(at + n, kSize)) << piece;
        }
      }
      ASSERT_TRUE(file->Close().ok());
      EXPECT_TRUE(*ReadFile(fs_, Path("large")) == bytes) << "pieces of " << piece;
    }
  }
}

TEST_F(FileSystemTest, AppendWholeIsThereAtOnceInALargeFile) {
  auto file = *fs_.OpenForWriting(Path("large"));
  const std::string whole(size_t{7} << 20, 'w');
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(file->AppendWhole(whole).ok());
    EXPECT_EQ(fs_.Stat(Path("large"))->size, static_cast<uint64_t>(i) * whole.size());
  }
}

// Forks where the writer has written and waits, and where it has more to write. It takes nothing
// from the heap in either: its locks would stay closed in the child.
TEST_F(FileSystemTest, AForkedProcessDoesNotWaitForAWriterThatIsNotThere) {
  for (const size_t more : {0, 12}) {
    auto file = *fs_.OpenForWriting(Path("large"));
    ASSERT_TRUE(file->Append(std::string(size_t{25} << 20, 'x')).ok());
    const SystemClock clock;
    const Deadline end = Deadline::After(clock, std::chrono::seconds(60));
    while (fs_.Stat(Path("large"))->size < size_t{24} << 20) {
      ASSERT_FALSE(end.HasPassed(clock));
      std::this_thread::yield();
    }
    ASSERT_TRUE(file->Append(std::string(more << 20, 'x')).ok());
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const Status status = file->Close();
      ::_exit(status.code() == Code::kAborted ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << " with " << more;
    EXPECT_TRUE(file->Close().ok());
    EXPECT_EQ(fs_.Stat(Path("large"))->size, (25 + more) << 20);
  }
}

TEST_F(FileSystemTest, ReadFileIsBoundedAndCopesWithUnknownSizes) {
  EXPECT_GT(ReadFile(fs_, "/proc/self/status")->size(), 100u);
  EXPECT_EQ(ReadFile(fs_, "/dev/zero", {.max_bytes = 100000}).status().code(),
            Code::kResourceExhausted);
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("f"), "abc").ok());
  EXPECT_TRUE(ReadFile(fs_, Path("f"), {.max_bytes = 3}).ok());
  EXPECT_EQ(ReadFile(fs_, Path("f"), {.max_bytes = 2}).status().code(), Code::kResourceExhausted);
}

TEST_F(FileSystemTest, DirectoriesAndStat) {
  ASSERT_TRUE(fs_.MakeDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(fs_.MakeDirectories(Path("a/b/c/")).ok());
  EXPECT_TRUE(fs_.Stat(Path("a/b/c"))->is_directory);
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("a/f"), "12345").ok());
  EXPECT_EQ(fs_.Stat(Path("a/f"))->size, 5u);
  EXPECT_THAT(*fs_.List(Path("a")), ElementsAre("b", "f"));
  EXPECT_TRUE(*FileExists(fs_, Path("a/f")));
  EXPECT_FALSE(*FileExists(fs_, Path("a/g")));
  EXPECT_EQ(fs_.RemoveDirectory(Path("a/b")).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(fs_.RemoveDirectory(Path("a/b/c")).ok());
  EXPECT_TRUE(fs_.RemoveFile(Path("a/f")).ok());
}

TEST(ParentDirectoryTest, Forms) {
  EXPECT_EQ(ParentDirectory("/a/b"), "/a");
  EXPECT_EQ(ParentDirectory("/a"), "/");
  EXPECT_EQ(ParentDirectory("a"), ".");
}

}  // namespace
}  // namespace thalweg
