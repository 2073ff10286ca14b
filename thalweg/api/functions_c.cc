// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "thalweg/api/handles.h"
#include "thalweg/graph/function_definition.h"
#include "thalweg/passes/expand_functions.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/function_gradients.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

// Nodes that tw_graph_expand_call adds to a program's graph, which keeps them.
constexpr int kMostOfACall = 1 << 16;

// The function whose body a handle is.
Result<FunctionBuilder*> FunctionOf(const TwGraph* body) {
  RETURN_IF_ERROR(RequireAll({{"body", body}}));
  if (body->function == nullptr) return InvalidArgument("the graph is no function's body");
  return body->function.get();
}

TwOutput GuardOutput(TwStatus* status, const std::function<Result<Output>()>& body) {
  TwOutput made = {nullptr, 0};
  Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const Output output, body());
    made = Wrap(output);
    return OkStatus();
  });
  return made;
}

}  // namespace

extern "C" {

TwGraph* tw_function_body_new(TwGraph* graph, TwStatus* status) {
  return GuardPointer<TwGraph>(status, [&]() -> Result<TwGraph*> {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    auto function = std::make_shared<FunctionBuilder>(graph->graph, graph->function);
    std::shared_ptr<Graph> body = function->body();
    return std::make_unique<TwGraph>(
               TwGraph{graph->environment, std::move(body), std::move(function)})
        .release();
  });
}

TwOutput tw_function_argument(TwGraph* body, const char* name, TwDataType dtype,
                              const int64_t* dims, int32_t rank, TwStatus* status) {
  return GuardOutput(status, [&]() -> Result<Output> {
    ASSIGN_OR_RETURN(FunctionBuilder * function, FunctionOf(body));
    RETURN_IF_ERROR(RequireAll({{"name", name}}));
    ASSIGN_OR_RETURN(const DType type, CheckedDType(dtype));
    PartialShape shape;
    if (rank >= 0) {
      RETURN_IF_ERROR(CheckArray(dims, rank, "dimension"));
      ASSIGN_OR_RETURN(shape, PartialShape::Make({dims, static_cast<size_t>(rank)}));
    }
    return function->AddArg(name, type, shape);
  });
}

TwOutput tw_function_copy(TwGraph* body, TwOutput outside, TwStatus* status) {
  return GuardOutput(status, [&]() -> Result<Output> {
    ASSIGN_OR_RETURN(FunctionBuilder * function, FunctionOf(body));
    ASSIGN_OR_RETURN(const Output output, UnwrapOutput(outside, "the tensor"));
    return function->CopyInside(output);
  });
}

TwBuffer* tw_function_define(TwGraph* body, const char* name, int32_t append_hash,
                             const TwOutput* results, int32_t num_results,
                             const char* const* result_names, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(FunctionBuilder * function, FunctionOf(body));
    RETURN_IF_ERROR(RequireAll({{"name", name}}));
    FunctionSpec spec;
    spec.name = name;
    spec.append_hash = append_hash != 0;
    ASSIGN_OR_RETURN(spec.results, UnwrapAll(results, num_results, "result"));
    if (result_names != nullptr) {
      ASSIGN_OR_RETURN(spec.result_names, UnwrapTexts(result_names, num_results, "result name"));
    }
    ASSIGN_OR_RETURN(std::string defined, function->Define(spec));
    return NewBuffer(std::move(defined));
  });
}

TwBuffer* tw_function_definition(TwGraph* body, const char* name, const TwOutput* arguments,
                                 int32_t num_arguments, const TwOutput* results,
                                 int32_t num_results, const char* const* result_names,
                                 TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"body", body}, {"name", name}}));
    FunctionEnds ends;
    ASSIGN_OR_RETURN(ends.args, UnwrapAll(arguments, num_arguments, "argument"));
    ASSIGN_OR_RETURN(ends.results, UnwrapAll(results, num_results, "result"));
    if (result_names != nullptr) {
      ASSIGN_OR_RETURN(ends.result_names, UnwrapTexts(result_names, num_results, "result name"));
    }
    ASSIGN_OR_RETURN(const OwnedMessage definition, FunctionDefinition(*body->graph, name, ends));
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*definition));
    return NewBuffer(std::move(bytes));
  });
}

TwCode tw_graph_expand_call(TwGraph* graph, const TwNode* call, const char* prefix,
                            TwOutput* outputs, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"call", call}, {"prefix", prefix}}));
    const Node& node = *Unwrap(call);
    if (&node.graph() != graph->graph.get()) {
      return InvalidArgument(node.Label(), " is of another graph");
    }
    if (node.num_outputs() > 0) RETURN_IF_ERROR(RequireAll({{"outputs", outputs}}));
    ASSIGN_OR_RETURN(const std::vector<Output> made, ExpandCall(graph->graph.get(), node, prefix,
                                                                {.gradients = FunctionGradients,
                                                                 .max_nodes = kMostOfACall,
                                                                 .serial_loops = true,
                                                                 .tell_places = true}));
    std::transform(made.begin(), made.end(), outputs, [](const Output& one) { return Wrap(one); });
    return OkStatus();
  });
}

int32_t tw_function_num_captures(const TwGraph* body) {
  return body == nullptr || body->function == nullptr
             ? 0
             : static_cast<int32_t>(body->function->captures().size());
}

TwOutput tw_function_capture(const TwGraph* body, int32_t i) {
  const bool there = i >= 0 && i < tw_function_num_captures(body);
  return there ? Wrap(body->function->captures()[static_cast<size_t>(i)]) : TwOutput{nullptr, 0};
}

}  // extern "C"
