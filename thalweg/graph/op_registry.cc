// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"

#include <algorithm>

#include "thalweg/base/check.h"
#include "thalweg/base/first_error.h"
#include "thalweg/graph/nearest_names.h"
#include "thalweg/graph/op_table.h"

namespace thalweg {
namespace {

// Not one whose schema alone was defined: its functions come next.
bool HasFunctions(const OpEntry& entry) {
  return entry.shape != nullptr || entry.gradient != nullptr || !entry.not_differentiable.empty() ||
         !entry.doc.empty();
}

// A schema that nobody has registered is known from the instruction set.
Status Taken(const OpEntry& entry, SourceLine where) {
  if (entry.registered_at.file == nullptr) {
    return AlreadyExists(
        "operation '", entry.def.name,
        "' exists already; choose another name: it belongs to the instruction set");
  }
  return AlreadyExists("operation '", entry.def.name, "' exists already: it was registered in ",
                       entry.registered_at, " and then in ", where);
}

}  // namespace

OpRegistry::OpRegistry() = default;
OpRegistry::~OpRegistry() = default;

OpEntry* OpRegistry::FindOrParse(std::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::optional<OpDef> def = ReadOpTable(name);
    if (!def.has_value()) return nullptr;
    auto entry = std::make_unique<OpEntry>();
    entry->def = *std::move(def);
    found = entries_.emplace(name, std::move(entry)).first;
  }
  return found->second.get();
}

Result<const OpEntry*> OpRegistry::Find(std::string_view name) const {
  RETURN_IF_ERROR(status());
  const OpEntry* entry = FindOrParse(name);
  if (entry != nullptr) return entry;
  NearestNames near(name);
  for (std::string_view candidate : Names()) near.Add(candidate);
  return NotFound("Op type not registered '", name, "'", near.ToString());
}

std::vector<std::string_view> OpRegistry::Names() const {
  std::vector<std::string_view> names;
  names.reserve(kOpCount);
  for (uint32_t i = 0; i < kOpCount; ++i) names.push_back(OpTableName(i));
  const auto table_end = static_cast<std::ptrdiff_t>(names.size());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (!std::binary_search(names.begin(), names.begin() + table_end, name)) {
        names.push_back(name);
      }
    }
  }
  std::inplace_merge(names.begin(), names.begin() + table_end, names.end());
  return names;
}

Status OpRegistry::Define(OpDef def, ShapeFn shape, GradientFn gradient, void* user_data,
                          SourceLine where) {
  RETURN_IF_ERROR(ValidateOpDef(def));
  if (const OpEntry* const taken = FindOrParse(def.name); taken != nullptr) {
    return Taken(*taken, where);
  }
  auto entry = std::make_unique<OpEntry>();
  entry->def = std::move(def);
  entry->shape = shape;
  entry->gradient = gradient;
  entry->user_data = user_data;
  entry->registered_at = where;
  std::string name = entry->def.name;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto [place, is_new] = entries_.try_emplace(name, std::move(entry));
  return is_new ? OkStatus() : Taken(*place->second, where);
}

OpRegistry::Registration OpRegistry::Op(std::string_view name, SourceLine where) {
  OpEntry* entry = FindOrParse(name);
  CHECK(entry != nullptr);
  if (HasFunctions(*entry)) {
    KeepFirstError(Taken(*entry, where), &status_);
    return Registration(refused_.emplace_back(std::make_unique<OpEntry>()).get());
  }
  entry->registered_at = where;
  return Registration(entry);
}

Status OpRegistry::status() const { return status_; }

std::vector<std::string_view> OpRegistry::RegisteredNames() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entries_) {
    if (entry->shape != nullptr || entry->gradient != nullptr ||
        !entry->not_differentiable.empty()) {
      names.push_back(name);
    }
  }
  return names;
}

std::string OpRegistry::UnfinishedRegistrations() const {
  std::string text;
  for (std::string_view name : RegisteredNames()) {
    const OpEntry& entry = *FindOrParse(name);
    std::string owed;
    if (entry.shape == nullptr) owed.append("; no shape function");
    if (entry.gradient == nullptr && entry.not_differentiable.empty()) {
      owed.append("; no gradient and no reason for none");
    }
    if (entry.doc.empty()) owed.append("; no doc line");
    if (!owed.empty()) text.append(StrCat(name, ":", owed.substr(1), "\n"));
  }
  return text;
}

OpRegistry::Registration& OpRegistry::Registration::Shape(ShapeFn fn) {
  entry_->shape = fn;
  return *this;
}
OpRegistry::Registration& OpRegistry::Registration::Gradient(GradientFn fn) {
  entry_->gradient = fn;
  return *this;
}
OpRegistry::Registration& OpRegistry::Registration::NotDifferentiable(std::string_view why) {
  entry_->not_differentiable = why;
  return *this;
}
OpRegistry::Registration& OpRegistry::Registration::Doc(std::string_view line) {
  entry_->doc = line;
  return *this;
}

}  // namespace thalweg
