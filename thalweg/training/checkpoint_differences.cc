// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/checkpoint_differences.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "thalweg/io/tensor_slice.h"

namespace thalweg {
namespace {

using Kind = RestoreDifference::Kind;

// The shape that the whole tensor must have in the checkpoint.
Result<PartialShape> WholeShape(const RestoredTensor& row) {
  if (row.slice.empty()) return row.shape;
  Shape whole;
  TensorSlice box;
  RETURN_IF_ERROR(ParseShapeAndSlice(row.slice, &whole, &box).WithContext(row.name));
  return PartialShape(whole);
}

std::string_view Title(Kind kind) {
  switch (kind) {
    case Kind::kMissing:
      return "missing in the checkpoint";
    case Kind::kExtra:
      return "only in the checkpoint";
    case Kind::kShape:
      return "of another shape";
    case Kind::kType:
      return "of another type";
  }
  return "";
}

std::string Describe(const RestoreDifference& one) {
  if (one.kind == Kind::kMissing) return StrCat("'", one.name, "' ", one.in_graph);
  if (one.kind == Kind::kExtra) return StrCat("'", one.name, "' ", one.in_checkpoint);
  return StrCat("'", one.name, "' ", one.in_checkpoint, ", not ", one.in_graph);
}

}  // namespace

bool CheckpointDifferences::fits() const {
  return std::ranges::all_of(all, [](const auto& one) { return one.kind == Kind::kExtra; });
}

Status CheckpointDifferences::ToStatus(const std::string& path) const {
  if (fits()) return OkStatus();
  std::string text;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool begins = i == 0 || all[i - 1].kind != all[i].kind;
    text += begins ? StrCat("; ", Title(all[i].kind), ": ") : ", ";
    text += Describe(all[i]);
  }
  const bool is_missing = all.front().kind == Kind::kMissing;
  return Status(
      is_missing ? Code::kNotFound : Code::kInvalidArgument,
      StrCat("checkpoint '", path, "' does not fit the graph, and nothing was restored", text));
}

Result<CheckpointDifferences> CompareCheckpoint(const CheckpointReader& reader,
                                                const std::vector<RestoredTensor>& rows) {
  CheckpointDifferences found;
  std::set<std::string_view> wanted;
  for (const RestoredTensor& row : rows) {
    const auto* const entry = reader.Find(row.name);
    ASSIGN_OR_RETURN(const PartialShape shape, WholeShape(row));
    const size_t before = found.all.size();
    const bool is_new = wanted.insert(row.name).second;  // slices of one tensor differ together
    if (entry == nullptr) {
      found.all.push_back(
          {Kind::kMissing, row.name, "", StrCat(row.value.dtype(), " ", shape.ToString())});
    } else {
      if (!shape.Admits(entry->shape)) {
        found.all.push_back(
            {Kind::kShape, row.name, StrCat(entry->shape), StrCat(shape.ToString())});
      }
      if (entry->dtype != row.value.dtype()) {
        found.all.push_back(
            {Kind::kType, row.name, StrCat(entry->dtype), StrCat(row.value.dtype())});
      }
    }
    found.row_fits.push_back(found.all.size() == before);
    if (!is_new) found.all.resize(before);
  }
  for (const auto& entry : reader.tensors()) {
    if (wanted.contains(entry.name)) continue;
    found.all.push_back({Kind::kExtra, entry.name, StrCat(entry.dtype, " ", entry.shape), ""});
  }
  const auto rank = [](const RestoreDifference& one) {
    constexpr int kRanks[] = {0, 3, 1, 2};  // what is extra comes last
    return std::tuple(kRanks[static_cast<int>(one.kind)], std::string_view(one.name));
  };
  std::ranges::stable_sort(found.all, {}, rank);
  return found;
}

}  // namespace thalweg
