// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function.h"

#include "thalweg/graph/function_calls.h"

namespace thalweg {

Status FunctionLibrary::Add(OpDef signature, std::string definition) {
  RETURN_IF_ERROR(ValidateOpDef(signature, true));
  auto function = std::make_unique<Function>();
  function->op.def = std::move(signature);
  function->op.shape = FunctionCallShape;
  function->op.gradient = FunctionCallGradient;
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
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = functions_.find(name);
    if (found != functions_.end()) return &found->second->op;
  }
  return parent_ == nullptr ? nullptr : parent_->FindOp(name);
}

std::string_view FunctionLibrary::FindDefinition(std::string_view name) const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = functions_.find(name);
    if (found != functions_.end()) return found->second->definition;
  }
  return parent_ == nullptr ? std::string_view() : parent_->FindDefinition(name);
}

void FunctionLibrary::SetSites(std::string_view function, std::shared_ptr<const NodeSites> sites) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = functions_.find(function);
  if (found == functions_.end() || found->second->sites != nullptr) return;
  found->second->sites = std::move(sites);
}

std::shared_ptr<const NodeSites> FunctionLibrary::FindSites(std::string_view function) const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = functions_.find(function);
    if (found != functions_.end()) return found->second->sites;
  }
  return parent_ == nullptr ? nullptr : parent_->FindSites(function);
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
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = gradients_.find(function);
    if (found != gradients_.end()) return found->second;
  }
  return parent_ == nullptr ? std::string_view() : parent_->FindGradient(function);
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

std::shared_ptr<const FunctionBody> FunctionLibrary::FindBody(const std::string& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = bodies_.find(key);
  return found == bodies_.end() ? nullptr : found->second;
}

void FunctionLibrary::KeepBody(const std::string& key,
                               std::shared_ptr<const FunctionBody> body) const {
  std::lock_guard<std::mutex> lock(mutex_);
  bodies_.emplace(key, std::move(body));
}

}  // namespace thalweg
