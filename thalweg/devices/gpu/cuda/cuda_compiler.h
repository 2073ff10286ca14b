// SPDX-License-Identifier: Apache-2.0
// CudaCompiler: NVIDIA's compiler of the run time, NVRTC, found when a device is first made. It
// takes the kernels' OpenCL C behind a few definitions, and needs no card.
//
//   ASSIGN_OR_RETURN(const CudaCompiler* compiler, CudaCompiler::Load(cuda->major()));
//   ASSIGN_OR_RETURN(const CudaTarget target, compiler->TargetFor("NVIDIA H200", 90));
//   ASSIGN_OR_RETURN(const std::string image, compiler->Compile(source, target));
//
// Ownership: lives as long as the process.
// Threads: any.
// Errors: FailedPrecondition without a library, for one that is too old or has no code for the
// card; Compile: Internal with the first lines of the compiler's log.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

// What is compiled for: the card's own code, or, for a card that is newer than the compiler, PTX
// of the newest that it knows, which the driver translates.
struct CudaTarget {
  int capability = 0;  // 90: 9.0
  bool is_ptx = false;

  std::string ToOption() const {
    return StrCat("--gpu-architecture=", is_ptx ? "compute_" : "sm_", capability);
  }
};

class CudaCompiler {
 public:
  static Result<const CudaCompiler*> Load(int driver_major);

  Result<CudaTarget> TargetFor(std::string_view card, int capability) const;
  Result<std::string> Compile(const std::string& source, const CudaTarget& target) const;
  // "NVRTC 12.4", and what stands in front of every source: for keys of binaries.
  std::string Key() const;

 private:
  using Program = struct NvrtcProgramObject*;
  struct Api {
    // Each under its name without "nvrtc".
    int (*Version)(int*, int*);
    const char* (*GetErrorString)(int);
    int (*GetNumSupportedArchs)(int*);
    int (*GetSupportedArchs)(int*);
    int (*CreateProgram)(Program*, const char*, const char*, int, const char* const*,
                         const char* const*);
    int (*DestroyProgram)(Program*);
    int (*CompileProgram)(Program, int, const char* const*);
    int (*GetProgramLogSize)(Program, size_t*);
    int (*GetProgramLog)(Program, char*);
    int (*GetPTXSize)(Program, size_t*);
    int (*GetPTX)(Program, char*);
    int (*GetCUBINSize)(Program, size_t*);
    int (*GetCUBIN)(Program, char*);
  };

  static Result<const CudaCompiler*> LoadOnce(int driver_major);
  Status ErrorOf(std::string_view what, int error) const;
  std::string LogOf(Program program) const;
  Result<std::string> ImageOf(Program program, const CudaTarget& target) const;

  Api api_ = {};
  int major_ = 0, minor_ = 0;
  std::vector<int> capabilities_;  // ascending
};

}  // namespace thalweg
