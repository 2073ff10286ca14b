// SPDX-License-Identifier: Apache-2.0
// DirectWriter: the rest of a large file, written past the page cache while more of it is made. It
// takes less of the processor than the page cache does, leaves that to what is read, and a sync at
// the end has nothing to wait for.
//
//   std::unique_ptr<DirectWriter> direct = DirectWriter::Begin(fd, path, size);
//   if (direct != nullptr) RETURN_IF_ERROR(direct->Append(bytes));
//   if (direct != nullptr) RETURN_IF_ERROR(direct->Drain());
//
// Ownership: the descriptor is the caller's, who writes to it no more until Drain has returned.
// Threads: used by one; one of its own writes the buffers that are full.
// Errors: those of the writes, from the next Append or from Drain; Aborted in a forked process.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/no_destructor.h"
#include "thalweg/base/status.h"
#include "thalweg/base/thread.h"

namespace thalweg {

class DirectWriter {
 public:
  // What `size`, where the file ends, must be a multiple of.
  static constexpr size_t kAlignment = 4096;
  // Null where the file system or the moment does not admit it: four write so at once.
  static std::unique_ptr<DirectWriter> Begin(int fd, const std::string& path, size_t size);
  ~DirectWriter();
  DirectWriter(const DirectWriter&) = delete;
  DirectWriter& operator=(const DirectWriter&) = delete;

  Status Append(std::string_view data) EXCLUDES(mutex_);
  // All of it is written, though perhaps not on the disk. Nothing may be appended afterwards.
  Status Drain() EXCLUDES(mutex_);

 private:
  struct Freed {
    void operator()(char* memory) const { std::free(memory); }
  };
  struct Buffer {
    std::unique_ptr<char, Freed> memory;
    size_t size = 0;
  };

  DirectWriter(int fd, std::string path);
  // In a process that was forked from the one with the thread nobody would write.
  Status CheckProcess() const;
  void WriteBuffers() EXCLUDES(mutex_);
  Status WriteAll(const char* data, size_t size) const;
  // Gives what is filled to the thread, and takes a buffer that it has written.
  Status HandOver() EXCLUDES(mutex_);

  const int fd_;
  const std::string path_;
  const int number_;  // of those that there are, this one being the last
  Buffer filling_;    // of the caller
  Mutex mutex_;
  NoDestructor<CondVar> changed_;
  std::deque<Buffer> full_ GUARDED_BY(mutex_);  // the first is being written
  std::vector<Buffer> free_ GUARDED_BY(mutex_);
  Status status_ GUARDED_BY(mutex_);
  bool ends_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace thalweg
