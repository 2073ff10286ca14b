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

// Fills a message of the type by `fill` and serializes it.
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

Result<ImportOptions> UnwrapOptions(const TwImportOptions& given, const TwOutput* returned) {
  ImportOptions options;
  if (given.prefix != nullptr) options.prefix = given.prefix;
  ASSIGN_OR_RETURN(const std::vector<std::string> from,
                   UnwrapTexts(given.input_map_from, given.num_input_map, "input map key"));
  RETURN_IF_ERROR(CheckArray(given.input_map_to, given.num_input_map, "input map value"));
  for (size_t i = 0; i < from.size(); ++i) {
    options.input_map.emplace_back(from[i], Unwrap(given.input_map_to[i]));
  }
  ASSIGN_OR_RETURN(options.control_dependencies,
                   UnwrapNodes(given.control_inputs, given.num_control_inputs, "control input"));
  ASSIGN_OR_RETURN(options.return_outputs,
                   UnwrapTexts(given.return_outputs, given.num_return_outputs, "return output"));
  RETURN_IF_ERROR(CheckArray(returned, given.num_return_outputs, "returned output"));
  return options;
}

// Bytes of a caller.
Result<std::string_view> UnwrapBytes(const void* data, size_t size) {
  if (data == nullptr && size > 0) return InvalidArgument("the message is NULL");
  return std::string_view(static_cast<const char*>(data), size);
}

}  // namespace

extern "C" {

TwBuffer* tw_tensor_to_proto(const TwTensor* tensor, TwStatus* status) {
  return MessageBuffer(pb::TensorProto::Descriptor(), status, [&](Message* message) -> Status {
    RETURN_IF_ERROR(RequireAll({{"tensor", tensor}}));
    return TensorToProto(tensor->tensor, message, {.borrow = true});
  });
}

TwTensor* tw_tensor_from_proto(const void* data, size_t size, TwStatus* status) {
  return GuardPointer<TwTensor>(status, [&]() -> Result<TwTensor*> {
    ASSIGN_OR_RETURN(const std::string_view bytes, UnwrapBytes(data, size));
    ASSIGN_OR_RETURN(const OwnedMessage message,
                     ParseMessage(pb::TensorProto::Descriptor(), bytes, {.borrow = true}));
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(*message));
    return NewTensor(std::move(tensor));
  });
}

TwBuffer* tw_environment_op_list(TwEnvironment* environment, int32_t implemented_only,
                                 TwStatus* status) {
  return MessageBuffer(pb::OpList::Descriptor(), status, [&](Message* message) -> Status {
    RETURN_IF_ERROR(RequireAll({{"environment", environment}}));
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
  return MessageBuffer(pb::KernelList::Descriptor(), status, [&](Message* message) -> Status {
    RETURN_IF_ERROR(RequireAll({{"environment", environment}}));
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
  if (environment == nullptr || op == nullptr) return nullptr;
  const Result<const OpEntry*> entry = environment->environment->ops().Find(op);
  if (!entry.ok()) return nullptr;
  if ((*entry)->gradient != nullptr) return "";
  return (*entry)->not_differentiable.empty() ? nullptr : (*entry)->not_differentiable.c_str();
}

TwBuffer* tw_graph_export(const TwGraph* graph, int32_t text, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    ASSIGN_OR_RETURN(std::string out, text != 0 ? ExportGraphDefText(*graph->graph)
                                                : ExportGraphDefBytes(*graph->graph));
    return NewBuffer(std::move(out));
  });
}

TwBuffer* tw_graph_export_library(const TwGraph* graph, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    OwnedMessage library(pb::FunctionDefLibrary::Descriptor());
    ExportFunctions(graph->graph->library(), library.get());
    ASSIGN_OR_RETURN(std::string out, Serialize(*library));
    return NewBuffer(std::move(out));
  });
}

TwCode tw_graph_import(TwGraph* graph, const void* data, size_t size, int32_t text,
                       const TwImportOptions* options, TwOutput* returned, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    ASSIGN_OR_RETURN(const std::string_view bytes, UnwrapBytes(data, size));
    ASSIGN_OR_RETURN(ImportOptions given,
                     UnwrapOptions(CopyOptions(options, TwImportOptions{}), returned));
    given.allocator = graph->environment->allocator().get();
    ASSIGN_OR_RETURN(const ImportedGraph imported,
                     text != 0 ? ImportGraphDefText(bytes, *graph->graph, given)
                               : ImportGraphDefBytes(bytes, *graph->graph, given));
    for (size_t i = 0; i < imported.return_outputs.size(); ++i)
      returned[i] = Wrap(imported.return_outputs[i]);
    return OkStatus();
  });
}

TwBuffer* tw_node_attr(const TwNode* node, const char* attr, TwStatus* status) {
  return MessageBuffer(pb::AttrValue::Descriptor(), status, [&](Message* message) -> Status {
    RETURN_IF_ERROR(RequireAll({{"node", node}, {"attr", attr}}));
    const AttrValue* value = Unwrap(node)->FindAttr(attr);
    if (value == nullptr)
      return InvalidArgument(Unwrap(node)->Label(), " has no attribute '", attr, "'");
    return AttrValueToProto(*value, message);
  });
}

TwBuffer* tw_node_def(const TwNode* node, TwStatus* status) {
  return MessageBuffer(pb::NodeDef::Descriptor(), status, [&](Message* message) -> Status {
    RETURN_IF_ERROR(RequireAll({{"node", node}}));
    return NodeToProto(*Unwrap(node), message);
  });
}

}  // extern "C"
