// SPDX-License-Identifier: Apache-2.0
// Choices: the bytes of a fuzzer, read as decisions; and the attributes and tensors they decide on:
// mostly plausible ones, so that kernels get to run, with extreme ones among them.
//
//   Choices choices(bytes);            // without an end: zeros follow
//   Tensor t = RandomTensor(choices, DType::kInt32, Shape{2, 3});
//
// Ownership: Choices points at the bytes, which outlive it; tensors are the caller's.
// Threads: one at a time for each Choices.
// Errors: none; where there is no memory for a tensor it is the scalar 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/graph/op_def.h"

namespace thalweg {

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint8_t Byte() {
    if (next_ == bytes_.size()) return 0;
    return bytes_[next_++];
  }
  // 0 .. n-1, n <= 256.
  size_t Below(size_t n) { return Byte() % n; }
  // True `percent` times of a hundred.
  bool Chance(size_t percent) { return Below(100) < percent; }
  template <class T>
  const T& Of(const std::vector<T>& list) {
    return list[Below(list.size())];
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
};

int64_t RandomInt(Choices& choices);
std::string RandomString(Choices& choices);
DType RandomType(Choices& choices, const std::vector<DType>& allowed);
// Rank 0 to 5 when it is not given, dimensions 0, 1, 2, 3, 7.
Shape RandomShape(Choices& choices, int rank = -1);
// What an attribute may say: unknown, partly known, of huge dimensions.
PartialShape RandomPartialShape(Choices& choices);
Tensor RandomTensor(Choices& choices, DType dtype, const Shape& shape);
// A value of the kind that the schema asks for; its default in `percent_default` cases of a
// hundred.
AttrValue RandomAttr(Choices& choices, const AttrDef& def, size_t percent_default);

}  // namespace thalweg
