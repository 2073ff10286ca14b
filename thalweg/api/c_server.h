/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) for servers: one task of a cluster each,
 * driven by TensorFlow's protocol.
 * Ownership: a server is the caller's until tw_server_free, and has an environment of its own.
 * Threads: all functions on one server from any at once, but tw_server_free.
 * Errors: INVALID_ARGUMENT for options and cluster, UNAVAILABLE for a port that is taken. */
#ifndef THALWEG_C_SERVER_H_
#define THALWEG_C_SERVER_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwServerOptions {
  size_t struct_size;
  /* Listen where other machines reach it, without encryption or authentication. */
  int32_t insecure;
  int32_t threads;       /* of kernels; -1: one for each processor */
  int32_t cpu_devices;   /* 0: as the configuration of the server says, or 1 */
  int64_t memory_limit;  /* bytes of tensors; 0: what the machine has, less a reserve */
  int64_t message_limit; /* bytes of a request; 0: 2 GiB */
  /* TLS: PEM files of this task's certificate and key, and of who signs the others' certificates.
   * All three or none; clients and other tasks must show a certificate too. */
  const char *tls_cert, *tls_key, *tls_ca;
  int64_t graph_limit;   /* bytes of a graph that a client or another task sends; 0: as a request */
  int64_t node_limit;    /* nodes of such a graph, with those of its functions; 0: 10,000,000 */
  int32_t session_limit; /* open at once; 0: 10,000 */
  int32_t call_limit;    /* calls that wait at once; 0: 10,000 */
  int64_t lost_after_ms; /* a task that is silent for so long is lost; 0: 3000 */
  /* A step in which nothing ended and nothing moved in any task is ended; 0: 60000, below 0: never.
   */
  int64_t stuck_after_ms;
  /* How values go to other tasks of ours: "memory", "sockets" (unix), "tcp", "calls", or "any" of
   * them, the fastest that can be had; "ucx", where it is built with it, to tasks that say so too;
   * NULL: any. */
  const char* channels;
  const char* listen; /* HOST:PORT in place of the cluster's own address of this task; NULL or "":
                         that, or a free loopback port where there is no cluster */
  /* PORT or HOST:PORT where GET /metrics tells the task's numbers to Prometheus, unencrypted; PORT
   * alone is on loopback, and 0 is a free one. NULL or "": nowhere. */
  const char* metrics;
} TwServerOptions;
TW_EXPORT void tw_server_options_init(TwServerOptions* options);
/* Listens and serves at once. `server_def`: a ServerDef message; of no bytes: a cluster of one task
 * on a free loopback port. `options` may be NULL. UNAVAILABLE when the port is taken. */
TW_EXPORT TwServer* tw_server_new(const void* server_def, size_t size,
                                  const TwServerOptions* options, TwStatus* status);
TW_EXPORT const char* tw_server_target(const TwServer* server); /* "grpc://127.0.0.1:2222" */
TW_EXPORT int32_t tw_server_port(const TwServer* server);
/* What the task does now, as JSON: open steps, the nodes that wait and for what, values that are
 * awaited, calls, tasks. Works while steps are stuck. */
TW_EXPORT TwBuffer* tw_server_dump(TwServer* server, TwStatus* status);
/* The same of the server at "grpc://HOST:PORT"; below 1 ms: 10 s. */
TW_EXPORT TwBuffer* tw_debug_dump(const char* target, int64_t timeout_ms, TwStatus* status);
/* "HOST:PORT" where it answers GET /metrics; "" where it does not. */
TW_EXPORT const char* tw_server_metrics_address(const TwServer* server);
/* What the task tells in numbers, as JSON: steps, bytes, memory, what its oldest step waits for,
 * the other tasks of its cluster. Works while steps are stuck. */
TW_EXPORT TwBuffer* tw_server_metrics(TwServer* server, TwStatus* status);
/* The same of the servers at `n` targets "grpc://HOST:PORT", all asked at once; below 1 ms: 10 s.
 * A list in JSON, in their order, of {"told": TEXT}, where TEXT is the JSON as the server wrote it,
 * or {"error": TEXT}. Of a server of TensorFlow's its devices alone, and "lacks" says so. */
TW_EXPORT TwBuffer* tw_debug_metrics(const char* const* targets, int32_t n, int64_t timeout_ms,
                                     TwStatus* status);
/* Ends all sessions and calls and frees the port; returns when nothing runs any more. */
TW_EXPORT TwCode tw_server_stop(TwServer* server, TwStatus* status);
/* Waits until it is stopped: 1; 0 when it is not within `timeout_ms` (below 0: no limit). */
TW_EXPORT int32_t tw_server_join(TwServer* server, int64_t timeout_ms);
/* Stops. Nobody may wait in tw_server_join. */
TW_EXPORT void tw_server_free(TwServer* server);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_SERVER_H_ */
