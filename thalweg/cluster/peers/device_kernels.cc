// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/device_kernels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "thalweg/cluster/peers/status_field.h"
#include "thalweg/kernel/losable.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

// Beyond all numbers that TensorFlow has given to fields of these messages.
constexpr uint32_t kKernelsField = 20262;
// Of the request: any number. Of the response: types and lost devices, each with fields of its own.
constexpr uint32_t kAsked = 1;
constexpr uint32_t kType = 1;
constexpr uint32_t kLost = 2;
// Each kernel is compared with those of its operation; Cast has one for each pair of types.
constexpr size_t kMostKernels = 50'000, kMostOfAnOperation = 1024, kMostTypes = 16;
constexpr size_t kMostDeviceTypes = 16;
constexpr size_t kMostText = 2048;

// An operation, and for each attribute its name and then its type.
void AddKernel(const KernelEntry& entry, std::string* kernels) {
  std::string kernel;
  AddWireText(1, entry.op, &kernel);
  for (const auto& [attr, dtype] : entry.types) {
    AddWireText(2, attr, &kernel);
    AddWireNumber(3, static_cast<uint64_t>(dtype), &kernel);
  }
  AddWireText(2, kernel, kernels);
}

Status Malformed() {
  return InvalidArgument("a task's answer to GetStatus has malformed kernels of its devices");
}

Result<KernelEntry> ReadKernel(std::string_view bytes, std::string_view device_type) {
  KernelEntry entry{.device_type = std::string(device_type)};
  bool whole = true;
  whole &= VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
    if (field == 1) entry.op = text;
    if (field == 2) {
      whole &= entry.types.size() < kMostTypes;
      if (whole) entry.types.emplace_back(text, DType::kInvalid);
    }
    if (field != 3) return;
    whole &= !entry.types.empty() && number < kNumDTypes;
    if (whole) entry.types.back().second = static_cast<DType>(number);
  });
  whole &= !entry.op.empty() && std::ranges::none_of(entry.types, [](const auto& type) {
    return type.second == DType::kInvalid;
  });
  if (!whole) return Malformed();
  return entry;
}

// Of the device type that the first field names.
Status ReadKernels(std::string_view bytes, size_t* count, DeviceKernels* to) {
  std::string type;
  auto kernels = std::make_shared<KernelRegistry>();
  std::map<std::string, size_t, std::less<>> of_operation;
  Status status;
  const bool whole = VisitWireFields(bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == 1) type = text;
    if (field != 2 || !status.ok()) return;
    Result<KernelEntry> entry = ReadKernel(text, type);
    if (entry.ok() && (++*count > kMostKernels || ++of_operation[entry->op] > kMostOfAnOperation)) {
      status = InvalidArgument("a task says that its devices have more than ", kMostKernels,
                               " kernels, or ", kMostOfAnOperation, " of one operation");
      return;
    }
    status = entry.ok() ? kernels->AddUserKernel(*std::move(entry)) : entry.status();
  });
  RETURN_IF_ERROR(status);
  if (to->of_type.size() >= kMostDeviceTypes) {
    return InvalidArgument("a task says that its devices are of more than ", kMostDeviceTypes,
                           " types");
  }
  if (!whole || type.empty() || !to->of_type.emplace(type, std::move(kernels)).second) {
    return Malformed();
  }
  return OkStatus();
}

bool ReadLost(std::string_view bytes, DeviceKernels* to) {
  std::string name, why;
  const bool whole = VisitWireFields(bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == 1) name = text.substr(0, kMostText);
    if (field == 2) why = text.substr(0, kMostText);
  });
  to->lost.emplace(std::move(name), std::move(why));
  return whole;
}

}  // namespace

Status AskForKernels(Message* request) {
  std::string bytes;
  AddWireNumber(kAsked, 1, &bytes);
  return AddStatusField(kKernelsField, bytes, request);
}

bool AsksForKernels(const Message& request) {
  bool whole = true;
  return !FindStatusField(request, kKernelsField, &whole).empty() && whole;
}

Status AddDeviceKernels(std::span<const std::unique_ptr<Device>> devices,
                        const KernelRegistry& kernels, Message* response) {
  std::set<std::string, std::less<>> types;
  std::string bytes;
  for (const auto& device : devices) {
    if (device->type() == kCpu) continue;
    types.insert(device->type());
    const Status why = WhyLost(*device);
    if (why.ok()) continue;
    std::string lost;
    AddWireText(1, device->full_name(), &lost);
    AddWireText(2, why.message(), &lost);
    AddWireText(kLost, lost, &bytes);
  }
  if (types.empty()) return OkStatus();
  const std::vector<const KernelEntry*> entries = kernels.Entries();
  for (const std::string& type : types) {
    std::string of_type;
    AddWireText(1, type, &of_type);
    for (const KernelEntry* entry : entries) {
      if (entry->device_type == type) AddKernel(*entry, &of_type);
    }
    AddWireText(kType, of_type, &bytes);
  }
  return AddStatusField(kKernelsField, bytes, response);
}

Result<DeviceKernels> FindDeviceKernels(const Message& response) {
  DeviceKernels found;
  bool whole = true;
  const std::string_view bytes = FindStatusField(response, kKernelsField, &whole);
  size_t count = 0;
  Status status;
  whole &= VisitWireFields(bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == kType && status.ok()) status = ReadKernels(text, &count, &found);
    if (field == kLost) whole &= ReadLost(text, &found);
  });
  RETURN_IF_ERROR(status);
  if (!whole) return Malformed();
  return found;
}

}  // namespace thalweg
