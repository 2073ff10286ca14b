// SPDX-License-Identifier: Apache-2.0
// The names of temporary files: PREFIX.SSSSSSSS-RRRRRRRRRRRR. S tells the start of the machine that
// made the file, so that who finds one knows whether its locks can be relied on; R is random.
//
//   const std::string made = MakeTemporaryName("/models/m-7.tempstate");
//   CHECK(ParseTemporaryName(made).is_of_this_machine);
//
// Containers of a machine have one start, as they have one kernel with one set of locks.
// Ownership: `prefix` points into the path that was parsed.
// Threads: any.
// Errors: none; where the start cannot be known no name is of this machine.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

struct TemporaryName {
  std::string_view prefix{};  // of `path`; "" where it is none
  bool is_temporary = false;
  bool is_of_this_machine = false;  // and made since it started
};

std::string MakeTemporaryName(std::string_view prefix);
TemporaryName ParseTemporaryName(std::string_view path);

}  // namespace thalweg
