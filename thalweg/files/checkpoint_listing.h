// SPDX-License-Identifier: Apache-2.0
// What a checkpoint of either format holds, as JSON: all tensors, or one with its values.
//
//   ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open(fs, "/models/model-7"));
//   const std::string all = ListCheckpoint(*reader, "/models/model-7");
//   ASSIGN_OR_RETURN(std::string one, ShowTensor(*reader, "w", 100));
//
// All: {"path", "format": "V2" or "V1", "tensors": [{"name", "dtype", "shape", "bytes", "slices"},
// ...], "elements", "bytes"}; the bytes of strings are not known: null. One: {"name", "dtype",
// "shape", "statistics": {...}, "values": [...], "elements"}.
// Ownership: the text is the caller's; the reader is used during the call.
// Threads: any.
// Errors: those of CheckpointReader.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/io/checkpoint_reader.h"
#include "thalweg/proto/json_writer.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

std::string ListCheckpoint(const CheckpointReader& reader, const std::string& path);
// The first `limit` elements; below 0: all.
Result<std::string> ShowTensor(const CheckpointReader& reader, const std::string& name,
                               int64_t limit);
// {"dtype", "shape", "statistics": {...}} of any tensor.
std::string DescribeTensor(const Tensor& value);

// [2, 3]
void AppendShapeJson(JsonWriter& json, const Shape& shape);

}  // namespace thalweg
