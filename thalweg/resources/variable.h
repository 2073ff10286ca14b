// SPDX-License-Identifier: Apache-2.0
// Variable: a tensor that survives steps; what VariableV2's reference edges and VarHandleOp's
// handles lead to.
//
// A read takes a counted handle: the buffer it saw is pinned, not copied. An update writes in place
// only when the variable holds the one reference to its buffer, else into a copy that is swapped
// in. With use_locking each variable's lock is held for the whole update; without it
// two unordered updates may lose one, never tear.
//
//   ASSIGN_OR_RETURN(RefPtr<Variable> variable, VariableOf(ctx, 0));
//   ASSIGN_OR_RETURN(Tensor value, variable->Read());      // FailedPrecondition when uninitialized
//   Variable::Update update(*variable, use_locking);
//   ASSIGN_OR_RETURN(Tensor* t, update.Writable(ctx.allocator()));  // overwritten by element
//   update.Commit();
//
// Ownership: shares its value's buffer with readers; an Update holds the variable for no longer
// than the kernel's call.
// Threads: every member from any; one Update from the thread that made it.
// Errors: FailedPrecondition for one that is not initialized, InvalidArgument for another type or
// shape, both with its name; ResourceExhausted for no room for a copy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/kernel/context.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Variable : public Resource {
 public:
  // `shape` is what assignments must agree with, unless they may change it (validate_shape =
  // false).
  Variable(std::string name, DType dtype, PartialShape shape)
      : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  bool initialized() const;
  // FailedPrecondition naming the variable when nothing was assigned yet.
  Result<Tensor> Read() const;
  // Empty when uninitialized.
  Tensor ReadOrEmpty() const;
  // Replaces the value, behind an update with use_locking that has begun; not from within one. The
  // tensor is shared with the giver, never copied. InvalidArgument when dtype or (with
  // validate_shape) shape disagrees.
  Status Assign(Tensor value, bool validate_shape = true);
  std::string DebugString() const override;

  class Update;
  class Updates;

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
  // Every update mutex that a thread wants is taken before any value mutex.
  mutable Mutex value_mutex_;  // guards the handle; held for moments, or over an update in place
  Mutex update_mutex_;         // held over an update with use_locking, and by who assigns
  Tensor value_ GUARDED_BY(value_mutex_);
};

// One read-modify-write. Not copied, lives on the stack of a kernel. The value is taken out of the
// variable while the update writes, so a concurrent Read between Writable and Commit waits: updates
// are short.
class Variable::Update {
 public:
  Update(Variable& variable, bool use_locking);
  ~Update();  // without Commit the variable keeps its former value
  Update(const Update&) = delete;
  Update& operator=(const Update&) = delete;

  // The value to modify: the variable's own buffer when nobody else holds it, else a copy.
  // FailedPrecondition when uninitialized.
  Result<Tensor*> Writable(Allocator& allocator);
  bool in_place() const { return in_place_; }  // from Writable to Commit
  void Commit();                               // what Writable gave is no longer to be used

 private:
  Variable& variable_;
  const bool use_locking_;
  bool in_place_ = false;
  bool holds_value_ = false;
  Tensor value_;
};

// One read-modify-write of several variables, which cannot wait without end for another such
// update: it asks for what it needs in the order of addresses, before it touches a value, and lets
// go of the values in place before it waits to swap in the copies. Lives on the stack of a kernel.
class Variable::Updates {
 public:
  // The values to modify, as of Update::Writable, in the order of `variables`. Two or more are
  // updated as with use_locking. InvalidArgument when one is given twice.
  Result<std::vector<Tensor*>> Open(std::vector<RefPtr<Variable>> variables, Allocator& allocator,
                                    bool use_locking);
  void Commit();

 private:
  std::vector<RefPtr<Variable>> variables_;
  std::vector<std::unique_ptr<Update>> updates_;  // in the order of addresses
};

// The variable that input i refers to: of a reference edge or of a resource handle. InvalidArgument
// when it is neither.
Result<RefPtr<Variable>> VariableOf(const Context& ctx, int i);

}  // namespace thalweg
