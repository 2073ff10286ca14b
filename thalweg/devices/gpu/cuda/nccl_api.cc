// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/nccl_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace thalweg {
namespace {

constexpr int kLeastNccl = 21000;  // 2.10.0

bool FindFunctions(void* library, NcclApi* api) {
  bool is_whole = true;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    is_whole &= *function != nullptr;
  };
  find("ncclGetVersion", &api->GetVersion);
  find("ncclGetErrorString", &api->GetErrorString);
  find("ncclCommInitAll", &api->CommInitAll);
  find("ncclCommDestroy", &api->CommDestroy);
  find("ncclCommAbort", &api->CommAbort);
  find("ncclCommGetAsyncError", &api->CommGetAsyncError);
  find("ncclGroupStart", &api->GroupStart);
  find("ncclGroupEnd", &api->GroupEnd);
  find("ncclAllReduce", &api->AllReduce);
  find("ncclReduceScatter", &api->ReduceScatter);
  find("ncclAllGather", &api->AllGather);
  find("ncclBroadcast", &api->Broadcast);
  return is_whole;
}

}  // namespace

const NcclApi* NcclApi::Load() {
  static const NcclApi* const loaded = []() -> const NcclApi* {
    static NcclApi api;
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int version = 0;
    if (library == nullptr || !FindFunctions(library, &api)) return nullptr;
    if (api.GetVersion(&version) != nccl::kSuccess || version < kLeastNccl) return nullptr;
    return &api;
  }();
  return loaded;
}

}  // namespace thalweg
