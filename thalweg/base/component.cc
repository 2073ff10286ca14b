// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/component.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace thalweg {
namespace {

// A host may have another version of the same library among its global symbols: what a component
// links comes first. Sanitizers refuse to have it so.
#if defined(__has_feature)  // clang's way to say it
#define THALWEG_SANITIZED __has_feature(address_sanitizer)
#else
#define THALWEG_SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || THALWEG_SANITIZED
constexpr int kOwnSymbolsFirst = 0;
#else
constexpr int kOwnSymbolsFirst = RTLD_DEEPBIND;
#endif

}  // namespace

void* FindComponent(const std::string& file, const char* symbol) {
  Dl_info own;
  void* map = nullptr;
  const void* const here = reinterpret_cast<const void*>(&FindComponent);
  if (dladdr1(here, &own, &map, RTLD_DL_LINKMAP) == 0) return nullptr;
  std::string folder = own.dli_fname;
  if (*static_cast<const link_map*>(map)->l_name == '\0') {  // the program, called in any way
    std::error_code none;
    folder = std::filesystem::read_symlink("/proc/self/exe", none).string();
  }
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
