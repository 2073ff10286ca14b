// SPDX-License-Identifier: Apache-2.0
// ParsedShapes: the inferred shapes of parsed features, output after output, for the shape
// functions of this family.
//
//   ParsedShapes shapes(c, serialized);       // scalar: one example; vector: a batch
//   RETURN_IF_ERROR(shapes.Sparse("sparse_types"));
//   return shapes.Dense("Tdense", "dense_shapes");
//
// Ownership: the context is the caller's.
// Threads: those of the context: one at a time.
// Errors: InvalidArgument for attributes that do not belong together.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/graph/shape_inference.h"

namespace thalweg {

class ParsedShapes {
 public:
  ParsedShapes(ShapeContext& c, const PartialShape& serialized) : c_(c), batch_(serialized) {}

  // The numbers of the attributes (where they have names) against their lists of types.
  Status CheckCounts(std::string_view sparse, std::string_view dense) const {
    RETURN_IF_ERROR(Check(sparse, "sparse_types", "len(sparse_keys) != len(sparse_types)"));
    return Check(dense, "Tdense", "len(dense_keys) != len(dense_types)");
  }

  // Indices, values, shapes. more: dimensions of one example beyond the first.
  Status Sparse(std::string_view types, int more = 0) {
    ASSIGN_OR_RETURN(const auto list, c_.Attr<std::vector<DType>>(types));
    const int64_t rank = batch_.known_rank() ? batch_.rank() + 1 + more : -1;
    for (size_t i = 0; i < list.size(); ++i) Set(PartialShape{-1, rank});
    for (size_t i = 0; i < list.size(); ++i) Set(PartialShape{-1});
    for (size_t i = 0; i < list.size(); ++i) Set(PartialShape{rank});
    return OkStatus();
  }

  // lists: each value is a row of a list of unknown length.
  Status Dense(std::string_view types, std::string_view shapes, bool lists = false) {
    ASSIGN_OR_RETURN(const auto list, c_.Attr<std::vector<DType>>(types));
    ASSIGN_OR_RETURN(const auto dense, c_.Attr<std::vector<PartialShape>>(shapes));
    if (list.size() != dense.size()) {
      return InvalidArgument("len(dense_keys) != len(dense_shapes): ", list.size(), " and ",
                             dense.size());
    }
    for (size_t i = 0; i < dense.size(); ++i) {
      bool known = dense[i].known_rank();
      for (int d = 1; known && d < dense[i].rank(); ++d) known = dense[i].dim(d) >= 0;
      if (!known) {
        return InvalidArgument("dense_shapes[", i,
                               "] has unknown rank or unknown inner dimensions: ", dense[i]);
      }
      const PartialShape rows = lists ? batch_.Concatenate(PartialShape{-1}) : batch_;
      Set(rows.Concatenate(dense[i]));
    }
    return OkStatus();
  }

  // Values and row splits; inner: also the splits of each feature in its list.
  Status Ragged(std::string_view values, std::string_view splits, bool inner = false) {
    ASSIGN_OR_RETURN(const auto list, c_.Attr<std::vector<DType>>(values));
    ASSIGN_OR_RETURN(const auto kinds, c_.Attr<std::vector<DType>>(splits));
    if (list.size() != kinds.size()) {
      return InvalidArgument("len(ragged_value_types) != len(ragged_split_types): ", list.size(),
                             " and ", kinds.size());
    }
    int64_t rows = -1;
    if (batch_.known_rank()) rows = batch_.rank() == 0 ? 0 : batch_.dim(0);
    if (rows > 0 || (rows == 0 && batch_.rank() == 1)) ++rows;
    for (size_t i = 0; i < list.size(); ++i) Set(PartialShape{-1});
    for (size_t i = 0; i < list.size(); ++i) Set(PartialShape{rows});
    for (size_t i = 0; inner && i < list.size(); ++i) Set(PartialShape{-1});
    return OkStatus();
  }

  // The numbers of keys are attributes beside the lists of types: both must make the same outputs.
  Status End() const {
    if (next_ == c_.num_outputs()) return OkStatus();
    return InvalidArgument("the lists of types make ", next_, " outputs, the numbers of keys make ",
                           c_.num_outputs());
  }

  void Lengths(size_t count) {
    for (size_t i = 0; i < count; ++i) Set(batch_);
  }

 private:
  void Set(PartialShape shape) {
    if (next_ < c_.num_outputs()) c_.set_output(next_, std::move(shape));
    ++next_;
  }
  Status Check(std::string_view number, std::string_view types, const char* what) const {
    if (number.empty()) return OkStatus();
    ASSIGN_OR_RETURN(const int64_t count, c_.Attr<int64_t>(number));
    ASSIGN_OR_RETURN(const auto list, c_.Attr<std::vector<DType>>(types));
    if (count == static_cast<int64_t>(list.size())) return OkStatus();
    return InvalidArgument(what, ": ", count, " and ", list.size());
  }

  ShapeContext& c_;
  const PartialShape batch_;
  int next_ = 0;
};

}  // namespace thalweg
