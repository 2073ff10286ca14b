// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that take or give protocol messages.
#include <set>

#include "thalweg/api/handles.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

// Fills a message of the type by `fill` and serialises it.
template <class F>
TwBuffer* MessageBuffer(const MessageDescriptor& type, TwStatus* status, F&& fill) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    OwnedMessage message(type);
    RETURN_IF_ERROR(fill(&*message));
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*message));
    return NewBuffer(std::move(bytes));
  });
}

std::set<std::string_view> OpsWithKernels(const KernelRegistry& kernels) {
  std::set<std::string_view> ops;
  for (const KernelEntry* entry : kernels.Entries()) ops.insert(entry->op);
  return ops;
}

ImportOptions UnwrapOptions(const TwImportOptions& given) {
  ImportOptions options;
  if (given.prefix != nullptr) options.prefix = given.prefix;
  for (int32_t i = 0; i < given.num_input_map; ++i) {
    options.input_map.emplace_back(given.input_map_from[i], Unwrap(given.input_map_to[i]));
  }
  for (int32_t i = 0; i < given.num_control_inputs; ++i) {
    options.control_dependencies.push_back(Unwrap(given.control_inputs[i]));
  }
  for (int32_t i = 0; i < given.num_return_outputs; ++i)
    options.return_outputs.emplace_back(given.return_outputs[i]);
  return options;
}

}  // namespace

extern "C" {

TwBuffer* tw_tensor_to_proto(const TwTensor* tensor, TwStatus* status) {
  return MessageBuffer(pb::TensorProto::Descriptor(), status, [&](Message* message) {
    return TensorToProto(tensor->tensor, message, {.borrow = true});
  });
}

TwTensor* tw_tensor_from_proto(const void* data, size_t size, TwStatus* status) {
  return GuardPointer<TwTensor>(status, [&]() -> Result<TwTensor*> {
    const std::string_view bytes(static_cast<const char*>(data), size);
    ASSIGN_OR_RETURN(const OwnedMessage message,
                     ParseMessage(pb::TensorProto::Descriptor(), bytes, {.borrow = true}));
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(*message));
    return NewTensor(std::move(tensor));
  });
}

TwBuffer* tw_environment_op_list(TwEnvironment* environment, int32_t implemented_only,
                                 TwStatus* status) {
  return MessageBuffer(pb::OpList::Descriptor(), status, [&](Message* message) -> Status {
    const Environment& env = *environment->environment;
    const std::set<std::string_view> implemented = OpsWithKernels(env.kernels());
    for (std::string_view name : env.ops().Names()) {
      if (implemented_only != 0 && !implemented.contains(name)) continue;
      ASSIGN_OR_RETURN(const OpEntry* entry, env.ops().Find(name));
      Message* op = message->Add(pb::OpList::kOp);
      RETURN_IF_ERROR(OpDefToProto(entry->def, op));
      if (!entry->doc.empty()) op->SetString(pb::OpDef::kSummary, entry->doc);
    }
    return OkStatus();
  });
}

TwBuffer* tw_environment_kernel_list(TwEnvironment* environment, TwStatus* status) {
  return MessageBuffer(pb::KernelList::Descriptor(), status, [&](Message* message) {
    for (const KernelEntry* entry : environment->environment->kernels().Entries()) {
      Message* kernel = message->Add(pb::KernelList::kKernel);
      kernel->SetString(pb::KernelDef::kOp, entry->op);
      kernel->SetString(pb::KernelDef::kDeviceType, entry->device_type);
      for (const auto& [attr, dtype] : entry->types) {
        Message* constraint = kernel->Add(pb::KernelDef::kConstraint);
        constraint->SetString(pb::KernelDef::AttrConstraint::kName, attr);
        Message* types = constraint->Mutable(pb::KernelDef::AttrConstraint::kAllowedValues)
                             ->Mutable(pb::AttrValue::kList);
        types->AddInt(pb::AttrValue::ListValue::kType, static_cast<int>(dtype));
      }
    }
    return OkStatus();
  });
}

const char* tw_environment_no_gradient(const TwEnvironment* environment, const char* op) {
  const Result<const OpEntry*> entry = environment->environment->ops().Find(op);
  if (!entry.ok()) return nullptr;
  if ((*entry)->gradient != nullptr) return "";
  return (*entry)->not_differentiable.empty() ? nullptr : (*entry)->not_differentiable.c_str();
}

TwBuffer* tw_graph_export(const TwGraph* graph, int32_t text, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(std::string out, text != 0 ? ExportGraphDefText(*graph->graph)
                                                : ExportGraphDefBytes(*graph->graph));
    return NewBuffer(std::move(out));
  });
}

TwCode tw_graph_import(TwGraph* graph, const void* data, size_t size, int32_t text,
                       const TwImportOptions* options, TwOutput* returned, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    const std::string_view bytes(static_cast<const char*>(data), size);
    const ImportOptions given = UnwrapOptions(CopyOptions(options, TwImportOptions{}));
    ASSIGN_OR_RETURN(const ImportedGraph imported,
                     text != 0 ? ImportGraphDefText(bytes, *graph->graph, given)
                               : ImportGraphDefBytes(bytes, *graph->graph, given));
    for (size_t i = 0; i < imported.return_outputs.size(); ++i)
      returned[i] = Wrap(imported.return_outputs[i]);
    return OkStatus();
  });
}

void tw_node_builder_attr_proto(TwNodeBuilder* builder, const char* attr, const void* data,
                                size_t size) {
  const TwCode code = Guard(nullptr, [&]() -> Status {
    const std::string_view bytes(static_cast<const char*>(data), size);
    Result<OwnedMessage> message =
        ParseMessage(pb::AttrValue::Descriptor(), bytes, {.borrow = true});
    Result<AttrValue> value =
        message.ok() ? AttrValueFromProto(**message) : Result<AttrValue>(message.status());
    if (value.ok()) {
      builder->spec.attrs.Set(attr, *std::move(value));
    } else if (builder->status.ok()) {
      builder->status = value.status().WithContext(StrCat("attribute '", attr, "'"));
    }
    return OkStatus();
  });
  if (code != TW_OK && builder->status.ok()) builder->status = ResourceExhausted("out of memory");
}

TwBuffer* tw_node_attr(const TwNode* node, const char* attr, TwStatus* status) {
  return MessageBuffer(pb::AttrValue::Descriptor(), status, [&](Message* message) -> Status {
    const AttrValue* value = Unwrap(node)->FindAttr(attr);
    if (value == nullptr)
      return InvalidArgument(Unwrap(node)->Label(), " has no attribute '", attr, "'");
    return AttrValueToProto(*value, message);
  });
}

TwBuffer* tw_node_def(const TwNode* node, TwStatus* status) {
  return MessageBuffer(pb::NodeDef::Descriptor(), status,
                       [&](Message* message) { return NodeToProto(*Unwrap(node), message); });
}

}  // extern "C"
