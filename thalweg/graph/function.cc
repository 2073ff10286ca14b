// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function.h"

namespace thalweg {

Status FunctionLibrary::Add(OpDef signature, std::string definition) {
  RETURN_IF_ERROR(ValidateOpDef(signature, true));
  auto function = std::make_unique<Function>();
  function->op.def = std::move(signature);
  function->definition = std::move(definition);
  const std::string& name = function->op.def.name;
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = functions_.find(name);
  if (found != functions_.end()) {
    if (found->second->definition == function->definition) return OkStatus();
    return InvalidArgument("function '", name, "' is in the library with another definition");
  }
  order_.push_back(function.get());
  functions_.emplace(name, std::move(function));
  return OkStatus();
}

const OpEntry* FunctionLibrary::FindOp(std::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second->op;
}

std::string_view FunctionLibrary::FindDefinition(std::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = functions_.find(name);
  return found == functions_.end() ? std::string_view() : found->second->definition;
}

Status FunctionLibrary::SetGradient(std::string_view function, std::string_view gradient) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto [place, is_new] = gradients_.emplace(function, gradient);
  if (!is_new && place->second != gradient) {
    return InvalidArgument("function '", function, "' has the gradient '", place->second,
                           "' already, cannot set '", gradient, "'");
  }
  return OkStatus();
}

std::string_view FunctionLibrary::FindGradient(std::string_view function) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = gradients_.find(function);
  return found == gradients_.end() ? std::string_view() : found->second;
}

std::vector<std::string> FunctionLibrary::Names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const Function* function : order_) names.push_back(function->op.def.name);
  return names;
}

std::vector<std::string> FunctionLibrary::NamesWithGradient() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, gradient] : gradients_) names.push_back(name);
  return names;
}

void FunctionLibrary::SetExtras(std::string bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  extras_ = std::move(bytes);
}

std::string FunctionLibrary::Extras() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return extras_;
}

}  // namespace thalweg
