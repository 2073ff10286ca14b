// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_grpc.so, the component that holds
// gRPC. Plain C on purpose: the two are built apart and share no symbols. It knows calls and their
// bytes, no messages.
//
//   const ThalwegGrpcApi* api = thalweg_grpc(THALWEG_GRPC_VERSION);   // by dlsym
//
// Ownership: what a function makes is freed by its partner (server_stop, channel_free,
// outgoing_free); bytes go back by `release`.
// Threads: functions from any thread. Callbacks come on gRPC's threads and must return soon: no
// kernel, no wait.
// Errors: null with the reason, or gRPC's code with a message. Text that a function makes goes to
// append(to, text, size).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

#define THALWEG_GRPC_VERSION 4

typedef void (*ThalwegGrpcAppend)(void* to, const char* text, unsigned long size);

struct ThalwegGrpcPiece {
  const char* data;
  size_t size;
};
// Bytes that a side sends: pieces, and what to call when nobody reads them any more.
struct ThalwegGrpcBytes {
  const ThalwegGrpcPiece* pieces;  // may go when the call that takes them returns; the data not
  size_t count;
  void (*release)(void* owner);  // null: the data is copied
  void* owner;
};

struct ThalwegGrpcServer;
struct ThalwegGrpcIncoming;  // a call that a server answers
struct ThalwegGrpcChannel;
struct ThalwegGrpcOutgoing;  // a call that a client makes

// What a server does with calls. `state` is what `begin` returned.
struct ThalwegGrpcHandler {
  void* self;
  // A call begins. Null refuses it: too many.
  void* (*begin)(void* self, ThalwegGrpcIncoming* call);
  // The request is there. Its pieces live until answer(). Answer once, now or later.
  // nanos_left: until the caller's deadline; below zero: none.
  void (*request)(void* state, const char* method, size_t method_size,
                  const ThalwegGrpcPiece* pieces, size_t count, int64_t nanos_left);
  // The caller has gone or its deadline has passed. May come before or after answer(), not after
  // end().
  void (*cancelled)(void* state);
  // The last callback of a call.
  void (*end)(void* state);
};

// Who this side is and whom it believes, as PEM texts. Both sides show a certificate.
struct ThalwegGrpcTls {
  const char* certificate;
  const char* key;
  const char* authority;
};

struct ThalwegGrpcServerOptions {
  const char* address;        // HOST:PORT; port 0: a free one
  int64_t max_message_bytes;  // of a request; 0: half of the memory
  int64_t whole_bytes;        // of an answer that goes undivided; 0: what a message of gRPC holds
  const ThalwegGrpcTls* tls;  // null: plain text
  ThalwegGrpcHandler handler;
};

struct ThalwegGrpcApi {
  // Null, and why, when it cannot listen. *port: where it listens.
  ThalwegGrpcServer* (*server_start)(const ThalwegGrpcServerOptions* options, int* port,
                                     ThalwegGrpcAppend append, void* why);
  // Refuses new calls, cancels open ones after `grace_nanos`, returns when all have ended: the
  // handler must answer those that it holds. Frees the server.
  void (*server_stop)(ThalwegGrpcServer* server, int64_t grace_nanos);
  // code: gRPC's number; the message goes along when it is not 0, the bytes when it is.
  void (*answer)(ThalwegGrpcIncoming* call, int code, const char* message, size_t message_size,
                 const ThalwegGrpcBytes* bytes);
  // Before answer(): where the call came from, as gRPC spells it: "ipv4:10.0.0.5:40000".
  void (*peer)(ThalwegGrpcIncoming* call, ThalwegGrpcAppend append, void* to);

  // Connects at the first call. Requests of more than `whole_bytes` go in parts, which only this
  // component's servers take; 0: those that no message of gRPC holds. `tls`: null: plain text.
  ThalwegGrpcChannel* (*channel_new)(const char* address, int64_t max_message_bytes,
                                     int64_t whole_bytes, const ThalwegGrpcTls* tls);
  // Calls that are open stay so.
  void (*channel_free)(ThalwegGrpcChannel* channel);
  // done(arg, ...) comes once; the pieces live until it returns. timeout_nanos below zero: none.
  // wait_for_ready: wait for the server, else Unavailable when it cannot be reached.
  ThalwegGrpcOutgoing* (*call)(ThalwegGrpcChannel* channel, const char* method,
                               const ThalwegGrpcBytes* request, int64_t timeout_nanos,
                               int wait_for_ready,
                               void (*done)(void* arg, int code, const char* message,
                                            size_t message_size, const ThalwegGrpcPiece* pieces,
                                            size_t count),
                               void* arg);
  // done() comes soon, with Cancelled if it has not come. Until outgoing_free only.
  void (*cancel)(ThalwegGrpcOutgoing* call);
  // After done() has begun, or before: the call goes on without it.
  void (*outgoing_free)(ThalwegGrpcOutgoing* call);
};

// Null for a version that the component does not know.
typedef const ThalwegGrpcApi* (*ThalwegGrpcEntry)(int version);
}
