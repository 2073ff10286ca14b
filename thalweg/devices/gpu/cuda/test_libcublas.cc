// SPDX-License-Identifier: Apache-2.0
// A libcublas.so.12 of the tests: products as cuBLAS's manual defines them, by columns, on the
// memory of the libcuda.so.1 of the tests, behind what stands in the stream.
#include <cstdint>

#include "thalweg/devices/gpu/cuda/test_libcuda.h"

#define CUBLAS extern "C" FAKE_CUDA_EXPORT int

namespace {

struct Handle {
  void* stream = nullptr;
};

struct Matrix {
  unsigned long long address;
  int64_t leading, stride;
  bool transposed;

  float* At(int64_t batch, int64_t row, int64_t column) const {
    const int64_t place = transposed ? row * leading + column : column * leading + row;
    return reinterpret_cast<float*>(FakeCuda::Get().BytesAt(
        address + static_cast<uint64_t>(batch * stride + place) * sizeof(float), sizeof(float)));
  }
};

unsigned long long AddressOf(const float* p) { return reinterpret_cast<unsigned long long>(p); }

}  // namespace

CUBLAS cublasCreate_v2(void** handle) {
  *handle = new Handle;
  return 0;
}
CUBLAS cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return 0;
}
CUBLAS cublasSetStream_v2(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}
CUBLAS cublasSgemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                                 const float* alpha, const float* a, int lda, long long stride_a,
                                 const float* b, int ldb, long long stride_b, const float* beta,
                                 float* c, int ldc, long long stride_c, int count) {
  const bool ta = op_a == 1, tb = op_b == 1;
  // As the manual has it: leading dimensions hold a column.
  if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m || lda < 1 || ldb < 1) return 7;
  const Matrix of_a = {AddressOf(a), lda, stride_a, ta}, of_b = {AddressOf(b), ldb, stride_b, tb},
               of_c = {AddressOf(c), ldc, stride_c, false};
  const float scale = *alpha, keep = *beta;
  FakeCuda::Get().Queue(static_cast<Handle*>(handle)->stream, [=] {
    for (int64_t batch = 0; batch < count; ++batch)
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column) {
          float sum = 0;
          for (int64_t i = 0; i < k; ++i)
            sum += *of_a.At(batch, row, i) * *of_b.At(batch, i, column);
          float* const to = of_c.At(batch, row, column);
          *to = scale * sum + (keep == 0 ? 0 : keep * *to);
        }
  });
  return 0;
}
