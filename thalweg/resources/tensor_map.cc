// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_map.h"

#include <algorithm>
#include <string_view>

namespace thalweg {
namespace {

void AppendNumber(int64_t number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Different for keys that differ in type, shape or an element.
std::string BytesOf(const Tensor& key) {
  std::string bytes;
  AppendNumber(static_cast<int64_t>(key.dtype()), &bytes);
  AppendNumber(key.rank(), &bytes);
  for (int d = 0; d < key.rank(); ++d) AppendNumber(key.dim(d), &bytes);
  if (key.dtype() == DType::kString) {
    for (const std::string& text : key.flat<std::string>()) {
      AppendNumber(static_cast<int64_t>(text.size()), &bytes);
      bytes += text;
    }
  } else if (IsPlain(key.dtype())) {
    bytes.append(static_cast<const char*>(key.raw_data()), key.bytes());
  }
  return bytes;
}

Result<const TensorMap*> MapOf(const Tensor& x) {
  if (x.dtype() != DType::kVariant || x.rank() != 0) {
    return InvalidArgument("Input map must be a scalar. Saw: ", x.dtype(), x.shape());
  }
  const Variant& variant = x.scalar<Variant>();
  if (const auto* const map = variant.As<TensorMap>(); map != nullptr) return map;
  return InvalidArgument("Input handle is not a map. Saw: ", variant.get() == nullptr
                                                                 ? std::string("an empty variant")
                                                                 : variant.get()->DebugString());
}

}  // namespace

const Tensor* TensorMap::Find(const Tensor& key) const {
  const auto found = turns_.find(BytesOf(key));
  return found == turns_.end() ? nullptr : &entries_.find(found->second)->second.value;
}

Status TensorMap::Insert(const Tensor& key, Tensor value) {
  if (key.dtype() != DType::kString && !IsPlain(key.dtype())) {
    return InvalidArgument("a key of a map must be of numbers or strings, got ", key.dtype());
  }
  depth_ = std::max(depth_, DepthAround(value));
  RETURN_IF_ERROR(CheckDepth(*this));
  const auto [at, is_new] = turns_.try_emplace(BytesOf(key), next_turn_);
  if (is_new) {
    entries_.emplace(next_turn_++, Entry{key, std::move(value)});
  } else {
    entries_[at->second].value = std::move(value);
  }
  return OkStatus();
}

bool TensorMap::Erase(const Tensor& key) {
  const auto found = turns_.find(BytesOf(key));
  if (found == turns_.end()) return false;
  entries_.erase(found->second);
  turns_.erase(found);
  return true;
}

std::string TensorMap::DebugString() const { return StrCat("a map of ", size(), " keys"); }

Result<const TensorMap*> MapInput(Context& ctx, int i) { return MapOf(ctx.input(i)); }

Status SetMapOutput(Context& ctx, int i, std::shared_ptr<TensorMap> map) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, DType::kVariant, Shape()));
  *out->mutable_data<Variant>() = Variant(std::move(map));
  return OkStatus();
}

Result<MapUpdate> MapUpdate::Of(Context& ctx, int i) {
  RETURN_IF_ERROR(MapInput(ctx, i).status());
  Tensor taken = ctx.TakeInput(i);
  if (!taken.empty()) {
    const auto* const map = taken.scalar<Variant>().As<TensorMap>();
    if (map->weak_from_this().use_count() == 1) {
      // As in ListUpdate::Of: counting up acquires what other holders did before they let go.
      auto mine = std::const_pointer_cast<TensorMap>(map->shared_from_this());
      return MapUpdate(std::move(taken), std::move(mine));
    }
    return MapUpdate(Tensor(), std::make_shared<TensorMap>(*map));
  }
  ASSIGN_OR_RETURN(const TensorMap* const map, MapInput(ctx, i));
  return MapUpdate(Tensor(), std::make_shared<TensorMap>(*map));
}

Status MapUpdate::SetOutput(Context& ctx, int i) && {
  if (tensor_.empty()) return SetMapOutput(ctx, i, std::move(map_));
  map_.reset();
  ctx.set_output(i, std::move(tensor_));
  return OkStatus();
}

}  // namespace thalweg
