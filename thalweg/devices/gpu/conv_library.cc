// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/conv_library.h"

#include <algorithm>
#include <utility>

#include "thalweg/devices/gpu/gpu_kernel.h"

namespace thalweg {
namespace {

constexpr int64_t kMostWorkspace = int64_t{1} << 30;
constexpr int64_t kPartOfMemory = 8;

// How a dimension is padded: by the library, as much on either side, and what is more than that on
// one of them by a copy of the image with room for it.
struct Padding {
  int64_t both = 0, front = 0, back = 0;

  // Whether windows that begin in front of the image and behind it are those of the library is a
  // matter of how many fit.
  static Padding Of(int64_t in, int64_t out, int64_t size, int64_t stride, int64_t dilation,
                    int64_t before) {
    const int64_t after = (out - 1) * stride + (size - 1) * dilation + 1 - in - before;
    if (after <= before && before - after < stride) return {.both = before};
    const int64_t both = std::clamp<int64_t>(after, 0, before);
    return {.both = both, .front = before - both, .back = std::max<int64_t>(after - both, 0)};
  }
};

struct Paddings {
  Padding rows, columns;

  static Paddings Of(const ImageWindows& w) {
    return {.rows = Padding::Of(w.in_rows, w.out_rows, w.size_rows, w.stride_rows, w.dilation_rows,
                                w.pad_rows),
            .columns = Padding::Of(w.in_columns, w.out_columns, w.size_columns, w.stride_columns,
                                   w.dilation_columns, w.pad_columns)};
  }
  bool Copies() const {
    return rows.front > 0 || rows.back > 0 || columns.front > 0 || columns.back > 0;
  }
};

// In the order of the nodes' filters.
struct FilterSize {
  int64_t taps = 0, in = 0, out = 0;
};

MovePlan Reversed(MovePlan plan) {
  std::swap(plan.in_start, plan.out_start);
  for (MoveDim& dim : plan.dims) std::swap(dim.in, dim.out);
  return plan;
}

// From a node's filter, whose last dimension is the output's channels, to the library's.
MovePlan ToLibrary(const FilterSize& f, bool channels_first) {
  const MoveDim out = {f.out, 1, f.taps * f.in};
  const MoveDim taps = {f.taps, f.in * f.out, channels_first ? 1 : f.in};
  const MoveDim in = {f.in, f.out, channels_first ? f.taps : 1};
  MovePlan plan;
  plan.dims = channels_first ? std::vector{out, in, taps} : std::vector{out, taps, in};
  return plan;
}

// From an image to one with room around it.
MovePlan IntoRoom(const Shape& image, const Shape& room, const Paddings& paddings,
                  bool channels_first) {
  const Dims in = DenseStrides(image.dims()), out = DenseStrides(room.dims());
  const int rows = channels_first ? 2 : 1;
  MovePlan plan;
  for (int d = 0; d < image.rank(); ++d) plan.dims.push_back({image.dim(d), in[d], out[d]});
  plan.out_start = paddings.rows.front * out[rows] + paddings.columns.front * out[rows + 1];
  return plan;
}

Result<Shape> RoomOf(const ImageWindows& w, const Paddings& paddings) {
  const int64_t rows = w.in_rows + paddings.rows.front + paddings.rows.back;
  const int64_t columns = w.in_columns + paddings.columns.front + paddings.columns.back;
  Result<Shape> room =
      Shape::Make(w.channels_first != 0 ? Dims{w.batch, w.in_channels, rows, columns}
                                        : Dims{w.batch, rows, columns, w.in_channels});
  if (!room.ok()) return Unimplemented(room.status().message());
  RETURN_IF_ERROR(IndexOf(room->num_elements()).status());
  return room;
}

GpuConvolution Describe(GpuConvolved makes, const ImageWindows& w, const Paddings& paddings) {
  const auto number = [](auto n) { return static_cast<int>(n); };
  return {.makes = makes,
          .channels_first = w.channels_first != 0,
          .batch = number(w.batch),
          .in_channels = number(w.in_channels),
          .in_rows = number(w.in_rows + paddings.rows.front + paddings.rows.back),
          .in_columns = number(w.in_columns + paddings.columns.front + paddings.columns.back),
          .out_channels = number(w.out_channels),
          .out_rows = number(w.out_rows),
          .out_columns = number(w.out_columns),
          .size_rows = number(w.size_rows),
          .size_columns = number(w.size_columns),
          .pad_rows = number(paddings.rows.both),
          .pad_columns = number(paddings.columns.both),
          .stride_rows = number(w.stride_rows),
          .stride_columns = number(w.stride_columns),
          .dilation_rows = number(w.dilation_rows),
          .dilation_columns = number(w.dilation_columns),
          .groups = number(w.groups)};
}

// The largest that there is memory for; an empty tensor where none is wanted.
Result<Tensor> AllocateWorkspace(GpuDevice& device, const GpuConvolution& convolution) {
  auto most = static_cast<size_t>(
      std::min(device.allocator().Stats().limit / kPartOfMemory, kMostWorkspace));
  while (true) {
    ASSIGN_OR_RETURN(const size_t bytes, device.queue().FindWorkspace(convolution, most));
    if (bytes == 0) return Tensor();
    Result<Tensor> made = device.Allocate(DType::kUint8, Shape{static_cast<int64_t>(bytes)});
    if (made.ok() || made.status().code() != Code::kResourceExhausted) return made;
    most = bytes - 1;
  }
}

}  // namespace

Result<std::optional<ConvLibrary>> ConvLibrary::Find(GpuDevice& device) {
  if (!device.has_convolutions()) return std::optional<ConvLibrary>();
  ASSIGN_OR_RETURN(const GpuMove move, GpuMove::Make(device, DType::kFloat));
  return std::optional<ConvLibrary>(ConvLibrary(move));
}

Result<bool> ConvLibrary::Run(GpuDevice& device, GpuConvolved makes, const ImageWindows& windows,
                              const GpuConvolutionTensors& tensors) const {
  const Status done = Try(device, makes, windows, tensors);
  if (done.ok()) return true;
  if (done.code() == Code::kUnimplemented || done.code() == Code::kResourceExhausted) return false;
  return done;
}

Status ConvLibrary::Try(GpuDevice& device, GpuConvolved makes, const ImageWindows& windows,
                        const GpuConvolutionTensors& tensors) const {
  for (const Tensor& tensor : {tensors.image, tensors.filter, tensors.output}) {
    if (tensor.num_elements() == 0) return Unimplemented("libraries take no empty tensors");
  }
  const Shape filter = tensors.filter.shape();
  const FilterSize filter_size = {
      .taps = filter.dim(0) * filter.dim(1), .in = filter.dim(2), .out = filter.dim(3)};
  const Paddings paddings = Paddings::Of(windows);
  ASSIGN_OR_RETURN(const Shape room_shape, RoomOf(windows, paddings));
  const GpuConvolution convolution = Describe(makes, windows, paddings);
  const bool first = convolution.channels_first;
  GpuConvolutionTensors own = tensors;
  ASSIGN_OR_RETURN(own.workspace, AllocateWorkspace(device, convolution));
  MovePlan room;
  if (paddings.Copies()) {
    ASSIGN_OR_RETURN(own.image, device.Allocate(DType::kFloat, room_shape));
    room = IntoRoom(tensors.image.shape(), room_shape, paddings, first);
    if (makes != GpuConvolved::kImageGradient) {
      RETURN_IF_ERROR(move_.Clear(device.queue(), own.image));
      RETURN_IF_ERROR(Move(device, room, tensors.image, own.image));
    }
  }
  ASSIGN_OR_RETURN(own.filter, device.Allocate(DType::kFloat, filter));
  const MovePlan to_library = ToLibrary(filter_size, first);
  if (makes != GpuConvolved::kFilterGradient) {
    RETURN_IF_ERROR(Move(device, to_library, tensors.filter, own.filter));
  }
  RETURN_IF_ERROR(device.queue().Convolve(convolution, own));
  if (makes == GpuConvolved::kFilterGradient) {
    return Move(device, Reversed(to_library), own.filter, tensors.filter);
  }
  if (makes == GpuConvolved::kImageGradient && paddings.Copies()) {
    return Move(device, Reversed(room), own.image, tensors.image);
  }
  return OkStatus();
}

}  // namespace thalweg
