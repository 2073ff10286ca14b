// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor for people and programs: as JSON, as numbers, and what they are like.
//
//   JsonWriter json;
//   AppendElementJson(json, tensor, 0);
//   const TensorStatistics statistics = StatisticsOf(tensor);
//   std::optional<double> x = ElementNumber(tensor, 0);
//
// Ownership: values; the text goes to the caller's writer.
// Threads: any.
// Errors: none; types without numbers have none.
#pragma once

#include <cstdint>
#include <optional>

#include "thalweg/proto/json_writer.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Numbers and bools as such, strings as text and, where they are no UTF-8, as {"b64": "..."}, their
// bytes in base64; complex numbers as [real, imaginary], others as null.
void AppendElementJson(JsonWriter& json, const Tensor& tensor, int64_t i);
// Real and quantized numbers and bools have one.
std::optional<double> ElementNumber(const Tensor& tensor, int64_t i);

struct TensorStatistics {
  int64_t numbers = 0;  // finite ones; the next four are of these
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;  // standard deviation of the whole
  int64_t zeros = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  uint64_t text_bytes = 0;  // of strings
};
TensorStatistics StatisticsOf(const Tensor& tensor);

}  // namespace thalweg
