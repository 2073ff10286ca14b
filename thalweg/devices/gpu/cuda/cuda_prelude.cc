// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_prelude.h"

namespace thalweg {

// Groups have fixed sizes, so that their attribute says nothing that a launch does not.
const char* const kCudaPrelude = R"(
#define __kernel extern "C" __global__
#define __global
#define __local __shared__
#define IN_LOCAL
#define reqd_work_group_size(x, y, z)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define CLK_LOCAL_MEM_FENCE 0
#define barrier(fence) __syncthreads()

typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long ulong;

inline uint get_local_id(int d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
inline uint get_local_size(int d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }
inline uint get_group_id(int d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
inline uint get_num_groups(int d) { return d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z; }
inline ulong get_global_id(int d) { return (ulong)get_group_id(d) * get_local_size(d) + get_local_id(d); }
inline ulong get_global_size(int d) { return (ulong)get_num_groups(d) * get_local_size(d); }
#line 1
)";

}  // namespace thalweg
