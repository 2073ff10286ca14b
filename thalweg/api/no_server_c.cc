// SPDX-License-Identifier: Apache-2.0
// The functions of servers and remote sessions in the library that `./dev demo` builds, which has
// no clusters: each that can fail says so.
#include "thalweg/api/handles.h"
#include "thalweg/cluster/client/remote_session.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

Status NoClusters() {
  return Unimplemented(
      "this library has no clusters: it was built for ./dev demo; ./dev build builds all");
}

}  // namespace

namespace thalweg {

Result<std::shared_ptr<Session>> MakeRemoteSession(std::shared_ptr<Environment>,
                                                   std::shared_ptr<Graph>, const std::string&,
                                                   RemoteSessionOptions) {
  return NoClusters();
}

Status ResetRemote(const std::string&, const std::vector<std::string>&, std::chrono::nanoseconds) {
  return NoClusters();
}

}  // namespace thalweg

extern "C" {

void tw_server_options_init(TwServerOptions* options) {
  if (options != nullptr) *options = TwServerOptions{.struct_size = sizeof(TwServerOptions)};
}
TwServer* tw_server_new(const void*, size_t, const TwServerOptions*, TwStatus* status) {
  return GuardPointer<TwServer>(status, []() -> Result<TwServer*> { return NoClusters(); });
}
const char* tw_server_target(const TwServer*) { return ""; }
int32_t tw_server_port(const TwServer*) { return 0; }
TwCode tw_server_stop(TwServer*, TwStatus* status) { return Guard(status, NoClusters); }
TwBuffer* tw_server_dump(TwServer*, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, []() -> Result<TwBuffer*> { return NoClusters(); });
}
TwBuffer* tw_debug_dump(const char*, int64_t, TwStatus* status) {
  return tw_server_dump(nullptr, status);
}
const char* tw_server_metrics_address(const TwServer*) { return ""; }
TwBuffer* tw_server_metrics(TwServer*, TwStatus* status) { return tw_server_dump(nullptr, status); }
TwBuffer* tw_debug_metrics(const char* const*, int32_t, int64_t, TwStatus* status) {
  return tw_server_dump(nullptr, status);
}
TwRecording* tw_trace_record(const char*, const TwRecordOptions*, TwRunOptions*, TwStatus* status) {
  return GuardPointer<TwRecording>(status, []() -> Result<TwRecording*> { return NoClusters(); });
}
TwBuffer* tw_recording_report(const TwRecording*, TwStatus* status) {
  return tw_server_dump(nullptr, status);
}
const void* tw_recording_metadata(const TwRecording*, int64_t, size_t* size) {
  if (size != nullptr) *size = 0;
  return nullptr;
}
void tw_recording_free(TwRecording*) {}
int32_t tw_server_join(TwServer*, int64_t) { return 1; }
void tw_server_free(TwServer*) {}

}  // extern "C"
