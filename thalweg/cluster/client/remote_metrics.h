// SPDX-License-Identifier: Apache-2.0
// MetricsRemote: what servers tell in numbers, each as JSON (debug/task_metrics.h); all are asked
// at once. A server that has no such method, TensorFlow's or an older one of ours, is asked for its
// devices, and "lacks" says that there is no more.
//
//   const std::vector<Result<std::string>> told =
//       MetricsRemote({"grpc://127.0.0.1:2222"}, std::chrono::seconds(2));
//
// Ownership: the texts are the caller's.
// Threads: any; blocks for the timeout at most.
// Errors: of each target its own: InvalidArgument for what is none; Unavailable and
// DeadlineExceeded for a server that does not answer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

std::vector<Result<std::string>> MetricsRemote(const std::vector<std::string>& targets,
                                               std::chrono::nanoseconds timeout);

}  // namespace thalweg
