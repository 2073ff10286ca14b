// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/checkpoint_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "thalweg/files/checkpoint_listing.h"
#include "thalweg/files/tensor_elements.h"
#include "thalweg/io/bundle_variants.h"

namespace thalweg {
namespace {

using Entry = CheckpointReader::Entry;

// What compares as it is, byte for byte, is told by its bytes.
struct ElementPair {
  bool same = false;
  std::optional<double> abs;  // |a - b|
  double magnitude = 0;       // max(|a|, |b|)
};

double Magnitude(double value) { return std::fabs(value); }
template <class T>
double Magnitude(const std::complex<T>& value) {
  return std::abs(std::complex<double>(value));
}

// Floating-point numbers, real or complex, are compared as double.
template <class T>
ElementPair CompareFloats(const T& a, const T& b, const CompareOptions& options) {
  ElementPair pair;
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) {
    pair.same = a_nan && b_nan;
    pair.abs = std::numeric_limits<double>::infinity();
    pair.magnitude = 1;
    return pair;
  }
  pair.same = a == b;
  if (pair.same) return pair;
  pair.abs = Magnitude(a - b);
  pair.magnitude = std::max(Magnitude(a), Magnitude(b));
  pair.same =
      std::isfinite(pair.magnitude) && *pair.abs <= options.atol + options.rtol * Magnitude(b);
  return pair;
}

template <class T>
ElementPair CompareElements(const T& a, const T& b, const CompareOptions& options) {
  if constexpr (std::is_same_v<T, std::string>) {
    return {.same = a == b};
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return CompareFloats<double>(static_cast<float>(a), static_cast<float>(b), options);
  } else if constexpr (std::is_floating_point_v<T>) {
    return CompareFloats<double>(a, b, options);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return CompareFloats(std::complex<double>(a), std::complex<double>(b), options);
  } else {
    const auto x = static_cast<long double>(a), y = static_cast<long double>(b);
    return {.same = a == b,
            .abs = static_cast<double>(std::fabs(x - y)),
            .magnitude = static_cast<double>(std::max(std::fabs(x), std::fabs(y)))};
  }
}

std::vector<int64_t> IndicesOf(int64_t flat, const Shape& shape) {
  std::vector<int64_t> indices(static_cast<size_t>(shape.rank()));
  for (int i = shape.rank(); i-- > 0;) {
    indices[static_cast<size_t>(i)] = flat % shape.dim(i);
    flat /= shape.dim(i);
  }
  return indices;
}

std::string ElementJson(const Tensor& tensor, int64_t i) {
  JsonWriter json;
  AppendElementJson(json, tensor, i);
  return json.Take();
}

// Notes that element i differs.
void Note(ValueDifference& found, const Tensor& a, const Tensor& b, int64_t i) {
  if (found.differing++ > 0) return;
  found.first = IndicesOf(i, a.shape());
  found.first_a = ElementJson(a, i);
  found.first_b = ElementJson(b, i);
}

template <class T>
void CompareAll(const Tensor& a, const Tensor& b, const CompareOptions& options,
                ValueDifference& found) {
  const std::span<const T> x = a.flat<T>(), y = b.flat<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    const ElementPair pair = CompareElements(x[i], y[i], options);
    if (pair.same) continue;
    Note(found, a, b, static_cast<int64_t>(i));
    if (!pair.abs) continue;
    found.max_abs = std::max(found.max_abs.value_or(0), *pair.abs);
    const double rel = std::isinf(*pair.abs) ? *pair.abs : *pair.abs / pair.magnitude;
    found.max_rel = std::max(found.max_rel.value_or(0), rel);
  }
}

// For types that have no numbers here.
Status CompareBytes(const Tensor& a, const Tensor& b, ValueDifference& found) {
  if (!IsPlain(a.dtype())) {
    return Unimplemented("values of type ", a.dtype(), " cannot be compared");
  }
  const size_t each = DTypeSize(a.dtype());
  const auto* const x = static_cast<const char*>(a.raw_data());
  const auto* const y = static_cast<const char*>(b.raw_data());
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const size_t at = static_cast<size_t>(i) * each;
    if (std::memcmp(x + at, y + at, each) != 0) Note(found, a, b, i);
  }
  return OkStatus();
}

Status CompareVariants(const Tensor& a, const Tensor& b, ValueDifference& found) {
  uint32_t crc = 0;
  ASSIGN_OR_RETURN(const std::string x, BundleVariants(a, &crc));
  ASSIGN_OR_RETURN(const std::string y, BundleVariants(b, &crc));
  StoredVariants of_x(x), of_y(y);
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    ASSIGN_OR_RETURN(const StoredVariant in_x, of_x.Next());
    ASSIGN_OR_RETURN(const StoredVariant in_y, of_y.Next());
    if (in_x.message != in_y.message) Note(found, a, b, i);
  }
  return OkStatus();
}

