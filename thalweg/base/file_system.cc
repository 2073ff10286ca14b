// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/file_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "thalweg/base/direct_writer.h"
#include "thalweg/base/errno_status.h"
#include "thalweg/base/first_error.h"
#include "thalweg/base/temporary_name.h"

namespace thalweg {
namespace {

// A path with a NUL inside would silently name another file.
Status CheckPath(const std::string& path) {
  if (path.empty()) return InvalidArgument("expected a file name, found an empty string");
  if (path.find('\0') != std::string::npos) {
    return InvalidArgument("a file name contains a NUL byte: '", path.c_str(), "...'");
  }
  return OkStatus();
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// -1: errno says why not.
int TryOpen(const std::string& path, int flags) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Result<int> Open(const std::string& path, int flags, std::string_view action) {
  RETURN_IF_ERROR(CheckPath(path));
  const int fd = TryOpen(path, flags);
  if (fd < 0) return ErrnoStatus(action, path, errno);
  return fd;
}

class PosixRandomAccessFile : public RandomAccessFile {
 public:
  PosixRandomAccessFile(std::string path, int fd, bool seekable)
      : path_(std::move(path)), fd_(fd), seekable_(seekable) {}

  Result<size_t> Read(uint64_t offset, void* buffer, size_t n) const override {
    size_t done = 0;
    while (done < n) {
      char* to = static_cast<char*>(buffer) + done;
      const size_t piece = std::min(n - done, size_t{1} << 30);
      const ssize_t got = seekable_
                              ? ::pread(fd_.get(), to, piece, static_cast<off_t>(offset + done))
                              : ::read(fd_.get(), to, piece);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  Result<uint64_t> Size() const override {
    struct stat info;
    if (::fstat(fd_.get(), &info) != 0) return ErrnoStatus("stat", path_, errno);
    return static_cast<uint64_t>(info.st_size);
  }

 private:
  const std::string path_;
  const FileDescriptor fd_;
  const bool seekable_;
};

// Collects small appends in a buffer of its own; a file that becomes large is written past the page
// cache from then on.
class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(std::string path, int fd, bool begins_empty)
      : path_(std::move(path)), fd_(fd), may_be_direct_(begins_empty) {}
  ~PosixWritableFile() override { Flush().IgnoreError(); }

  const std::string& path() const override { return path_; }

  Status Append(std::string_view data) override {
    if (fd_.get() < 0) return FailedPrecondition("file '", path_, "' is already closed");
    if (buffer_.size() + data.size() > kBufferBytes) RETURN_IF_ERROR(WriteBuffer());
    if (direct_ != nullptr) return direct_->Append(data);
    if (data.size() > kBufferBytes) return Write(data);
    buffer_.append(data);
    return OkStatus();
  }

  Status AppendWhole(std::string_view data) override {
    if (fd_.get() < 0) return FailedPrecondition("file '", path_, "' is already closed");
    RETURN_IF_ERROR(Flush());
    struct stat before;
    if (::fstat(fd_.get(), &before) != 0) return ErrnoStatus("stat", path_, errno);
    if (before.st_nlink == 0)
      return NotFound("file '", path_, "' was removed while it was written");
    may_be_direct_ = false;
    Status written = Write(data);
    if (written.ok() || !S_ISREG(before.st_mode)) return written;
    if (::ftruncate(fd_.get(), before.st_size) != 0 ||
        ::lseek(fd_.get(), before.st_size, SEEK_SET) < 0) {
      return Status(written.code(),
                    StrCat(written.message(), ", and its end cannot be cut off again"));
    }
    return written;
  }

  Status Sync() override {
    RETURN_IF_ERROR(Flush());
    // Pipes and terminals cannot be synced and need not be.
    if (::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS) {
      return ErrnoStatus("sync", path_, errno);
    }
    return OkStatus();
  }

  Status Close() override {
    if (fd_.get() < 0) return OkStatus();
    Status flushed = Flush();
    if (::close(fd_.Release()) != 0 && flushed.ok()) flushed = ErrnoStatus("close", path_, errno);
    return flushed;
  }

 private:
  static constexpr size_t kBufferBytes = 64 << 10;
  static constexpr size_t kDirectFrom = 16 << 20;

  Status Flush() {
    Status written = WriteBuffer();
    const std::unique_ptr<DirectWriter> direct = std::move(direct_);
    if (direct == nullptr || !written.ok()) return written;
    return direct->Drain();
  }
  // Before anything is written behind it: what is written directly has nothing in the buffer.
  Status WriteBuffer() {
    Status written = Write(buffer_);
    buffer_.clear();
    return written;
  }

  Status Write(std::string_view data) {
    while (!data.empty()) {
      // One write ends where the file becomes large.
      const bool is_small = may_be_direct_ && size_ < kDirectFrom;
      const size_t most = is_small ? kDirectFrom - size_ : size_t{1} << 30;
      const ssize_t put = ::write(fd_.get(), data.data(), std::min(data.size(), most));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return ErrnoStatus("write", path_, errno);
      data.remove_prefix(static_cast<size_t>(put));
      size_ += static_cast<size_t>(put);
      if (!may_be_direct_ || size_ != kDirectFrom) continue;
      may_be_direct_ = false;
      direct_ = DirectWriter::Begin(fd_.get(), path_, size_);
      if (direct_ != nullptr) return direct_->Append(data);
    }
    return OkStatus();
  }

  const std::string path_;
  FileDescriptor fd_;
  std::string buffer_;
  size_t size_ = 0;  // written so far, of a file that began empty
  bool may_be_direct_;
  std::unique_ptr<DirectWriter> direct_;
};

constexpr int64_t kForeignSeconds = 24 * 60 * 60;

// Whether this process may use the file that it has just created: nobody has begun to sweep it.
bool LockNew(int fd) {
  struct stat info;
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return ::fstat(fd, &info) != 0 || info.st_nlink > 0;  // a file system without locks is not swept
}

}  // namespace

Result<std::unique_ptr<RandomAccessFile>> PosixFileSystem::OpenForReading(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  const int fd = TryOpen(path, O_RDONLY);
  if (fd < 0) return UnreadableStatus(path, errno);
  FileDescriptor owned(fd);
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus("stat", path, errno);
  if (S_ISDIR(info.st_mode)) return UnreadableStatus(path, EISDIR);
  const bool seekable = S_ISREG(info.st_mode) || S_ISBLK(info.st_mode);
  return std::unique_ptr<RandomAccessFile>(
      std::make_unique<PosixRandomAccessFile>(path, owned.Release(), seekable));
}

Result<std::unique_ptr<WritableFile>> PosixFileSystem::OpenForWriting(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, Open(path, O_WRONLY | O_CREAT | O_TRUNC, "open for writing"));
  return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(path, fd, true));
}

Result<std::unique_ptr<WritableFile>> PosixFileSystem::OpenForAppending(const std::string& path) {
  ASSIGN_OR_RETURN(const int fd, Open(path, O_WRONLY | O_CREAT | O_APPEND, "open for appending"));
  return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(path, fd, false));
}

