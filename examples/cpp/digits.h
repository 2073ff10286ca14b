// SPDX-License-Identifier: Apache-2.0
// The handwritten digits of examples/data, read with the standard library alone.
//
//   auto digits = LoadDigits("examples/data");
//   if (digits.train.labels.empty()) return 1;            // could not be read
//   const float* image = &digits.train.images[64 * row];  // 8x8 values in [0, 1]
//
// Ownership: a value.
// Threads: any; no state.
// Errors: a missing or damaged file leaves all parts empty.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct DigitsPart {
  std::vector<float> images;  // 64 values a row
  std::vector<int32_t> labels;
};

struct Digits {
  DigitsPart train, validation, test;
};

inline Digits LoadDigits(const std::string& folder) {
  std::ifstream rows(folder + "/digits.csv");
  std::ifstream parts(folder + "/digits_split.txt");
  Digits digits;
  std::string row, name;
  while (std::getline(rows, row) && parts >> name) {
    DigitsPart& part = name == "train"        ? digits.train
                       : name == "validation" ? digits.validation
                                              : digits.test;
    std::istringstream values(row);
    int value;
    for (int i = 0; i < 65; ++i) {
      if (!(values >> value)) return Digits();
      values.ignore();
      if (i < 64) {
        part.images.push_back(static_cast<float>(value) / 16);
      } else {
        part.labels.push_back(value);
      }
    }
  }
  return digits;
}
