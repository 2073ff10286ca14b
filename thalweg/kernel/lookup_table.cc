// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/lookup_table.h"

#include <algorithm>
#include <cstring>

#include "thalweg/compute/text/hashes.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

void TableColumn::Set(int64_t to, const Tensor& tensor, int64_t from) {
  const auto row = static_cast<size_t>(to) * static_cast<size_t>(width_);
  const auto end = row + static_cast<size_t>(width_);
  if (dtype_ == DType::kString) {
    texts_.resize(std::max(texts_.size(), end));
    std::copy_n(tensor.data<std::string>() + from * width_, width_, texts_.data() + row);
  } else if (dtype_ == DType::kVariant) {
    variants_.resize(std::max(variants_.size(), end));
    std::copy_n(tensor.data<Variant>() + from * width_, width_, variants_.data() + row);
  } else {
    const size_t bytes = RowBytes();
    plain_.resize(std::max(plain_.size(), (static_cast<size_t>(to) + 1) * bytes));
    if (bytes == 0) return;
    std::memcpy(plain_.data() + static_cast<size_t>(to) * bytes,
                static_cast<const char*>(tensor.raw_data()) + static_cast<size_t>(from) * bytes,
                bytes);
  }
}

void TableColumn::MoveLastTo(int64_t row) {
  const auto move = [row](auto& elements, size_t width) {
    if (width == 0) return;
    const size_t last = elements.size() - width, first = static_cast<size_t>(row) * width;
    if (first != last) {
      std::move(elements.begin() + static_cast<std::ptrdiff_t>(last), elements.end(),
                elements.begin() + static_cast<std::ptrdiff_t>(first));
    }
    elements.resize(last);
  };
  const auto width = static_cast<size_t>(width_);
  if (dtype_ == DType::kString) {
    move(texts_, width);
  } else if (dtype_ == DType::kVariant) {
    move(variants_, width);
  } else {
    move(plain_, RowBytes());
  }
}

bool TableColumn::Equals(int64_t row, const Tensor& tensor, int64_t from) const {
  if (dtype_ == DType::kString) {
    return std::equal(texts_.data() + row * width_, texts_.data() + (row + 1) * width_,
                      tensor.data<std::string>() + from * width_);
  }
  if (dtype_ == DType::kVariant) return false;
  const size_t bytes = RowBytes();
  return std::memcmp(
             plain_.data() + static_cast<size_t>(row) * bytes,
             static_cast<const char*>(tensor.raw_data()) + static_cast<size_t>(from) * bytes,
             bytes) == 0;
}

void TableColumn::Clear() {
  plain_.clear();
  texts_.clear();
  variants_.clear();
}

void TableColumn::Get(int64_t row, Tensor& tensor, int64_t to) const {
  if (dtype_ == DType::kString) {
    std::copy_n(texts_.data() + row * width_, width_,
                tensor.mutable_data<std::string>() + to * width_);
  } else if (dtype_ == DType::kVariant) {
    std::copy_n(variants_.data() + row * width_, width_,
                tensor.mutable_data<Variant>() + to * width_);
  } else if (const size_t bytes = RowBytes(); bytes > 0) {
    std::memcpy(static_cast<char*>(tensor.mutable_raw_data()) + static_cast<size_t>(to) * bytes,
                plain_.data() + static_cast<size_t>(row) * bytes, bytes);
  }
}

LookupTable::LookupTable(TableSpec spec)
    : spec_(std::move(spec)),
      key_width_(spec_.empty_key.empty() ? 1 : spec_.empty_key.num_elements()),
      values_width_(spec_.value_shape.num_elements()),
      keys_(spec_.key_dtype, key_width_),
      values_(spec_.value_dtype, values_width_) {
  if (spec_.kind != TableKind::kMutableDense) return;
  empty_key_ = KeyBytes(spec_.empty_key, 0);
  if (!spec_.deleted_key.empty()) deleted_key_ = KeyBytes(spec_.deleted_key, 0);
}

