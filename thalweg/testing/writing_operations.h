// SPDX-License-Identifier: Apache-2.0
// WritesOutside: whether an operation writes files or to the standard streams, so that it must not
// be tried with random inputs wherever the program runs.
//
//   for (const std::string_view op : {"SaveV2", "WriteFile"}) EXPECT_TRUE(WritesOutside(op));
//
// Ownership: the names are static.
// Threads: any.
// Errors: none.
#pragma once

#include <algorithm>
#include <string_view>

namespace thalweg {

inline constexpr std::string_view kWritingOperations[] = {"CreateSummaryFileWriter",
                                                          "DumpTensor",
                                                          "MergeV2Checkpoints",
                                                          "Print",
                                                          "PrintV2",
                                                          "Save",
                                                          "SaveSlices",
                                                          "SaveV2",
                                                          "WriteFile"};

inline bool WritesOutside(std::string_view op) {
  return std::ranges::find(kWritingOperations, op) != std::ranges::end(kWritingOperations);
}

}  // namespace thalweg
