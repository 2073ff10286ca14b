// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/packed_weight.h"

#include <algorithm>

#include "thalweg/base/str_cat.h"

namespace thalweg {
namespace {

bool SameBuffer(const Tensor& a, const Tensor* b) {
  return a.raw_data() == b->raw_data() && a.dtype() == b->dtype() && a.shape() == b->shape();
}

}  // namespace

void PackedWeight::AddUser() {
  MutexLock lock(mutex_);
  ++users_;
}

void PackedWeight::RemoveUser() {
  std::vector<Tensor> sources;  // released after the lock
  Tensor packed;
  MutexLock lock(mutex_);
  if (--users_ > 0) return;
  sources.swap(sources_);
  packed.swap(packed_);
}

Tensor PackedWeight::Find(Sources sources, std::string_view format) const {
  MutexLock lock(mutex_);
  const bool same =
      !packed_.empty() && format_ == format &&
      std::equal(sources_.begin(), sources_.end(), sources.begin(), sources.end(), SameBuffer);
  return same ? packed_ : Tensor();
}

void PackedWeight::Keep(Sources sources, std::string_view format, const Tensor& packed) {
  std::vector<Tensor> now;
  for (const Tensor* source : sources) now.push_back(*source);
  Tensor mine = packed;
  MutexLock lock(mutex_);
  now.swap(sources_);
  mine.swap(packed_);
  format_ = format;
}

std::string PackedWeight::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("packed weight, ", packed_.empty() ? 0 : packed_.bytes(), " bytes");
}

Status PackedWeightRef::Open(ResourceManager& resources, const std::string& name) {
  ASSIGN_OR_RETURN(weight_, resources.LookupOrCreate<PackedWeight>(
                                "_packed_weights", name, []() -> Result<RefPtr<PackedWeight>> {
                                  return RefPtr<PackedWeight>::Adopt(new PackedWeight());
                                }));
  weight_->AddUser();
  return OkStatus();
}

}  // namespace thalweg
