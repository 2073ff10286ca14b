// SPDX-License-Identifier: Apache-2.0
// AppendShape: what is known of a shape, as JSON: [null, 3]; null where not even the rank is known.
//
//   JsonWriter json;
//   AppendShape(json, PartialShape{-1, 3});
//
// Ownership: the text goes to the caller's writer.
// Threads: one.
// Errors: none.
#pragma once

#include "thalweg/proto/json_writer.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

inline void AppendShape(JsonWriter& json, const PartialShape& shape) {
  if (!shape.known_rank()) {
    json.Null();
    return;
  }
  json.BeginList();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) < 0) {
      json.Null();
    } else {
      json.Number(shape.dim(i));
    }
  }
  json.EndList();
}

}  // namespace thalweg
