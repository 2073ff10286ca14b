// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/errno_status.h"

#include <errno.h>
#include <string.h>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

Code CodeOfErrno(int error) {
  switch (error) {
    case ENOENT:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
    case ENOMEM:
      return Code::kResourceExhausted;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
      return Code::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
      return Code::kInvalidArgument;
    default:
      return Code::kUnknown;
  }
}

std::string TextOfErrno(int error) {
  char text[128];
  // The GNU form of strerror_r: the result may or may not lie in `text`.
  return strerror_r(error, text, sizeof(text));
}

}  // namespace

Status ErrnoStatus(std::string_view action, const std::string& path, int error) {
  return Status(CodeOfErrno(error),
                StrCat("cannot ", action, " '", path, "': ", TextOfErrno(error)));
}

Status UnreadableStatus(const std::string& path, int error) {
  return Status(CodeOfErrno(error), StrCat(path, "; ", TextOfErrno(error)));
}

}  // namespace thalweg
