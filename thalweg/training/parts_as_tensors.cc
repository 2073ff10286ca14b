// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/parts_as_tensors.h"

#include <set>
#include <utility>

namespace thalweg {

PartsAsTensors::PartsAsTensors(Node* restore, std::vector<std::string> names,
                               std::vector<std::string> slices,
                               std::vector<std::string> names_of_parts)
    : restore_(restore),
      names_(std::move(names)),
      slices_(std::move(slices)),
      names_of_parts_(std::move(names_of_parts)) {}

const std::string* PartsAsTensors::PartOf(const RestoredTensor& row) const {
  if (row.value.node != restore_) return nullptr;
  const auto i = static_cast<size_t>(row.value.index);
  return i < names_.size() && names_of_parts_[i] != names_[i] ? &names_of_parts_[i] : nullptr;
}

void PartsAsTensors::Rename(const CheckpointReader& reader,
                            std::vector<RestoredTensor>* rows) const {
  std::set<std::string> in_parts;
  for (const RestoredTensor& row : *rows) {
    const std::string* const part = PartOf(row);
    if (part == nullptr || reader.Find(row.name) != nullptr) continue;
    if (reader.Find(*part) != nullptr) in_parts.insert(row.name);
  }
  for (RestoredTensor& row : *rows) {
    const std::string* const part = PartOf(row);
    if (part == nullptr || !in_parts.contains(row.name)) continue;
    row.name = *part;
    row.slice.clear();
  }
}

std::vector<Session::NamedTensor> PartsAsTensors::FeedsOf(
    const std::vector<RestoredTensor>& rows) const {
  std::vector<std::string> names = names_, slices = slices_;
  for (const RestoredTensor& row : rows) {
    if (PartOf(row) == nullptr) continue;
    const auto i = static_cast<size_t>(row.value.index);
    names[i] = row.name;
    slices[i] = row.slice;
  }
  if (names == names_) return {};
  const Shape size{std::ssize(names)};
  return {{restore_->input(1).ToString(), Tensor::Of<std::string>(names, size)},
          {restore_->input(2).ToString(), Tensor::Of<std::string>(slices, size)}};
}

}  // namespace thalweg
