// SPDX-License-Identifier: Apache-2.0
// Variants in the data of a checkpoint: for each element the length of its message as a varint, the
// message, and a checksum of all elements so far.
//
//   ASSIGN_OR_RETURN(const std::string bytes, BundleVariants(value, &crc));
//   RETURN_IF_ERROR(ParseBundleVariants(bytes, &crc, value));
//   StoredVariants stored(bytes);             // the messages, of which no tensor is made
//   ASSIGN_OR_RETURN(const StoredVariant first, stored.Next());
//
// Ownership: a StoredVariant's message is one of the bytes that were given.
// Threads: any.
// Errors: Unimplemented for what variants hold that has no form outside of its process; DataLoss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct StoredVariant {
  std::string_view message;
  uint32_t expected_crc = 0;  // of this element and those before it; masked, as is the next
  uint32_t found_crc = 0;
};

// Walks the elements as they lie there.
class StoredVariants {
 public:
  explicit StoredVariants(std::string_view bytes) : bytes_(bytes) {}
  // Whether its checksum is right is for the caller to say. DataLoss for a length that cannot be.
  Result<StoredVariant> Next();
  // What is left; the checksum of what is not, as an entry has it but unmasked.
  std::string_view rest() const { return bytes_; }
  uint32_t crc() const { return crc_; }

 private:
  std::string_view bytes_;
  uint32_t crc_ = 0;
  int64_t count_ = 0;
};

// `crc` becomes that of the entry.
Result<std::string> BundleVariants(const Tensor& value, uint32_t* crc);
Status ParseBundleVariants(std::string_view bytes, uint32_t* crc, Tensor& value);

}  // namespace thalweg
