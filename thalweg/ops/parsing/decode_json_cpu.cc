// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/parsing/example_json.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {
namespace {

// Five bytes for a value of two characters, a place in a set for a key of seven, and what is open.
constexpr size_t kBytesPerCharacter = 16;

Status DecodeJson(Context& ctx) {
  const Tensor& texts = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, texts.shape()));
  HeapCharge charge;
  size_t taken = 0;
  for (int64_t i = 0; i < texts.num_elements(); ++i) {
    const std::string& text = texts.data<std::string>()[i];
    RETURN_IF_ERROR(charge.Set(ctx.allocator(), taken + kBytesPerCharacter * text.size()));
    Result<std::string> example = ExampleFromJson(text);
    if (!example.ok()) {
      return InvalidArgument("Error while parsing JSON: ", example.status().message(), " (element ",
                             i, ")");
    }
    taken += example->size();
    // The tensor is charged with what its strings have, not with room for more.
    example->shrink_to_fit();
    out->mutable_data<std::string>()[i] = *std::move(example);
    RETURN_IF_ERROR(ctx.step().cancellation->Reason());
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(decode_json, cpu) {
  registry.AddFunction<DecodeJson>("DecodeJSONExample", kCpu).Cost(KernelCost::kExpensive);
}
