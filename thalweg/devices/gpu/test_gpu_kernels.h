// SPDX-License-Identifier: Apache-2.0
// What tests of the device's kernels share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/notification.h"
#include "thalweg/devices/gpu/gpu_device.h"
#include "thalweg/devices/gpu/test_kernel_machine.h"
#include "thalweg/kernel/memory_kind.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {

// The device, made once, and a registry that has its kernels.
struct KernelMachine {
  KernelRegistry kernels;
  Result<std::vector<std::unique_ptr<Device>>> devices = Internal("not yet");

  static KernelMachine& Get() {
    static KernelMachine* const machine = new KernelMachine;
    return *machine;
  }
  GpuDevice& device() { return static_cast<GpuDevice&>(*devices->front()); }
  // The device goes; kernels and what is made by As stay.
  void Close() { devices = Internal("closed"); }
  // The same one, taken for another: a card has the kernels of cards.
  std::unique_ptr<GpuDevice> As(bool is_processor, int64_t units) {
    auto driver = DriverUnderTest(is_processor, units);
    auto memory = GpuMemory::Make(*driver, int64_t{1} << 28);
    return std::make_unique<GpuDevice>(
        name_, 1, *driver, *memory, MakeCpuAllocator(int64_t{1} << 28), BinaryCache(""), &kernels);
  }

 private:
  KernelMachine() {
    RegisterAllCpuKernels(kernels);
    devices = MakeDevicesUnderTest({.job = "localhost",
                                    .device_count = {{"GPU", 1}},
                                    .host_allocator = MakeCpuAllocator(int64_t{1} << 28),
                                    .ops = AllRegistries().ops.get(),
                                    .kernels = &kernels});
    if (devices.ok()) name_ = device().name();
  }

  DeviceName name_;
};

inline Result<Tensor> CopiedBy(Device& device,
                               void (Device::*copy)(const Tensor&, Device::CopyDone),
                               const Tensor& tensor) {
  Result<Tensor> copied = Internal("not yet");
  Notification ended;
  (device.*copy)(tensor, [&](Result<Tensor> result) {
    copied = std::move(result);
    ended.Notify();
  });
  ended.Wait();
  return copied;
}

// Outputs of one node on the device, copied to the host. Inputs are copied where the kernel's
// registration has them in the device's memory.
inline Result<std::vector<Tensor>> RunThere(std::string_view op, const std::vector<Tensor>& inputs,
                                            const AttrMap& attrs, GpuDevice& device) {
  KernelMachine& machine = KernelMachine::Get();
  KernelCall call(op, inputs, attrs);  // for its node and the services of a step
  ASSIGN_OR_RETURN(const NodeMemory memory, NodeMemory::Of(call.node(), machine.kernels, kGpu));
  ResourceManager resources;
  ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                   machine.kernels.Make(call.node(), device, resources));
  const int n = static_cast<int>(inputs.size()), outputs = call.node().num_outputs();
  std::vector<Tensor> values = inputs;
  for (int i = 0; i < n; ++i) {
    if (memory.inputs[i] == MemoryKind::kHost) continue;
    ASSIGN_OR_RETURN(values[i], CopiedBy(device, &Device::CopyFromHost, inputs[i]));
  }
  values.resize(static_cast<size_t>(n) + static_cast<size_t>(outputs));
  std::vector<Operand> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    operands.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
  }
  StepContext step = call.step();
  step.device = &device;
  step.allocator = &device.allocator();
  step.host_addressable = false;
  step.resources = &resources;
  Context context;
  context.Bind(&step, 0);
  context.SetBase(0, values.data());
  context.SetOperands(operands.data(), n, outputs);
  RETURN_IF_ERROR(kernel->Compute(context));
  std::vector<Tensor> results(values.begin() + n, values.end());
  for (int i = 0; i < outputs; ++i) {
    if (memory.outputs[i] == MemoryKind::kHost) continue;
    ASSIGN_OR_RETURN(results[i], CopiedBy(device, &Device::CopyToHost, results[i]));
  }
  return results;
}

