// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/test_libcudnn.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#define CUDNN extern "C" FAKE_CUDA_EXPORT int

namespace {

constexpr int kBadParam = 2000, kNotSupported = 3000;
constexpr int kCrossCorrelation = 1, kFmaMath = 3, kTensorOpMath = 1;

struct State {
  mutable std::mutex mutex;
  std::map<std::string, std::pair<int, bool>> fails;
  std::map<std::string, int> calls;
  int last_algorithm = -1, live = 0;
};
State& Now() {
  static auto* const state = new State;
  return *state;
}

// What a call gives before it does anything.
int Begin(const char* function) {
  State& now = Now();
  const std::lock_guard lock(now.mutex);
  ++now.calls[function];
  const auto fail = now.fails.find(function);
  if (fail == now.fails.end()) return 0;
  const auto [status, for_good] = fail->second;
  if (!for_good) now.fails.erase(fail);
  return status;
}
void Count(int more) {
  const std::lock_guard lock(Now().mutex);
  Now().live += more;
}

struct Handle {
  void* stream = nullptr;
};

// Four sizes: images, channels, rows, columns; of a filter out, in, rows, columns.
struct Sizes {
  int layout = -1;
  int64_t n = 0, c = 0, h = 0, w = 0;

  int64_t At(int64_t image, int64_t channel, int64_t row, int64_t column) const {
    return layout == 0 ? ((image * c + channel) * h + row) * w + column
                       : ((image * h + row) * w + column) * c + channel;
  }
  size_t bytes() const { return static_cast<size_t>(n * c * h * w) * sizeof(float); }
  bool IsSet() const { return n > 0 && c > 0 && h > 0 && w > 0; }
};
struct Slides {
  int pad_h = -1, pad_w = -1, stride_h = 0, stride_w = 0, dilation_h = 0, dilation_w = 0;
  int groups = 1, math = 0;
};
struct Descriptor {
  Sizes sizes;
  Slides slides;
};
const Descriptor& Of(void* descriptor) { return *static_cast<Descriptor*>(descriptor); }

int64_t OutOf(int64_t in, int64_t size, int pad, int stride, int dilation) {
  return 1 + (in + 2 * pad - ((size - 1) * dilation + 1)) / stride;
}

enum class Makes { kOutput, kImage, kFilter };

struct Convolution {
  Sizes x, f, y;
  Slides s;

