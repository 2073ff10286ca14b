// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/dense_buckets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "thalweg/compute/text/hashes.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

DenseBuckets::DenseBuckets(Tensor empty_key, Tensor deleted_key, DType value_dtype,
                           int64_t value_width, int64_t initial_buckets, float max_load)
    : empty_key_(std::move(empty_key)),
      deleted_key_(std::move(deleted_key)),
      value_dtype_(value_dtype),
      key_width_(empty_key_.num_elements()),
      value_width_(value_width),
      max_load_(max_load),
      num_buckets_(initial_buckets),
      keys_(empty_key_.dtype(), key_width_),
      values_(value_dtype, value_width) {}

uint64_t DenseBuckets::HashOf(const Tensor& keys, int64_t i) const {
  const auto of_element = [&](int64_t at) {
    return keys.dtype() == DType::kString ? compute::Murmur64(keys.data<std::string>()[at])
                                          : static_cast<uint64_t>(IntAt(keys, at));
  };
  if (key_width_ == 1) return of_element(i);
  uint64_t hash = 0;
  for (int64_t at = i * key_width_; at < (i + 1) * key_width_; ++at) {
    hash ^= of_element(at) + 0x9e3779b97f4a7800U + (hash << 10) + (hash >> 4);
  }
  return hash;
}

const DenseBuckets::Slot* DenseBuckets::FindSlot(const Tensor& keys, int64_t i) const {
  const auto mask = static_cast<uint64_t>(num_buckets_) - 1;
  uint64_t bucket = HashOf(keys, i) & mask;
  for (uint64_t probe = 1; probe <= mask + 1; ++probe) {
    const auto slot = slots_.find(bucket);
    if (slot == slots_.end()) return nullptr;
    if (!slot->second.is_deleted && keys_.Equals(slot->second.row, keys, i)) return &slot->second;
    bucket = (bucket + probe) & mask;
  }
  return nullptr;
}

void DenseBuckets::Fill(uint64_t bucket, const Tensor& keys, const Tensor& values, int64_t i) {
  const auto [slot, is_new] =
      slots_.try_emplace(bucket, Slot{.row = static_cast<int64_t>(slots_.size())});
  slot->second.is_deleted = false;
  keys_.Set(slot->second.row, keys, i);
  values_.Set(slot->second.row, values, i);
  ++count_;
}

// A key that lies behind a removed one comes twice, as in TensorFlow; the first is found.
void DenseBuckets::Put(const Tensor& keys, const Tensor& values, int64_t i) {
  const auto mask = static_cast<uint64_t>(num_buckets_) - 1;
  uint64_t bucket = HashOf(keys, i) & mask;
  for (uint64_t probe = 1;; ++probe) {  // the load is below 1: there is an empty bucket
    const auto slot = slots_.find(bucket);
    if (slot == slots_.end() || slot->second.is_deleted) return Fill(bucket, keys, values, i);
    if (keys_.Equals(slot->second.row, keys, i)) {
      values_.Set(slot->second.row, values, i);
      return;
    }
    bucket = (bucket + probe) & mask;
  }
}

void DenseBuckets::Insert(const Tensor& keys, const Tensor& values, int64_t count) {
  const auto wanted = static_cast<double>(count_ + count);
  int64_t buckets = num_buckets_;
  while (wanted > static_cast<double>(buckets) * static_cast<double>(max_load_)) buckets *= 2;
  if (buckets != num_buckets_) Rebucket(buckets);
  for (int64_t i = 0; i < count; ++i) Put(keys, values, i);
}

void DenseBuckets::Remove(const Tensor& keys, int64_t i) {
  const Slot* const slot = FindSlot(keys, i);
  if (slot == nullptr) return;
  if (!deleted_key_.empty()) keys_.Set(slot->row, deleted_key_, 0);
  const_cast<Slot*>(slot)->is_deleted = true;
  --count_;
}

bool DenseBuckets::Find(const Tensor& keys, int64_t i, Tensor& found) const {
  const Slot* const slot = FindSlot(keys, i);
  if (slot != nullptr) values_.Get(slot->row, found, i);
  return slot != nullptr;
}