// A kernel is called as a step calls it, beside the CPU's on the same inputs.
class GpuKernelFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& devices = KernelMachine::Get().devices;
    ASSERT_TRUE(devices.ok()) << devices.status().ToString();
    device_ = &KernelMachine::Get().device();
  }
  // From now on kernels of cards are checked.
  void UseCard() { Use(false, device_->traits().units); }
  void Use(bool is_processor, int64_t units) {
    other_ = KernelMachine::Get().As(is_processor, units);
    device_ = other_.get();
  }
  void Drop() { other_ = nullptr; }
  // A number in [-2, 2) for every element, other ones at every call.
  Tensor Floats(const Shape& shape, float least = -2.0f) {
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    for (float& value : values) {
      state_ = state_ * 1664525u + 1013904223u;
      value = least + (2.0f - least) * static_cast<float>(state_ >> 8) / 16777216.0f;
    }
    return Tensor::Of<float>(values, shape);
  }
  static Tensor Ints(std::initializer_list<int32_t> values) {
    return Tensor::Vector<int32_t>(values);
  }
  void Check(std::string_view op, const std::vector<Tensor>& inputs, const AttrMap& attrs = {},
             float tolerance = 1e-5f) {
    SCOPED_TRACE(op);
    KernelCall here(op, inputs, attrs);
    const Status status = here.Run();
    ASSERT_TRUE(status.ok()) << status.ToString();
    const Result<std::vector<Tensor>> there = RunThere(op, inputs, attrs, *device_);
    ASSERT_TRUE(there.ok()) << there.status().ToString();
    for (size_t i = 0; i < there->size(); ++i) {
      ExpectNear(here.output(static_cast<int>(i)), (*there)[i], tolerance);
    }
  }

  // Of an operation and those of its gradients.
  void CheckConvolutions(const Shape& image, const Shape& filter, AttrMap attrs,
                         const std::string& op = "Conv2D") {
    const auto sizes = [](const Shape& shape) {
      std::vector<int32_t> dims;
      for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape.dim(d)));
      return Tensor::Of<int32_t>(dims, Shape{shape.rank()});
    };
    const Tensor x = Floats(image), f = Floats(filter);
    Check(op, {x, f}, attrs, 2e-4f);
    KernelCall forward(op, {x, f}, attrs);
    ASSERT_TRUE(forward.Run().ok());
    const Tensor dy = Floats(forward.output(0).shape());
    Check(op + "BackpropInput", {sizes(image), f, dy}, attrs, 2e-4f);
    Check(op + "BackpropFilter", {x, sizes(filter), dy}, attrs, 2e-3f);
  }

  void CheckConvolutions() {
    for (const char* padding : {"SAME", "VALID"}) {
      const AttrMap attrs = {{"padding", std::string(padding)}};
      for (const int64_t stride : {1, 2}) {
        AttrMap strided = attrs;
        strided.Set("strides", std::vector<int64_t>{1, stride, stride, 1});
        CheckConvolutions(Shape{2, 8, 9, 3}, Shape{3, 2, 3, 4}, strided);
        // Several panels, and steps of the inner dimension beyond one.
        CheckConvolutions(Shape{2, 9, 10, 40}, Shape{3, 3, 40, 20}, strided);
        AttrMap channels_first = attrs;
        channels_first.Set("data_format", std::string("NCHW"));
        channels_first.Set("strides", std::vector<int64_t>{1, 1, stride, stride});
        CheckConvolutions(Shape{3, 18, 9, 10}, Shape{3, 3, 18, 20}, channels_first);
      }
      AttrMap dilated = attrs;
      dilated.Set("strides", std::vector<int64_t>{1, 1, 1, 1});
      dilated.Set("dilations", std::vector<int64_t>{1, 2, 3, 1});
      CheckConvolutions(Shape{2, 11, 12, 5}, Shape{3, 2, 5, 17}, dilated);
    }
    const AttrMap same = {{"padding", std::string("SAME")},
                          {"strides", std::vector<int64_t>{1, 1, 1, 1}}};
    CheckConvolutions(Shape{30, 28, 28, 1}, Shape{5, 5, 1, 32}, same);  // pixels in parts
    Check("Conv2D", {Floats(Shape{0, 8, 9, 3}), Floats(Shape{3, 2, 3, 4})}, same);
  }

  // Of groups of channels, and of one channel each.
  void CheckConvolutionsInParts() {
    for (const int64_t stride : {1, 2}) {
      AttrMap attrs = {{"padding", std::string("SAME")},
                       {"strides", std::vector<int64_t>{1, stride, stride, 1}}};
      CheckConvolutions(Shape{2, 5, 6, 6}, Shape{3, 2, 2, 9}, attrs);
      CheckConvolutions(Shape{2, 5, 6, 4}, Shape{3, 2, 1, 8}, attrs);
      CheckConvolutions(Shape{2, 6, 5, 5}, Shape{3, 3, 5, 1}, attrs, "DepthwiseConv2dNative");
      CheckConvolutions(Shape{2, 6, 5, 3}, Shape{2, 3, 3, 2}, attrs, "DepthwiseConv2dNative");
      attrs.Set("data_format", std::string("NCHW"));
      attrs.Set("strides", std::vector<int64_t>{1, 1, stride, stride});
      attrs.Set("padding", std::string("VALID"));
      CheckConvolutions(Shape{2, 6, 5, 6}, Shape{3, 2, 3, 4}, attrs);
      CheckConvolutions(Shape{2, 3, 6, 5}, Shape{2, 3, 3, 2}, attrs, "DepthwiseConv2dNative");
    }
  }

  GpuDevice* device_ = nullptr;
  bool computes_ = kComputesUnderTest;  // else types and shapes are compared alone

 private:
  void ExpectNear(const Tensor& expected, const Tensor& found, float tolerance) {
    ASSERT_EQ(expected.dtype(), found.dtype());
    ASSERT_EQ(expected.shape(), found.shape()) << found.ToString();
    if (!computes_) return;
    if (expected.dtype() != DType::kFloat) {
      EXPECT_EQ(std::memcmp(expected.raw_data(), found.raw_data(), expected.bytes()), 0)
          << expected.ToString() << " there: " << found.ToString();
      return;
    }
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      const float a = expected.data<float>()[i], b = found.data<float>()[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      ASSERT_LE(std::abs(a - b), tolerance * (1 + std::abs(a)))
          << "element " << i << ": " << a << ", there " << b;
    }
  }

  uint32_t state_ = 7;
  std::unique_ptr<GpuDevice> other_;
};

}  // namespace thalweg
