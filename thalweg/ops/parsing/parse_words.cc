// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/parsing/parse_words.h"

namespace thalweg {
namespace {

std::string_view KindName(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kBytes:
      return "string";
    case FeatureKind::kFloat:
      return "float";
    case FeatureKind::kInt64:
      return "int64";
    default:
      return "none";
  }
}

// What messages count: TensorFlow counts "bytes values" of strings.
std::string_view ValueName(DType dtype) {
  return dtype == DType::kString ? "bytes" : FeatureTypeName(dtype);
}

// The beginning of what no message is, printable.
std::string Shown(std::string_view bytes) {
  constexpr size_t kMost = 64;
  constexpr const char* kHex = "0123456789abcdef";
  std::string text;
  for (const char c : bytes.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += StrCat("\\x", kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  if (bytes.size() > kMost) text += "...";
  return text;
}

}  // namespace

std::string_view FeatureTypeName(DType dtype) { return KindName(KindOf(dtype)); }

FeatureKind KindOf(DType dtype) {
  if (dtype == DType::kString) return FeatureKind::kBytes;
  return dtype == DType::kFloat ? FeatureKind::kFloat : FeatureKind::kInt64;
}

std::string ParseWords::Name(int64_t example) const {
  if (!names_.empty()) return names_[static_cast<size_t>(example)];
  return is_batch() ? "<unknown>" : "";
}

std::string ParseWords::Head(int64_t example, std::string_view key) const {
  switch (form_) {
    case kExample:
      return StrCat("Name: ", Name(example), ", Key: ", key, ", Index: ", example, ".  ");
    case kSingleExample:
      return StrCat("Key: ", key, ".  ");
    default:
      return StrCat("Name: ", Name(example), ", Context feature: ", key, ".  ");
  }
}

std::string ParseWords::Place(int64_t example) const {
  return is_batch() ? StrCat(" (example ", example, " of ", count_, ")") : "";
}

Status ParseWords::NotAMessage(int64_t example, std::string_view bytes) const {
  if (form_ == kSequence) {
    return InvalidArgument("Invalid protocol message input, example id: ", Name(example),
                           ", value: '", Shown(bytes), "'", Place(example));
  }
  return InvalidArgument("Could not parse example input, value: '", Shown(bytes), "'",
                         Place(example), is_batch() ? StrCat(", name: ", Name(example)) : "");
}

Status ParseWords::Missing(int64_t example, std::string_view key, DType wanted) const {
  if (form_ == kSingleSequence) {
    return InvalidArgument("Name: ", Name(example), ", Context feature '", key,
                           "' is required but could not be found.");
  }
  return InvalidArgument(form_ == kExample ? StrCat("Name: ", Name(example), ", ") : "",
                         "Feature: ", key, " (data type: ", FeatureTypeName(wanted),
                         ") is required but could not be found.", Place(example));
}

Status ParseWords::WrongType(int64_t example, std::string_view key, DType wanted, FeatureKind found,
                             bool is_dense) const {
  const std::string head = Head(example, key) + "Data types don't match. ";
  if (form_ == kExample || form_ == kSingleExample) {
    if (is_dense) {
      return InvalidArgument(head, "Data type: ", KindName(found),
                             " but expected type: ", FeatureTypeName(wanted));
    }
    return InvalidArgument(head, "Expected type: ", FeatureTypeName(wanted),
                           ", Actual type: ", KindName(found));
  }
  return InvalidArgument(head, "Expected type: ", FeatureTypeName(wanted),
                         ", the feature is: ", KindName(found), Place(example));
}

Status ParseWords::WrongCount(int64_t example, std::string_view key, DType dtype, int64_t found,
                              const PartialShape& wanted) const {
  if (form_ == kSingleExample) {
    return InvalidArgument(Head(example, key), "Can't parse serialized Example: Number of ",
                           ValueName(dtype), " values != expected.  Values size: ", found,
                           " but output shape: ", wanted);
  }
  return InvalidArgument(Head(example, key), "Number of ", ValueName(dtype),
                         " values != expected.  Values size: ", found,
                         " but output shape: ", wanted, form_ == kExample ? "" : Place(example));
}

Status ParseWords::NotAMultiple(int64_t example, std::string_view key, DType dtype, int64_t found,
                                const PartialShape& wanted) const {
  return InvalidArgument(Head(example, key), "Number of ", ValueName(dtype),
                         " values is not a multiple of stride length. Saw ", found,
                         " values but output shape is: ", wanted);
}

Status ParseWords::NotAFeature(int64_t example, std::string_view key) const {
  return InvalidArgument(Head(example, key),
                         "Can't parse serialized Example: expected a Feature with a bytes_list, "
                         "float_list or int64_list",
                         form_ == kExample ? "" : Place(example));
}

Status ParseWords::ListMissing(int64_t example, std::string_view key) const {
  return InvalidArgument("Name: ", Name(example), ", Feature list '", key,
                         "' is required but could not be found.  Did you mean to include it in "
                         "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?",
                         Place(example));
}

Status ParseWords::ListWrongType(int64_t example, std::string_view key, int64_t step, DType wanted,
                                 FeatureKind found) const {
  return InvalidArgument("Name: ", Name(example), ", Feature list: ", key, ", Index: ", step,
                         ".  Data types don't match. Expected type: ", FeatureTypeName(wanted),
                         ", the feature is: ", KindName(found), Place(example));
}

Status ParseWords::ListWrongCount(int64_t example, std::string_view key, int64_t step, DType dtype,
                                  int64_t found, const PartialShape& wanted) const {
  return InvalidArgument(
      "Name: ", Name(example), ", Key: ", key, ", Index: ", step, ".  Number of ", ValueName(dtype),
      " values != expected.  values size: ", found, " but output shape: ", wanted, Place(example));
}

Status ParseWords::NotAList(int64_t example, std::string_view key, int64_t step) const {
  return InvalidArgument("Name: ", Name(example), ", Feature list: ", key, ", Index: ", step,
                         ".  Can't parse serialized SequenceExample: expected a Feature with a "
                         "bytes_list, float_list or int64_list",
                         Place(example));
}

}  // namespace thalweg
