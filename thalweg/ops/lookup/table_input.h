// SPDX-License-Identifier: Apache-2.0
// TableInput: the table that input 0 leads to, by reference or by resource handle.
//   ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
//
// Ownership: the result holds a reference to the table.
// Threads: any.
// Errors: InvalidArgument for what is no table; those of Context::Resource.
#pragma once

#include "thalweg/kernel/context.h"
#include "thalweg/resources/lookup_table.h"

namespace thalweg {

inline Result<RefPtr<LookupTable>> TableInput(const Context& ctx) {
  const Tensor& input = ctx.input(0);
  if (!input.is_reference()) return ctx.Resource<LookupTable>(0);
  auto* const table = dynamic_cast<LookupTable*>(input.resource());
  if (table != nullptr) return RefPtr<LookupTable>::Share(table);
  return InvalidArgument("input 0 must lead to a table, got ", input.resource()->DebugString());
}

}  // namespace thalweg