  bool Fits() const {
    return x.IsSet() && f.IsSet() && y.IsSet() && s.pad_h >= 0 && s.stride_h > 0 &&
           x.layout == f.layout && x.layout == y.layout && x.n == y.n && y.c == f.n &&
           x.c == f.c * s.groups && y.c % s.groups == 0 &&
           y.h == OutOf(x.h, f.h, s.pad_h, s.stride_h, s.dilation_h) &&
           y.w == OutOf(x.w, f.w, s.pad_w, s.stride_w, s.dilation_w) && s.math == kFmaMath;
  }
  // Every product once, into what is made.
  void Do(Makes makes, float* xs, float* fs, float* ys) const {
    const Sizes& made = makes == Makes::kOutput ? y : makes == Makes::kImage ? x : f;
    float* const to = makes == Makes::kOutput ? ys : makes == Makes::kImage ? xs : fs;
    std::memset(to, 0, made.bytes());
    for (int64_t n = 0; n < y.n; ++n)
      for (int64_t o = 0; o < y.c; ++o)
        for (int64_t row = 0; row < y.h; ++row)
          for (int64_t column = 0; column < y.w; ++column)
            AddWindow(makes, xs, fs, ys, n, o, row, column);
  }
  void AddWindow(Makes makes, float* xs, float* fs, float* ys, int64_t n, int64_t o, int64_t row,
                 int64_t column) const {
    float& py = ys[y.At(n, o, row, column)];
    const int64_t first = o / (y.c / s.groups) * f.c;
    for (int64_t h = 0; h < f.h; ++h) {
      const int64_t xr = row * s.stride_h + h * s.dilation_h - s.pad_h;
      if (xr < 0 || xr >= x.h) continue;
      for (int64_t w = 0; w < f.w; ++w) {
        const int64_t xc = column * s.stride_w + w * s.dilation_w - s.pad_w;
        if (xc < 0 || xc >= x.w) continue;
        for (int64_t i = 0; i < f.c; ++i) {
          float& px = xs[x.At(n, first + i, xr, xc)];
          float& pf = fs[f.At(o, i, h, w)];
          if (makes == Makes::kOutput) py += px * pf;
          if (makes == Makes::kImage) px += py * pf;
          if (makes == Makes::kFilter) pf += px * py;
        }
      }
    }
  }
};

// The operands of each function by what it makes: its parameters are two tensors and the result.
Convolution Describe(Makes makes, void* first, void* second, void* slides, void* made) {
  const Sizes &a = Of(first).sizes, &b = Of(second).sizes, &c = Of(made).sizes;
  const Slides& s = Of(slides).slides;
  if (makes == Makes::kOutput) return {a, b, c, s};
  if (makes == Makes::kImage) return {c, a, b, s};
  return {a, c, b, s};
}

struct Estimate {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};

int GetAlgorithms(const char* function, const Convolution& convolution, int asked, int* count,
                  Estimate* estimates) {
  if (const int status = Begin(function); status != 0) return status;
  if (!convolution.Fits()) return kBadParam;
  const Estimate all[] = {{0, 0, 1, 0, 0, kFmaMath, {}},
                          {5, kNotSupported, -1, 0, 1, kFmaMath, {}},
                          {4, 0, 2, 0, 1, kTensorOpMath, {}},
                          {FakeCudnn::kFastest, 0, 3, 0, 1, kFmaMath, {}},
                          {FakeCudnn::kSmaller, 0, 4, 0, 1, kFmaMath, {}},
                          {FakeCudnn::kWithoutWorkspace, 0, 5, 0, 1, 0, {}}};
  *count = 0;
  for (const Estimate& estimate : all) {
    if (*count < asked) estimates[(*count)++] = estimate;
  }
  return 0;
}

// -1 for an algorithm that must not be used.
int64_t WorkspaceOf(int algorithm) {
  return algorithm == FakeCudnn::kFastest            ? int64_t{FakeCudnn::kWorkspaceOfFastest}
         : algorithm == FakeCudnn::kSmaller          ? int64_t{FakeCudnn::kWorkspaceOfSmaller}
         : algorithm == FakeCudnn::kWithoutWorkspace ? 0
                                                     : -1;
}
int GetWorkspaceSize(const char* function, const Convolution& convolution, int algorithm,
                     size_t* bytes) {
  if (const int status = Begin(function); status != 0) return status;
  if (!convolution.Fits() || WorkspaceOf(algorithm) < 0) return kBadParam;
  *bytes = static_cast<size_t>(WorkspaceOf(algorithm));
  return 0;
}

struct Call {
  void* handle;
  int algorithm;
  void* workspace;
  size_t workspace_bytes;
  float alpha, beta;
};

float* There(const void* address, size_t bytes) {
  return reinterpret_cast<float*>(
      FakeCuda::Get().BytesAt(reinterpret_cast<unsigned long long>(address), bytes));
}

int Run(const char* function, Makes makes, const Convolution& convolution, const Call& call,
        const void* x, const void* f, const void* y) {
  if (const int status = Begin(function); status != 0) return status;
  const int64_t needed = WorkspaceOf(call.algorithm);
  if (!convolution.Fits() || needed < 0 || call.workspace_bytes < static_cast<size_t>(needed)) {
    return kBadParam;
  }
  if (call.alpha != 1 || call.beta != 0) return kNotSupported;
  float* const xs = There(x, convolution.x.bytes());
  float* const fs = There(f, convolution.f.bytes());
  float* const ys = There(y, convolution.y.bytes());
  float* const workspace = needed == 0 ? nullptr : There(call.workspace, call.workspace_bytes);
  if (xs == nullptr || fs == nullptr || ys == nullptr || (needed > 0 && workspace == nullptr)) {
    return kBadParam;
  }
  {
    const std::lock_guard lock(Now().mutex);
    Now().last_algorithm = call.algorithm;
  }
  FakeCuda::Get().Queue(static_cast<Handle*>(call.handle)->stream, [=] {
    if (workspace != nullptr) std::memset(workspace, 0x7f, call.workspace_bytes);
    convolution.Do(makes, xs, fs, ys);
  });
  return 0;
}

float Number(const void* number) { return *static_cast<const float*>(number); }

int Create(const char* function, void** descriptor) {
  if (const int status = Begin(function); status != 0) return status;
  *descriptor = new Descriptor;
  Count(1);
  return 0;
}
int Destroy(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  Count(-1);
  return 0;
}

}  // namespace

