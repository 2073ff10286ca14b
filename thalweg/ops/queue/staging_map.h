// SPDX-License-Identifier: Apache-2.0
// StagingMap: elements by key between steps, bounded in number and bytes. The tensors of an element
// may come in several parts, and may be taken in several parts once all are there.
//
//   map->Join(std::make_unique<StagingMap::Put>(ctx, std::move(done), key, indices, parts, 2));
//   map->Join(std::make_unique<StagingMap::Get>(StagingMap::kTakes, ctx, std::move(done), key,
//                                               indices, types));
//
// A Get of a key waits until that element is complete, a Get without a key for any element: that of
// the smallest key where the map is ordered, else the one that was completed first. A Put waits
// while there is no room: for a complete element more, or for its bytes. An element whose key is
// there already is dropped, as TensorFlow does. Tensors are shared, never copied.
// Ownership: shared by the container and who waits; elements share the buffers they came with.
// Threads: any.
// Errors: InvalidArgument for an index out of bounds, set already or taken already, and for other
// types than were put in; ResourceExhausted for a Put of more bytes than the bound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/resources/waiter_queues.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class StagingMap : public WaiterQueues {
 public:
  static constexpr size_t kPuts = 0, kTakes = 1, kPeeks = 2;
  struct Spec {
    std::string name;
    bool ordered = false;
    int64_t capacity = 0;      // 0: no bound
    int64_t memory_limit = 0;  // 0: no bound
  };
  explicit StagingMap(Spec spec)
      : WaiterQueues({Order::kAny, Order::kAny, Order::kAny}), spec_(std::move(spec)) {}

  const Spec& spec() const { return spec_; }
  int64_t size() const EXCLUDES(mutex_);             // complete elements
  int64_t incomplete_size() const EXCLUDES(mutex_);  // elements of which parts are there
  void Clear() EXCLUDES(mutex_);
  std::string DebugString() const override;

  struct Put;
  struct Get;

 private:
  struct Element {
    std::vector<Tensor> tensors;
    std::vector<bool> is_set;  // of a complete element: is still there
    size_t missing = 0;        // of a complete element: how many were taken
    uint64_t turn = 0;         // when it was completed
  };
  using Elements = std::map<int64_t, Element>;

  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) override;
  Progress AdvancePut(Put& put) REQUIRES(mutex_);
  Progress AdvanceGet(Get& get) REQUIRES(mutex_);
  Status CheckPut(const Put& put, const Element* there) const;
  Status CheckGet(const Get& get, int64_t key, const Element& element) const;
  // The element that a Get is for, once it is complete.
  Elements::iterator Find(const Get& get) REQUIRES(mutex_);
  void TakeParts(const Get& get, Elements::iterator at) REQUIRES(mutex_);

  const Spec spec_;
  Elements incomplete_ GUARDED_BY(mutex_);
  Elements complete_ GUARDED_BY(mutex_);
  std::map<uint64_t, int64_t> turns_ GUARDED_BY(mutex_);  // keys of complete_ by their turn
  uint64_t next_turn_ GUARDED_BY(mutex_) = 0;
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Puts in tensors[i] as part indices[i] of an element of `width` parts.
struct StagingMap::Put : Waiter {
  Put(Context& c, Done d, int64_t k, std::vector<int64_t> i, std::vector<Tensor> t, size_t w)
      : Waiter(kPuts, c, std::move(d)),
        key(k),
        indices(std::move(i)),
        tensors(std::move(t)),
        width(w) {}
  size_t bytes() const;
  const int64_t key;
  const std::vector<int64_t> indices;
  std::vector<Tensor> tensors;
  const size_t width;
};

// Takes (line kTakes) or reads (kPeeks) parts of an element; without a key, output 0 is its key and
// the parts follow.
struct StagingMap::Get : Waiter {
  Get(size_t line, Context& c, Done d, std::optional<int64_t> k, std::vector<int64_t> i,
      const std::vector<DType>& t)
      : Waiter(line, c, std::move(d)), key(k), indices(std::move(i)), types(t) {}
  const std::optional<int64_t> key;
  const std::vector<int64_t> indices;
  const std::vector<DType>& types;  // of the kernel, which outlives the call
  int64_t found_key = 0;
  std::vector<Tensor> parts;
};

}  // namespace thalweg
