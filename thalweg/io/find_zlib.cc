// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/find_zlib.h"

#include "thalweg/base/component.h"

namespace thalweg {

Result<const ThalwegZlibApi*> FindZlib() {
  static const ThalwegZlibApi* const api = []() -> const ThalwegZlibApi* {
    const auto entry =
        reinterpret_cast<ThalwegZlibEntry>(FindComponent("libthalweg_zlib.so", "thalweg_zlib"));
    return entry == nullptr ? nullptr : entry(THALWEG_ZLIB_VERSION);
  }();
  if (api == nullptr) {
    return Unimplemented("compression needs libthalweg_zlib.so (and zlib) beside the library");
  }
  return api;
}

}  // namespace thalweg
