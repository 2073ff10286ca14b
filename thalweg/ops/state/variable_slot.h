// SPDX-License-Identifier: Apache-2.0
// VariableSlot: the place of a variable in the resource manager, as the attributes of a node name
// it: container, shared_name (or the node's name), dtype, shape.
//   ASSIGN_OR_RETURN(RefPtr<Variable> variable, slot.Get(*ctx.step().resources));
// The variable is made at the first use, uninitialized; after a reset of its container the next use
// makes a new one.
// Ownership: keeps names; the container and who asks share the variable.
// Threads: Get from any.
// Errors: InvalidArgument for a name that stands for a variable of another type; those of the
// attributes and the container.
#pragma once

#include <string>
#include <utility>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/variable.h"

namespace thalweg {

class VariableSlot {
 public:
  static Result<VariableSlot> Make(const KernelConstruction& c) {
    VariableSlot slot;
    ASSIGN_OR_RETURN(slot.container_, c.Attr<std::string>("container"));
    ASSIGN_OR_RETURN(slot.name_, c.Attr<std::string>("shared_name"));
    ASSIGN_OR_RETURN(slot.dtype_, c.Attr<DType>("dtype"));
    ASSIGN_OR_RETURN(slot.shape_, c.Attr<PartialShape>("shape"));
    if (slot.name_.empty()) slot.name_ = c.node().name();
    if (c.node().op_name() == "Variable" && slot.shape_.rank() == 0) slot.shape_ = PartialShape();
    return slot;
  }

  // One that is in no container.
  RefPtr<Variable> New() const {
    return RefPtr<Variable>::Adopt(std::make_unique<Variable>(name_, dtype_, shape_).release());
  }

  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }

  // InvalidArgument when the name stands for a variable of another type.
  Result<RefPtr<Variable>> Get(ResourceManager& resources) const {
    ASSIGN_OR_RETURN(RefPtr<Variable> variable,
                     resources.LookupOrCreate<Variable>(
                         container_, name_, [&]() -> Result<RefPtr<Variable>> { return New(); }));
    if (variable->dtype() != dtype_) {
      return InvalidArgument("variable '", name_, "' has type ", variable->dtype(),
                             ", this node says ", dtype_);
    }
    return variable;
  }

 private:
  std::string container_;
  std::string name_;
  DType dtype_ = DType::kInvalid;
  PartialShape shape_;
};

}  // namespace thalweg
