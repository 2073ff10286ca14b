// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_programs.h"

namespace thalweg {

GpuPrograms::~GpuPrograms() {
  for (const auto& [name, function] : functions_) driver_->ReleaseFunction(function);
  for (const auto& [source, program] : programs_) driver_->ReleaseProgram(program);
}

int64_t GpuPrograms::compiled() const {
  MutexLock lock(mutex_);
  return compiled_;
}

Result<GpuFunction> GpuPrograms::Find(const std::string& source, const std::string& name) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const GpuProgram program, ProgramOf(source));
  const auto known = functions_.find({program, name});
  if (known != functions_.end()) return known->second;
  ASSIGN_OR_RETURN(const GpuFunction function, driver_->FindFunction(program, name));
  functions_.emplace(std::pair(program, name), function);
  return function;
}

Result<GpuProgram> GpuPrograms::ProgramOf(const std::string& source) {
  const auto known = programs_.find(source);
  if (known != programs_.end()) return known->second;
  const std::string key = StrCat(driver_->BinaryKey(), "\n", source);
  GpuProgram program = nullptr;
  if (const std::string binary = binaries_.Read(key); !binary.empty()) {
    program = driver_->FromBinary(binary);
  }
  if (program == nullptr) {
    ASSIGN_OR_RETURN(program, driver_->Compile(source));
    ++compiled_;
    binaries_.Write(key, driver_->BinaryOf(program));
  }
  programs_.emplace(source, program);
  return program;
}

}  // namespace thalweg
