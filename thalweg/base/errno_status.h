// SPDX-License-Identifier: Apache-2.0
// ErrnoStatus: what the system said of a file, as a Status: "cannot write '/m/a': No space left on
// device".
//
//   if (::unlink(path.c_str()) != 0) return ErrnoStatus("remove", path, errno);
//
// Ownership: copies the path into the message.
// Threads: any.
// Errors: it makes them; which code stands for which errno is said below.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

// NotFound, AlreadyExists, PermissionDenied, ResourceExhausted (disk or descriptors),
// FailedPrecondition (a directory where a file is expected, or the reverse), InvalidArgument, else
// Unknown.
Status ErrnoStatus(std::string_view action, const std::string& path, int error);
// A file that cannot be opened for reading, in TensorFlow's words, for which programs look: "/m/a;
// No such file or directory".
Status UnreadableStatus(const std::string& path, int error);

}  // namespace thalweg
