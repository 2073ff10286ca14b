// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/component.h"

#include <dlfcn.h>

namespace thalweg {
namespace {

// A host may have another version of the same library among its global symbols: what a component
// links comes first. Sanitizers refuse to have it so.
#ifdef __has_feature  // clang's way to say so
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kOwnSymbolsFirst = 0;
#else
constexpr int kOwnSymbolsFirst = RTLD_DEEPBIND;
#endif

}  // namespace

void* FindComponent(const std::string& file, const char* symbol) {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&FindComponent), &own) == 0) return nullptr;
  std::string folder = own.dli_fname;
  const size_t slash = folder.rfind('/');
  folder = slash == std::string::npos ? "." : folder.substr(0, slash);
  for (const char* below : {"/", "/../lib/"}) {
    void* const library =
        dlopen((folder + below + file).c_str(), RTLD_NOW | RTLD_LOCAL | kOwnSymbolsFirst);
    if (library == nullptr) continue;
    if (void* const found = dlsym(library, symbol); found != nullptr) return found;
  }
  return nullptr;
}

extern "C" void ThalwegAppendText(void* to, const char* text, unsigned long size) {
  static_cast<std::string*>(to)->append(text, size);
}

}  // namespace thalweg