void AppendEntry(JsonWriter& json, const Entry& entry) {
  json.Key("name").Text(entry.name).Key("dtype").Text(DTypeName(entry.dtype)).Key("shape");
  AppendShapeJson(json, entry.shape);
}

void AppendEntries(JsonWriter& json, const std::vector<Entry>& entries) {
  json.BeginList();
  for (const Entry& entry : entries) {
    json.BeginObject();
    AppendEntry(json, entry);
    json.EndObject();
  }
  json.EndList();
}

void AppendValueDifference(JsonWriter& json, const ValueDifference& value) {
  json.BeginObject();
  AppendEntry(json, value.tensor);
  json.Key("elements").Number(value.tensor.shape.num_elements());
  json.Key("differing").Number(value.differing);
  if (value.max_abs)
    json.Key("max_abs").Number(*value.max_abs).Key("max_rel").Number(*value.max_rel);
  json.Key("first").BeginList();
  for (const int64_t index : value.first) json.Number(index);
  json.EndList().Key("a").Literal(value.first_a).Key("b").Literal(value.first_b).EndObject();
}

}  // namespace

Result<std::optional<ValueDifference>> CompareTensors(const Tensor& a, const Tensor& b,
                                                      const CompareOptions& options) {
  if (IsPlain(a.dtype()) &&
      (a.num_elements() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0)) {
    return std::optional<ValueDifference>();
  }
  ValueDifference found;
  bool compared = false;
  ForEachType<decltype(JoinTypes(PodTypes{}, Types<std::string>{}))>([&]<class T>() {
    if (a.dtype() != kDTypeOf<T>) return;
    CompareAll<T>(a, b, options, found);
    compared = true;
  });
  if (!compared) {
    RETURN_IF_ERROR(a.dtype() == DType::kVariant ? CompareVariants(a, b, found)
                                                 : CompareBytes(a, b, found));
  }
  if (found.differing == 0) return std::optional<ValueDifference>();
  return std::optional<ValueDifference>(std::move(found));
}

Result<CheckpointDifference> CompareCheckpoints(FileSystem& fs, const std::string& a,
                                                const std::string& b,
                                                const CompareOptions& options) {
  ASSIGN_OR_RETURN(const auto reader_a, CheckpointReader::Open(fs, a));
  ASSIGN_OR_RETURN(const auto reader_b, CheckpointReader::Open(fs, b));
  CheckpointDifference difference;
  std::vector<const Entry*> common;
  uint64_t total = 0;
  const auto bytes_of = [](const Entry& entry) {
    return static_cast<uint64_t>(entry.shape.num_elements()) *
           std::max<uint64_t>(DTypeSize(entry.dtype), 1);
  };
  for (const Entry& entry : reader_a->tensors()) {
    const Entry* const other = reader_b->Find(entry.name);
    if (other == nullptr) {
      difference.only_a.push_back(entry);
    } else if (other->dtype != entry.dtype || other->shape != entry.shape) {
      difference.kinds.emplace_back(entry, *other);
    } else {
      common.push_back(&entry);
      total += bytes_of(entry);
    }
  }
  for (const Entry& entry : reader_b->tensors()) {
    if (reader_a->Find(entry.name) == nullptr) difference.only_b.push_back(entry);
  }
  const AllocatorPtr allocator = MakeCpuAllocator();
  Progress progress(options.progress, total);
  for (const Entry* const entry : common) {
    const Result<Tensor> x = reader_a->Read(entry->name, *allocator);
    if (!x.ok()) return x.status().WithContext(a);
    const Result<Tensor> y = reader_b->Read(entry->name, *allocator);
    if (!y.ok()) return y.status().WithContext(b);
    Result<std::optional<ValueDifference>> found = CompareTensors(*x, *y, options);
    if (!found.ok()) return found.status().WithContext(StrCat("tensor '", entry->name, "'"));
    if (*found) {
      (*found)->tensor = *entry;
      difference.values.push_back(**std::move(found));
    } else {
      ++difference.equal;
    }
    RETURN_IF_ERROR(progress.Add(bytes_of(*entry)));
  }
  return difference;
}

std::string DifferenceJson(const CheckpointDifference& difference) {
  JsonWriter json;
  json.BeginObject().Key("same").Bool(difference.same()).Key("equal").Number(difference.equal);
  json.Key("only_a");
  AppendEntries(json, difference.only_a);
  json.Key("only_b");
  AppendEntries(json, difference.only_b);
  json.Key("kinds").BeginList();
  for (const auto& [a, b] : difference.kinds) {
    json.BeginObject().Key("name").Text(a.name);
    json.Key("a").BeginObject().Key("dtype").Text(DTypeName(a.dtype)).Key("shape");
    AppendShapeJson(json, a.shape);
    json.EndObject().Key("b").BeginObject().Key("dtype").Text(DTypeName(b.dtype)).Key("shape");
    AppendShapeJson(json, b.shape);
    json.EndObject().EndObject();
  }
  json.EndList().Key("values").BeginList();
  for (const ValueDifference& value : difference.values) AppendValueDifference(json, value);
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
