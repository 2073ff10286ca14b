// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/mutex.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/lookup_table.h"
#include "thalweg/tensor/dtype_words.h"

namespace thalweg {
namespace {

constexpr std::string_view TypeName(TableKind kind) {
  switch (kind) {
    case TableKind::kStatic:
      return "tensorflow::lookup::HashTable";
    case TableKind::kMutableDense:
      return "tensorflow::lookup::MutableDenseHashTable";
    default:
      return "tensorflow::lookup::MutableHashTable";
  }
}

// What attributes say of a table.
template <TableKind kKind>
Result<TableSpec> SpecOf(const KernelConstruction& c) {
  TableSpec spec;
  spec.kind = kKind;
  ASSIGN_OR_RETURN(spec.key_dtype, c.Attr<DType>("key_dtype"));
  ASSIGN_OR_RETURN(spec.value_dtype, c.Attr<DType>("value_dtype"));
  if (kKind != TableKind::kMutableOfTensors && kKind != TableKind::kMutableDense) return spec;
  ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("value_shape"));
  if (!shape.IsFullyDefined()) {
    return InvalidArgument("value_shape must be fully known, got ", shape);
  }
  spec.value_shape = shape.ToShape();
  if (kKind == TableKind::kMutableOfTensors && spec.value_shape.rank() > 1) {
    return InvalidArgument("Default value must be a vector, got shape ", spec.value_shape);
  }
  if (kKind != TableKind::kMutableDense) return spec;
  ASSIGN_OR_RETURN(const int64_t buckets, c.Attr<int64_t>("initial_num_buckets"));
  if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
    return InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ", buckets);
  }
  ASSIGN_OR_RETURN(const float load, c.Attr<float>("max_load_factor"));
  if (!(load > 0 && load < 1)) {
    return InvalidArgument("max_load_factor must be between 0 and 1, got: ", load);
  }
  spec.initial_buckets = buckets;
  spec.max_load = load;
  return spec;
}

template <TableKind kKind>
Result<RefPtr<LookupTable>> MakeTable(TableSpec spec, Context& ctx) {
  if (kKind == TableKind::kMutableDense) {
    spec.empty_key = ctx.input(0);
    if (ctx.num_inputs() > 1) spec.deleted_key = ctx.input(1);
  }
  return LookupTable::Make(std::move(spec));
}

// A table with a name, which steps and sessions share.
template <TableKind kKind>
class NamedTableCpu : public Kernel {
 public:
  NamedTableCpu(TableSpec spec, ResourceHandle::Place place, bool is_reference)
      : spec_(std::move(spec)), place_(std::move(place)), is_reference_(is_reference) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(TableSpec spec, SpecOf<kKind>(c));
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    ASSIGN_OR_RETURN(place.container, c.Attr<std::string>("container"));
    ASSIGN_OR_RETURN(place.name, c.Attr<std::string>("shared_name"));
    if (place.container.empty()) place.container = ResourceManager::kDefaultContainer;
    if (place.name.empty()) place.name = c.node().name();
    place.type_name = TypeName(kKind);
    const bool is_reference = c.output_type(0) == DType::kString;
    return std::unique_ptr<Kernel>(
        std::make_unique<NamedTableCpu>(std::move(spec), std::move(place), is_reference));
  }

  // The handle is made again only when the table is another one (its container was reset).
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(RefPtr<LookupTable> table, ctx.step().resources->LookupOrCreate<LookupTable>(
                                                    place_.container, place_.name,
                                                    [&] { return MakeTable<kKind>(spec_, ctx); }));
    const TableSpec& found = table->spec();
    if (found.key_dtype != spec_.key_dtype || found.value_dtype != spec_.value_dtype) {
      return InvalidArgument("Conflicting key/value dtypes ", DTypeWord(spec_.key_dtype), "->",
                             DTypeWord(spec_.value_dtype), " with ", DTypeWord(found.key_dtype),
                             "-", DTypeWord(found.value_dtype), " for table ", place_.name);
    }
    if (found.kind != kKind || !(found.value_shape == spec_.value_shape)) {
      return InvalidArgument("'", place_.name, "' is ", table->DebugString(),
                             ", this node says one from ", spec_.key_dtype, " to ",
                             spec_.value_dtype, spec_.value_shape);
    }
    if (is_reference_) {
      ctx.set_output(0,
                     Tensor::Reference(RefPtr<Resource>::Adopt(table.release()), DType::kString));
      return OkStatus();
    }
    MutexLock lock(mutex_);
    if (table.get() != table_) {
      table_ = table.get();
      handle_ = Tensor::Scalar(ResourceHandle(place_, RefPtr<Resource>::Adopt(table.release())));
    }
    ctx.set_output(0, handle_);
    return OkStatus();
  }

 private:
  const TableSpec spec_;
  const ResourceHandle::Place place_;
  const bool is_reference_;
  Mutex mutex_;
  Tensor handle_ GUARDED_BY(mutex_);
  LookupTable* table_ GUARDED_BY(mutex_) = nullptr;  // kept alive by handle_
};

// A new table in every step; it lives as long as its handle.
template <TableKind kKind>
class AnonymousTableCpu : public Kernel {
 public:
  AnonymousTableCpu(TableSpec spec, ResourceHandle::Place place)
      : spec_(std::move(spec)), place_(std::move(place)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(TableSpec spec, SpecOf<kKind>(c));
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    place.name = "anonymous";
    place.type_name = TypeName(kKind);
    return std::unique_ptr<Kernel>(
        std::make_unique<AnonymousTableCpu>(std::move(spec), std::move(place)));
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(RefPtr<LookupTable> table, MakeTable<kKind>(spec_, ctx));
    ctx.set_output(
        0, Tensor::Scalar(ResourceHandle(place_, RefPtr<Resource>::Adopt(table.release()))));
    return OkStatus();
  }

 private:
  const TableSpec spec_;
  const ResourceHandle::Place place_;
};

template <TableKind kKind>
void Add(KernelRegistry& registry, const std::string& name, DType key, DType value) {
  const std::initializer_list<KernelType> types = {{"key_dtype", key}, {"value_dtype", value}};
  registry.Add<NamedTableCpu<kKind>>(name, kCpu, types).Cost(KernelCost::kCheap);
  registry.Add<NamedTableCpu<kKind>>(name + "V2", kCpu, types).Cost(KernelCost::kCheap);
  registry.Add<AnonymousTableCpu<kKind>>("Anonymous" + name, kCpu, types);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(table_handle, cpu) {
  for (const DType key : {DType::kInt32, DType::kInt64, DType::kString}) {
    for (const DType value : {DType::kBool, DType::kFloat, DType::kDouble, DType::kInt32,
                              DType::kInt64, DType::kString, DType::kVariant}) {
      Add<TableKind::kMutable>(registry, "MutableHashTable", key, value);
      if (value != DType::kVariant) {
        Add<TableKind::kStatic>(registry, "HashTable", key, value);
        Add<TableKind::kMutableOfTensors>(registry, "MutableHashTableOfTensors", key, value);
      }
      Add<TableKind::kMutableDense>(registry, "MutableDenseHashTable", key, value);
    }
    Add<TableKind::kMutableDense>(registry, "MutableDenseHashTable", key, DType::kResource);
  }
}
