// SPDX-License-Identifier: Apache-2.0
// DescribeModel: what a model is made of, as JSON: kind, tags, signatures, variables with their
// sizes, operations with and without a kernel.
//
//   ASSIGN_OR_RETURN(std::string json, DescribeModel(*model));
//
// Operations are counted in the graph and once in each function. One that has no kernel can stand
// in a graph; what needs it fails when it is planned.
// Ownership: the text is the caller's.
// Threads: any.
// Errors: InvalidArgument for a function that cannot be read.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/model/model.h"

namespace thalweg {

Result<std::string> DescribeModel(const Model& model);

}  // namespace thalweg
