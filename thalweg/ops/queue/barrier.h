// SPDX-License-Identifier: Apache-2.0
// Barrier: elements whose components come one by one, each under the element's key; an element can
// be taken once all of its components are there.
//
//   RETURN_IF_ERROR(barrier->Insert(0, keys, values, ctx.allocator()));
//   barrier->Join(std::make_unique<Barrier::Take>(ctx, std::move(done), n, false));
//
// Elements come out in the order in which their keys first came. A take waits until all that it
// wants is there; it holds nothing while it waits. Close() lets no new key in, but incomplete
// elements may still be completed; closing with cancel drops these.
// Ownership: shared by the container and who waits; elements share the rows' buffers where these
// are large.
// Threads: any.
// Errors: InvalidArgument for what does not fit; Cancelled from an Insert after Close and from a
// second Close; OutOfRange from a take that can no longer get its elements. An Insert that fails
// changes nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/resources/waiter_queues.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Barrier : public WaiterQueues {
 public:
  struct Spec {
    std::string name;
    std::vector<DType> types;
    std::vector<Shape> shapes;  // one for each component
    bool operator==(const Spec&) const = default;
  };
  explicit Barrier(Spec spec) : WaiterQueues({Order::kFirst}), spec_(std::move(spec)) {}

  const Spec& spec() const { return spec_; }
  int64_t ready_size() const EXCLUDES(mutex_);
  int64_t incomplete_size() const EXCLUDES(mutex_);
  std::string DebugString() const override;

  // Row i of `values` is a component of the element keys[i].
  Status Insert(int64_t component, const Tensor& keys, const Tensor& values, Allocator& allocator)
      EXCLUDES(mutex_);
  Status Close(bool cancel_incomplete) EXCLUDES(mutex_);

  struct Take;

 private:
  struct Element {
    int64_t index = 0;
    uint64_t turn = 0;  // when its key came
    std::string key;
    std::vector<Tensor> components;
    size_t missing = 0;
  };

  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);
  Status Finish(Waiter& waiter) override EXCLUDES(mutex_);
  Status CheckInsert(int64_t component, const Tensor& keys, const Tensor& values) const;
  // Whether these keys may get this component now, and whether one of them is new.
  Result<bool> Admit(size_t component, const Tensor& keys) const REQUIRES(mutex_);
  void Add(size_t component, const std::string& key, Tensor value) REQUIRES(mutex_);
  // Without what its tensors hold.
  size_t BytesOfElement(const std::string& key) const;
  Status TooFew(int64_t requested, int64_t total) const;

  const Spec spec_;
  std::unordered_map<std::string, Element> incomplete_ GUARDED_BY(mutex_);
  std::map<uint64_t, Element> ready_ GUARDED_BY(mutex_);  // by turn
  size_t held_ GUARDED_BY(mutex_) = 0;                    // by all elements
  HeapCharge charge_ GUARDED_BY(mutex_);
  uint64_t next_turn_ GUARDED_BY(mutex_) = 0;
  int64_t next_index_ GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::min();
  bool closed_ GUARDED_BY(mutex_) = false;
  bool cancelled_ GUARDED_BY(mutex_) = false;
};

// Takes `count` elements as one batch: indices, keys, components. `may_be_fewer`: of a closed
// barrier those that are ready, at least one.
struct Barrier::Take : Waiter {
  Take(Context& c, Done d, int64_t n, bool fewer)
      : Waiter(0, c, std::move(d)), count(n), may_be_fewer(fewer) {}
  const int64_t count;
  const bool may_be_fewer;
  std::vector<Element> elements;
};

}  // namespace thalweg
