// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/variable.h"

#include <algorithm>
#include <numeric>

namespace thalweg {

bool Variable::initialized() const {
  MutexLock lock(value_mutex_);
  return !value_.empty();
}

Tensor Variable::ReadOrEmpty() const {
  MutexLock lock(value_mutex_);
  return value_;
}

Result<Tensor> Variable::Read() const {
  Tensor value = ReadOrEmpty();
  if (value.empty()) {
    return FailedPrecondition(
        "Attempting to use uninitialized value ", name_, ": variable '", name_,
        "' was read before anything was assigned to it (run its initializer, or restore it)");
  }
  return value;
}

Status Variable::Assign(Tensor value, bool validate_shape) {
  if (value.dtype() != dtype_) {
    return InvalidArgument("variable '", name_, "' has type ", dtype_, ", got a value of type ",
                           value.dtype());
  }
  if (validate_shape && !shape_.Admits(value.shape())) {
    return InvalidArgument("Assign requires shapes of both tensors to match. lhs shape= ", shape_,
                           " rhs shape= ", value.shape(), ": variable '", name_,
                           "' has the first one");
  }
  {
    MutexLock update(update_mutex_);  // else an update's copy of the former value comes after it
    MutexLock lock(value_mutex_);
    value_.swap(value);
  }
  return OkStatus();  // the former value is released here, outside the locks
}

std::string Variable::DebugString() const {
  const Tensor value = ReadOrEmpty();
  return StrCat("Variable ", dtype_, shape_,
                value.empty() ? ", uninitialized" : StrCat(", ", value.bytes(), " bytes"));
}

Variable::Update::Update(Variable& variable, bool use_locking) NO_THREAD_SAFETY_ANALYSIS
    : variable_(variable),
      use_locking_(use_locking) {
  if (use_locking_) variable_.update_mutex_.Lock();
}

Variable::Update::~Update() NO_THREAD_SAFETY_ANALYSIS {
  if (in_place_) variable_.value_mutex_.Unlock();
  if (use_locking_) variable_.update_mutex_.Unlock();
}

Result<Tensor*> Variable::Update::Writable(Allocator& allocator) NO_THREAD_SAFETY_ANALYSIS {
  variable_.value_mutex_.Lock();
  if (variable_.value_.empty()) {
    variable_.value_mutex_.Unlock();
    return variable_.Read().status();
  }
  if (variable_.value_.IsSoleOwner()) {
    in_place_ = true;  // the lock stays: a reader waits until the new bits are whole
    return &variable_.value_;
  }
  const Tensor shared = variable_.value_;
  variable_.value_mutex_.Unlock();
  ASSIGN_OR_RETURN(value_, shared.Clone(allocator));
  holds_value_ = true;
  return &value_;
}

void Variable::Update::Commit() NO_THREAD_SAFETY_ANALYSIS {
  if (in_place_) {
    variable_.value_mutex_.Unlock();
    in_place_ = false;
  }
  if (holds_value_) {
    {
      MutexLock lock(variable_.value_mutex_);
      variable_.value_.swap(value_);
    }
    value_ = Tensor();
    holds_value_ = false;
  }
}

Result<std::vector<Tensor*>> Variable::Updates::Open(std::vector<RefPtr<Variable>> variables,
                                                     Allocator& allocator, bool use_locking) {
  variables_ = std::move(variables);
  std::vector<size_t> order(variables_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t k) { return variables_[k].get(); });
  for (size_t k = 1; k < order.size(); ++k) {
    if (variables_[order[k]].get() == variables_[order[k - 1]].get()) {
      return InvalidArgument("variable ", variables_[order[k]]->name(), " is given twice");
    }
  }
  use_locking |= order.size() > 1;
  for (size_t k : order) {
    updates_.push_back(std::make_unique<Update>(*variables_[k], use_locking));
  }
  std::vector<Tensor*> tensors(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    ASSIGN_OR_RETURN(tensors[order[k]], updates_[k]->Writable(allocator));
  }
  return tensors;
}

void Variable::Updates::Commit() {
  for (const auto& update : updates_) {
    if (update->in_place()) update->Commit();
  }
  for (const auto& update : updates_) update->Commit();
}

Result<RefPtr<Variable>> VariableOf(const Context& ctx, int i) {
  const Tensor& handle = ctx.input(i);
  if (!handle.is_reference()) return ctx.Resource<Variable>(i);
  auto* variable = dynamic_cast<Variable*>(handle.resource());
  if (variable == nullptr) return InvalidArgument("input ", i, " must refer to a variable");
  return RefPtr<Variable>::Share(variable);
}

}  // namespace thalweg
