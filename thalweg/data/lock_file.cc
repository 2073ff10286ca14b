// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/lock_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "thalweg/base/file_system.h"

namespace thalweg {

Result<std::unique_ptr<LockFile>> LockFile::Make(std::string path) {
  PosixFileSystem fs;
  RETURN_IF_ERROR(fs.MakeDirectories(ParentDirectory(path)));
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0 && errno == EEXIST) {
    const Result<std::string> held = ReadFile(fs, path);  // which may be gone by now
    return AlreadyExists(
        "There appears to be a concurrent caching iterator running - cache lockfile already exists "
        "('",
        path,
        "'). If you are sure no other running computations are using this cache prefix, delete the "
        "lockfile and re-initialize the iterator. Lockfile contents: ",
        held.ok() ? *held : "");
  }
  if (file < 0) return Unknown("cannot create the lockfile ", path, ": ", std::strerror(errno));
  std::unique_ptr<LockFile> lock(new LockFile(std::move(path)));
  const std::string text = StrCat("Created at: ", std::time(nullptr), ", by process ", getpid());
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(file);
  if (!written) {
    return Unknown("cannot write the lockfile ", lock->path_, ": ", std::strerror(error));
  }
  return lock;
}

LockFile::~LockFile() { unlink(path_.c_str()); }

}  // namespace thalweg
