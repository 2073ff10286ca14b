// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/parsing/example_json.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "thalweg/base/str_cat.h"
#include "thalweg/compute/text/base64.h"
#include "thalweg/compute/text/numbers.h"
#include "thalweg/io/example_wire.h"
#include "thalweg/proto/wire_fields.h"

// A library ends no process of ours.
#define JSON_ASSERT(condition) static_cast<void>(0)
#include <nlohmann/json.hpp>

namespace thalweg {
namespace {

using Json = nlohmann::json;

// The kind of list that a field of Feature is, by the number of that field.
FeatureKind KindNamed(std::string_view name) {
  if (name == "bytesList" || name == "bytes_list") return FeatureKind::kBytes;
  if (name == "floatList" || name == "float_list") return FeatureKind::kFloat;
  if (name == "int64List" || name == "int64_list") return FeatureKind::kInt64;
  return FeatureKind::kNone;
}
uint32_t FieldOf(FeatureKind kind) {
  if (kind == FeatureKind::kBytes) return 1;
  return kind == FeatureKind::kFloat ? 2 : 3;
}

std::optional<std::string> BytesOf(std::string text) {
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return compute::DecodeBase64(text);
}

// What begins with a digit, or a sign and one: no white space, hexadecimals or words.
bool LooksLikeANumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool plain = text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && plain;
}

// Reads the text event by event. An Example is a chain of containers, so one buffer for each of
// them is enough: what is open is written into the one around it when it closes.
class ExampleEvents : public nlohmann::json_sax<Json> {
 public:
  Result<std::string> Finish() && {
    if (!status_.ok()) return status_;
    return std::move(bytes_[kExample]);
  }

