// SPDX-License-Identifier: Apache-2.0
// RecordStatistics: how many records there are, how large, and what features Examples and
// SequenceExamples have: in how many records, of what kinds, how many values, between what bounds.
//
//   RecordStatistics statistics;
//   statistics.Add(record);
//   Use(statistics.Json());
//
// Memory: a kilobyte, and some hundred bytes for each of at most kMostFeatures names; more names
// are counted only. Percentiles are exact to 1/16.
// Ownership: copies names and numbers; nothing of a record is kept.
// Threads: one.
// Errors: none; what is no Example counts as another record.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// Smallest, largest, mean of what was added.
struct Spread {
  uint64_t count = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  void Add(double value);
};

class RecordStatistics {
 public:
  static constexpr size_t kMostFeatures = 100000;

  void Add(std::string_view record);
  std::string Json() const;

 private:
  enum Place : uint8_t { kFeature, kContext, kSequence };
  struct Feature {
    std::array<uint64_t, 4> records{};  // by FeatureKind
    Spread steps;                       // of a sequence
    Spread values;                      // of each Feature
    Spread bytes;                       // of each text
    Spread numbers;                     // finite ones
    uint64_t not_finite = 0;
  };
  using Features = std::map<std::string, Feature, std::less<>>;

  void AddMap(std::string_view map, Place place);
  void AddFeature(std::string_view encoded, Feature& feature, bool counts);
  Feature* Find(std::string_view name, Place place);
  double Percentile(double share) const;

  Spread sizes_;
  std::vector<uint64_t> by_size_;  // 16 to an octave
  std::array<uint64_t, 3> kinds_{};
  std::array<Features, 3> features_;
  uint64_t more_features_ = 0;
  std::vector<float> floats_;
  std::vector<int64_t> ints_;
};

}  // namespace thalweg
