// SPDX-License-Identifier: Apache-2.0
// ArithmeticVariant: a variant value of a class that kernel/ does not know and that can be computed
// with: AddN, ZerosLike and Conj ask it.
//
//   class Ragged : public ArithmeticVariant {
//     Result<Variant> Plus(Context& ctx, const VariantValue& other) const override;
//   };
//
// One that holds tensors says how deep they are (nested_variant.h).
// Ownership: a result is a new value.
// Threads: any, as the value is immutable.
// Errors: InvalidArgument for a value of another class or size; Unimplemented for what a class does
// not say.
#pragma once

#include "thalweg/kernel/context.h"
#include "thalweg/resources/nested_variant.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {

class ArithmeticVariant : public NestedVariant {
 public:
  int depth() const override { return 1; }
  virtual Result<Variant> Plus(Context&, const VariantValue&) const { return Unknown("ADD"); }
  virtual Result<Variant> Zeros(Context&) const { return Unknown("ZEROS_LIKE"); }
  virtual Result<Variant> Conjugate(Context&) const { return Unknown("CONJ"); }

 private:
  Status Unknown(std::string_view what) const {
    return Unimplemented("a variant of type ", TypeName(), " has no ", what);
  }
};

}  // namespace thalweg