  bool null() override {
    if (at_ == kNothing) return Fail("an object", "null");
    if (at_ == kEntries) CloseEntry(nullptr);
    return true;  // elsewhere as if it were not there
  }
  bool boolean(bool value) override { return Fail(Expected(), value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return kind() == FeatureKind::kInt64 ? AddInteger(value)
                                         : AddNumber(static_cast<double>(value), StrCat(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return number_integer(static_cast<int64_t>(value));
    }
    return AddNumber(static_cast<double>(value), StrCat(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return AddNumber(value, text);
  }
  bool string(string_t& text) override {
    if (kind() == FeatureKind::kBytes) {
      const std::optional<std::string> bytes = BytesOf(text);
      if (!bytes) return FailText("base64", text);
      AddWireText(1, *bytes, &bytes_[kList]);
      return Added();
    }
    if (kind() == FeatureKind::kNone) return FailText(Expected(), text);
    int64_t integer = 0;
    double number = 0;
    if (kind() == FeatureKind::kFloat) {
      if (text == "NaN") return AddFloat(std::numeric_limits<float>::quiet_NaN());
      if (text == "Infinity") return AddFloat(std::numeric_limits<float>::infinity());
      if (text == "-Infinity") return AddFloat(-std::numeric_limits<float>::infinity());
    } else if (LooksLikeANumber(text) && compute::ParseNumber(text, &integer)) {
      return AddInteger(integer);
    }
    if (!LooksLikeANumber(text) || !compute::ParseNumber(text, &number)) {
      return FailText(Expected(), text);
    }
    return AddNumber(number, StrCat('"', text, '"'));
  }
  bool binary(binary_t&) override { return false; }  // does not exist in text

  bool start_object(size_t) override {
    if (at_ == kList || at_ == kValues) return Fail(Expected(), "an object");
    ++at_;
    bytes_[at_].clear();
    if (at_ == kEntries) keys_.clear();
    if (at_ == kFeature) list_kind_ = FeatureKind::kNone;
    if (at_ == kList) values_ = 0;
    return true;
  }
  bool end_object() override {
    switch (at_--) {
      case kFeatures:
        AddWireText(kFeaturesField, bytes_[kFeatures], &bytes_[kExample]);
        break;
      case kEntries:
        bytes_[kFeatures] += bytes_[kEntries];
        break;
      case kFeature:
        CloseEntry(&bytes_[kFeature]);
        break;
      case kList:
        AddWireText(FieldOf(list_kind_), bytes_[kList], &bytes_[kFeature]);
        break;
      default:
        break;
    }
    return true;
  }
  bool start_array(size_t) override {
    if (at_ != kList) return Fail(Expected(), "an array");
    at_ = kValues;
    return true;
  }
  bool end_array() override {
    at_ = kList;
    return true;
  }
  bool key(string_t& name) override {
    switch (at_) {
      case kExample:
        return name == "features" || FailField("features", name);
      case kFeatures:
        return name == "feature" || FailField("feature", name);
      case kEntries:
        key_ = name;
        return keys_.insert(name).second || Fail("a key once", "it again");
      case kFeature: {
        if (list_kind_ != FeatureKind::kNone)
          return FailField("the end: a feature is one list", name);
        list_kind_ = KindNamed(name);
        list_name_ = name;
        return list_kind_ != FeatureKind::kNone ||
               FailField("bytesList, floatList or int64List", name);
      }
      default:
        return name == "value" || FailField("value", name);
    }
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    const size_t words = what.find("] ");  // behind the library's number of the error
    status_ = InvalidArgument(words == std::string_view::npos ? what : what.substr(words + 2));
    return false;
  }

 private:
  // What is open; each stands inside of the one before.
  enum Place { kNothing, kExample, kFeatures, kEntries, kFeature, kList, kValues, kPlaces };

  // The place of the value that comes now, where it is one of a list.
  FeatureKind kind() const {
    return at_ == kList || at_ == kValues ? list_kind_ : FeatureKind::kNone;
  }
  std::string_view Expected() const {
    switch (kind()) {
      case FeatureKind::kBytes:
        return "a text of base64";
      case FeatureKind::kFloat:
        return "a number that a float holds";
      case FeatureKind::kInt64:
        return "an integer of 64 bits";
      default:
        return "an object";
    }
  }

  bool AddInteger(int64_t value) {
    PutWireNumber(1, static_cast<uint64_t>(value), &bytes_[kList]);
    return Added();
  }
  bool AddFloat(float value) {
    AppendTag(bytes_[kList], 1, WireType::kFixed32);
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    bytes_[kList].append(bytes, sizeof(bytes));
    return Added();
  }
  bool AddNumber(double value, std::string_view text) {
    if (kind() == FeatureKind::kFloat && std::fabs(value) <= std::numeric_limits<float>::max()) {
      return AddFloat(static_cast<float>(value));
    }
    const bool is_integer = value == std::floor(value) && value >= -0x1p63 && value < 0x1p63;
    if (kind() == FeatureKind::kInt64 && is_integer) return AddInteger(static_cast<int64_t>(value));
    return Fail(Expected(), text);
  }
  bool Added() {
    ++values_;
    return true;
  }
  // A null pointer: a key without a feature.
  void CloseEntry(const std::string* feature) {
    std::string entry;
    AddWireText(1, key_, &entry);
    if (feature != nullptr) AddWireText(2, *feature, &entry);
    AddWireText(1, entry, &bytes_[kEntries]);
  }

  // Names end where nobody would read on.
  static std::string_view Shortened(std::string_view text) { return text.substr(0, 100); }
  std::string Path() const {
    std::string path = "the example";
    if (at_ >= kFeatures) path = "features";
    if (at_ >= kEntries) path += StrCat(".feature[\"", Shortened(key_), "\"]");
    if (at_ >= kList) path += StrCat(".", list_name_);
    if (at_ == kValues) path += StrCat(".value[", values_, "]");
    return path;
  }
  bool Fail(std::string_view expected, std::string_view found) {
    status_ = InvalidArgument(Path(), ": expected ", expected, ", got ", Shortened(found));
    return false;
  }
  bool FailText(std::string_view expected, std::string_view text) {
    return Fail(expected, StrCat('"', Shortened(text), '"'));
  }
  bool FailField(std::string_view expected, std::string_view name) {
    return Fail(expected, StrCat("a field \"", Shortened(name), '"'));
  }

  int at_ = kNothing;
  std::string bytes_[kPlaces];
  std::unordered_set<std::string> keys_;  // of the map that is open
  std::string key_;
  FeatureKind list_kind_ = FeatureKind::kNone;
  std::string list_name_;
  int64_t values_ = 0;
  Status status_;
};

}  // namespace

Result<std::string> ExampleFromJson(std::string_view json) {
  ExampleEvents events;
  Json::sax_parse(json.begin(), json.end(), &events);
  return std::move(events).Finish();
}

}  // namespace thalweg