FakeCudnn& FakeCudnn::Get() {
  static FakeCudnn fake;
  return fake;
}
void FakeCudnn::Fail(const std::string& function, int status, bool for_good) {
  const std::lock_guard lock(Now().mutex);
  Now().fails[function] = {status, for_good};
}
void FakeCudnn::Mend() {
  const std::lock_guard lock(Now().mutex);
  Now().fails.clear();
  Now().calls.clear();
  Now().last_algorithm = -1;
}
int FakeCudnn::calls(const std::string& function) const {
  const std::lock_guard lock(Now().mutex);
  const auto found = Now().calls.find(function);
  return found == Now().calls.end() ? 0 : found->second;
}
int FakeCudnn::last_algorithm() const {
  const std::lock_guard lock(Now().mutex);
  return Now().last_algorithm;
}
int FakeCudnn::live() const {
  const std::lock_guard lock(Now().mutex);
  return Now().live;
}

extern "C" FAKE_CUDA_EXPORT const char* cudnnGetErrorString(int status) {
  return status == 5000 ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_OF_THE_TESTS";
}
CUDNN cudnnCreate(void** handle) {
  if (const int status = Begin("cudnnCreate"); status != 0) return status;
  *handle = new Handle;
  Count(1);
  return 0;
}
CUDNN cudnnDestroy(void* handle) {
  delete static_cast<Handle*>(handle);
  Count(-1);
  return 0;
}
CUDNN cudnnSetStream(void* handle, void* stream) {
  if (const int status = Begin("cudnnSetStream"); status != 0) return status;
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}
CUDNN cudnnCreateTensorDescriptor(void** d) { return Create("cudnnCreateTensorDescriptor", d); }
CUDNN cudnnDestroyTensorDescriptor(void* d) { return Destroy(d); }
CUDNN cudnnSetTensor4dDescriptor(void* d, int layout, int type, int n, int c, int h, int w) {
  if (const int status = Begin("cudnnSetTensor4dDescriptor"); status != 0) return status;
  static_cast<Descriptor*>(d)->sizes = {layout, n, c, h, w};
  return type == 0 && Of(d).sizes.IsSet() ? 0 : kBadParam;
}
CUDNN cudnnCreateFilterDescriptor(void** d) { return Create("cudnnCreateFilterDescriptor", d); }
CUDNN cudnnDestroyFilterDescriptor(void* d) { return Destroy(d); }
CUDNN cudnnSetFilter4dDescriptor(void* d, int type, int layout, int k, int c, int h, int w) {
  if (const int status = Begin("cudnnSetFilter4dDescriptor"); status != 0) return status;
  static_cast<Descriptor*>(d)->sizes = {layout, k, c, h, w};
  return type == 0 && Of(d).sizes.IsSet() ? 0 : kBadParam;
}
CUDNN cudnnCreateConvolutionDescriptor(void** d) {
  return Create("cudnnCreateConvolutionDescriptor", d);
}
CUDNN cudnnDestroyConvolutionDescriptor(void* d) { return Destroy(d); }
CUDNN cudnnSetConvolution2dDescriptor(void* d, int pad_h, int pad_w, int stride_h, int stride_w,
                                      int dilation_h, int dilation_w, int mode, int type) {
  if (const int status = Begin("cudnnSetConvolution2dDescriptor"); status != 0) return status;
  static_cast<Descriptor*>(d)->slides = {pad_h,      pad_w,      stride_h, stride_w,
                                         dilation_h, dilation_w, 1,        0};
  return mode == kCrossCorrelation && type == 0 ? 0 : kBadParam;
}
CUDNN cudnnSetConvolutionMathType(void* d, int math) {
  static_cast<Descriptor*>(d)->slides.math = math;
  return Begin("cudnnSetConvolutionMathType");
}
CUDNN cudnnSetConvolutionGroupCount(void* d, int groups) {
  static_cast<Descriptor*>(d)->slides.groups = groups;
  return Begin("cudnnSetConvolutionGroupCount");
}

