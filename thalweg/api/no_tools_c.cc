// SPDX-License-Identifier: Apache-2.0
// The functions that the Python extension takes of the tools for files, in the libraries that
// `./dev demo` and `./dev demo cluster` build, which have none: each says so.
#include "thalweg/api/handles.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

extern "C" {

TwBuffer* tw_trace_pack(const void*, size_t, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, []() -> Result<TwBuffer*> {
    return Unimplemented(
        "this library has no compact recordings: it was built for ./dev demo; ./dev build builds "
        "all");
  });
}
TwBuffer* tw_trace_unpack(const void* recording, size_t size, TwStatus* status) {
  return tw_trace_pack(recording, size, status);
}

}  // extern "C"
