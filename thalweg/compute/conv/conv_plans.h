// SPDX-License-Identifier: Apache-2.0
// ConvPlans: the prepared convolutions of one kernel, by shape, made by the component
// libthalweg_dnnl.so (oneDNN) where it is there. Without it, or where it has no fast kernel, Find
// gives null, silently, and convolutions take the own path.
//
//   ConvPlans plans;                                       // a member of the kernel
//   Conv2D(work, dtype, shape, x, filter, y, {}, &plans);
//
// Ownership: a plan lives as long as somebody holds it; the newest kMost are kept.
// Threads: any.
// Errors: none; null or false where oneDNN has nothing or refuses.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "thalweg/compute/conv/dnnl_api.h"
#include "thalweg/compute/isa/isa.h"

namespace thalweg::compute {

// True when the component is there: beside the library that this code is in, or in ../lib.
bool HasConvComponent();

class ConvPlan {
 public:
  explicit ConvPlan(const ThalwegDnnlConv& conv);
  ConvPlan(const ConvPlan&) = delete;
  ConvPlan& operator=(const ConvPlan&) = delete;
  ~ConvPlan();
  bool ok() const { return plan_ != nullptr; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  int64_t filter_floats() const { return static_cast<int64_t>((filter_bytes_ + 3) / 4); }
  // The same for plans that lay the filter out alike.
  std::string_view filter_format() const {
    size_t size = 0;
    const void* bytes = api_->filter_format(plan_, &size);
    return {static_cast<const char*>(bytes), size};
  }
  // False when oneDNN refused.
  bool PackFilter(const float* filter, float* packed) const;
  bool UnpackFilter(const float* packed, float* filter) const;
  // The packed filter is written by the form that makes it alone.
  bool Run(float* input, float* packed, const float* bias, float* output, void* scratch) const;

 private:
  const ThalwegDnnlApi* api_;
  ThalwegDnnlPlan* plan_ = nullptr;
  size_t scratch_bytes_ = 0, filter_bytes_ = 0;
};

class ConvPlans {
 public:
  // Null when the component has nothing fast for this convolution, or `isa` rules it out.
  std::shared_ptr<const ConvPlan> Find(const IsaTable& isa, const ThalwegDnnlConv& conv);

 private:
  static constexpr size_t kMost = 16;
  struct Entry {
    ThalwegDnnlConv conv;
    std::shared_ptr<const ConvPlan> plan;  // not ok(): there is nothing fast
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // oldest first
};

}  // namespace thalweg::compute
