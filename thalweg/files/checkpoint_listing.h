// SPDX-License-Identifier: Apache-2.0
// What a checkpoint of either format holds, as JSON: all tensors, or one with its values.
//
//   ASSIGN_OR_RETURN(std::string all, ListCheckpoint(fs, "/models/model-7"));
//   ASSIGN_OR_RETURN(std::string one, ShowTensor(fs, "/models/model-7", "w", 100));
//
// All: {"path", "format": "V2" or "V1", "tensors": [{"name", "dtype", "shape", "bytes", "slices"},
// ...], "elements", "bytes"}; the bytes of strings are not known: null. One: {"name", "dtype",
// "shape", "statistics": {...}, "values": [...], "elements"}.
// Threads: any.
// Errors: those of CheckpointReader.
#pragma once

#include <string>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"
#include "thalweg/proto/json_writer.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

Result<std::string> ListCheckpoint(FileSystem& fs, const std::string& path);
// The first `limit` elements; below 0: all.
Result<std::string> ShowTensor(FileSystem& fs, const std::string& path, const std::string& name,
                               int64_t limit);

// [2, 3]
void AppendShapeJson(JsonWriter& json, const Shape& shape);

}  // namespace thalweg