Result<RefPtr<LookupTable>> LookupTable::Make(TableSpec spec) {
  const DType key = spec.key_dtype;
  if (!IsPlain(key) && key != DType::kString) {
    return InvalidArgument("keys of a table must be numbers or strings, got ", key);
  }
  if (!IsPlain(spec.value_dtype) && spec.value_dtype != DType::kString &&
      spec.value_dtype != DType::kVariant) {
    return InvalidArgument("a table cannot hold values of type ", spec.value_dtype);
  }
  if (spec.kind == TableKind::kMutableDense) {
    const Tensor &empty = spec.empty_key, &deleted = spec.deleted_key;
    if (empty.rank() > 1) {
      return InvalidArgument("Empty key must be a scalar or a vector, got shape ", empty.shape());
    }
    if (!deleted.empty() && !(deleted.shape() == empty.shape())) {
      return InvalidArgument("Empty and deleted keys must have same shape, got shapes: ",
                             empty.shape(), " and ", deleted.shape());
    }
  }
  auto table = RefPtr<LookupTable>::Adopt(
      std::unique_ptr<LookupTable>(new LookupTable(std::move(spec))).release());
  if (table->spec_.kind == TableKind::kMutableDense && !table->spec_.deleted_key.empty() &&
      table->empty_key_ == table->deleted_key_) {
    return InvalidArgument("Empty and deleted keys cannot be equal");
  }
  return table;
}

int64_t LookupTable::size() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(rows_.size());
}

bool LookupTable::initialized() const {
  MutexLock lock(mutex_);
  return !is_static() || initialized_;
}

std::string LookupTable::KeyBytes(const Tensor& keys, int64_t i) const {
  if (spec_.key_dtype == DType::kString) {
    const auto* key = keys.data<std::string>() + i * key_width_;
    if (key_width_ == 1) return *key;
    std::string bytes;
    for (int64_t k = 0; k < key_width_; ++k) bytes += StrCat(key[k].size(), ":", key[k]);
    return bytes;
  }
  const size_t bytes = static_cast<size_t>(key_width_) * DTypeStride(spec_.key_dtype);
  return {static_cast<const char*>(keys.raw_data()) + static_cast<size_t>(i) * bytes, bytes};
}

Status LookupTable::CheckKeyType(const Tensor& keys) const {
  if (keys.dtype() == spec_.key_dtype) return OkStatus();
  return InvalidArgument("Key must be type ", spec_.key_dtype, " but got ", keys.dtype());
}

Result<int64_t> LookupTable::CountKeys(const Tensor& keys) const {
  RETURN_IF_ERROR(CheckKeyType(keys));
  if (spec_.kind != TableKind::kMutableDense || spec_.empty_key.rank() == 0) {
    return keys.num_elements();
  }
  const Shape shape = keys.shape();
  if (shape.rank() == 0 || shape.dim(shape.rank() - 1) != key_width_) {
    return InvalidArgument("Expected key shape to end with ", spec_.empty_key.shape(), " got ",
                           shape);
  }
  int64_t count = 1;
  for (int d = 0; d + 1 < shape.rank(); ++d) count *= shape.dim(d);
  return count;
}

Shape LookupTable::OutputShape(const Shape& keys) const {
  Dims dims;
  const int key_rank = spec_.empty_key.empty() ? 0 : spec_.empty_key.rank();
  for (int d = 0; d + key_rank < keys.rank(); ++d) dims.push_back(keys.dim(d));
  for (const int64_t d : spec_.value_shape.dims()) dims.push_back(d);
  return Shape(dims);
}

Status LookupTable::CheckValues(const Tensor& keys, const Tensor& values, bool exact_shape) const {
  if (values.dtype() != spec_.value_dtype) {
    return InvalidArgument("Value must be type ", spec_.value_dtype, " but got ", values.dtype());
  }
  const Shape expected = OutputShape(keys.shape());
  const bool agrees =
      exact_shape ? values.shape() == expected : values.num_elements() == expected.num_elements();
  if (agrees) return OkStatus();
  return InvalidArgument("Expected shape ", expected, " for value, got ", values.shape());
}

Status LookupTable::CheckMutable(std::string_view what) const {
  if (!is_static()) return OkStatus();
  return Unimplemented(what, " is not implemented for a table that is filled once");
}

Status LookupTable::CheckInitialized() const {
  if (!is_static() || initialized_) return OkStatus();
  return FailedPrecondition("Table not initialized.");
}

Status LookupTable::CheckOrdinaryKeys(const Tensor& keys, int64_t count) const {
  if (spec_.kind != TableKind::kMutableDense) return OkStatus();
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = KeyBytes(keys, i);
    if (key == empty_key_) {
      return InvalidArgument("Using the empty_key as a table key is not allowed");
    }
    if (!spec_.deleted_key.empty() && key == deleted_key_) {
      return InvalidArgument("Using the deleted_key as a table key is not allowed");
    }
  }
  return OkStatus();
}

void LookupTable::Empty() {
  rows_.clear();
  keys_of_rows_.clear();
  keys_.Clear();
  values_.Clear();
}

