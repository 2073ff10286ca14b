// SPDX-License-Identifier: Apache-2.0
// IsaTable: the kernels of one instruction set level, chosen once per environment.
//
//   const IsaTable& isa = GetIsaTable(BestIsaLevel());     // an option may ask for a lower level
//
// Every file NAME_isa.cc is compiled three times, with the flags of each level, and exports one
// constant table. kAvx2 and kAvx512 give the same bits; kSse4 has no fused multiply-add and differs
// where one enters.
// Ownership: tables are static.
// Threads: any; no state.
// Errors: none; a level that the CPU lacks gives the best below it.
#pragma once

#include <cstdint>

namespace thalweg::compute {

enum class IsaLevel : uint8_t {
  kSse4 = 0,    // x86-64-v2
  kAvx2 = 1,    // AVX2, FMA, F16C, BMI2
  kAvx512 = 2,  // AVX-512 F, BW, DQ, VL, CD
};
inline constexpr int kIsaLevels = 3;

// "sse4", "avx2", "avx512".
const char* IsaLevelName(IsaLevel level);

// The highest level that this CPU (and its operating system) can run.
IsaLevel BestIsaLevel();

template <class T>
struct GemmKernels;
struct EwKernels;
struct HalfKernels;
struct ReduceTables;
template <class T>
struct SoftmaxKernels;
template <class T>
struct UpdateKernels;

struct IsaTable {
  IsaLevel level;
  const GemmKernels<float>* gemm_float;
  const GemmKernels<double>* gemm_double;
  const EwKernels* ew[9];  // by EwType
  const HalfKernels* half;
  const ReduceTables* reduce;
  const SoftmaxKernels<float>* softmax_float;
  const SoftmaxKernels<double>* softmax_double;
  const UpdateKernels<float>* update_float;
  const UpdateKernels<double>* update_double;
};

// The table of `level`, or of the best level below it that the CPU can run.
const IsaTable& GetIsaTable(IsaLevel level);

}  // namespace thalweg::compute
