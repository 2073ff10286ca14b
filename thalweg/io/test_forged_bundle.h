// SPDX-License-Identifier: Apache-2.0
// Checkpoints made of a fuzzer's bytes, with right checksums around whatever the bytes say, so that
// damage gets past them; and changes of such bytes that know the format.
//
//   ForgedBundle bundle = ForgeBundle(input);       // then read bundle.index and bundle.data
//   std::string next = ChangeForgedBundle(input, random, LLVMFuzzerMutate);
//
// The first byte of the input, modulo 4, says what follows: 0, an index as it lies on the disk; 1,
// the rows of one, each a key and a value with a length byte before it; 2, the one block of an
// index; 3, an index as it lies on the disk, but for its checksums. The next two bytes give the
// length of that part; the rest is the data. But for 0, blocks and tensors get right checksums.
// Threads: any, no state.
// Errors: none, every input makes a bundle.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace thalweg {

struct ForgedBundle {
  std::string index;
  std::string data;  // of every data file
};

ForgedBundle ForgeBundle(std::string_view input);

// Writes the checksums that blocks of the index, and the tensors that its rows describe, should
// have, as far as these can be found.
void RepairChecksums(std::string& index, std::string& data);

// Changes `size` bytes without knowing what they are, to `limit` bytes at most; gives the new size.
using ChangeBytes = size_t (*)(uint8_t* bytes, size_t size, size_t limit);
std::string ChangeForgedBundle(std::string_view input, std::minstd_rand& random,
                               ChangeBytes change_bytes);

}  // namespace thalweg
