// SPDX-License-Identifier: Apache-2.0
// ValueField: where the values of an element type stand in a TensorProto. Private to this room.
// Ownership: a value.
// Threads: any; no state.
// Errors: none; number 0 for a type that no message has.
#pragma once

#include "thalweg/proto/message.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg {

// How the values of a type stand in a message: the field, and values per element.
struct ValueField {
  int number = 0;  // 0: no such type
  int per_element = 1;
  // As the Python layer of a release writes more than one element.
  bool content_in_1_15 = false;
  bool content_in_2_21 = false;
};

ValueField FieldOf(DType dtype);

}  // namespace thalweg
