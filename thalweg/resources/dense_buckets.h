// SPDX-License-Identifier: Apache-2.0
// DenseBuckets: the rows of a dense lookup table, in the buckets in which TensorFlow's lie, so that
// what it exports and what a checkpoint holds is the same.
//
//   DenseBuckets buckets(empty_key, deleted_key, DType::kFloat, 1, 16, 0.8F);
//   buckets.Insert(keys, values, n);
//   if (!buckets.Find(keys, i, out)) ...;     // row i of `out` is unchanged
//
// A key lies in the bucket of its hash, or 1, 1 + 2, 1 + 2 + 3 ... behind it; the first bucket on
// this way that is empty or whose key was removed takes a new one. Only buckets that were ever
// filled have memory.
// Ownership: elements are copied.
// Threads: one at a time, the table locks.
// Errors: of memory; keys and values were checked by the table, keys are not one of the two that
// are the buckets' own.
#pragma once

#include <unordered_map>
#include <utility>

#include "thalweg/base/status.h"
#include "thalweg/resources/table_column.h"

namespace thalweg {

class DenseBuckets {
 public:
  // deleted_key: an empty tensor where no row can be removed. initial_buckets: a power of two.
  DenseBuckets(Tensor empty_key, Tensor deleted_key, DType value_dtype, int64_t value_width,
               int64_t initial_buckets, float max_load);

  int64_t size() const { return count_; }
  // What the buckets that were ever filled hold.
  size_t bytes() const {
    return slots_.size() * (kSlotBytes + keys_.RowBytes() + values_.RowBytes()) +
           keys_.TextBytes() + values_.TextBytes();
  }
  // More buckets are made for all rows and all of `keys`, also those that are there already.
  void Insert(const Tensor& keys, const Tensor& values, int64_t count);
  void Remove(const Tensor& keys, int64_t i);
  // Row i of `found` becomes the value of key i; false when there is none.
  bool Find(const Tensor& keys, int64_t i, Tensor& found) const;
  // Row i of each is bucket i. A number of buckets that is no power of two is made one.
  void Import(const Tensor& keys, const Tensor& values, int64_t count);
  // One row for each bucket; scalars as a column.
  Result<std::pair<Tensor, Tensor>> Export(Allocator& allocator, const Shape& value_shape) const;

 private:
  // What a bucket that was filled holds.
  struct Slot {
    int64_t row = 0;  // of keys_ and values_
    bool is_deleted = false;
  };

  // A node of slots_, and its place there.
  static constexpr size_t kSlotBytes = sizeof(std::pair<uint64_t, Slot>) + 4 * sizeof(void*);

  uint64_t HashOf(const Tensor& keys, int64_t i) const;
  // The slot of key i; null when it is not there.
  const Slot* FindSlot(const Tensor& keys, int64_t i) const;
  void Put(const Tensor& keys, const Tensor& values, int64_t i);
  void Fill(uint64_t bucket, const Tensor& keys, const Tensor& values, int64_t i);
  void Rebucket(int64_t buckets);
  void Clear();

  const Tensor empty_key_, deleted_key_;
  const DType value_dtype_;
  const int64_t key_width_, value_width_;
  const float max_load_;
  int64_t num_buckets_;
  int64_t count_ = 0;
  std::unordered_map<uint64_t, Slot> slots_;  // by bucket; the others are empty
  TableColumn keys_, values_;
};

}  // namespace thalweg
