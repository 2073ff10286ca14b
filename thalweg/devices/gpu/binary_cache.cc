// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/binary_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/fingerprint.h"

namespace thalweg {
namespace {

constexpr std::string_view kMagic = "thalweg kernel binary 1\n";
constexpr size_t kMostBytes = size_t{64} << 20;

std::string Hex(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[(number >> (4 * i)) & 15];
  return text;
}

std::string LengthOf(std::string_view text) { return Hex(text.size()) + "\n"; }

// All of a file that is this user's alone to write; "" for any other.
std::string ReadOwn(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return "";
  std::string text;
  struct stat info {};
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
      static_cast<size_t>(info.st_size) <= kMostBytes) {
    text.resize(static_cast<size_t>(info.st_size));
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = read(file, text.data() + done, text.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    text.resize(done);
  }
  close(file);
  return text;
}

// What stands before the binary.
std::string Head(const std::string& key) { return StrCat(kMagic, LengthOf(key), key, "\n"); }

}  // namespace

std::string BinaryCache::PathOf(const std::string& key) const {
  const WideFingerprint name = Fingerprint128(key);
  return StrCat(directory_, "/", Hex(name.high), Hex(name.low), ".bin");
}

std::string BinaryCache::Read(const std::string& key) const {
  if (directory_.empty()) return "";
  std::string text = ReadOwn(PathOf(key));
  const std::string head = Head(key);
  uint32_t crc = 0;
  if (text.size() <= head.size() + sizeof(crc) || !text.starts_with(head)) return "";
  const size_t end = text.size() - sizeof(crc);
  std::memcpy(&crc, text.data() + end, sizeof(crc));
  if (crc != MaskCrc32c(Crc32c(std::string_view(text).substr(0, end)))) return "";
  text.resize(end);
  return text.substr(head.size());
}

void BinaryCache::Write(const std::string& key, const std::string& binary) const {
  if (directory_.empty() || binary.empty() || binary.size() > kMostBytes / 2) return;
  std::string text = Head(key) + binary;
  const uint32_t crc = MaskCrc32c(Crc32c(text));
  text.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  PosixFileSystem files;
  const std::string path = PathOf(key);
  if (!files.MakeDirectories(directory_).ok()) return;
  if (!WriteFileAtomically(files, path, text).ok()) return;
  chmod(path.c_str(), S_IRUSR | S_IWUSR);
}

}  // namespace thalweg
