// SPDX-License-Identifier: Apache-2.0
// TensorMap: what a variant that holds a map carries: tensors by keys that are tensors too. A value
// like any other: who changes a map that others hold too changes a copy (see tensor_list.h).
//
//   ASSIGN_OR_RETURN(const TensorMap* map, MapInput(ctx, 0));
//   const Tensor* value = map->Find(key);                          // null: no such key
//   ASSIGN_OR_RETURN(MapUpdate update, MapUpdate::Of(ctx, 0));     // input 0, copied if shared
//   RETURN_IF_ERROR(update->Insert(key, tensor));
//   return std::move(update).SetOutput(ctx, 0);
//
// Keys are equal when type, shape and all bytes are (so NaN is equal to itself, and 0 not to -0).
// Entries are kept in the order in which their keys first came.
// Ownership: shares the buffers of keys and values; what Find gives is good until the map changes.
// Threads: several may read one; MapUpdate changes only what nobody else can see.
// Errors: InvalidArgument for keys of variants and resources, for inputs that hold no map, for too
// deep a nesting.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "thalweg/base/status.h"
#include "thalweg/kernel/context.h"
#include "thalweg/resources/nested_variant.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class TensorMap : public NestedVariant, public std::enable_shared_from_this<TensorMap> {
 public:
  struct Entry {
    Tensor key, value;
  };

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  // In the order in which the keys came.
  const std::map<uint64_t, Entry>& entries() const { return entries_; }
  // Null when there is no such key.
  const Tensor* Find(const Tensor& key) const;
  // Gives a key a value, perhaps another one. Keys of variants and resources are refused.
  Status Insert(const Tensor& key, Tensor value);
  // False when there is no such key.
  bool Erase(const Tensor& key);

  int depth() const override { return depth_; }
  std::string TypeName() const override { return "tensorflow::TensorMap"; }
  std::string DebugString() const override;

 private:
  std::map<uint64_t, Entry> entries_;
  std::unordered_map<std::string, uint64_t> turns_;  // by the bytes of the key
  uint64_t next_turn_ = 0;
  int depth_ = 1;
};

// The map that input i holds.
Result<const TensorMap*> MapInput(Context& ctx, int i);
// Output i = a scalar variant of the map.
Status SetMapOutput(Context& ctx, int i, std::shared_ptr<TensorMap> map);

// A map to be changed: that of an input, itself where nobody else holds it, else a copy.
class MapUpdate {
 public:
  static Result<MapUpdate> Of(Context& ctx, int i);
  TensorMap* operator->() const { return map_.get(); }
  Status SetOutput(Context& ctx, int i) &&;

 private:
  MapUpdate(Tensor tensor, std::shared_ptr<TensorMap> map)
      : tensor_(std::move(tensor)), map_(std::move(map)) {}

  Tensor tensor_;  // the input's, in which the map already lies; empty for a copy
  std::shared_ptr<TensorMap> map_;
};

}  // namespace thalweg
