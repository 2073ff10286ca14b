// SPDX-License-Identifier: Apache-2.0
// Variants in the data of a checkpoint: for each element the length of its message as a varint, the
// message, and a checksum of all elements so far.
//
//   ASSIGN_OR_RETURN(const std::string bytes, BundleVariants(value, &crc));
//   RETURN_IF_ERROR(ParseBundleVariants(bytes, &crc, value));
//
// Ownership: none.
// Threads: any.
// Errors: Unimplemented for what variants hold that has no form outside of its process; DataLoss.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// `crc` becomes that of the entry.
Result<std::string> BundleVariants(const Tensor& value, uint32_t* crc);
Status ParseBundleVariants(std::string_view bytes, uint32_t* crc, Tensor& value);

}  // namespace thalweg
