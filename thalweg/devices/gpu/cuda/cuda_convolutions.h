// SPDX-License-Identifier: Apache-2.0
// CudaConvolutions: convolutions of float and their gradients by cuDNN, where its library is found.
//
//   std::unique_ptr<CudaConvolutions> convolutions = CudaConvolutions::Make(stream);
//   size_t bytes = 0;
//   if (convolutions != nullptr) error = convolutions->FindWorkspace(convolution, most, &bytes);
//
// cuDNN itself says which algorithms there are and in what order it would take them, by rules and
// without a measurement; those that may give other bits at another call, or round factors to fewer
// bits (TF32), are passed over. So a shape has the same algorithm in every process with the same
// card and library, as long as workspaces are to be had. Descriptors and lists are kept, of the
// last 512 convolutions.
// Ownership: has cuDNN's state for one stream.
// Threads: one at a time, in which the context is current.
// Errors: Make gives null where there is no library, or it does not start; the others
// GpuDriver::kUnsupported, or cuDNN's numbers beyond kFirstError, which ErrorOf puts into words:
// ResourceExhausted where it has no memory, else Internal.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "thalweg/devices/gpu/cuda/cudnn_api.h"
#include "thalweg/devices/gpu/gpu_driver.h"

namespace thalweg {

// The addresses of a convolution's tensors, as GpuConvolutionPlaces has them.
struct CudaConvolved {
  cu::Pointer image = 0, filter = 0, output = 0;
  cu::Pointer workspace = 0;
  size_t workspace_bytes = 0;
};

class CudaConvolutions {
 public:
  static constexpr int kFirstError = 200000;  // none of the driver's and of cuBLAS's

  static std::unique_ptr<CudaConvolutions> Make(cu::Stream stream);
  ~CudaConvolutions();
  CudaConvolutions(const CudaConvolutions&) = delete;
  CudaConvolutions& operator=(const CudaConvolutions&) = delete;

  int FindWorkspace(const GpuConvolution& convolution, size_t most, size_t* bytes);
  int Run(const GpuConvolution& convolution, const CudaConvolved& places);
  Status ErrorOf(std::string_view what, int error) const;

 private:
  // cuDNN's objects that say what a convolution is.
  struct Descriptors {
    explicit Descriptors(const CudnnApi& used) : api(used) {}
    ~Descriptors();
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;
    int Describe(const GpuConvolution& convolution);

    const CudnnApi& api;
    cudnn::Descriptor image = nullptr, filter = nullptr, output = nullptr, convolution = nullptr;
  };
  struct Way {
    int algorithm = 0;
    size_t workspace = 0;
  };
  struct Known {
    std::unique_ptr<Descriptors> descriptors;
    std::vector<Way> ways;   // the fastest first
    uint64_t last_used = 0;  // by uses_
  };
  // What a function of cuDNN's takes two of, and makes: the tensors, or what describes them.
  template <class T>
  struct Operands {
    T first, second, made;
  };
  template <class T>
  static Operands<T> InOrder(GpuConvolved makes, T image, T filter, T output);

  explicit CudaConvolutions(const CudnnApi& api) : api_(api) {}
  int Find(const GpuConvolution& convolution, Known** known);
  int FindWays(const GpuConvolution& convolution, Known* known) const;
  void DropOldest();

  const CudnnApi& api_;
  cudnn::Handle handle_ = nullptr;
  std::map<GpuConvolution, Known> known_;
  uint64_t uses_ = 0;
};

}  // namespace thalweg
