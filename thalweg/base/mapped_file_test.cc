// SPDX-License-Identifier: Apache-2.0
// Files as memory that others cut short, write into, replace and remove; bus errors of others.
#include "thalweg/base/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kBytes = size_t{1} << 20;

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() { Write("f", 'a'); }
  void Write(const std::string& name, char letter) {
    EXPECT_TRUE(WriteFileAtomically(fs_, Path(name), std::string(kBytes, letter)).ok());
  }
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  void Cut(off_t size) { ASSERT_EQ(truncate(Path("f").c_str(), size), 0); }
  // Whether this process has memory for it.
  static bool IsHere(const char* at) {
    const auto page =
        reinterpret_cast<uintptr_t>(at) / static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uint64_t entry = 0;
    const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(pread(pages, &entry, sizeof(entry), static_cast<off_t>(page * sizeof(entry))),
              static_cast<ssize_t>(sizeof(entry)));
    close(pages);
    return (entry >> 63) != 0;
  }
  static size_t Count(std::string_view bytes, char letter) {
    return static_cast<size_t>(std::count(bytes.begin(), bytes.end(), letter));
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
  MappedFiles files_;
};

TEST_F(MappedFileTest, ItsBytesAreTheFiles) {
  const auto file = files_.Map(Path("f"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(Count((*file)->bytes(), 'a'), kBytes);
  EXPECT_EQ(*files_.Map(Path("f")), *file);  // once
  EXPECT_TRUE(files_.Check().ok());
}

TEST_F(MappedFileTest, WhatIsForgottenComesFromTheFileAgain) {
  const auto file = *files_.Map(Path("f"));
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::string_view bytes = file->bytes();
  EXPECT_EQ(Count(bytes, 'a'), kBytes);
  file->Forget(bytes.substr(0, 0));
  file->Forget(bytes.substr(page / 2, page));  // no whole page
  file->Forget(bytes.substr(kBytes - 1));
  EXPECT_TRUE(IsHere(bytes.data()));
  EXPECT_TRUE(IsHere(bytes.data() + page));
  EXPECT_TRUE(IsHere(bytes.data() + kBytes - 1));
  file->Forget(bytes.substr(1, 2 * page));  // one
  EXPECT_TRUE(IsHere(bytes.data()));
  EXPECT_FALSE(IsHere(bytes.data() + page));
  EXPECT_TRUE(IsHere(bytes.data() + 2 * page));
  file->Forget(bytes);
  EXPECT_FALSE(IsHere(bytes.data()));
  EXPECT_FALSE(IsHere(bytes.data() + kBytes - 1));
  EXPECT_EQ(Count(bytes, 'a'), kBytes);
  EXPECT_TRUE(files_.Check().ok());
}

TEST_F(MappedFileTest, OneThatIsCutShortReadsAsZerosAndSaysSo) {
  const auto file = *files_.Map(Path("f"));
  const long page = sysconf(_SC_PAGESIZE);
  Cut(3 * page);
  EXPECT_EQ(Count(file->bytes(), 'a'), static_cast<size_t>(3 * page));
  EXPECT_EQ(Count(file->bytes(), '\0'), kBytes - static_cast<size_t>(3 * page));
  for (int again = 0; again < 2; ++again) {
    const Status status = files_.Check();
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(Path("f")), HasSubstr("cut short")));
    Write("f", 'a');  // which mends nothing
  }
}

TEST_F(MappedFileTest, OneThatIsCutShortIsFoundBeforeItIsRead) {
  const auto file = *files_.Map(Path("f"));
  Cut(kBytes / 2);
  EXPECT_EQ(files_.Check().code(), Code::kDataLoss);
}

TEST_F(MappedFileTest, OneThatIsWrittenIntoIsFound) {
  const auto file = *files_.Map(Path("f"));
  const int fd = open(Path("f").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(pwrite(fd, "b", 1, 100), 1);
  close(fd);
  const timeval times[2] = {{.tv_sec = 1, .tv_usec = 0}, {.tv_sec = 1, .tv_usec = 0}};
  ASSERT_EQ(utimes(Path("f").c_str(), times), 0);  // another moment for sure
  const Status status = files_.Check();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(Path("f")), HasSubstr("written into")));
}

TEST_F(MappedFileTest, OneThatIsReplacedOrRemovedStaysWhatItWas) {
  const auto file = *files_.Map(Path("f"));
  Write("g", 'b');
  ASSERT_TRUE(fs_.Rename(Path("g"), Path("f")).ok());
  EXPECT_EQ(Count(file->bytes(), 'a'), kBytes);
  ASSERT_TRUE(fs_.RemoveFile(Path("f")).ok());
  EXPECT_EQ(Count(file->bytes(), 'a'), kBytes);
  EXPECT_TRUE(files_.Check().ok());
}

TEST_F(MappedFileTest, ManyThreadsSurviveAFileThatIsCutShort) {
  const auto file = *files_.Map(Path("f"));
  std::atomic<int> begun{0};
  std::atomic<bool> cut{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ++begun;
      size_t zeros = 0;
      while (zeros == 0) {
        const bool is_over = cut;
        zeros = Count(file->bytes(), '\0');
        EXPECT_TRUE(zeros > 0 || !is_over);
      }
    });
  }
  while (begun < 4) std::this_thread::yield();
  Cut(0);
  cut = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files_.Check().code(), Code::kDataLoss);
}

TEST_F(MappedFileTest, WhatIsNoFileIsRefused) {
  EXPECT_EQ(files_.Map(Path("absent")).status().code(), Code::kNotFound);
  EXPECT_FALSE(files_.Map(directory_.path()).ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("empty"), "").ok());
  EXPECT_EQ(files_.Map(Path("empty")).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(files_.Check().ok());
}

// Memory of a file that this library knows nothing of, whose pages are gone.
volatile char* Elsewhere(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* const data = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return static_cast<volatile char*>(data);
}

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileDeathTest, OtherBusErrorsEndTheProcess) {
  ASSERT_TRUE(files_.Map(Path("f")).ok());
  EXPECT_EXIT((void)*Elsewhere(Path("e")), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
}

void SayAndLeave(int) { _exit(7); }

TEST_F(MappedFileDeathTest, OtherBusErrorsGoToTheHandlerThatWasThere) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SayAndLeave);
        ASSERT_TRUE(files_.Map(Path("f")).ok());
        (void)*Elsewhere(Path("e"));
      },
      testing::ExitedWithCode(7), "");
}

// As Python's faulthandler does: it puts back what was there before, and sends the signal.
struct sigaction before_that;
void GiveUp(int) {
  sigaction(SIGBUS, &before_that, nullptr);
  raise(SIGBUS);
}

TEST_F(MappedFileDeathTest, AHandlerThatWasSetLaterStandsBehindAgain) {
  const auto end_with = [&](bool is_ours) {
    const auto file = *files_.Map(Path("f"));
    struct sigaction later {};
    later.sa_handler = GiveUp;
    later.sa_flags = SA_NODEFER;
    sigaction(SIGBUS, &later, &before_that);
    EXPECT_TRUE(files_.Check().ok());  // as before each step
    volatile char* const elsewhere = Elsewhere(Path("e"));
    if (!is_ours) (void)*elsewhere;
    Cut(0);
    _exit(Count(file->bytes(), '\0') == kBytes ? 8 : 9);
  };
  EXPECT_EXIT(end_with(true), testing::ExitedWithCode(8), "");
  EXPECT_EXIT(end_with(false), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace thalweg
