// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/temporary_name.h"

#include <fcntl.h>
#include <unistd.h>

#include "thalweg/base/entropy.h"
#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

constexpr size_t kStartDigits = 8, kRandomDigits = 12;
constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
constexpr std::string_view kUnknown = "00000000";

std::string ReadMachineStart() {
  std::string digits(kStartDigits, '0');
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return digits;
  const ssize_t got = ::read(fd, digits.data(), digits.size());
  ::close(fd);
  return got == ssize_t{kStartDigits} ? digits : std::string(kUnknown);
}

const std::string& MachineStart() {
  static const std::string start = ReadMachineStart();
  return start;
}

}  // namespace

std::string MakeTemporaryName(std::string_view prefix) {
  std::string name = StrCat(prefix, ".", MachineStart(), "-");
  uint64_t bits = RandomSeed();
  for (size_t i = 0; i < kRandomDigits; ++i, bits >>= 5) name += kDigits[bits & 31];
  return name;
}

TemporaryName ParseTemporaryName(std::string_view path) {
  constexpr size_t kEnding = 1 + kStartDigits + 1 + kRandomDigits;
  if (path.size() <= kEnding) return {};
  const std::string_view ending = path.substr(path.size() - kEnding);
  const std::string_view start = ending.substr(1, kStartDigits);
  const std::string_view random = ending.substr(kEnding - kRandomDigits);
  const auto are_digits = [](std::string_view text) {
    return text.find_first_not_of(kDigits) == std::string_view::npos;
  };
  if (ending.front() != '.' || ending[1 + kStartDigits] != '-' || !are_digits(start) ||
      !are_digits(random)) {
    return {};
  }
  return {.prefix = path.substr(0, path.size() - kEnding),
          .is_temporary = true,
          .is_of_this_machine = start == MachineStart() && start != kUnknown};
}

}  // namespace thalweg
