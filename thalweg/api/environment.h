// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: devices, threads and memory that sessions share.
// A part of thalweg.h, which programs include.
//
//   tw::Environment env = tw::Environment::Create({.threads = 3}).OrThrow();
//
// Ownership: copies share one environment, which lives as long as what was made of it.
// Threads: any.
// Errors: those of c_api.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/c_api.h"
#include "thalweg/tensor.h"

namespace tw {

class Environment {
 public:
  struct Options {
    int threads = -1;  // beside the calling one; -1: one fewer than cores; 0: none
    int cpu_devices = 1;
    int64_t memory_limit = 0;
  };
  static Result<Environment> Create(const Options& options) {
    TwEnvironmentOptions c;
    tw_environment_options_init(&c);
    c.threads = options.threads;
    c.cpu_devices = options.cpu_devices;
    c.memory_limit = options.memory_limit;
    return CreateFrom(c);
  }
  static Result<Environment> Create() { return Create(Options()); }
  // All that the C ABI offers: the host's threads, its log ...
  static Result<Environment> CreateFrom(const TwEnvironmentOptions& options) {
    internal::StatusHolder status;
    TwEnvironment* made = tw_environment_new(&options, status.c);
    if (made == nullptr) return status.Take();
    return Environment(made);
  }
  Status LoadLibrary(const std::string& path) {
    internal::StatusHolder status;
    tw_environment_load_library(c(), path.c_str(), status.c);
    return status.Take();
  }
  TwEnvironment* c() const { return handle_.get(); }

 private:
  explicit Environment(TwEnvironment* adopted) : handle_(adopted, &tw_environment_free) {}
  std::shared_ptr<TwEnvironment> handle_;
};

}  // namespace tw
