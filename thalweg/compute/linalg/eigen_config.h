// SPDX-License-Identifier: Apache-2.0
// What Eigen is told before any of its headers: no threads, no printing, and in place of some of
// its assertions (the callers have checked every size) a look at the cancel flag. Every *_linalg.cc
// is compiled with it included first.
// Ownership: none; it declares no data.
// Threads: any; a look is at the flag of the calling thread's work.
// Errors: an assertion that looks throws Looks::Stop.
#pragma once

#define EIGEN_NO_DEBUG
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#define EIGEN_NO_IO

#include <string_view>

#include "thalweg/compute/linalg/look.h"

namespace thalweg::compute {

// The headers whose assertions look: those of a block of a matrix, which all decompositions make a
// few times for each row or column, and those of packing a panel of a product. Assertions about
// single elements would double the time of small matrices.
consteval bool EigenLooksIn(std::string_view header) {
  return header.ends_with("/Core/Block.h") || header.ends_with("/GeneralBlockPanelKernel.h");
}

}  // namespace thalweg::compute

#define eigen_assert(condition) \
  (::thalweg::compute::EigenLooksIn(__FILE__) ? ::thalweg::compute::Looks::Look() : void())
