// SPDX-License-Identifier: Apache-2.0
// OpenClPrograms: the compiled kernels of a device, each source compiled once, and once per machine
// where binaries are kept.
//
//   ASSIGN_OR_RETURN(const cl::KernelId kernel, programs.Find(source, "matmul"));
//
// Ownership: owns programs and kernels; shares the context.
// Threads: Find from any; a kernel's arguments are set by OpenClQueue alone.
// Errors: Internal with the first lines of the compiler's log for a source that does not compile.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/devices/opencl/binary_cache.h"
#include "thalweg/devices/opencl/opencl_context.h"

namespace thalweg {

class OpenClPrograms {
 public:
  OpenClPrograms(std::shared_ptr<OpenClContext> context, BinaryCache binaries)
      : context_(std::move(context)), binaries_(std::move(binaries)) {}
  ~OpenClPrograms();
  OpenClPrograms(const OpenClPrograms&) = delete;
  OpenClPrograms& operator=(const OpenClPrograms&) = delete;

  Result<cl::KernelId> Find(const std::string& source, const std::string& name) EXCLUDES(mutex_);
  // Sources that were compiled, not read: for tests.
  int64_t compiled() const EXCLUDES(mutex_);

 private:
  Result<cl::Program> ProgramOf(const std::string& source) REQUIRES(mutex_);
  // Null where the binary is none for this device.
  cl::Program FromBinary(const std::string& binary) const;
  Result<cl::Program> FromSource(const std::string& source) const;
  std::string BinaryOf(cl::Program program) const;
  std::string BuildLog(cl::Program program) const;
  // What a binary is for: device, driver, options, source.
  std::string KeyOf(const std::string& source) const;

  const std::shared_ptr<OpenClContext> context_;
  const BinaryCache binaries_;
  mutable Mutex mutex_;
  std::map<std::string, cl::Program> programs_ GUARDED_BY(mutex_);  // by source
  std::map<std::pair<cl::Program, std::string>, cl::KernelId> kernels_ GUARDED_BY(mutex_);
  int64_t compiled_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
