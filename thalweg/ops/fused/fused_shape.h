// SPDX-License-Identifier: Apache-2.0
// The shape function of the fused operations: what was inferred of the user's nodes, and beyond it
// what the program says for the shapes of these inputs.
// Ownership: values; the context is the caller's.
// Threads: any, on distinct contexts.
// Errors: those of reading attributes; shapes that contradict are the kernel's to tell.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/graph/shape_inference.h"

namespace thalweg {

inline std::string_view NextFusedWord(std::string_view* text, char separator) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

inline bool ReadFusedNumber(std::string_view word, int64_t* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size();
}

// "0,-1": of a shape whose rank is known.
inline Result<PartialShape> ReducedShape(const PartialShape& from, std::string_view axes,
                                         bool keep_dims) {
  std::vector<bool> reduced(static_cast<size_t>(from.rank()));
  while (!axes.empty()) {
    int64_t axis = 0;
    if (!ReadFusedNumber(NextFusedWord(&axes, ','), &axis) || axis < -from.rank() ||
        axis >= from.rank()) {
      return PartialShape();
    }
    reduced[static_cast<size_t>(axis < 0 ? axis + from.rank() : axis)] = true;
  }
  Dims dims;
  for (int d = 0; d < from.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)]) dims.push_back(from.dim(d));
    if (reduced[static_cast<size_t>(d)] && keep_dims) dims.push_back(1);
  }
  return PartialShape(std::move(dims));
}

// The shape of one line, "Mul 0 1" or "Sum 2 axes 0,-1 keep"; unknown where the line is not
// understood: the kernel refuses it.
inline Result<PartialShape> FusedLineShape(std::string_view line,
                                           const std::vector<PartialShape>& values) {
  NextFusedWord(&line, ' ');
  PartialShape shape;
  for (bool first = true; !line.empty(); first = false) {
    const std::string_view word = NextFusedWord(&line, ' ');
    if (word == "axes") {
      const std::string_view axes = NextFusedWord(&line, ' ');
      return shape.known_rank() ? ReducedShape(shape, axes, line == "keep") : shape;
    }
    int64_t operand = 0;
    if (!ReadFusedNumber(word, &operand)) break;  // "same"
    if (operand < 0 || operand >= static_cast<int64_t>(values.size())) return PartialShape();
    const PartialShape& of = values[static_cast<size_t>(operand)];
    if (first) {
      shape = of;
    } else {
      ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, of));
    }
  }
  return shape;
}

// By output what `shapes` says, made more precise by the program. Shapes that contradict are left
// to the kernel, whose errors name the user's nodes.
inline Status FusedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const auto shapes, c.Attr<std::vector<PartialShape>>("shapes"));
  ASSIGN_OR_RETURN(const auto program, c.Attr<std::vector<std::string>>("program"));
  ASSIGN_OR_RETURN(const auto results, c.Attr<std::vector<int64_t>>("results"));
  std::vector<PartialShape> values;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(c.input(i));
  for (const std::string& line : program) {
    const Result<PartialShape> shape = FusedLineShape(line, values);
    values.push_back(shape.ok() ? *shape : PartialShape());
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const auto at = static_cast<size_t>(i);
    const bool named = at < results.size() && results[at] >= 0 &&
                       results[at] < static_cast<int64_t>(values.size());
    const PartialShape made = named ? values[static_cast<size_t>(results[at])] : PartialShape();
    const PartialShape given = at < shapes.size() ? shapes[at] : PartialShape();
    const Result<PartialShape> both = given.MergeWith(made);
    c.set_output(i, both.ok() ? *both : given);
  }
  return OkStatus();
}

}  // namespace thalweg
