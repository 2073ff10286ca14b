// SPDX-License-Identifier: Apache-2.0
// PackedWeight: a weight in the form that a kernel reads fastest, kept from step to step. Kernels
// of one session that read the same weight in the same form share one, by name.
//
//   PackedWeightRef weight;                                          // a member of the kernel
//   RETURN_IF_ERROR(weight.Open(construction.resources(), "w transposed"));
//   const Tensor* const sources[] = {&w};                             // in each call
//   Tensor packed = weight.Find(sources, format);
//   if (packed.empty()) { packed = ...; weight.Keep(sources, format, packed); }
//
// What it was made of is held on to: nobody can change those bytes meanwhile (an update of the
// variable makes a copy), so the same buffers mean the same values. Keep lets the former form go.
// With its last user it gives its memory back.
// Ownership: the container holds it; while it has a user, it holds the sources and the packed form.
// Threads: any; when two steps both pack, the later one stays.
// Errors: Open: those of the container; Find gives an empty tensor for what is not kept.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/resource_manager.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class PackedWeight final : public Resource {
 public:
  using Sources = std::span<const Tensor* const>;

  void AddUser();
  void RemoveUser();
  Tensor Find(Sources sources, std::string_view format) const;
  void Keep(Sources sources, std::string_view format, const Tensor& packed);
  std::string DebugString() const override;

 private:
  mutable Mutex mutex_;
  int users_ GUARDED_BY(mutex_) = 0;
  std::vector<Tensor> sources_ GUARDED_BY(mutex_);
  std::string format_ GUARDED_BY(mutex_);
  Tensor packed_ GUARDED_BY(mutex_);
};

class PackedWeightRef {
 public:
  using Sources = PackedWeight::Sources;

  PackedWeightRef() = default;
  PackedWeightRef(const PackedWeightRef&) = delete;
  PackedWeightRef& operator=(const PackedWeightRef&) = delete;
  ~PackedWeightRef() {
    if (weight_) weight_->RemoveUser();
  }
  Status Open(ResourceManager& resources, const std::string& name);
  bool is_open() const { return static_cast<bool>(weight_); }

  // All below: after Open. `format` is any bytes that tell the forms of one weight apart.
  // Empty when nothing is kept that was made of these buffers in this format.
  Tensor Find(Sources sources, std::string_view format) const {
    return weight_->Find(sources, format);
  }
  void Keep(Sources sources, std::string_view format, const Tensor& packed) const {
    weight_->Keep(sources, format, packed);
  }

 private:
  RefPtr<PackedWeight> weight_;
};

}  // namespace thalweg
