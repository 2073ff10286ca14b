// SPDX-License-Identifier: Apache-2.0
// What the opaque handles of the C ABI are, and how errors get out.
// Ownership: a handle owns or shares what it holds, until the function that frees it; a TwNode is
// its graph's Node.
// Threads: as c_api.h says of each handle.
// Errors: Guard makes a TwCode and a TwStatus of a Status and of an exception; what callers give
// wrongly is InvalidArgument.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/api/c_api.h"
#include "thalweg/base/status.h"
#include "thalweg/graph/function_builder.h"
#include "thalweg/graph/graph.h"
#include "thalweg/session/session.h"
#include "thalweg/tensor/tensor.h"
#include "thalweg/training/optimizer.h"

struct TwStatus {
  thalweg::Status status;
  std::string message;
};

struct TwBuffer {
  std::string bytes;
};

struct TwTensor {
  thalweg::Tensor tensor;
};

struct TwEnvironment {
  std::shared_ptr<thalweg::Environment> environment;
};

struct TwGraph {
  std::shared_ptr<thalweg::Environment> environment;
  std::shared_ptr<thalweg::Graph> graph;
  std::shared_ptr<thalweg::FunctionBuilder> function;  // whose body the graph is; null: of none
};

struct TwNodeBuilder {
  thalweg::Graph* graph;
  thalweg::FunctionBuilder* function;
  thalweg::NodeSpec spec;
  thalweg::Status status;  // the first error of a part, reported by finish
};

struct TwSession {
  std::shared_ptr<thalweg::Session> session;  // shared with nobody; partial runs watch it
};

struct TwCallable {
  std::shared_ptr<thalweg::Callable> callable;
  size_t num_feeds;
  size_t num_fetches;
};

struct TwRunOptions {
  thalweg::RunOptions options;
  thalweg::CancellationManager cancellation;
  bool metadata_of_failures = false;  // given after an error, too
};

struct TwPartialRun {
  std::weak_ptr<thalweg::Session> session;  // the run ends with its session
  std::string handle;
};

struct TwOptimizer {
  thalweg::OptimizerConfig config;
  std::string site;
  std::optional<thalweg::Optimizer> optimizer;  // made from config at the first use
};

namespace thalweg::api {

// Sets `out` (may be null) and returns the code.
TwCode Report(TwStatus* out, Status status);

// Runs `body`, which returns a Status; an exception (out of memory) becomes one too.
template <class Body>
TwCode Guard(TwStatus* out, Body&& body) {
  try {
    return Report(out, body());
  } catch (const std::bad_alloc&) {
    return Report(out, ResourceExhausted("out of memory"));
  } catch (const std::exception& e) {
    return Report(out, Internal("unexpected exception: ", e.what()));
  }
}

// The result of `body`, or `otherwise` where an exception comes out of it: for functions that
// report no status.
template <class T, class Body>
T Quietly(T otherwise, Body&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    return otherwise;
  }
}

// As Guard for a body that returns Result<T*>: the pointer, or null.
template <class T, class Body>
T* GuardPointer(TwStatus* out, Body&& body) {
  T* made = nullptr;
  Guard(out, [&]() -> Status {
    Result<T*> result = body();
    if (result.ok()) made = *result;
    return std::move(result).status();
  });
  return made;
}

inline const std::shared_ptr<Environment>& EnvironmentOf(TwEnvironment* environment) {
  return environment->environment;
}
inline Node* Unwrap(TwNode* node) { return reinterpret_cast<Node*>(node); }
inline const Node* Unwrap(const TwNode* node) { return reinterpret_cast<const Node*>(node); }
inline TwNode* Wrap(Node* node) { return reinterpret_cast<TwNode*>(node); }
inline Output Unwrap(TwOutput output) { return {Unwrap(output.node), output.index}; }
inline TwOutput Wrap(const Output& output) { return {Wrap(output.node), output.index}; }

// What callers give is checked by these, with InvalidArgument that says `what` is wrong.
struct Given {
  const char* what;
  const void* pointer;
};
Status RequireAll(std::initializer_list<Given> pointers);  // none may be null
// No null node, no index out of range.
Result<Output> UnwrapOutput(TwOutput output, const char* what);
Result<std::vector<Output>> UnwrapAll(const TwOutput* outputs, int32_t n, const char* what);
Result<std::vector<Node*>> UnwrapNodes(TwNode* const* nodes, int32_t n, const char* what);
Result<std::vector<std::string>> UnwrapTexts(const char* const* texts, int32_t n, const char* what);
// A negative number, or a null array of more than none.
Status CheckArray(const void* array, int64_t n, const char* what);
Result<Signature> MakeSignature(const TwOutput* feeds, int32_t num_feeds, const TwOutput* fetches,
                                int32_t num_fetches, TwNode* const* targets, int32_t num_targets);
Result<DType> CheckedDType(TwDataType number);
Result<Shape> CheckedShape(const int64_t* dims, int32_t rank);
Result<Output> OptionalOutput(TwOutput output, const char* what);  // empty, or one that is there
Result<GradientValue> UnwrapGradient(const TwGradient& given);
Result<GradientOptions> UnwrapOptions(Graph& graph, const TwGradientOptions* given, size_t num_ys);
// `what` is nothing that the body of a function has.
Status RequireNoBody(const TwGraph* graph, const char* what);
inline TwGradient Wrap(const GradientValue& g) {
  return {Wrap(g.values), Wrap(g.indices), Wrap(g.dense_shape)};
}
inline TwVariable Wrap(const VariableNodes& v) {
  return {Wrap(v.handle), Wrap(v.initializer), Wrap(v.value)};
}
inline TwBuffer* NewBuffer(std::string bytes) {
  return std::make_unique<TwBuffer>(TwBuffer{std::move(bytes)}).release();
}
inline TwTensor* NewTensor(Tensor tensor) {
  return std::make_unique<TwTensor>(TwTensor{std::move(tensor)}).release();
}
// A copy of an options struct of a caller that may know fewer fields than this library.
template <class T>
T CopyOptions(const T* given, const T& defaults) {
  T options = defaults;
  if (given != nullptr) {
    const size_t size = given->struct_size < sizeof(T) ? given->struct_size : sizeof(T);
    std::memcpy(static_cast<void*>(&options), given, size);
  }
  return options;
}

}  // namespace thalweg::api