CUDNN cudnnGetConvolutionForwardAlgorithm_v7(void*, void* x, void* f, void* s, void* y, int asked,
                                             int* count, Estimate* estimates) {
  return GetAlgorithms("cudnnGetConvolutionForwardAlgorithm_v7",
                       Describe(Makes::kOutput, x, f, s, y), asked, count, estimates);
}
CUDNN cudnnGetConvolutionForwardWorkspaceSize(void*, void* x, void* f, void* s, void* y,
                                              int algorithm, size_t* bytes) {
  return GetWorkspaceSize("cudnnGetConvolutionForwardWorkspaceSize",
                          Describe(Makes::kOutput, x, f, s, y), algorithm, bytes);
}
CUDNN cudnnConvolutionForward(void* handle, const void* alpha, void* dx, const void* x, void* df,
                              const void* f, void* s, int algorithm, void* workspace, size_t bytes,
                              const void* beta, void* dy, void* y) {
  return Run("cudnnConvolutionForward", Makes::kOutput, Describe(Makes::kOutput, dx, df, s, dy),
             {handle, algorithm, workspace, bytes, Number(alpha), Number(beta)}, x, f, y);
}
CUDNN cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void* f, void* y, void* s, void* x,
                                                  int asked, int* count, Estimate* estimates) {
  return GetAlgorithms("cudnnGetConvolutionBackwardDataAlgorithm_v7",
                       Describe(Makes::kImage, f, y, s, x), asked, count, estimates);
}
CUDNN cudnnGetConvolutionBackwardDataWorkspaceSize(void*, void* f, void* y, void* s, void* x,
                                                   int algorithm, size_t* bytes) {
  return GetWorkspaceSize("cudnnGetConvolutionBackwardDataWorkspaceSize",
                          Describe(Makes::kImage, f, y, s, x), algorithm, bytes);
}
CUDNN cudnnConvolutionBackwardData(void* handle, const void* alpha, void* df, const void* f,
                                   void* dy, const void* y, void* s, int algorithm, void* workspace,
                                   size_t bytes, const void* beta, void* dx, void* x) {
  return Run("cudnnConvolutionBackwardData", Makes::kImage, Describe(Makes::kImage, df, dy, s, dx),
             {handle, algorithm, workspace, bytes, Number(alpha), Number(beta)}, x, f, y);
}
CUDNN cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void* x, void* y, void* s, void* f,
                                                    int asked, int* count, Estimate* estimates) {
  return GetAlgorithms("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                       Describe(Makes::kFilter, x, y, s, f), asked, count, estimates);
}
CUDNN cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, void* x, void* y, void* s, void* f,
                                                     int algorithm, size_t* bytes) {
  return GetWorkspaceSize("cudnnGetConvolutionBackwardFilterWorkspaceSize",
                          Describe(Makes::kFilter, x, y, s, f), algorithm, bytes);
}
CUDNN cudnnConvolutionBackwardFilter(void* handle, const void* alpha, void* dx, const void* x,
                                     void* dy, const void* y, void* s, int algorithm,
                                     void* workspace, size_t bytes, const void* beta, void* df,
                                     void* f) {
  return Run("cudnnConvolutionBackwardFilter", Makes::kFilter,
             Describe(Makes::kFilter, dx, dy, s, df),
             {handle, algorithm, workspace, bytes, Number(alpha), Number(beta)}, x, f, y);
}
