// SPDX-License-Identifier: Apache-2.0
// CudaProducts: products of matrices by cuBLAS, where its library is found. cuBLAS has columns one
// after the other, tensors have rows: the product of the transposed factors in reverse order.
//
//   std::unique_ptr<CudaProducts> products = CudaProducts::Make(cuda->major(), stream);
//   if (products != nullptr) error = products->Multiply(product, a, b, c);
//
// Ownership: has cuBLAS's state for one stream.
// Threads: one at a time, in which the context is current.
// Errors: Make gives null where there is no library, or it does not start; Multiply: cuBLAS's
// numbers beyond kFirstError.
#pragma once

#include <memory>

#include "thalweg/devices/gpu/cuda/cuda_api.h"
#include "thalweg/devices/gpu/gpu_driver.h"

namespace thalweg {

class CudaProducts {
 public:
  static constexpr int kFirstError = 100000;  // none of the driver's

  static std::unique_ptr<CudaProducts> Make(int driver_major, cu::Stream stream);
  ~CudaProducts();
  CudaProducts(const CudaProducts&) = delete;
  CudaProducts& operator=(const CudaProducts&) = delete;

  int Multiply(const GpuProduct& product, cu::Pointer a, cu::Pointer b, cu::Pointer c);

 private:
  using Handle = struct CublasObject*;
  struct Api {
    // Each under its name without "cublas" and "_v2".
    int (*Create)(Handle*);
    int (*Destroy)(Handle);
    int (*SetStream)(Handle, cu::Stream);
    int (*SgemmStridedBatched)(Handle, int, int, int, int, int, const float*, const float*, int,
                               long long, const float*, int, long long,     // NOLINT: as cuBLAS's
                               const float*, float*, int, long long, int);  // NOLINT
  };
  static const Api* Load(int driver_major);

  explicit CudaProducts(const Api& api) : api_(api) {}

  const Api& api_;
  Handle handle_ = nullptr;
};

}  // namespace thalweg
