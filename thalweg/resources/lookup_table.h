// SPDX-License-Identifier: Apache-2.0
// LookupTable: keys and values of one kind of table, as a resource that steps share.
//
//   ASSIGN_OR_RETURN(RefPtr<LookupTable> table,
//                    LookupTable::Make({TableKind::kMutable, DType::kString, DType::kInt64}));
//   RETURN_IF_ERROR(table->Insert(allocator, keys, values));
//   ASSIGN_OR_RETURN(Tensor found, table->Find(allocator, keys, default_value));
//
// A row is a key of key_shape elements and a value of value_shape elements; rows keep their order
// but that the last one takes the place of a removed one. Those of a dense table lie in
// DenseBuckets.
// Ownership: shared by the container and who holds it; it copies keys and values, and charges them
// to an allocator that outlives it.
// Threads: every member from any; each call sees the table before or after another, never between.
// Errors: TensorFlow's: InvalidArgument for types, shapes and keys that do not fit,
// FailedPrecondition for a static table that is not filled or filled anew; ResourceExhausted where
// there is no room for more rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/resources/dense_buckets.h"
#include "thalweg/resources/held_bytes.h"
#include "thalweg/resources/table_column.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/resource.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Static: filled once. Dense: has two keys of its own that no row may have.
enum class TableKind { kStatic, kMutable, kMutableOfTensors, kMutableDense };

struct TableSpec {
  TableKind kind = TableKind::kStatic;
  DType key_dtype = DType::kInvalid;
  DType value_dtype = DType::kInvalid;
  Shape value_shape;              // scalars but for tables of tensors and dense ones
  Tensor empty_key, deleted_key;  // of dense ones
  // How the rows of dense ones are laid out when they are exported: a power of two, and below 1.
  int64_t initial_buckets = int64_t{1} << 17;
  float max_load = 0.8F;
};

class LookupTable : public Resource, public HoldsBytes {
 public:
  // InvalidArgument for keys of a dense table that cannot be.
  static Result<RefPtr<LookupTable>> Make(TableSpec spec);

  const TableSpec& spec() const { return spec_; }
  int64_t size() const;
  bool initialized() const;

  // What the rows hold is charged to the allocator of the first of these calls.
  // Fills a static table, once: later calls with as many rows change nothing, others fail.
  Status Initialize(Allocator& allocator, const Tensor& keys, const Tensor& values);
  Status Insert(Allocator& allocator, const Tensor& keys, const Tensor& values);
  Status Remove(Allocator& allocator, const Tensor& keys);
  // Insert into an emptied table; of a dense one all buckets, as Export gives them; a static one is
  // initialized.
  Status Import(Allocator& allocator, const Tensor& keys, const Tensor& values);
  // The value of each key, of those without one the default: one value, or one for each key.
  Result<Tensor> Find(Allocator& allocator, const Tensor& keys, const Tensor& default_value) const;
  // All keys and all values; of a dense table its buckets as TensorFlow lays them out, many of them
  // with the empty key, so that TensorFlow finds the rows of a checkpoint.
  Result<std::pair<Tensor, Tensor>> Export(Allocator& allocator) const;
  std::string DebugString() const override;
  int64_t held_bytes() const override;

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  explicit LookupTable(TableSpec spec);
  bool is_static() const { return spec_.kind == TableKind::kStatic; }
  Status CheckKeyType(const Tensor& keys) const;
  // The number of keys; InvalidArgument for another type or shape.
  Result<int64_t> CountKeys(const Tensor& keys) const;
  Status CheckValues(const Tensor& keys, const Tensor& values, bool exact_shape) const;
  Status CheckMutable(std::string_view what) const;
  Status CheckInitialized() const REQUIRES(mutex_);
  Status CheckOrdinaryKeys(const Tensor& keys, int64_t count) const;
  Status ImportBuckets(Allocator& allocator, const Tensor& keys, const Tensor& values);
  std::string KeyBytes(const Tensor& keys, int64_t i) const;
  Shape OutputShape(const Shape& keys) const;
  void Empty() REQUIRES(mutex_);
  void PutRow(const Tensor& keys, const Tensor& values, int64_t i) REQUIRES(mutex_);
  // Before the rows are there.
  Status MakeRoom(Allocator& allocator, const Tensor& keys, const Tensor& values, int64_t count)
      REQUIRES(mutex_);
  Status Put(Allocator& allocator, const Tensor& keys, const Tensor& values, int64_t count)
      REQUIRES(mutex_);
  size_t Bytes() const REQUIRES(mutex_);
  // At most what `count` more rows hold.
  size_t BytesOfRows(const Tensor& keys, const Tensor& values, int64_t count) const
      REQUIRES(mutex_);

  const TableSpec spec_;
  const int64_t key_width_, values_width_;

  mutable Mutex mutex_;
  bool initialized_ GUARDED_BY(mutex_) = false;
  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> rows_ GUARDED_BY(mutex_);
  std::vector<const std::string*> keys_of_rows_ GUARDED_BY(mutex_);  // into rows_
  size_t key_bytes_ GUARDED_BY(mutex_) = 0;                          // of the texts in rows_
  TableColumn keys_ GUARDED_BY(mutex_);
  TableColumn values_ GUARDED_BY(mutex_);
  std::optional<DenseBuckets> buckets_
      GUARDED_BY(mutex_);  // of a dense table, instead of the above
  HeapCharge charge_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