Result<std::unique_ptr<WritableFile>> PosixFileSystem::CreateTemporary(const std::string& prefix) {
  constexpr int kAttempts = 16;
  for (int attempt = 1;; ++attempt) {
    const std::string path = MakeTemporaryName(prefix);
    const Result<int> fd = Open(path, O_WRONLY | O_CREAT | O_EXCL, "create");
    if (fd.ok()) {
      std::unique_ptr<WritableFile> file = std::make_unique<PosixWritableFile>(path, *fd, true);
      if (LockNew(*fd)) return file;
      ::unlink(path.c_str());
    } else if (fd.status().code() != Code::kAlreadyExists) {
      return fd.status();
    }
    if (attempt == kAttempts) return Unavailable("every temporary name '", prefix, ".*' is taken");
  }
}

Result<bool> PosixFileSystem::RemoveAbandoned(const std::string& path,
                                              const std::function<Status()>& first) {
  const TemporaryName name = ParseTemporaryName(path);
  if (!name.is_temporary) return false;
  // Locks of network file systems ask for a file that may be written.
  ASSIGN_OR_RETURN(const int fd, Open(path, O_RDWR, "open"));
  const FileDescriptor owned(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus("stat", path, errno);
  if (!name.is_of_this_machine && ::time(nullptr) - info.st_mtim.tv_sec < kForeignSeconds)
    return false;
  if (first) RETURN_IF_ERROR(first());
  RETURN_IF_ERROR(RemoveFile(path));
  return true;
}

Result<FileInfo> PosixFileSystem::Stat(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus("stat", path, errno);
  return FileInfo{
      .size = static_cast<uint64_t>(info.st_size),
      .is_directory = S_ISDIR(info.st_mode),
      .modified_nanos = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec};
}

Result<std::vector<std::string>> PosixFileSystem::List(const std::string& directory) {
  RETURN_IF_ERROR(CheckPath(directory));
  struct Closer {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  const std::unique_ptr<DIR, Closer> dir(::opendir(directory.c_str()));
  if (dir == nullptr) return ErrnoStatus("list", directory, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus("list", directory, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Status PosixFileSystem::RemoveFile(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  return ::unlink(path.c_str()) == 0 ? OkStatus() : ErrnoStatus("remove", path, errno);
}

Status PosixFileSystem::RemoveDirectory(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  return ::rmdir(path.c_str()) == 0 ? OkStatus() : ErrnoStatus("remove directory", path, errno);
}

Status PosixFileSystem::MakeDirectories(const std::string& path) {
  RETURN_IF_ERROR(CheckPath(path));
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0) {
      const int error = errno;
      struct stat info;
      // EACCES or EROFS on a parent that is there is no obstacle.
      if (::stat(part.c_str(), &info) != 0) return ErrnoStatus("make directory", part, error);
      if (!S_ISDIR(info.st_mode)) return ErrnoStatus("make directory", part, ENOTDIR);
    }
    if (end == std::string::npos) return OkStatus();
  }
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(CheckPath(from));
  RETURN_IF_ERROR(CheckPath(to));
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(StrCat("rename '", from, "' to"), to, errno);
  }
  const std::string parent = ParentDirectory(to);
  ASSIGN_OR_RETURN(const int fd, Open(parent, O_RDONLY | O_DIRECTORY, "open directory"));
  const FileDescriptor owned(fd);
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) {
    return ErrnoStatus("sync directory", parent, errno);
  }
  return OkStatus();
}

Status PosixFileSystem::Link(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(CheckPath(from));
  RETURN_IF_ERROR(CheckPath(to));
  if (::link(from.c_str(), to.c_str()) == 0) return OkStatus();
  return ErrnoStatus(StrCat("link '", from, "' to"), to, errno);
}

Result<bool> FileExists(FileSystem& fs, const std::string& path) {
  const Result<FileInfo> info = fs.Stat(path);
  if (info.ok()) return true;
  if (info.status().code() == Code::kNotFound) return false;
  return info.status();
}

Result<std::string> ReadFile(FileSystem& fs, const std::string& path,
                             const ReadFileOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs.OpenForReading(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const auto too_long = [&] {
    return ResourceExhausted("file '", path, "' has more than ", options.max_bytes, " bytes");
  };
  if (size > options.max_bytes) return too_long();
  std::string contents;
  // One byte more than expected: the read that shows the end is then the same as the first.
  for (uint64_t step = size + 1;; step = std::max<uint64_t>(contents.size(), 4096)) {
    const size_t before = contents.size();
    if (options.make_room) RETURN_IF_ERROR(options.make_room(before + step));
    contents.resize(before + step);
    ASSIGN_OR_RETURN(const size_t got, file->Read(before, contents.data() + before, step));
    contents.resize(before + got);
    if (contents.size() > options.max_bytes) return too_long();
    if (got < step) return contents;
  }
}

Status ReadExactly(const RandomAccessFile& file, uint64_t offset, void* buffer, size_t n) {
  ASSIGN_OR_RETURN(const size_t got, file.Read(offset, buffer, n));
  if (got == n) return OkStatus();
  return OutOfRange("expected ", n, " bytes at offset ", offset, ", the file ends after ", got);
}

Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view contents) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs.CreateTemporary(path + ".tmp"));
  Status status = file->Append(contents);
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = fs.Rename(file->path(), path);
  if (!status.ok()) fs.RemoveFile(file->path()).IgnoreError();
  KeepFirstError(file->Close(), &status);
  return status;
}

std::string ParentDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace thalweg
