// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"

namespace thalweg::api {

TwCode Report(TwStatus* out, Status status) {
  const auto code = static_cast<TwCode>(status.code());
  // Mostly nothing was wrong, and nothing is.
  if (out != nullptr && !(status.ok() && out->status.ok())) {
    out->message = std::string(status.message());
    out->status = std::move(status);
  }
  return code;
}

Status RequireAll(std::initializer_list<Given> pointers) {
  for (const Given& given : pointers) {
    if (given.pointer == nullptr) return InvalidArgument(given.what, " is NULL");
  }
  return OkStatus();
}

Status RequireNoBody(const TwGraph* graph, const char* what) {
  if (graph->function == nullptr) return OkStatus();
  return FailedPrecondition("the body of a function has no ", what,
                            " of its own: take the graph that the function is of");
}

Status CheckArray(const void* array, int64_t n, const char* what) {
  if (n < 0) return InvalidArgument("the number of ", what, "s must not be negative, got ", n);
  if (n > 0 && array == nullptr) return InvalidArgument(n, " ", what, "s, but the array is NULL");
  return OkStatus();
}

Result<Output> UnwrapOutput(TwOutput given, const char* what) {
  const Output output = Unwrap(given);
  if (output.node == nullptr) return InvalidArgument(what, " is an empty output");
  if (output.index < 0 || output.index >= output.node->num_outputs()) {
    return InvalidArgument(what, ": ", output.node->Label(), " has ", output.node->num_outputs(),
                           " outputs, there is no output ", output.index);
  }
  return output;
}

Result<std::vector<Output>> UnwrapAll(const TwOutput* outputs, int32_t n, const char* what) {
  RETURN_IF_ERROR(CheckArray(outputs, n, what));
  std::vector<Output> all;
  all.reserve(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) {
    Result<Output> output = UnwrapOutput(outputs[i], what);
    if (!output.ok()) return output.status().WithContext(StrCat("number ", i));
    all.push_back(*output);
  }
  return all;
}

Result<std::vector<Node*>> UnwrapNodes(TwNode* const* nodes, int32_t n, const char* what) {
  RETURN_IF_ERROR(CheckArray(nodes, n, what));
  std::vector<Node*> all;
  for (int32_t i = 0; i < n; ++i) {
    if (nodes[i] == nullptr) return InvalidArgument(what, " ", i, " is no node");
    all.push_back(Unwrap(nodes[i]));
  }
  return all;
}

Result<std::vector<std::string>> UnwrapTexts(const char* const* texts, int32_t n,
                                             const char* what) {
  RETURN_IF_ERROR(CheckArray(texts, n, what));
  std::vector<std::string> all;
  for (int32_t i = 0; i < n; ++i) {
    if (texts[i] == nullptr) return InvalidArgument(what, " ", i, " is NULL");
    all.emplace_back(texts[i]);
  }
  return all;
}

Result<Signature> MakeSignature(const TwOutput* feeds, int32_t num_feeds, const TwOutput* fetches,
                                int32_t num_fetches, TwNode* const* targets, int32_t num_targets) {
  Signature signature;
  ASSIGN_OR_RETURN(signature.feeds, UnwrapAll(feeds, num_feeds, "feed"));
  ASSIGN_OR_RETURN(signature.fetches, UnwrapAll(fetches, num_fetches, "fetch"));
  ASSIGN_OR_RETURN(signature.targets, UnwrapNodes(targets, num_targets, "target"));
  return signature;
}

Result<DType> CheckedDType(TwDataType number) {
  if (!IsValidDType(number))
    return InvalidArgument("there is no element type with number ", number);
  return static_cast<DType>(number);
}

Result<Shape> CheckedShape(const int64_t* dims, int32_t rank) {
  if (rank < 0) return InvalidArgument("the rank of a tensor must not be negative, got ", rank);
  RETURN_IF_ERROR(CheckArray(dims, rank, "dimension"));
  return Shape::Make({dims, static_cast<size_t>(rank)});
}

}  // namespace thalweg::api

using thalweg::Code;

extern "C" {

const char* tw_version(void) { return "0.1.0"; }
int32_t tw_abi_version(void) { return 1; }

TwStatus* tw_status_new(void) { return new (std::nothrow) TwStatus(); }
void tw_status_free(TwStatus* status) { delete status; }
void tw_status_set(TwStatus* status, TwCode code, const char* message) {
  const bool known = code >= TW_OK && code <= static_cast<TwCode>(Code::kUnauthenticated);
  thalweg::api::Guard(status, [&]() -> thalweg::Status {
    if (code == TW_OK) return thalweg::OkStatus();
    return {known ? static_cast<Code>(code) : Code::kUnknown, message == nullptr ? "" : message};
  });
}
TwCode tw_status_code(const TwStatus* status) {
  return status == nullptr ? TW_OK : static_cast<TwCode>(status->status.code());
}
const char* tw_status_message(const TwStatus* status) {
  return status == nullptr ? "" : status->message.c_str();
}
const char* tw_code_name(TwCode code) {
  return thalweg::CodeName(code >= 0 && code <= 16 ? static_cast<Code>(code) : Code::kUnknown);
}

const void* tw_buffer_data(const TwBuffer* buffer) {
  return buffer == nullptr ? nullptr : buffer->bytes.data();
}
size_t tw_buffer_size(const TwBuffer* buffer) {
  return buffer == nullptr ? 0 : buffer->bytes.size();
}
void tw_buffer_free(TwBuffer* buffer) { delete buffer; }

}  // extern "C"
