// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/record_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "thalweg/files/record_text.h"
#include "thalweg/io/example_wire.h"
#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

constexpr int kSteps = 16;  // of sizes, to an octave

size_t SizeBucket(uint64_t size) {
  if (size < kSteps) return static_cast<size_t>(size);
  const int octave = std::bit_width(size) - 5;  // of 16 to 31: 0
  return static_cast<size_t>(kSteps * (octave + 1)) + ((size >> octave) & (kSteps - 1));
}
// The largest size that falls into it.
double SizeOfBucket(size_t bucket) {
  if (bucket < kSteps) return static_cast<double>(bucket);
  const auto octave = static_cast<int>(bucket / kSteps) - 1;
  return std::ldexp(static_cast<double>(kSteps + bucket % kSteps + 1), octave) - 1;
}

void AppendSpread(JsonWriter& json, std::string_view name, const Spread& spread) {
  if (spread.count == 0) return;
  json.Key(name).BeginObject().Key("count").Number(spread.count);
  json.Key("min").Number(spread.min).Key("max").Number(spread.max);
  json.Key("mean").Number(spread.sum / static_cast<double>(spread.count)).EndObject();
}

}  // namespace

void Spread::Add(double value) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  sum += value;
  ++count;
}

void RecordStatistics::Add(std::string_view record) {
  sizes_.Add(static_cast<double>(record.size()));
  const size_t bucket = SizeBucket(record.size());
  if (bucket >= by_size_.size()) by_size_.resize(bucket + 1);
  ++by_size_[bucket];
  const ExampleKind kind = KindOfRecord(record);
  ++kinds_[static_cast<size_t>(kind)];
  if (kind == ExampleKind::kOther) return;
  WireReader reader(record);
  uint32_t tag;
  std::string_view part;
  while (reader.ReadTag(&tag) && reader.ReadBytes(&part)) {
    const bool is_sequence = WireFieldNumber(tag) == kFeatureListsField;
    AddMap(part, is_sequence                             ? kSequence
                 : kind == ExampleKind::kSequenceExample ? kContext
                                                         : kFeature);
  }
}

RecordStatistics::Feature* RecordStatistics::Find(std::string_view name, Place place) {
  Features& features = features_[place];
  const auto at = features.find(name);
  if (at != features.end()) return &at->second;
  if (features.size() >= kMostFeatures) {
    ++more_features_;
    return nullptr;
  }
  return &features.emplace(name, Feature()).first->second;
}

void RecordStatistics::AddMap(std::string_view map, Place place) {
  FeatureMapReader reader(map);
  std::string_view key, value;
  while (reader.Next(&key, &value)) {
    Feature* const feature = Find(key, place);
    if (feature == nullptr) continue;
    if (place != kSequence) {
      AddFeature(value, *feature, true);
      continue;
    }
    FeatureListReader list(value);
    std::string_view step;
    uint64_t steps = 0;
    while (list.Next(&step)) AddFeature(step, *feature, steps++ == 0);
    feature->steps.Add(static_cast<double>(steps));
    feature->records[0] += steps == 0;
  }
}

// `counts`: as one of its record.
void RecordStatistics::AddFeature(std::string_view encoded, Feature& feature, bool counts) {
  EncodedList list;
  if (!ReadFeature(encoded, &list)) return;
  const auto n = static_cast<size_t>(std::max<int64_t>(CountValues(list), 0));
  feature.records[static_cast<size_t>(list.kind)] += counts;
  feature.values.Add(static_cast<double>(n));
  if (list.kind == FeatureKind::kBytes) {
    BytesReader reader(list);
    std::string_view value;
    while (reader.Next(&value)) feature.bytes.Add(static_cast<double>(value.size()));
  } else if (list.kind == FeatureKind::kFloat) {
    floats_.resize(n);
    if (!ReadValues(list, floats_.data())) return;
    for (const float value : floats_) {
      if (std::isfinite(value)) {
        feature.numbers.Add(static_cast<double>(value));
      } else {
        ++feature.not_finite;
      }
    }
  } else if (list.kind == FeatureKind::kInt64) {
    ints_.resize(n);
    if (!ReadValues(list, ints_.data())) return;
    for (const int64_t value : ints_) feature.numbers.Add(static_cast<double>(value));
  }
}

double RecordStatistics::Percentile(double share) const {
  const double wanted = share * static_cast<double>(sizes_.count);
  double seen = 0;
  for (size_t i = 0; i < by_size_.size(); ++i) {
    seen += static_cast<double>(by_size_[i]);
    if (seen >= wanted) return std::min(SizeOfBucket(i), sizes_.max);
  }
  return sizes_.max;
}

std::string RecordStatistics::Json() const {
  JsonWriter json;
  json.BeginObject().Key("records").Number(sizes_.count).Key("bytes").Number(sizes_.sum);
  if (sizes_.count > 0) {
    json.Key("record_bytes").BeginObject().Key("min").Number(sizes_.min);
    json.Key("p50").Number(Percentile(0.5)).Key("p90").Number(Percentile(0.9));
    json.Key("p99").Number(Percentile(0.99)).Key("max").Number(sizes_.max);
    json.Key("mean").Number(sizes_.sum / static_cast<double>(sizes_.count)).EndObject();
  }
  json.Key("examples").Number(kinds_[0]).Key("sequence_examples").Number(kinds_[1]);
  json.Key("others").Number(kinds_[2]).Key("features").BeginList();
  constexpr const char* kPlaces[] = {"features", "context", "feature_lists"};
  constexpr const char* kKinds[] = {"none", "bytes", "float", "int64"};
  for (size_t place = 0; place < features_.size(); ++place) {
    const uint64_t of = kinds_[place == 0 ? 0 : 1];
    for (const auto& [name, feature] : features_[place]) {
      json.BeginObject().Key("name").Text(name).Key("place").Text(kPlaces[place]);
      uint64_t records = 0;
      json.Key("kinds").BeginObject();
      for (size_t kind = 0; kind < feature.records.size(); ++kind) {
        records += feature.records[kind];
        if (feature.records[kind] > 0) json.Key(kKinds[kind]).Number(feature.records[kind]);
      }
      json.EndObject().Key("records").Number(records);
      json.Key("missing").Number(of > records ? of - records : 0);
      AppendSpread(json, "steps", feature.steps);
      AppendSpread(json, "values", feature.values);
      AppendSpread(json, "bytes", feature.bytes);
      AppendSpread(json, "numbers", feature.numbers);
      if (feature.not_finite > 0) json.Key("not_finite").Number(feature.not_finite);
      json.EndObject();
    }
  }
  json.EndList();
  if (more_features_ > 0) json.Key("more_features").Number(more_features_);
  json.EndObject();
  return json.Take();
}

}  // namespace thalweg
