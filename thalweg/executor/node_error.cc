// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/node_error.h"

#include "thalweg/kernel/losable.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

constexpr std::string_view kNodeBegins = "\n\t [[";

// An error in the user's terms: what is wrong, which of his nodes says so, where he made that.
struct UsersError {
  std::string_view message;
  std::string label;
  std::string site;
};

// A part of a node, "Sub 'sub' (created at train.py:7)", and what is wrong with it.
UsersError OfPart(std::string_view message, std::string_view part, const std::string& site) {
  constexpr std::string_view kCreated = " (created at ";
  const size_t created = part.find(kCreated);
  if (created == std::string_view::npos || !part.ends_with(')')) {
    return {message, std::string(part), site};
  }
  const size_t begin = created + kCreated.size();
  return {message, std::string(part.substr(0, created)),
          std::string(part.substr(begin, part.size() - 1 - begin))};
}

// A kernel that stands for several nodes names the one that failed: before what is wrong, as in
// "PART: ...", or behind it, as in "...; in PART".
UsersError InUsersTerms(std::string_view message, const ProgramNode& node) {
  if (node.made_of.empty()) return {message, node.Label(), node.site};
  for (const std::string& part : node.made_of) {
    const std::string before = StrCat(part, ": "), behind = StrCat("; in ", part);
    if (message.starts_with(before)) return OfPart(message.substr(before.size()), part, node.site);
    if (message.ends_with(behind)) {
      message.remove_suffix(behind.size());
      return OfPart(message, part, node.site);
    }
  }
  return OfPart(message, node.made_of.back(), node.site);
}

// A device that is lost gives no memory either.
Status CauseOf(const Status& error, const StepContext& context) {
  if (error.code() != Code::kResourceExhausted || context.device == nullptr) return error;
  Status lost = WhyLost(*context.device);
  return lost.ok() ? error : lost;
}

}  // namespace

Status NodeError(const Status& given, const ProgramNode& node, const StepContext& context,
                 std::span<const Tensor* const> inputs) {
  const Status error = CauseOf(given, context);
  // What is wrong comes first, in TensorFlow's words where it has some: programs look for them.
  const UsersError users = InUsersTerms(error.message(), node);
  std::string text = StrCat(users.message, kNodeBegins, users.label);
  if (context.device != nullptr) text += StrCat(" on ", context.device->full_name());
  constexpr size_t kMostInputs = 8;
  for (size_t i = 0; i < inputs.size() && i < kMostInputs; ++i) {
    text += i == 0 ? "; inputs: " : ", ";
    const Tensor& value = *inputs[i];
    if (value.empty()) {
      text += "(none)";
    } else if (value.is_reference()) {
      text += StrCat("reference to ", value.dtype());
    } else {
      text += StrCat(value.dtype(), value.shape());
    }
  }
  if (inputs.size() > kMostInputs) text += StrCat(", ... (", inputs.size(), " inputs)");
  text += "]]";
  if (!users.site.empty()) text += StrCat(" (created at ", users.site, ")");
  return Status(error.code(), std::move(text));
}

bool NamesNode(const Status& error) {
  return error.message().find(kNodeBegins) != std::string_view::npos;
}

Status DeadFetchError(const Program& program, const Value& fetch) {
  if (fetch.is_feed()) return InvalidArgument("feed ", fetch.index, " is fetched and has no value");
  const ProgramNode& node = program.nodes[fetch.node];
  return InvalidArgument("the fetched value of ", node.Label(),
                         " does not exist in this step: it lies in a branch that was not taken");
}

Result<Tensor> ReadReference(const Tensor& value) {
  if (!value.is_reference()) return value;
  const auto* variable = dynamic_cast<const Variable*>(value.resource());
  if (variable == nullptr) {
    return InvalidArgument("a reference leads to ", value.resource()->DebugString(),
                           ", which has no value to read");
  }
  return variable->Read();
}

}  // namespace thalweg
