// SPDX-License-Identifier: Apache-2.0
// Fingerprints of what functions and attributes say: the same for the same program in another
// process, whatever numbers its names have got there.
//
//   const uint64_t same = FunctionFingerprint(graph.library(), "map_fn_17");
//
// What does not count: names of functions and of their nodes, devices, attributes that begin with
// an underscore, tokens of Python functions, and of strings in tensors what comes before the last
// slash, as files move from folder to folder.
// Ownership: none.
// Threads: any.
// Errors: none; what is not there counts by its name.
#pragma once

#include <cstdint>
#include <string_view>

#include "thalweg/graph/function.h"

namespace thalweg {

// The fingerprint of a function that is not there is its name's.
uint64_t FunctionFingerprint(const FunctionLibrary& library, std::string_view name);
// With the functions that they name.
uint64_t AttrsFingerprint(const FunctionLibrary& library, const AttrMap& attrs);
uint64_t TensorFingerprint(const Tensor& tensor);

}  // namespace thalweg
