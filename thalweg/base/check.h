// SPDX-License-Identifier: Apache-2.0
// CHECK(condition): a bug of ours when false. Nothing that comes from a graph, a feed, a file or a
// peer may reach one: such input gets a Status. This is the only place of the project that ends the
// process.
// Ownership: none; the texts are literals.
// Threads: any.
// Errors: none; the process ends, with the condition and its place on standard error.
#pragma once

namespace thalweg {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace thalweg

#define CHECK(condition) \
  ((condition) ? (void)0 : ::thalweg::CheckFailed(#condition, __FILE__, __LINE__))