void LookupTable::PutRow(const Tensor& keys, const Tensor& values, int64_t i) {
  const auto [place, is_new] =
      rows_.try_emplace(KeyBytes(keys, i), static_cast<int64_t>(keys_of_rows_.size()));
  if (is_new) {
    keys_of_rows_.push_back(&place->first);
    keys_.Set(place->second, keys, i);
  }
  values_.Set(place->second, values, i);
}

void LookupTable::Put(const Tensor& keys, const Tensor& values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) PutRow(keys, values, i);
}

Status LookupTable::Initialize(const Tensor& keys, const Tensor& values) {
  if (!is_static()) return InvalidArgument("the table is not one that is initialized");
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckValues(keys, values, true));
  MutexLock lock(mutex_);
  if (initialized_) return OkStatus();
  Put(keys, values, count);
  // A key that came twice has its last value, which must be its only one.
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows_.find(KeyBytes(keys, i))->second;
    if (values_.Equals(row, values, i)) continue;
    Empty();
    return FailedPrecondition("HashTable has different value for same key, at place ", i);
  }
  initialized_ = true;
  return OkStatus();
}

Status LookupTable::Insert(const Tensor& keys, const Tensor& values) {
  RETURN_IF_ERROR(CheckMutable("Insert"));
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckValues(keys, values, true));
  RETURN_IF_ERROR(CheckOrdinaryKeys(keys, count));
  MutexLock lock(mutex_);
  Put(keys, values, count);
  return OkStatus();
}

Status LookupTable::Import(const Tensor& keys, const Tensor& values) {
  RETURN_IF_ERROR(CheckMutable("Import"));
  // Scalars of a dense table may come as Export gives them.
  const auto without_column = [&](const Tensor& x, int rank) -> Result<Tensor> {
    const bool is_column = spec_.kind == TableKind::kMutableDense && rank == 0 && x.rank() == 2;
    return is_column && x.dim(1) == 1 ? x.Reshaped(Shape{x.dim(0)}) : x;
  };
  ASSIGN_OR_RETURN(const Tensor rows, without_column(keys, spec_.empty_key.rank()));
  ASSIGN_OR_RETURN(const Tensor row_values, without_column(values, spec_.value_shape.rank()));
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(rows));
  RETURN_IF_ERROR(CheckValues(rows, row_values, true));
  MutexLock lock(mutex_);
  Empty();
  for (int64_t i = 0; i < count; ++i) {
    if (!IsOwnKey(KeyBytes(rows, i))) PutRow(rows, row_values, i);
  }
  return OkStatus();
}

Status LookupTable::Remove(const Tensor& keys) {
  RETURN_IF_ERROR(CheckMutable("Remove"));
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckOrdinaryKeys(keys, count));
  MutexLock lock(mutex_);
  for (int64_t i = 0; i < count; ++i) {
    const auto found = rows_.find(KeyBytes(keys, i));
    if (found == rows_.end()) continue;
    const int64_t row = found->second;
    keys_.MoveLastTo(row);
    values_.MoveLastTo(row);
    const std::string* const last = keys_of_rows_.back();
    keys_of_rows_[static_cast<size_t>(row)] = last;
    keys_of_rows_.pop_back();
    rows_.find(*last)->second = row;
    rows_.erase(found);
  }
  return OkStatus();
}

Result<Tensor> LookupTable::Find(Allocator& allocator, const Tensor& keys,
                                 const Tensor& default_value) const {
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckOrdinaryKeys(keys, count));
  if (default_value.dtype() != spec_.value_dtype) {
    return InvalidArgument("the default value must be ", spec_.value_dtype, ", got ",
                           default_value.dtype());
  }
  const Shape shape = OutputShape(keys.shape());
  const bool one_for_all = default_value.shape() == spec_.value_shape;
  const bool one_for_each = !is_static() && default_value.shape() == shape;
  if (!one_for_all && !one_for_each) {
    return InvalidArgument("Expected shape ", spec_.value_shape,
                           is_static() ? "" : StrCat(" or ", shape), " for default value, got ",
                           default_value.shape());
  }
  ASSIGN_OR_RETURN(Tensor found, Tensor::Allocate(allocator, spec_.value_dtype, shape));
  TableColumn defaults(spec_.value_dtype, values_width_);
  const int64_t number = one_for_all ? 1 : count;
  for (int64_t i = 0; i < number; ++i) defaults.Set(i, default_value, i);
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckInitialized());
  for (int64_t i = 0; i < count; ++i) {
    const auto row = rows_.find(KeyBytes(keys, i));
    if (row != rows_.end()) {
      values_.Get(row->second, found, i);
    } else {
      defaults.Get(one_for_all ? 0 : i, found, i);
    }
  }
  return found;
}

