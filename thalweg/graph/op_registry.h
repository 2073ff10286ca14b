// SPDX-License-Identifier: Apache-2.0
// OpRegistry: every operation by name: its schema, shape function and gradient. The schemas of the
// instruction set are data linked into the library and parsed when first asked for; operations with
// a kernel here add their functions:
//
//   THALWEG_OP(matmul) {  // ops/math/matmul_op.cc; defines RegisterOp_matmul(OpRegistry&)
//     registry.Op("MatMul")
//         .Shape(MatMulShape)
//         .Gradient(MatMulGradient)
//         .Doc("Product of two matrices.");
//     registry.Op("Rank").Shape(ScalarShape).NotDifferentiable(
//         "the rank does not depend on the values");
//   }
//
// An operation is registered once. After a second time every Find returns the error, which names
// both places, and the first registration stands.
// Ownership: entries live as long as the registry and never move.
// Threads: registration happens before the registry is shared, except Define (a user's shared
// object), which may race with Find.
// Errors: Find: NotFound with the nearest names, or that of status(); AlreadyExists for a second
// registration; Define: InvalidArgument for a bad schema.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/source_line.h"
#include "thalweg/base/status.h"
#include "thalweg/graph/op_def.h"

namespace thalweg {

class ShapeContext;
class GradientContext;
using ShapeFn = Status (*)(ShapeContext&);
using GradientFn = Status (*)(GradientContext&);

struct OpEntry {
  OpDef def;
  ShapeFn shape = nullptr;        // null: outputs have unknown shapes
  GradientFn gradient = nullptr;  // null: see not_differentiable
  std::string
      not_differentiable;  // why there is no gradient; empty with gradient == nullptr: nobody said
  std::string doc;         // one line
  void* user_data = nullptr;  // of operations that come in through the C ABI
  SourceLine registered_at;   // no file: only its schema is known
};

class OpRegistry {
 public:
  OpRegistry();
  ~OpRegistry();
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  // NotFound with the nearest names when no such operation exists. The error of status().
  Result<const OpEntry*> Find(std::string_view name) const;
  // All names, sorted.
  std::vector<std::string_view> Names() const;
  // Adds an operation that the instruction set does not have. AlreadyExists, or InvalidArgument for
  // a bad schema.
  Status Define(OpDef def, ShapeFn shape, GradientFn gradient, void* user_data = nullptr,
                SourceLine where = SourceLine::Here());

  class Registration {
   public:
    explicit Registration(OpEntry* entry) : entry_(entry) {}
    Registration& Shape(ShapeFn fn);
    Registration& Gradient(GradientFn fn);
    Registration& NotDifferentiable(std::string_view why);
    Registration& Doc(std::string_view line);

   private:
    OpEntry* entry_;
  };
  // The instruction set must have the operation (CHECK: the caller is our own code).
  Registration Op(std::string_view name, SourceLine where = SourceLine::Here());
  // AlreadyExists when an operation was registered twice.
  Status status() const;
  // Names that were given a shape function, a gradient or a reason: those this library implements.
  std::vector<std::string_view> RegisteredNames() const;
  // One line for each registered operation that owes a shape function, a gradient or a reason for
  // none, or its doc line; empty when all is well. For the test of the full registry.
  std::string UnfinishedRegistrations() const;

 private:
  OpEntry* FindOrParse(std::string_view name) const;

  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<OpEntry>, std::less<>> entries_;
  Status status_;
  std::vector<std::unique_ptr<OpEntry>> refused_;  // what second registrations fill in vain
};

}  // namespace thalweg

#define THALWEG_OP(STEM)                        \
  namespace thalweg {                           \
  void RegisterOp_##STEM(OpRegistry& registry); \
  }                                             \
  void thalweg::RegisterOp_##STEM([[maybe_unused]] ::thalweg::OpRegistry& registry)
