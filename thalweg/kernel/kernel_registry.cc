// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "thalweg/base/first_error.h"
#include "thalweg/kernel/heap_claim.h"

namespace thalweg {
namespace {

bool Matches(const KernelEntry& entry, const Node& node) {
  return std::all_of(entry.types.begin(), entry.types.end(), [&](const auto& type) {
    const AttrValue* value = node.FindAttr(type.first);
    return value != nullptr && value->kind() == AttrValue::Kind::kType &&
           *value->Get<DType>() == type.second;
  });
}

std::string TypesText(const std::vector<std::pair<std::string, DType>>& types) {
  std::string out;
  for (const auto& [attr, dtype] : types) out += StrCat(out.empty() ? "" : ", ", attr, "=", dtype);
  return out.empty() ? "any type" : out;
}

// Types first: most entries of an operation differ in them.
bool IsSameKernel(const KernelEntry& a, const KernelEntry& b) {
  const auto by_type = [](const auto& x, const auto& y) {
    return x.second == y.second && x.first == y.first;
  };
  return std::is_permutation(a.types.begin(), a.types.end(), b.types.begin(), b.types.end(),
                             by_type) &&
         a.device_type == b.device_type;
}

// The types of the node's attributes that kernels of this operation ask about.
std::string NodeTypes(const Node& node, const std::set<std::string>& attrs) {
  std::vector<std::pair<std::string, DType>> types;
  for (const std::string& attr : attrs) {
    const AttrValue* value = node.FindAttr(attr);
    if (value != nullptr && value->kind() == AttrValue::Kind::kType)
      types.emplace_back(attr, *value->Get<DType>());
  }
  return types.empty() ? std::string() : StrCat(" for ", TypesText(types));
}

// What is wrong comes first, as where a kernel fails: TensorFlow's words, which programs look for.
Status MakingError(const Status& error, const Node& node) {
  std::string text =
      StrCat(error.message(), "\n\t [[", node.Label(), ", when its kernel was made]]");
  if (node.site() != 0) text += StrCat(" (created at ", node.graph().Site(node.site()), ")");
  return Status(error.code(), std::move(text));
}

}  // namespace

KernelRegistry::Registration KernelRegistry::AddEntry(std::string_view op,
                                                      std::string_view device_type,
                                                      std::span<const KernelType> types,
                                                      KernelFactory factory, bool is_async,
                                                      SourceLine where) {
  KernelEntry entry;
  entry.op = op;
  entry.device_type = device_type;
  for (const auto& [attr, type] : types) entry.types.emplace_back(attr, type);
  entry.registered_at = where;
  entry.factory = factory;
  entry.is_async = is_async;
  return Registration(InsertOrRefuse(std::move(entry)));
}

Result<KernelEntry*> KernelRegistry::Insert(std::unique_ptr<KernelEntry>& entry) {
  std::unique_lock lock(mutex_);
  const auto [begin, end] = entries_.equal_range(entry->op);
  for (auto it = begin; it != end; ++it) {
    const KernelEntry& known = *it->second;
    if (!IsSameKernel(known, *entry)) continue;
    return AlreadyExists("a kernel for ", known.op, " on ", known.device_type, " with ",
                         TypesText(known.types), " exists already: it was registered in ",
                         known.registered_at, " and then in ", entry->registered_at);
  }
  return entries_.emplace_hint(end, entry->op, std::move(entry))->second.get();
}

KernelEntry* KernelRegistry::InsertOrRefuse(KernelEntry entry) {
  auto owned = std::make_unique<KernelEntry>(std::move(entry));
  const Result<KernelEntry*> inserted = Insert(owned);
  if (inserted.ok()) return *inserted;
  KeepFirstError(inserted.status(), &status_);
  return refused_.emplace_back(std::move(owned)).get();
}

Status KernelRegistry::AddUserKernel(KernelEntry entry) {
  auto owned = std::make_unique<KernelEntry>(std::move(entry));
  return Insert(owned).status();
}

Status KernelRegistry::status() const { return status_; }

Result<const KernelEntry*> KernelRegistry::Find(const Node& node,
                                                std::string_view device_type) const {
  RETURN_IF_ERROR(status_);
  std::shared_lock lock(mutex_);
  const auto [begin, end] = entries_.equal_range(node.op_name());
  std::string known;
  std::set<std::string> attrs;
  for (auto it = begin; it != end; ++it) {
    const KernelEntry& entry = *it->second;
    if (entry.device_type == device_type && Matches(entry, node)) return &entry;
    known += StrCat(known.empty() ? "" : "; ", entry.device_type, ": ", TypesText(entry.types));
    for (const auto& [attr, dtype] : entry.types) attrs.insert(attr);
  }
  if (known.empty()) {
    return NotFound("no kernel is registered for operation ", node.op_name(), " (", node.Label(),
                    ") on any device", absence_note_.empty() ? "" : ": ", absence_note_);
  }
  return NotFound("no kernel is registered for ", node.Label(), NodeTypes(node, attrs),
                  " on device type ", device_type, "; registered: ", known);
}

Result<std::unique_ptr<Kernel>> KernelRegistry::Make(const Node& node, Device& device,
                                                     ResourceManager& resources) const {
  ASSIGN_OR_RETURN(const KernelEntry* entry, Find(node, device.type()));
  Result<std::unique_ptr<Kernel>> kernel =
      entry->factory(KernelConstruction(node, device, resources));
  if (!kernel.ok()) return MakingError(kernel.status(), node);
  return WithHeapClaim(*std::move(kernel), node.op_name());
}

std::vector<const KernelEntry*> KernelRegistry::Entries() const {
  std::shared_lock lock(mutex_);
  std::vector<const KernelEntry*> all;
  all.reserve(entries_.size());
  for (const auto& [op, entry] : entries_) all.push_back(entry.get());
  return all;
}

}  // namespace thalweg
