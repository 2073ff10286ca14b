// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that look into files.
#include "thalweg/api/handles.h"
#include "thalweg/files/checkpoint_audit.h"
#include "thalweg/files/checkpoint_difference.h"
#include "thalweg/files/checkpoint_listing.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

ProgressFn Unwrap(TwProgress progress, void* context) {
  if (progress == nullptr) return {};
  return [progress, context](uint64_t done, uint64_t total) {
    return progress(context, done, total) == 0 ? OkStatus() : Cancelled("the work was stopped");
  };
}

// A buffer of the text that `body` makes of the file system.
template <class Body>
TwBuffer* Told(TwStatus* status, std::initializer_list<Given> given, Body&& body) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll(given));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(std::string text, body(fs));
    return NewBuffer(std::move(text));
  });
}

}  // namespace

extern "C" {

TwBuffer* tw_checkpoint_list(const char* path, TwStatus* status) {
  return Told(status, {{"path", path}}, [&](FileSystem& fs) { return ListCheckpoint(fs, path); });
}

TwBuffer* tw_checkpoint_show(const char* path, const char* name, int64_t limit, TwStatus* status) {
  return Told(status, {{"path", path}, {"name", name}},
              [&](FileSystem& fs) { return ShowTensor(fs, path, name, limit); });
}

TwBuffer* tw_checkpoint_compare(const char* a, const char* b, double atol, double rtol,
                                TwProgress progress, void* context, TwStatus* status) {
  return Told(status, {{"a", a}, {"b", b}}, [&](FileSystem& fs) -> Result<std::string> {
    const CompareOptions options{.atol = atol, .rtol = rtol, .progress = Unwrap(progress, context)};
    ASSIGN_OR_RETURN(const CheckpointDifference difference, CompareCheckpoints(fs, a, b, options));
    return DifferenceJson(difference);
  });
}

TwBuffer* tw_checkpoint_verify(const char* path, TwProgress progress, void* context,
                               TwStatus* status) {
  return Told(status, {{"path", path}}, [&](FileSystem& fs) -> Result<std::string> {
    ASSIGN_OR_RETURN(const Audit audit, AuditCheckpoint(fs, path, Unwrap(progress, context)));
    return AuditJson(audit);
  });
}

}  // extern "C"
