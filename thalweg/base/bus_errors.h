// SPDX-License-Identifier: Apache-2.0
// BusErrors: makes memory of files survive that the files lose pages. The process has one handler
// of SIGBUS and one table of ranges: whoever touches a page of a range that is not there finds
// zeros, from there to the range's end, and the range is broken.
//
//   ASSIGN_OR_RETURN(const int slot, BusErrors::Add(data, size));
//   if (BusErrors::IsBroken(slot)) Complain();
//   BusErrors::Remove(slot);   // before the range is unmapped
//
// Faults elsewhere, and signals that somebody sends, go to the handler that was there before. One
// that the program sets later stands before this one until the next Watch.
// Ownership: keeps addresses and sizes.
// Threads: every member from any.
// Errors: ResourceExhausted for more than 4,096 ranges at once.
#pragma once

#include <cstddef>

#include "thalweg/base/status.h"

namespace thalweg {

class BusErrors {
 public:
  // Page-aligned.
  static Result<int> Add(const void* data, size_t size);
  static void Remove(int slot);
  static bool IsBroken(int slot);
  // Puts the handler in its place where another one is. Without a lock.
  static void Watch();
};

}  // namespace thalweg
