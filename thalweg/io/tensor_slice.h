// SPDX-License-Identifier: Apache-2.0
// TensorSlice: a box within a tensor: in each dimension a start and a length, or all of it. Text:
// "-" for a whole dimension, "start,length" otherwise, joined by ':' ("0,5:-"). Variables that are
// partitioned are saved in slices.
// Ownership: a value.
// Threads: const members from any.
// Errors: InvalidArgument that quotes the text, or names what does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

struct TensorSlice {
  struct Extent {
    int64_t start = 0;
    int64_t length = kWhole;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  static constexpr int64_t kWhole = -1;
  std::vector<Extent> extents;

  static Result<TensorSlice> Parse(std::string_view text);
  // Reads a TensorSliceProto. InvalidArgument for negative numbers.
  static Result<TensorSlice> FromProto(const Message& proto);
  void ToProto(Message* proto) const;
  std::string ToString() const;
  bool IsWhole() const;
  // With whole dimensions made explicit; InvalidArgument when it does not fit into `shape`.
  Result<TensorSlice> Resolve(const Shape& shape) const;
  // The shape of the slice of a tensor of `shape`.
  Result<Shape> SliceShape(const Shape& shape) const;
  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

// What both resolved slices cover; false when they share nothing.
bool Intersect(const TensorSlice& a, const TensorSlice& b, TensorSlice* common);

// "5 7 0,5:-" as SaveV2 takes it: the whole shape, then the slice. Empty: no slice.
Status ParseShapeAndSlice(std::string_view text, Shape* shape, TensorSlice* slice);

// The key of a slice of `name` in a checkpoint's table: an encoding that sorts as name, then slice.
std::string SliceKey(std::string_view name, const TensorSlice& slice);

}  // namespace thalweg
