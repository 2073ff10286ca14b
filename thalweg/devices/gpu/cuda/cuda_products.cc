// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_products.h"

#include <dlfcn.h>

#include <algorithm>
#include <type_traits>

namespace thalweg {
namespace {

constexpr int kAsItIs = 0;
constexpr int kTransposed = 1;

}  // namespace

const CudaProducts::Api* CudaProducts::Load(int driver_major) {
  static const Api* const loaded = [driver_major]() -> const Api* {
    void* const library = OpenCudaLibrary("libcublas", driver_major);
    if (library == nullptr) return nullptr;
    static Api api;
    bool is_whole = true;
    const auto find = [&](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      is_whole &= *function != nullptr;
    };
    find("cublasCreate_v2", &api.Create);
    find("cublasDestroy_v2", &api.Destroy);
    find("cublasSetStream_v2", &api.SetStream);
    find("cublasSgemmStridedBatched", &api.SgemmStridedBatched);
    return is_whole ? &api : nullptr;
  }();
  return loaded;
}

std::unique_ptr<CudaProducts> CudaProducts::Make(int driver_major, cu::Stream stream) {
  const Api* const api = Load(driver_major);
  if (api == nullptr) return nullptr;
  std::unique_ptr<CudaProducts> made(new CudaProducts(*api));
  if (api->Create(&made->handle_) != 0) {
    made->handle_ = nullptr;
    return nullptr;
  }
  return api->SetStream(made->handle_, stream) == 0 ? std::move(made) : nullptr;
}

CudaProducts::~CudaProducts() {
  if (handle_ != nullptr) api_.Destroy(handle_);
}

int CudaProducts::Multiply(const GpuProduct& product, cu::Pointer a, cu::Pointer b, cu::Pointer c) {
  const auto m = static_cast<int>(product.m), n = static_cast<int>(product.n);
  const auto k = static_cast<int>(product.k);
  // Rows of a stored matrix, which cuBLAS takes for columns, may not be empty.
  const int of_a = std::max(product.transpose_a ? m : k, 1);
  const int of_b = std::max(product.transpose_b ? k : n, 1);
  const float one = 1, zero = 0;
  const int status = api_.SgemmStridedBatched(
      handle_, product.transpose_b ? kTransposed : kAsItIs,
      product.transpose_a ? kTransposed : kAsItIs, n, m, k, &one, reinterpret_cast<const float*>(b),
      of_b, product.step_b, reinterpret_cast<const float*>(a), of_a, product.step_a, &zero,
      reinterpret_cast<float*>(c), n, int64_t{m} * n, static_cast<int>(product.count));
  return status == 0 ? 0 : kFirstError + status;
}

}  // namespace thalweg
