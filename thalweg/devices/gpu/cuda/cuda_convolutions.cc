// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_convolutions.h"

#include <algorithm>
#include <array>

namespace thalweg {
namespace {

constexpr size_t kMostKnown = 512;
constexpr int kMostAlgorithms = 16;  // of which cuDNN has up to eight
constexpr uint64_t kAlignment = 16;  // as cuDNN wants it where channels come last

// Of cuDNN's status.
int ErrorFrom(int status) {
  if (status == cudnn::kSuccess) return 0;
  return cudnn::IsUnsupported(status) ? GpuDriver::kUnsupported
                                      : CudaConvolutions::kFirstError + status;
}

void* AddressOf(cu::Pointer pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace

CudaConvolutions::Descriptors::~Descriptors() {
  if (image != nullptr) api.DestroyTensorDescriptor(image);
  if (output != nullptr) api.DestroyTensorDescriptor(output);
  if (filter != nullptr) api.DestroyFilterDescriptor(filter);
  if (convolution != nullptr) api.DestroyConvolutionDescriptor(convolution);
}

int CudaConvolutions::Descriptors::Describe(const GpuConvolution& c) {
  int status = cudnn::kSuccess;
  const auto then = [&status](const auto& call) {
    if (status == cudnn::kSuccess) status = call();
  };
  const int layout = c.channels_first ? cudnn::kChannelsFirst : cudnn::kChannelsLast;
  then([&] { return api.CreateTensorDescriptor(&image); });
  then([&] {
    return api.SetTensor4dDescriptor(image, layout, cudnn::kFloat, c.batch, c.in_channels,
                                     c.in_rows, c.in_columns);
  });
  then([&] { return api.CreateTensorDescriptor(&output); });
  then([&] {
    return api.SetTensor4dDescriptor(output, layout, cudnn::kFloat, c.batch, c.out_channels,
                                     c.out_rows, c.out_columns);
  });
  then([&] { return api.CreateFilterDescriptor(&filter); });
  then([&] {
    return api.SetFilter4dDescriptor(filter, cudnn::kFloat, layout, c.out_channels,
                                     c.in_channels / c.groups, c.size_rows, c.size_columns);
  });
  then([&] { return api.CreateConvolutionDescriptor(&convolution); });
  then([&] {
    return api.SetConvolution2dDescriptor(convolution, c.pad_rows, c.pad_columns, c.stride_rows,
                                          c.stride_columns, c.dilation_rows, c.dilation_columns,
                                          cudnn::kCrossCorrelation, cudnn::kFloat);
  });
  then([&] { return api.SetConvolutionGroupCount(convolution, c.groups); });
  // As products by cuBLAS: what is float is computed as float.
  then([&] { return api.SetConvolutionMathType(convolution, cudnn::kFmaMath); });
  return status;
}

std::unique_ptr<CudaConvolutions> CudaConvolutions::Make(cu::Stream stream) {
  const CudnnApi* const api = CudnnApi::Load();
  if (api == nullptr) return nullptr;
  std::unique_ptr<CudaConvolutions> made(new CudaConvolutions(*api));
  if (api->Create(&made->handle_) != cudnn::kSuccess) {
    made->handle_ = nullptr;
    return nullptr;
  }
  return api->SetStream(made->handle_, stream) == cudnn::kSuccess ? std::move(made) : nullptr;
}

CudaConvolutions::~CudaConvolutions() {
  known_.clear();
  if (handle_ != nullptr) api_.Destroy(handle_);
}

template <class T>
CudaConvolutions::Operands<T> CudaConvolutions::InOrder(GpuConvolved makes, T image, T filter,
                                                        T output) {
  switch (makes) {
    case GpuConvolved::kImageGradient:
      return {filter, output, image};
    case GpuConvolved::kFilterGradient:
      return {image, output, filter};
    default:
      return {image, filter, output};
  }
}

void CudaConvolutions::DropOldest() {
  known_.erase(std::ranges::min_element(known_, {},
                                        [](const auto& entry) { return entry.second.last_used; }));
}

int CudaConvolutions::FindWays(const GpuConvolution& convolution, Known* known) const {
  const Descriptors& d = *known->descriptors;
  const CudnnApi::Convolution& calls = api_.convolutions[static_cast<size_t>(convolution.makes)];
  const auto [first, second, made] = InOrder(convolution.makes, d.image, d.filter, d.output);
  std::array<cudnn::Estimate, kMostAlgorithms> estimates;
  int count = 0;
  if (const int status = calls.GetAlgorithms(handle_, first, second, d.convolution, made,
                                             kMostAlgorithms, &count, estimates.data());
      status != cudnn::kSuccess) {
    return status;
  }
  for (int i = 0; i < std::min(count, kMostAlgorithms); ++i) {
    const cudnn::Estimate& estimate = estimates[static_cast<size_t>(i)];
    if (estimate.status != cudnn::kSuccess || estimate.determinism != cudnn::kDeterministic ||
        (estimate.math != cudnn::kFmaMath && estimate.math != cudnn::kDefaultMath)) {
      continue;
    }
    Way way = {.algorithm = estimate.algorithm};
    const int status = calls.GetWorkspaceSize(handle_, first, second, d.convolution, made,
                                              way.algorithm, &way.workspace);
    if (status == cudnn::kSuccess) {
      known->ways.push_back(way);
    } else if (!cudnn::IsUnsupported(status)) {
      return status;
    }
  }
  return cudnn::kSuccess;
}

int CudaConvolutions::Find(const GpuConvolution& convolution, Known** known) {
  auto found = known_.find(convolution);
  if (found == known_.end()) {
    Known made = {.descriptors = std::make_unique<Descriptors>(api_), .ways = {}};
    int status = made.descriptors->Describe(convolution);
    if (status == cudnn::kSuccess) status = FindWays(convolution, &made);
    // That there is no way is known, too.
    if (const int error = ErrorFrom(status); error != 0 && error != GpuDriver::kUnsupported) {
      return error;
    }
    if (known_.size() >= kMostKnown) DropOldest();
    found = known_.emplace(convolution, std::move(made)).first;
  }
  found->second.last_used = ++uses_;
  *known = &found->second;
  return 0;
}

int CudaConvolutions::FindWorkspace(const GpuConvolution& convolution, size_t most, size_t* bytes) {
  Known* known = nullptr;
  if (const int error = Find(convolution, &known); error != 0) return error;
  for (const Way& way : known->ways) {
    if (way.workspace > most) continue;
    *bytes = way.workspace;
    return 0;
  }
  return GpuDriver::kUnsupported;
}

int CudaConvolutions::Run(const GpuConvolution& convolution, const CudaConvolved& places) {
  if ((places.image | places.filter | places.output) % kAlignment != 0) {
    return GpuDriver::kUnsupported;
  }
  Known* known = nullptr;
  if (const int error = Find(convolution, &known); error != 0) return error;
  const auto way = std::ranges::find_if(
      known->ways, [&](const Way& one) { return one.workspace <= places.workspace_bytes; });
  if (way == known->ways.end()) return GpuDriver::kUnsupported;
  const Descriptors& d = *known->descriptors;
  const auto described = InOrder(convolution.makes, d.image, d.filter, d.output);
  const auto at = InOrder(convolution.makes, places.image, places.filter, places.output);
  const float one = 1, zero = 0;
  const int status = api_.convolutions[static_cast<size_t>(convolution.makes)].Run(
      handle_, &one, described.first, AddressOf(at.first), described.second, AddressOf(at.second),
      d.convolution, way->algorithm, AddressOf(places.workspace), places.workspace_bytes, &zero,
      described.made, AddressOf(at.made));
  // What it has promised and does not do is not asked for again: the next steps are as this one.
  if (cudnn::IsUnsupported(status)) known->ways.clear();
  return ErrorFrom(status);
}

Status CudaConvolutions::ErrorOf(std::string_view what, int error) const {
  const int status = error - kFirstError;
  const char* const name = api_.GetErrorString(status);
  return Status(
      cudnn::IsOutOfMemory(status) ? Code::kResourceExhausted : Code::kInternal,
      StrCat("cuDNN: ", what, ": ", name == nullptr ? "status" : name, " (", status, ")"));
}

}  // namespace thalweg
