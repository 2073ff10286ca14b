// SPDX-License-Identifier: Apache-2.0
// The UCX library as this process uses it. It is loaded when a channel over UCX is wanted, and not
// linked: while it is loaded it takes over signals and rewrites mmap and its like in libc, unless
// its variables say no, which are set for that moment. It prints nothing. Only ucx/ sees its
// headers.
//
//   ASSIGN_OR_RETURN(const ucp_context_h context, UcxContext(/*loopback=*/true));
//   const ucs_status_t status = ucx.ucp_worker_create(context, &params, &worker);
//   if (status != UCS_OK) return UcxError("a worker", status);
//
// Ownership: the library and its contexts stay as long as the process.
// Threads: any.
// Errors: Unavailable, with what is missing, where the library cannot be loaded or UCX fails.
#pragma once

#include <ucp/api/ucp.h>

#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

// What is called of it.
// clang-format off
#define THALWEG_UCX_FUNCTIONS(F)                                              \
  F(ucp_init_version) F(ucp_get_version) F(ucp_get_version_string)            \
  F(ucp_config_read) F(ucp_config_modify) F(ucp_config_release)               \
  F(ucp_worker_create) F(ucp_worker_destroy) F(ucp_worker_get_efd)            \
  F(ucp_worker_arm) F(ucp_worker_signal) F(ucp_worker_progress)               \
  F(ucp_worker_get_address) F(ucp_worker_release_address)                     \
  F(ucp_worker_set_am_recv_handler) F(ucp_ep_create) F(ucp_ep_close_nbx)      \
  F(ucp_am_send_nbx) F(ucp_am_recv_data_nbx) F(ucp_am_data_release)           \
  F(ucp_request_free) F(ucp_request_check_status) F(ucs_status_string)
// clang-format on

struct UcxLibrary {
#define THALWEG_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  THALWEG_UCX_FUNCTIONS(THALWEG_UCX_MEMBER)
#undef THALWEG_UCX_MEMBER
};
// What UcxContext has loaded, once that was OK.
extern UcxLibrary ucx;

// The process has one, made when it is first asked for and kept. `loopback`: one that uses the
// loopback device and no other. Threads: any.
Result<ucp_context_h> UcxContext(bool loopback);
Status UcxError(std::string_view what, ucs_status_t status);

}  // namespace thalweg
