// SPDX-License-Identifier: Apache-2.0
// A file that a kernel reads as a whole: its bytes count against the limit of the step's allocator
// before they are read.
//
//   HeapCharge charge;  // goes with the text
//   ASSIGN_OR_RETURN(const std::string text, ReadFile(ctx.allocator(), charge, path));
//
// Ownership: the text is the caller's, and so is the charge that goes with it.
// Threads: any; one charge from one at a time.
// Errors: the file system's; ResourceExhausted, which names the file, where there is no room.
#pragma once

#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {

inline Result<std::string> ReadFile(Allocator& allocator, HeapCharge& charge,
                                    const std::string& path) {
  PosixFileSystem files;
  return ReadFile(files, path, {.make_room = [&](uint64_t bytes) {
                    return charge.Set(allocator, bytes).WithContext(StrCat("file '", path, "'"));
                  }});
}

}  // namespace thalweg
