// SPDX-License-Identifier: Apache-2.0
// What the index of a checkpoint of format V2 says: its header, under the empty key, and of each
// tensor or piece of one where its bytes lie. How strings lie there.
//
//   ASSIGN_OR_RETURN(const int num_shards, ParseBundleHeader(rows.front().second));
//   ASSIGN_OR_RETURN(const BundleEntry entry, ParseBundleEntry(rows[1].second, num_shards));
//   StoredStrings strings;
//   if (!ParseStoredStrings(stored, num_elements, &strings)) return DataLoss(...);
//
// Ownership: values; nothing of the bytes is kept.
// Threads: any.
// Errors: DataLoss for what is no entry, Unimplemented for other byte orders; the caller knows file
// and key.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

struct BundleEntry {
  DType dtype = DType::kInvalid;
  Shape shape;  // of the whole tensor
  int shard = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc = 0;                 // masked
  std::vector<TensorSlice> slices;  // not empty: the pieces stand under SliceKey
};

// How many data files there are.
Result<int> ParseBundleHeader(std::string_view bytes);
Result<BundleEntry> ParseBundleEntry(std::string_view bytes, int num_shards);

// Whether so many bytes can be a tensor of this type and shape.
bool IsBundleSize(DType dtype, const Shape& shape, uint64_t bytes);

// Strings: the lengths as varints, a masked checksum of the lengths as fixed integers, the strings
// one behind the other.
struct StoredStrings {
  std::vector<uint64_t> lengths;
  size_t begin = 0;                   // of the first string
  uint32_t expected_lengths_crc = 0;  // masked, as is the next
  uint32_t found_lengths_crc = 0;
  uint32_t found_crc = 0;  // of lengths and strings, masked
};
// False: the lengths are not such numbers, or do not add up to the bytes behind them.
bool ParseStoredStrings(std::string_view bytes, uint64_t num_elements, StoredStrings* strings);

}  // namespace thalweg
