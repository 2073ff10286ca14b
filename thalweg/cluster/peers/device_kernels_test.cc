// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/device_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/described_device.h"
#include "thalweg/kernel/losable.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Status DoNothing(Context&) { return OkStatus(); }

class LostDeviceHere : public DescribedDevice, public Losable {
 public:
  using DescribedDevice::DescribedDevice;
  Status lost() const override { return LostDevice(full_name(), "pulled out"); }
};

DeviceName NameOf(std::string_view device) {
  return *DeviceName::Parse(StrCat("/job:a/replica:0/task:0/device:", device));
}

// What a task with such devices answers.
Result<DeviceKernels> Told(std::vector<std::unique_ptr<Device>> devices,
                           const KernelRegistry& kernels) {
  OwnedMessage response(pb::GetStatusResponse::Descriptor());
  RETURN_IF_ERROR(AddDeviceKernels(devices, kernels, response.get()));
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(*response));
  ASSIGN_OR_RETURN(response, ParseMessage(pb::GetStatusResponse::Descriptor(), bytes));
  return FindDeviceKernels(*response);
}

TEST(DeviceKernelsTest, AMasterAsks) {
  OwnedMessage request(pb::GetStatusRequest::Descriptor());
  EXPECT_FALSE(AsksForKernels(*request));
  ASSERT_TRUE(AskForKernels(request.get()).ok());
  EXPECT_TRUE(AsksForKernels(*request));
}

TEST(DeviceKernelsTest, KernelsAndLossesComeAsTheyAre) {
  KernelRegistry kernels;
  kernels.AddFunction<DoNothing>("Neg", "NPU", {{"T", DType::kFloat}});
  kernels.AddFunction<DoNothing>("Neg", "NPU", {{"T", DType::kInt32}});
  kernels.AddFunction<DoNothing>("Cast", "NPU", {{"SrcT", DType::kInt32}, {"DstT", DType::kHalf}});
  kernels.AddFunction<DoNothing>("Neg", "GPU", {{"T", DType::kDouble}});
  kernels.AddFunction<DoNothing>("NoOp", kCpu);
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<DescribedDevice>(NameOf("CPU:0"), 1, 0));
  devices.push_back(std::make_unique<DescribedDevice>(NameOf("NPU:0"), 1, 0, false));
  devices.push_back(std::make_unique<LostDeviceHere>(NameOf("NPU:1"), 1, 0, false));
  const Result<DeviceKernels> told = Told(std::move(devices), kernels);
  ASSERT_TRUE(told.ok()) << told.status().ToString();
  ASSERT_EQ(told->of_type.size(), 1u);  // there is no GPU
  std::vector<std::string> entries;
  for (const KernelEntry* entry : told->of_type.at("NPU")->Entries()) {
    EXPECT_EQ(entry->device_type, "NPU");
    std::string& text = entries.emplace_back(entry->op);
    for (const auto& [attr, dtype] : entry->types) text += StrCat(" ", attr, "=", dtype);
  }
  EXPECT_THAT(entries, ElementsAre("Cast SrcT=int32 DstT=float16", "Neg T=float32", "Neg T=int32"));
  EXPECT_THAT(told->lost,
              ElementsAre(Pair(
                  "/job:a/replica:0/task:0/device:NPU:1",
                  LostDevice("/job:a/replica:0/task:0/device:NPU:1", "pulled out").message())));
}

TEST(DeviceKernelsTest, ATaskWithCpusAloneSaysNothing) {
  KernelRegistry kernels;
  kernels.AddFunction<DoNothing>("Neg", kCpu);
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<DescribedDevice>(NameOf("CPU:0"), 1, 0));
  const Result<DeviceKernels> told = Told(std::move(devices), kernels);
  ASSERT_TRUE(told.ok()) << told.status().ToString();
  EXPECT_THAT(told->of_type, IsEmpty());
}

// A field of ours with such bytes in it.
Status ReadBytes(const std::string& bytes) {
  OwnedMessage response(pb::GetStatusResponse::Descriptor());
  std::string field;
  AddWireText(20262, bytes, &field);
  RETURN_IF_ERROR(MergeFromBytes(*response, field));
  return FindDeviceKernels(*response).status();
}

std::string Field(uint32_t number, std::string_view text) {
  std::string bytes;
  AddWireText(number, text, &bytes);
  return bytes;
}

TEST(DeviceKernelsTest, WhatCannotBeReadIsRefused) {
  std::string type_of_an_attribute;
  AddWireNumber(3, static_cast<uint64_t>(DType::kFloat), &type_of_an_attribute);
  std::string no_type;
  AddWireNumber(3, 200, &no_type);
  const std::string neg = Field(2, Field(1, "Neg"));
  EXPECT_TRUE(ReadBytes(Field(1, Field(1, "NPU") + neg)).ok());
  for (const std::string& bad :
       {std::string("\x0A\x7F"), Field(1, neg), Field(1, Field(1, "NPU") + Field(2, "")),
        Field(1, Field(1, "NPU") + Field(2, Field(1, "Neg") + type_of_an_attribute)),
        Field(1, Field(1, "NPU") + Field(2, Field(1, "Neg") + Field(2, "T"))),
        Field(1, Field(1, "NPU") + Field(2, Field(1, "Neg") + Field(2, "T") + no_type)),
        Field(1, Field(1, "NPU")) + Field(1, Field(1, "NPU")), Field(2, "\x0A\x7F")}) {
    EXPECT_EQ(ReadBytes(bad).code(), Code::kInvalidArgument) << testing::PrintToString(bad);
  }
  EXPECT_FALSE(ReadBytes(Field(1, Field(1, "NPU") + neg + neg)).ok());  // twice
}

// A master reads what costs little, whatever a task sends.
TEST(DeviceKernelsTest, WhatIsTooMuchIsRefused) {
  std::string kernels = Field(1, "NPU"), types = Field(1, "Neg"), devices, number;
  AddWireNumber(3, static_cast<uint64_t>(DType::kFloat), &number);
  for (int i = 0; i < 1100; ++i) {
    const std::string type = Field(2, StrCat("T", i)) + number;
    kernels += Field(2, Field(1, "Neg") + type);
    types += type;
    devices += Field(1, Field(1, StrCat("NPU", i)));
  }
  EXPECT_THAT(std::string(ReadBytes(Field(1, kernels)).message()),
              testing::HasSubstr("1024 of one operation"));
  EXPECT_EQ(ReadBytes(Field(1, Field(1, "NPU") + Field(2, types))).code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(ReadBytes(devices).message()), testing::HasSubstr("more than 16 types"));
}

}  // namespace
}  // namespace thalweg
