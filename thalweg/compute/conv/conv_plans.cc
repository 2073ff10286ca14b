// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv_plans.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "thalweg/compute/isa/components.h"

namespace thalweg::compute {
namespace {

// The component's table. It is never closed: plans of any environment may use it.
const ThalwegDnnlApi* Load() {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&HasConvComponent), &own) == 0) return nullptr;
  std::string folder = own.dli_fname;
  const size_t slash = folder.rfind('/');
  folder = slash == std::string::npos ? "." : folder.substr(0, slash);
  for (const char* below : {"", "/../lib"}) {
    const std::string path = folder + below + "/libthalweg_dnnl.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto entry = reinterpret_cast<ThalwegDnnlEntry>(dlsym(library, "thalweg_dnnl_api"));
    if (entry == nullptr) continue;
    return entry(THALWEG_DNNL_VERSION, static_cast<int>(BestIsaLevel()));
  }
  return nullptr;
}

// A shared object is open or not for the whole process, whoever asks.
const ThalwegDnnlApi* Api() {
  static const ThalwegDnnlApi* const api = Load();
  return api;
}

bool Same(const ThalwegDnnlConv& a, const ThalwegDnnlConv& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

static_assert(sizeof(ThalwegDnnlConv) == 23 * sizeof(int64_t), "compared as bytes: no gaps");

bool HasConvComponent() { return Api() != nullptr; }

ConvPlan::ConvPlan(const ThalwegDnnlConv& conv) : api_(Api()) {
  if (api_ != nullptr) plan_ = api_->make(&conv, &scratch_bytes_, &filter_bytes_);
}

ConvPlan::~ConvPlan() {
  if (plan_ != nullptr) api_->free(plan_);
}

bool ConvPlan::PackFilter(const float* filter, float* packed) const {
  return api_->pack_filter(plan_, filter, packed) == 0;
}

bool ConvPlan::UnpackFilter(const float* packed, float* filter) const {
  return api_->unpack_filter(plan_, packed, filter) == 0;
}

bool ConvPlan::Run(float* input, float* packed, const float* bias, float* output,
                   void* scratch) const {
  return api_->run(plan_, input, packed, bias, output, scratch) == 0;
}

std::shared_ptr<const ConvPlan> ConvPlans::Find(const IsaTable& isa, const ThalwegDnnlConv& conv) {
  if (!MayUseComponents(isa) || !HasConvComponent()) return nullptr;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (Same(entry.conv, conv)) return entry.plan->ok() ? entry.plan : nullptr;
  }
  if (entries_.size() == kMost) entries_.erase(entries_.begin());
  entries_.push_back({conv, std::make_shared<const ConvPlan>(conv)});
  return entries_.back().plan->ok() ? entries_.back().plan : nullptr;
}

}  // namespace thalweg::compute
