// SPDX-License-Identifier: Apache-2.0
// OpenClContext: one OpenCL device with its context and its one in-order queue, and what the driver
// says of it.
//
//   ASSIGN_OR_RETURN(const std::vector<OpenClChoice> choices, FindOpenClDevices(*cl));
//   ASSIGN_OR_RETURN(std::shared_ptr<OpenClContext> context, OpenClContext::Make(*cl, choices[0]));
//
// Ownership: the queue, programs and memory share it; it releases the driver's objects when the
// last has gone.
// Threads: any; what it says never changes.
// Errors: NotFound where the loader knows no driver; FailedPrecondition for a device that is too
// old, has no compiler or is not there, each with the device's name and what to do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/devices/opencl/opencl_api.h"

namespace thalweg {

struct OpenClChoice {
  cl::DeviceId id = nullptr;
  cl::Bitfield type = 0;
  std::string name;
  std::string version;  // "OpenCL 3.0 ..."
  std::string driver;
  std::string vendor;
  uint64_t memory = 0;
  uint64_t largest_buffer = 0;
  size_t most_work_items = 0;  // of a group
  int64_t units = 0;           // that compute at once

  bool IsProcessor() const { return type == cl::kTypeCpu; }
};

// Every device of every driver: graphics cards first, then accelerators, then processors.
Result<std::vector<OpenClChoice>> FindOpenClDevices(const OpenClApi& cl);

class OpenClContext {
 public:
  static Result<std::shared_ptr<OpenClContext>> Make(const OpenClApi& cl, OpenClChoice choice);
  ~OpenClContext();
  OpenClContext(const OpenClContext&) = delete;
  OpenClContext& operator=(const OpenClContext&) = delete;

  const OpenClApi& cl() const { return cl_; }
  const OpenClChoice& device() const { return choice_; }
  cl::ContextId id() const { return id_; }
  cl::Queue queue() const { return queue_; }

 private:
  OpenClContext(const OpenClApi& cl, OpenClChoice choice) : cl_(cl), choice_(std::move(choice)) {}

  const OpenClApi& cl_;
  const OpenClChoice choice_;
  cl::ContextId id_ = nullptr;
  cl::Queue queue_ = nullptr;
};

}  // namespace thalweg