void DenseBuckets::Clear() {
  slots_.clear();
  keys_.Clear();
  values_.Clear();
  count_ = 0;
}

// All rows again, in the order of their buckets.
void DenseBuckets::Rebucket(int64_t buckets) {
  std::vector<std::pair<uint64_t, int64_t>> rows;
  for (const auto& [bucket, slot] : slots_) {
    if (!slot.is_deleted) rows.emplace_back(bucket, slot.row);
  }
  std::sort(rows.begin(), rows.end());
  const DenseBuckets old = *this;
  Clear();
  num_buckets_ = buckets;
  const auto mask = static_cast<uint64_t>(buckets) - 1;
  Tensor key = *Tensor::AllocateHost(empty_key_.dtype(), Shape{key_width_});
  Tensor value = *Tensor::AllocateHost(value_dtype_, Shape{value_width_});
  for (const auto& [old_bucket, row] : rows) {
    old.keys_.Get(row, key, 0);
    old.values_.Get(row, value, 0);
    uint64_t bucket = HashOf(key, 0) & mask;
    for (uint64_t probe = 1; slots_.contains(bucket); ++probe) bucket = (bucket + probe) & mask;
    Fill(bucket, key, value, 0);
  }
}

void DenseBuckets::Import(const Tensor& keys, const Tensor& values, int64_t count) {
  Clear();
  num_buckets_ = std::max<int64_t>(count, 1);
  TableColumn own(empty_key_.dtype(), key_width_);
  own.Set(0, empty_key_, 0);
  if (!deleted_key_.empty()) own.Set(1, deleted_key_, 0);
  for (int64_t i = 0; i < count; ++i) {
    if (own.Equals(0, keys, i)) continue;
    Fill(static_cast<uint64_t>(i), keys, values, i);
    if (deleted_key_.empty() || !own.Equals(1, keys, i)) continue;
    slots_[static_cast<uint64_t>(i)].is_deleted = true;
    --count_;
  }
  constexpr int64_t kFewest = 4;
  auto buckets = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(num_buckets_)));
  buckets = std::max(buckets, kFewest);
  const auto is_full = [&] {
    return static_cast<double>(count_) >
           static_cast<double>(buckets) * static_cast<double>(max_load_);
  };
  while (is_full()) buckets *= 2;
  if (buckets != num_buckets_) Rebucket(buckets);
}

Result<std::pair<Tensor, Tensor>> DenseBuckets::Export(Allocator& allocator,
                                                       const Shape& value_shape) const {
  std::vector<int64_t> value_dims = {num_buckets_};
  for (const int64_t d : value_shape.dims()) value_dims.push_back(d);
  if (value_shape.rank() == 0) value_dims.push_back(1);
  ASSIGN_OR_RETURN(const Shape keys_shape,
                   Shape::Make(std::vector<int64_t>{num_buckets_, key_width_}));
  ASSIGN_OR_RETURN(const Shape values_shape, Shape::Make(value_dims));
  ASSIGN_OR_RETURN(Tensor keys, Tensor::Allocate(allocator, empty_key_.dtype(), keys_shape));
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(allocator, value_dtype_, values_shape));
  if (IsPlain(value_dtype_) && values.bytes() > 0) {
    std::memset(values.mutable_raw_data(), 0, values.bytes());
  }
  TableColumn empty(empty_key_.dtype(), key_width_);
  empty.Set(0, empty_key_, 0);
  for (int64_t bucket = 0; bucket < num_buckets_; ++bucket) {
    const auto slot = slots_.find(static_cast<uint64_t>(bucket));
    if (slot == slots_.end()) {
      empty.Get(0, keys, bucket);
      continue;
    }
    keys_.Get(slot->second.row, keys, bucket);
    values_.Get(slot->second.row, values, bucket);
  }
  return std::pair<Tensor, Tensor>(std::move(keys), std::move(values));
}

}  // namespace thalweg
