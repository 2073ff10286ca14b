// SPDX-License-Identifier: Apache-2.0
// GpuPrograms: the compiled kernels of a device, each source compiled once, and once per machine
// where binaries are kept.
//
//   ASSIGN_OR_RETURN(const GpuFunction kernel, programs.Find(source, "matmul"));
//
// Ownership: owns programs and functions; shares the driver.
// Threads: Find from any; functions are launched by GpuQueue alone.
// Errors: Internal with the first lines of the compiler's log for a source that does not compile.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "thalweg/base/mutex.h"
#include "thalweg/devices/gpu/binary_cache.h"
#include "thalweg/devices/gpu/gpu_driver.h"

namespace thalweg {

class GpuPrograms {
 public:
  GpuPrograms(std::shared_ptr<GpuDriver> driver, BinaryCache binaries)
      : driver_(std::move(driver)), binaries_(std::move(binaries)) {}
  ~GpuPrograms();
  GpuPrograms(const GpuPrograms&) = delete;
  GpuPrograms& operator=(const GpuPrograms&) = delete;

  Result<GpuFunction> Find(const std::string& source, const std::string& name) EXCLUDES(mutex_);
  // Sources that were compiled, not read: for tests.
  int64_t compiled() const EXCLUDES(mutex_);

 private:
  Result<GpuProgram> ProgramOf(const std::string& source) REQUIRES(mutex_);

  const std::shared_ptr<GpuDriver> driver_;
  const BinaryCache binaries_;
  mutable Mutex mutex_;
  std::map<std::string, GpuProgram> programs_ GUARDED_BY(mutex_);  // by source
  std::map<std::pair<GpuProgram, std::string>, GpuFunction> functions_ GUARDED_BY(mutex_);
  int64_t compiled_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