Result<std::pair<Tensor, Tensor>> LookupTable::Export(Allocator& allocator) const {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckInitialized());
  const auto count = static_cast<int64_t>(keys_of_rows_.size());
  Dims key_dims{count}, value_dims{count};
  if (key_width_ != 1 || (!spec_.empty_key.empty() && spec_.empty_key.rank() == 1)) {
    key_dims.push_back(key_width_);
  }
  for (const int64_t d : spec_.value_shape.dims()) value_dims.push_back(d);
  ASSIGN_OR_RETURN(Tensor keys, Tensor::Allocate(allocator, spec_.key_dtype, Shape(key_dims)));
  ASSIGN_OR_RETURN(Tensor values,
                   Tensor::Allocate(allocator, spec_.value_dtype, Shape(value_dims)));
  for (int64_t row = 0; row < count; ++row) {
    keys_.Get(row, keys, row);
    values_.Get(row, values, row);
  }
  if (spec_.kind == TableKind::kMutableDense) return Buckets(keys, allocator);
  return std::pair<Tensor, Tensor>(std::move(keys), std::move(values));
}

uint64_t LookupTable::HashOf(const Tensor& keys, int64_t i) const {
  const auto of_element = [&](int64_t at) {
    return spec_.key_dtype == DType::kString ? compute::Murmur64(keys.data<std::string>()[at])
                                             : static_cast<uint64_t>(IntAt(keys, at));
  };
  if (key_width_ == 1) return of_element(i);
  uint64_t hash = 0;
  for (int64_t at = i * key_width_; at < (i + 1) * key_width_; ++at) {
    hash ^= of_element(at) + 0x9e3779b97f4a7800U + (hash << 10) + (hash >> 4);
  }
  return hash;
}

// Each key lies in the bucket of its hash, or 1, 1 + 2, 1 + 2 + 3 ... behind it.
Result<std::pair<Tensor, Tensor>> LookupTable::Buckets(const Tensor& keys,
                                                       Allocator& allocator) const {
  const int64_t count = keys.dim(0);
  int64_t buckets = spec_.initial_buckets;
  while (static_cast<double>(count) > static_cast<double>(buckets) * spec_.max_load) buckets *= 2;
  std::vector<int64_t> value_dims = {buckets};
  for (const int64_t d : spec_.value_shape.dims()) value_dims.push_back(d);
  if (spec_.value_shape.rank() == 0) value_dims.push_back(1);
  ASSIGN_OR_RETURN(const Shape key_shape, Shape::Make(std::vector<int64_t>{buckets, key_width_}));
  ASSIGN_OR_RETURN(const Shape value_shape, Shape::Make(value_dims));
  ASSIGN_OR_RETURN(Tensor keys_out, Tensor::Allocate(allocator, spec_.key_dtype, key_shape));
  ASSIGN_OR_RETURN(Tensor values_out, Tensor::Allocate(allocator, spec_.value_dtype, value_shape));
  if (IsPlain(spec_.value_dtype) && values_out.bytes() > 0) {
    std::memset(values_out.mutable_raw_data(), 0, values_out.bytes());
  }
  TableColumn empty(spec_.key_dtype, key_width_);
  empty.Set(0, spec_.empty_key, 0);
  for (int64_t bucket = 0; bucket < buckets; ++bucket) empty.Get(0, keys_out, bucket);
  std::vector<bool> is_used(static_cast<size_t>(buckets));
  const auto mask = static_cast<uint64_t>(buckets) - 1;
  for (int64_t row = 0; row < count; ++row) {
    uint64_t bucket = HashOf(keys, row) & mask;
    for (uint64_t probe = 1; is_used[bucket]; ++probe) bucket = (bucket + probe) & mask;
    is_used[bucket] = true;
    keys_.Get(row, keys_out, static_cast<int64_t>(bucket));
    values_.Get(row, values_out, static_cast<int64_t>(bucket));
  }
  return std::pair<Tensor, Tensor>(std::move(keys_out), std::move(values_out));
}

std::string LookupTable::DebugString() const {
  return StrCat("a table of ", size(), " rows from ", spec_.key_dtype, " to ", spec_.value_dtype);
}

}  // namespace thalweg
