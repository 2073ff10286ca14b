// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/execution_memory.h"

#include <algorithm>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;
constexpr int64_t kLatestMicros = int64_t{1} << 52;
constexpr size_t kMostDims = 254;

// 0 for what no machine has.
int64_t BytesOf(uint64_t value) {
  return value < static_cast<uint64_t>(kMostBytes) ? static_cast<int64_t>(value) : 0;
}

// kInvalid for what is no type; a reference's is that of its value.
DType TypeOf(int number) {
  if (number > kRefOffset) number -= kRefOffset;
  return IsValidDType(number) ? static_cast<DType>(number) : DType::kInvalid;
}

void ReadShape(std::string_view bytes, std::vector<int64_t>* shape) {
  WireField dim, size;
  for (WireFields dims(bytes); dims.Next(&dim) && shape->size() < kMostDims;) {
    if (dim.number != pb::TensorShapeProto::kDim || !IsText(dim)) continue;
    int64_t extent = 0;
    for (WireFields sizes(dim.bytes); sizes.Next(&size);) {
      if (size.number == pb::TensorShapeProto::Dim::kSize) extent = BytesOf(size.value);
    }
    shape->push_back(extent);
  }
}

void ReadBuffer(std::string_view bytes, ExecutionMemory::Value* value) {
  WireField field;
  for (WireFields fields(bytes); fields.Next(&field);) {
    if (field.type != WireType::kVarint) continue;
    if (field.number == pb::AllocationDescription::kRequestedBytes)
      value->bytes = BytesOf(field.value);
    if (field.number == pb::AllocationDescription::kAllocatedBytes)
      value->allocated = BytesOf(field.value);
    if (field.number == pb::AllocationDescription::kPtr) value->address = field.value;
  }
}

void ReadOutput(std::string_view bytes, ExecutionMemory* memory) {
  WireField output, part;
  for (WireFields outputs(bytes); outputs.Next(&output);) {
    if (output.number != pb::NodeOutput::kTensorDescription || !IsText(output)) continue;
    ExecutionMemory::Value value;
    ReadTypeAndShape(output.bytes, &value.dtype, &value.shape);
    for (WireFields parts(output.bytes); parts.Next(&part);) {
      if (part.number == pb::TensorDescription::kAllocationDescription && IsText(part)) {
        ReadBuffer(part.bytes, &value);
      }
    }
    memory->values.insert(memory->values.begin() + static_cast<ptrdiff_t>(memory->outputs++),
                          std::move(value));
  }
}

void ReadChange(std::string_view bytes, ExecutionMemory* memory) {
  ExecutionMemory::Change change;
  int64_t micros = 0;
  WireField field;
  for (WireFields fields(bytes); fields.Next(&field);) {
    if (field.type != WireType::kVarint) continue;
    const auto number = static_cast<int64_t>(field.value);
    if (field.number == pb::AllocationRecord::kAllocMicros) micros = number;
    if (field.number == pb::AllocationRecord::kAllocBytes) change.bytes = number;
  }
  if (micros <= 0 || micros > kLatestMicros || change.bytes == 0 || change.bytes > kMostBytes ||
      change.bytes < -kMostBytes) {
    return;
  }
  change.nanos = micros * 1000;
  memory->changes.push_back(change);
}

void ReadUsed(std::string_view bytes, ExecutionMemory* memory) {
  WireField field;
  for (WireFields fields(bytes); fields.Next(&field);) {
    if (field.number == pb::AllocatorMemoryUsed::kAllocationRecords && IsText(field)) {
      ReadChange(field.bytes, memory);
    }
    if (field.number == pb::AllocatorMemoryUsed::kAllocatorBytesInUse) {
      memory->allocator_in_use = std::max(memory->allocator_in_use, BytesOf(field.value));
    }
  }
}

}  // namespace

int64_t ElementBytes(int dtype) { return static_cast<int64_t>(DTypeSize(TypeOf(dtype))); }

std::string_view ElementTypeName(int dtype) {
  const DType type = TypeOf(dtype);
  return type == DType::kInvalid ? std::string_view() : DTypeName(type);
}

void ReadTypeAndShape(std::string_view tensor, int* dtype, std::vector<int64_t>* shape) {
  static_assert(pb::TensorProto::kDtype == pb::TensorDescription::kDtype);
  static_assert(pb::TensorProto::kTensorShape == pb::TensorDescription::kShape);
  WireField field;
  for (WireFields fields(tensor); fields.Next(&field);) {
    if (field.number == pb::TensorProto::kDtype && field.type == WireType::kVarint) {
      *dtype = field.value < 1000 ? static_cast<int>(field.value) : 0;
    }
    if (field.number == pb::TensorProto::kTensorShape && IsText(field)) {
      shape->clear();
      ReadShape(field.bytes, shape);
    }
  }
}

bool ReadExecutionMemory(std::string_view bytes, ExecutionMemory* memory) {
  namespace Exec = pb::NodeExecStats;
  WireField field, part;
  for (WireFields fields(bytes); fields.Next(&field);) {
    if (!IsText(field)) continue;
    if (field.number == Exec::kMemory) ReadUsed(field.bytes, memory);
    if (field.number == Exec::kOutput) ReadOutput(field.bytes, memory);
    if (field.number == Exec::kReferencedTensor) {
      ReadBuffer(field.bytes, &memory->values.emplace_back());
    }
    if (field.number != Exec::kMemoryStats) continue;
    for (WireFields parts(field.bytes); parts.Next(&part);) {
      if (part.number == pb::MemoryStats::kPersistentMemorySize) {
        memory->persistent = BytesOf(part.value);
      }
    }
  }
  return !memory->changes.empty() || !memory->values.empty() || memory->persistent > 0;
}

}  // namespace thalweg
