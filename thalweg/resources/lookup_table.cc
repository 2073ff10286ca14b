// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/lookup_table.h"

#include "thalweg/kernel/made_texts.h"

namespace thalweg {
namespace {

// A row's node in a hash map of texts, its place there, and the pointer to it.
constexpr size_t kRowBytes = sizeof(std::pair<std::string, int64_t>) + 5 * sizeof(void*);

// Room for row i of what was found.
Status TakeRow(TextMeter& meter, const Tensor& found, int64_t i, int64_t width) {
  if (found.dtype() != DType::kString) return OkStatus();
  for (int64_t k = i * width; k < (i + 1) * width; ++k) {
    if (!meter.Take(found.data<std::string>()[k].size())) return meter.status();
  }
  return OkStatus();
}

}  // namespace

LookupTable::LookupTable(TableSpec spec)
    : spec_(std::move(spec)),
      key_width_(spec_.empty_key.empty() ? 1 : spec_.empty_key.num_elements()),
      values_width_(spec_.value_shape.num_elements()),
      keys_(spec_.key_dtype, key_width_),
      values_(spec_.value_dtype, values_width_) {
  if (spec_.kind == TableKind::kMutableDense) {
    buckets_.emplace(spec_.empty_key, spec_.deleted_key, spec_.value_dtype, values_width_,
                     spec_.initial_buckets, spec_.max_load);
  }
}

Result<RefPtr<LookupTable>> LookupTable::Make(TableSpec spec) {
  const DType key = spec.key_dtype;
  if (!IsPlain(key) && key != DType::kString) {
    return InvalidArgument("keys of a table must be numbers or strings, got ", key);
  }
  if (!IsPlain(spec.value_dtype) && spec.value_dtype != DType::kString &&
      spec.value_dtype != DType::kVariant && spec.value_dtype != DType::kResource) {
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
      table->KeyBytes(table->spec_.empty_key, 0) == table->KeyBytes(table->spec_.deleted_key, 0)) {
    return InvalidArgument("Empty and deleted keys cannot be equal");
  }
  return table;
}

int64_t LookupTable::size() const {
  MutexLock lock(mutex_);
  return buckets_.has_value() ? buckets_->size() : static_cast<int64_t>(rows_.size());
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
  return Unimplemented(what,
                       " not supported by InitializableLookupTable implementations: the table "
                       "is filled once");
}

Status LookupTable::CheckInitialized() const {
  if (!is_static() || initialized_) return OkStatus();
  return FailedPrecondition("Table not initialized.");
}

Status LookupTable::CheckOrdinaryKeys(const Tensor& keys, int64_t count) const {
  if (spec_.kind != TableKind::kMutableDense) return OkStatus();
  const std::string empty = KeyBytes(spec_.empty_key, 0);
  const std::string deleted =
      spec_.deleted_key.empty() ? std::string() : KeyBytes(spec_.deleted_key, 0);
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = KeyBytes(keys, i);
    if (key == empty) return InvalidArgument("Using the empty_key as a table key is not allowed");
    if (!spec_.deleted_key.empty() && key == deleted) {
      return InvalidArgument("Using the deleted_key as a table key is not allowed");
    }
  }
  return OkStatus();
}

void LookupTable::Empty() {
  rows_.clear();
  keys_of_rows_.clear();
  key_bytes_ = 0;
  keys_.Clear();
  values_.Clear();
}

void LookupTable::PutRow(const Tensor& keys, const Tensor& values, int64_t i) {
  const auto [place, is_new] =
      rows_.try_emplace(KeyBytes(keys, i), static_cast<int64_t>(keys_of_rows_.size()));
  if (is_new) {
    keys_of_rows_.push_back(&place->first);
    key_bytes_ += TextHeapBytes(place->first.size());
    keys_.Set(place->second, keys, i);
  }
  values_.Set(place->second, values, i);
}

int64_t LookupTable::held_bytes() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(Bytes());
}

size_t LookupTable::Bytes() const {
  if (buckets_.has_value()) return buckets_->bytes();
  return rows_.size() * (kRowBytes + keys_.RowBytes() + values_.RowBytes()) + key_bytes_ +
         keys_.TextBytes() + values_.TextBytes();
}

size_t LookupTable::BytesOfRows(const Tensor& keys, const Tensor& values, int64_t count) const {
  size_t bytes = static_cast<size_t>(count) * (kRowBytes + keys_.RowBytes() + values_.RowBytes());
  if (keys.dtype() == DType::kString) bytes += 2 * TextHeapBytes(keys.flat<std::string>());
  if (values.dtype() == DType::kString) bytes += TextHeapBytes(values.flat<std::string>());
  return bytes;
}

Status LookupTable::MakeRoom(Allocator& allocator, const Tensor& keys, const Tensor& values,
                             int64_t count) {
  return charge_.Set(allocator, Bytes() + BytesOfRows(keys, values, count))
      .WithContext("rows of a table");
}

Status LookupTable::Put(Allocator& allocator, const Tensor& keys, const Tensor& values,
                        int64_t count) {
  RETURN_IF_ERROR(MakeRoom(allocator, keys, values, count));
  if (buckets_.has_value()) {
    buckets_->Insert(keys, values, count);
  } else {
    for (int64_t i = 0; i < count; ++i) PutRow(keys, values, i);
  }
  return charge_.Set(allocator, Bytes());
}

