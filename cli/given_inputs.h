// SPDX-License-Identifier: Apache-2.0
// Inputs of a model as the command line gives them, and random ones where it gives none.
//
//   NamedArrays feeds = ReadFeeds({"image=x.npy"});
//   AddRandomFeeds(model.Signature("").value(), {.seed = 7}, &feeds);
//   const GivenShape shape = ParseGivenShape("image=1,224,224,3");
//
// Random floats are of the standard normal distribution, bytes have all values; other integers,
// which often are places in tables, and bools are 0 or 1. A seed gives the same numbers everywhere.
// Ownership: arrays are the caller's.
// Threads: one.
// Errors: throws FileError for a file; WorkError for a text, and for an input of a type that has no
// random values, or whose rank is not known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npy.h"
#include "thalweg/model.h"

namespace cli {

struct GivenShape {
  std::string input;
  std::vector<int64_t> dims;
};
// "x=1,224,224,3"; a dimension that is open is -1 or ?.
GivenShape ParseGivenShape(const std::string& text);

// Of texts NAME=FILE.npy.
NamedArrays ReadFeeds(const std::vector<std::string>& given);

struct RandomFeedOptions {
  int64_t batch = 2;  // of dimensions that are left open
  uint64_t seed = 0;
  std::vector<std::string> shapes{};  // as ParseGivenShape takes them
};
// For inputs that are not fed yet and have no default.
void AddRandomFeeds(const tw::ModelSignature& signature, const RandomFeedOptions& options,
                    NamedArrays* feeds);

}  // namespace cli
