// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/sql_source.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

Result<DatasetPtr> MakeSql(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const std::string driver, TextArgument(ctx, 0, "driver_name"));
  ASSIGN_OR_RETURN(std::string database, TextArgument(ctx, 1, "data_source_name"));
  ASSIGN_OR_RETURN(std::string query, TextArgument(ctx, 2, "query"));
  return SqlDataset(driver, std::move(database), std::move(query), attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_sql, cpu) {
  AddDataset<MakeSql>(registry, "SqlDataset");
  AddDataset<MakeSql>(registry, "ExperimentalSqlDataset");
}
