// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/value_record.h"

#include "thalweg/resources/held_bytes.h"
#include "thalweg/tensor/block_bytes.h"

namespace thalweg {
namespace {

// Of a reference, or a handle; null for other values.
const Resource* ResourceOf(const Tensor& value) {
  if (value.is_reference()) return value.resource();
  if (value.dtype() != DType::kResource || value.num_elements() != 1) return nullptr;
  return value.scalar<ResourceHandle>().resource();
}

void AddBuffer(const Tensor& value, ValueRecord* record) {
  record->dtype = value.dtype();
  record->shape = value.shape();
  record->block = BlockOf(value).address;
  record->bytes = static_cast<int64_t>(value.bytes());
}

}  // namespace

uint32_t RecordValues(Context& context, std::vector<ValueRecord>* values) {
  uint32_t count = 0;
  for (int o = 0; o < context.num_outputs(); ++o) {
    const Tensor& output = context.output(o);
    if (output.kind() <= Tensor::Kind::kInline) continue;
    ValueRecord& record = values->emplace_back();
    ++count;
    record.output = o;
    if (!output.is_reference()) AddBuffer(output, &record);
    const Resource* const resource = ResourceOf(output);
    if (resource == nullptr) continue;
    const Tensor value = HeldValue(*resource);
    // What hands a reference on keeps nothing itself.
    if (context.num_inputs() == 0) {
      record.held_bytes = HeldBytes(*resource);
      record.held_block = BlockOf(value).address;
    }
    if (output.is_reference() && value.kind() == Tensor::Kind::kBuffer) AddBuffer(value, &record);
  }
  return count;
}

}  // namespace thalweg
