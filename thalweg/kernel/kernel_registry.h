// SPDX-License-Identifier: Apache-2.0
// KernelRegistry: which kernels exist, by operation, device type and types of the attributes.
//
//   THALWEG_KERNEL(neg, cpu) {  // ops/math/neg_cpu.cc; defines RegisterKernel_neg_cpu(registry)
//     ForEachType<FloatTypes>([&]<class T> {
//       registry.Add<NegCpu<T>>("Neg", kCpu, {{"T", kDTypeOf<T>}});
//     });
//     registry.Add<NoOpCpu>("NoOp", kCpu).Cost(KernelCost::kCheap);
//   }
//
// A kernel class has `static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction&)`, or
// a default constructor, or one that takes a const KernelConstruction&.
// A kernel of an operation, device type and types is registered once. After a second time every
// Find returns the error, which names both places, and the first registration stands.
// Ownership: entries live as long as the registry and never move; a kernel is the caller's.
// Threads: registration happens before the registry is shared, except AddUserKernel, which may race
// with Find.
// Errors: Find: NotFound with the types and devices that have a kernel, or that of status();
// AlreadyExists for a second registration; Make: those of the kernel's constructor too.
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/source_line.h"
#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/kernel/device.h"
#include "thalweg/kernel/kernel.h"

namespace thalweg {

inline constexpr std::string_view kCpu = "CPU";

// What a kernel is made from.
class KernelConstruction {
 public:
  KernelConstruction(const Node& node, Device& device, ResourceManager& resources)
      : node_(node), device_(device), resources_(resources) {}
  const Node& node() const { return node_; }
  Device& device() const { return device_; }
  ResourceManager& resources() const { return resources_; }
  template <class T>
  Result<T> Attr(std::string_view name) const {
    return node_.Attr<T>(name);
  }
  DType input_type(int i) const { return node_.input_type(i); }
  DType output_type(int i) const { return node_.output_type(i); }

 private:
  const Node& node_;
  Device& device_;
  ResourceManager& resources_;
};

// Decides what becomes part of a basic block. kBySize: cheap for small inputs, expensive
// for large ones.
enum class KernelCost : uint8_t { kCheap, kBySize, kExpensive };

using KernelFactory = Result<std::unique_ptr<Kernel>> (*)(const KernelConstruction&);

// An attribute of the operation, and the one type of it that a kernel is for.
struct KernelType {
  std::string_view attr;
  DType type;
};

struct KernelEntry {
  std::string op;
  std::string device_type;
  std::vector<std::pair<std::string, DType>> types;  // as KernelType
  KernelFactory factory = nullptr;
  KernelCost cost = KernelCost::kBySize;
  bool is_async = false;
  // Arguments of the operation, inputs and outputs, that live in host memory where the device's
  // own memory is another. Strings, resources and variants do everywhere.
  std::vector<std::string> host_memory;
  bool keeps_state = false;  // one object per session and node, shared by all plans (random
                             // streams, queues' kernels)
  SourceLine registered_at;
};

class KernelRegistry {
 public:
  // Options of the kernel just added.
  class Registration {
   public:
    explicit Registration(KernelEntry* entry) : entry_(entry) {}
    Registration& Cost(KernelCost cost) {
      entry_->cost = cost;
      return *this;
    }
    Registration& KeepsState() {
      entry_->keeps_state = true;
      return *this;
    }
    // Shapes, axes, sizes: what Compute reads, or makes, on the host (KernelEntry::host_memory).
    Registration& HostMemory(std::initializer_list<std::string_view> arguments) {
      entry_->host_memory.assign(arguments.begin(), arguments.end());
      return *this;
    }

   private:
    KernelEntry* entry_;
  };

  KernelRegistry() = default;
  KernelRegistry(const KernelRegistry&) = delete;
  KernelRegistry& operator=(const KernelRegistry&) = delete;

  template <class K>
  Registration Add(std::string_view op, std::string_view device_type,
                   std::initializer_list<KernelType> types = {},
                   SourceLine where = SourceLine::Here()) {
    return AddEntry(op, device_type, types, Factory<K>, std::derived_from<K, AsyncKernel>, where);
  }
  template <class K>
  Registration Add(std::string_view op, std::string_view device_type,
                   const std::vector<KernelType>& types, SourceLine where = SourceLine::Here()) {
    return AddEntry(op, device_type, types, Factory<K>, std::derived_from<K, AsyncKernel>, where);
  }
  // A stateless kernel that is one function.
  template <Status (*F)(Context&)>
  Registration AddFunction(std::string_view op, std::string_view device_type,
                           std::initializer_list<KernelType> types = {},
                           SourceLine where = SourceLine::Here()) {
    return AddEntry(op, device_type, types, Factory<FunctionKernel<F>>, false, where);
  }
  // From outside the library: AlreadyExists when the same kernel is there.
  Status AddUserKernel(KernelEntry entry);

  // Why operations may have no kernel at all here: what Find says of such a one.
  void SetAbsenceNote(std::string_view note) { absence_note_ = note; }

  // AlreadyExists when a kernel was registered twice.
  Status status() const;

  // The kernel for this node on a device of the type. NotFound lists the types and devices that do
  // have one. The error of status().
  Result<const KernelEntry*> Find(const Node& node, std::string_view device_type) const;
  // Find and construct.
  Result<std::unique_ptr<Kernel>> Make(const Node& node, Device& device,
                                       ResourceManager& resources) const;
  // All entries, by operation.
  std::vector<const KernelEntry*> Entries() const;

 private:
  template <Status (*F)(Context&)>
  struct FunctionKernel : Kernel {
    Status Compute(Context& ctx) override { return F(ctx); }
  };
  template <class K>
  static Result<std::unique_ptr<Kernel>> Factory(const KernelConstruction& c) {
    if constexpr (requires { K::Create(c); }) {
      return K::Create(c);
    } else if constexpr (std::constructible_from<K, const KernelConstruction&>) {
      return std::unique_ptr<Kernel>(std::make_unique<K>(c));
    } else {
      return std::unique_ptr<Kernel>(std::make_unique<K>());
    }
  }

  // Not inline, and cold: a thousand kernels are registered, once each.
  [[gnu::cold]] Registration AddEntry(std::string_view op, std::string_view device_type,
                                      std::span<const KernelType> types, KernelFactory factory,
                                      bool is_async, SourceLine where);
  // Moves the entry in unless there is one like it.
  Result<KernelEntry*> Insert(std::unique_ptr<KernelEntry>& entry);
  KernelEntry* InsertOrRefuse(KernelEntry entry);

  mutable std::shared_mutex mutex_;
  std::multimap<std::string, std::unique_ptr<KernelEntry>, std::less<>> entries_;
  Status status_;
  std::string absence_note_;
  std::vector<std::unique_ptr<KernelEntry>> refused_;  // whose options are set in vain
};

}  // namespace thalweg

#define THALWEG_KERNEL(STEM, DEVICE)                               \
  namespace thalweg {                                              \
  void RegisterKernel_##STEM##_##DEVICE(KernelRegistry& registry); \
  }                                                                \
  void thalweg::RegisterKernel_##STEM##_##DEVICE(                  \
      [[maybe_unused]] ::thalweg::KernelRegistry& registry)