Status LookupTable::Initialize(Allocator& allocator, const Tensor& keys, const Tensor& values) {
  if (!is_static()) return InvalidArgument("the table is not one that is initialized");
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckValues(keys, values, true));
  MutexLock lock(mutex_);
  if (initialized_) {  // TensorFlow compares no more than the numbers
    if (count == static_cast<int64_t>(keys_of_rows_.size())) return OkStatus();
    return FailedPrecondition("Table was already initialized with different data.");
  }
  RETURN_IF_ERROR(Put(allocator, keys, values, count));
  // A key that came twice has its last value, which must be its only one.
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows_.find(KeyBytes(keys, i))->second;
    if (values_.Equals(row, values, i)) continue;
    Empty();
    charge_.Clear();
    return FailedPrecondition("HashTable has different value for same key, at place ", i);
  }
  initialized_ = true;
  return OkStatus();
}

Status LookupTable::Insert(Allocator& allocator, const Tensor& keys, const Tensor& values) {
  RETURN_IF_ERROR(CheckMutable("Insert"));
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckValues(keys, values, true));
  RETURN_IF_ERROR(CheckOrdinaryKeys(keys, count));
  MutexLock lock(mutex_);
  return Put(allocator, keys, values, count);
}

// Scalars may come as Export gives them, or without the column.
Status LookupTable::ImportBuckets(Allocator& allocator, const Tensor& keys, const Tensor& values) {
  const auto without_column = [](const Tensor& x, int rank) -> Result<Tensor> {
    return rank == 0 && x.rank() == 2 && x.dim(1) == 1 ? x.Reshaped(Shape{x.dim(0)}) : x;
  };
  ASSIGN_OR_RETURN(const Tensor rows, without_column(keys, spec_.empty_key.rank()));
  ASSIGN_OR_RETURN(const Tensor row_values, without_column(values, spec_.value_shape.rank()));
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(rows));
  RETURN_IF_ERROR(CheckValues(rows, row_values, true));
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(MakeRoom(allocator, rows, row_values, count));
  buckets_->Import(rows, row_values, count);
  return charge_.Set(allocator, Bytes());
}

Status LookupTable::Import(Allocator& allocator, const Tensor& keys, const Tensor& values) {
  if (is_static()) return Initialize(allocator, keys, values);
  if (spec_.kind == TableKind::kMutableDense) return ImportBuckets(allocator, keys, values);
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckValues(keys, values, true));
  MutexLock lock(mutex_);
  // What is there stays where there is no room for the new.
  RETURN_IF_ERROR(MakeRoom(allocator, keys, values, count));
  Empty();
  for (int64_t i = 0; i < count; ++i) PutRow(keys, values, i);
  return charge_.Set(allocator, Bytes());
}

Status LookupTable::Remove(Allocator& allocator, const Tensor& keys) {
  RETURN_IF_ERROR(CheckMutable("Remove"));
  ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
  RETURN_IF_ERROR(CheckOrdinaryKeys(keys, count));
  MutexLock lock(mutex_);
  if (buckets_.has_value()) {
    for (int64_t i = 0; i < count; ++i) buckets_->Remove(keys, i);
    return charge_.Set(allocator, Bytes());
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto found = rows_.find(KeyBytes(keys, i));
    if (found == rows_.end()) continue;
    const int64_t row = found->second;
    keys_.MoveLastTo(row);
    values_.MoveLastTo(row);
    key_bytes_ -= TextHeapBytes(found->first.size());
    const std::string* const last = keys_of_rows_.back();
    keys_of_rows_[static_cast<size_t>(row)] = last;
    keys_of_rows_.pop_back();
    rows_.find(*last)->second = row;
    rows_.erase(found);
  }
  return charge_.Set(allocator, Bytes());
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
  TextMeter meter(allocator, found);
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckInitialized());
  for (int64_t i = 0; i < count; ++i) {
    const auto use_default = [&] { defaults.Get(one_for_all ? 0 : i, found, i); };
    if (buckets_.has_value()) {
      if (!buckets_->Find(keys, i, found)) use_default();
    } else {
      const auto row = rows_.find(KeyBytes(keys, i));
      row == rows_.end() ? use_default() : values_.Get(row->second, found, i);
    }
    RETURN_IF_ERROR(TakeRow(meter, found, i, values_width_));
  }
  return found;
}

Result<std::pair<Tensor, Tensor>> LookupTable::Export(Allocator& allocator) const {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckInitialized());
  if (buckets_.has_value()) return buckets_->Export(allocator, spec_.value_shape);
  const auto count = static_cast<int64_t>(keys_of_rows_.size());
  Dims key_dims{count}, value_dims{count};
  for (const int64_t d : spec_.value_shape.dims()) value_dims.push_back(d);
  ASSIGN_OR_RETURN(Tensor keys, Tensor::Allocate(allocator, spec_.key_dtype, Shape(key_dims)));
  ASSIGN_OR_RETURN(Tensor values,
                   Tensor::Allocate(allocator, spec_.value_dtype, Shape(value_dims)));
  TextMeter key_meter(allocator, keys), value_meter(allocator, values);
  for (int64_t row = 0; row < count; ++row) {
    keys_.Get(row, keys, row);
    values_.Get(row, values, row);
    RETURN_IF_ERROR(TakeRow(key_meter, keys, row, keys_.width()));
    RETURN_IF_ERROR(TakeRow(value_meter, values, row, values_width_));
  }
  return std::pair<Tensor, Tensor>(std::move(keys), std::move(values));
}

std::string LookupTable::DebugString() const {
  return StrCat("a table of ", size(), " rows from ", spec_.key_dtype, " to ", spec_.value_dtype);
}

}  // namespace thalweg
