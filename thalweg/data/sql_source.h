// SPDX-License-Identifier: Apache-2.0
// The rows that a query of a database gives.
//
//   ASSIGN_OR_RETURN(DatasetPtr rows, SqlDataset("sqlite", path, "SELECT x FROM t", spec));
//
// Ownership: a dataset owns its texts; a pass owns its query.
// Threads: datasets from any, stages as stage.h says.
// Errors: InvalidArgument for other drivers, types that no column can be of, queries that are none;
// Unimplemented where libthalweg_sqlite.so is not beside the library.
#pragma once

#include <string>

#include "thalweg/data/dataset.h"

namespace thalweg {

Result<DatasetPtr> SqlDataset(const std::string& driver, std::string database, std::string query,
                              ElementSpec spec);

}  // namespace thalweg
