// SPDX-License-Identifier: Apache-2.0
// DeviceName: "/job:worker/replica:0/task:17/device:CPU:0", whole or in part. The older "/cpu:0"
// form parses too.
//   ASSIGN_OR_RETURN(DeviceName d, DeviceName::Parse("/task:3/device:GPU:*"));
//
// Ownership: a value.
// Threads: const members from any.
// Errors: InvalidArgument that quotes the part that is wrong, or both that contradict.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case: "CPU"
  std::optional<int> index;

  // InvalidArgument that quotes the part that is wrong. "" parses to an empty constraint.
  static Result<DeviceName> Parse(std::string_view text);
  // The full form of what is known.
  std::string ToString() const;
  bool IsFull() const { return job && replica && task && type && index; }
  // True when a device of the full name `device` meets this constraint.
  bool Admits(const DeviceName& device) const;
  // Both constraints at once; InvalidArgument when they contradict.
  Result<DeviceName> MergeWith(const DeviceName& other) const;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

}  // namespace thalweg
