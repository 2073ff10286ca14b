// SPDX-License-Identifier: Apache-2.0
// NcclApi: the functions of NCCL that the device calls, found in libnccl.so.2 when the process
// first asks. The few types and numbers are declared here, as its manual fixes them, so that a
// build needs no NCCL.
//
//   const NcclApi* const api = NcclApi::Load();
//   if (api != nullptr) error = api->CommInitAll(communicators.data(), 2, ordinals.data());
//
// Ownership: the table and the library live as long as the process.
// Threads: any; a communicator one at a time, but for CommAbort and CommGetAsyncError.
// Errors: Load gives null where there is no library, or it lacks a function, or is older than 2.10,
// which has no means.
#pragma once

#include <cstddef>

#include "thalweg/devices/gpu/cuda/cuda_api.h"

namespace thalweg {

namespace nccl {

using Communicator = struct NcclObject*;

inline constexpr int kSuccess = 0;
inline constexpr int kInProgress = 7;  // no error

// Elements.
inline constexpr int kUint8 = 1;
inline constexpr int kInt32 = 2;
inline constexpr int kInt64 = 4;
inline constexpr int kHalf = 6;
inline constexpr int kFloat = 7;
inline constexpr int kDouble = 8;
inline constexpr int kBfloat16 = 9;

// Merges.
inline constexpr int kSum = 0;
inline constexpr int kProduct = 1;
inline constexpr int kMaximum = 2;
inline constexpr int kMinimum = 3;
inline constexpr int kMean = 4;

}  // namespace nccl

struct NcclApi {
  static const NcclApi* Load();

  // Each under its name without "nccl".
  int (*GetVersion)(int*);
  const char* (*GetErrorString)(int);
  int (*CommInitAll)(nccl::Communicator*, int, const int*);
  int (*CommDestroy)(nccl::Communicator);
  int (*CommAbort)(nccl::Communicator);
  int (*CommGetAsyncError)(nccl::Communicator, int*);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*AllReduce)(const void*, void*, size_t, int, int, nccl::Communicator, cu::Stream);
  int (*ReduceScatter)(const void*, void*, size_t, int, int, nccl::Communicator, cu::Stream);
  int (*AllGather)(const void*, void*, size_t, int, nccl::Communicator, cu::Stream);
  int (*Broadcast)(const void*, void*, size_t, int, int, nccl::Communicator, cu::Stream);
};

}  // namespace thalweg
