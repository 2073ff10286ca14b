// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "thalweg/base/cancelled_step.h"
#include "thalweg/tensor/allocated_block.h"
#include "thalweg/tensor/block_bytes.h"
#include "thalweg/tensor/construction.h"
#include "thalweg/tensor/dtype_words.h"
#include "thalweg/tensor/small_block.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/uncounted_bytes.h"

namespace thalweg {
namespace {

// The header of what no allocator has: strings that are the tensor's own, neither a view nor from
// outside, and elements in a block of malloc.
struct ChargedRep : TensorRep {
  std::atomic<bool> counted{false};  // the charge is what the tensor holds
  HeapCharge charge;
};

constexpr size_t WholeBlocks(size_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}
constexpr size_t kHeaderBytes = WholeBlocks(sizeof(TensorRep));
constexpr size_t kChargedHeaderBytes = WholeBlocks(sizeof(ChargedRep));
// The header of a tensor whose elements are behind it, or in an allocator's block.
constexpr size_t OwnHeaderBytes(DType dtype) {
  return dtype == DType::kString ? kChargedHeaderBytes : kHeaderBytes;
}
size_t OwnHeaderBytes(const TensorRep& rep) {
  return HasHostBlock(rep) ? kChargedHeaderBytes : OwnHeaderBytes(rep.dtype);
}

// How many it has made: all, unless the step of this thread ends before.
template <class T>
int64_t ConstructObjects(void* data, int64_t n) {
  constexpr int64_t kBetweenLooks = 1 << 14;
  int64_t made = 0;
  while (made < n && (made == 0 || !InterruptibleConstruction::IsToStop())) {
    const int64_t more = std::min(kBetweenLooks, n - made);
    std::uninitialized_value_construct_n(static_cast<T*>(data) + made, more);
    made += more;
  }
  return made;
}
template <class T>
void DestroyObjects(void* data, int64_t n) {
  std::destroy_n(static_cast<T*>(data), n);
}

int64_t ConstructElements(DType dtype, void* data, int64_t n) {
  switch (dtype) {
    case DType::kString:
      return ConstructObjects<std::string>(data, n);
    case DType::kResource:
      return ConstructObjects<ResourceHandle>(data, n);
    case DType::kVariant:
      return ConstructObjects<Variant>(data, n);
    default:
      return n;
  }
}

void DestroyElements(DType dtype, void* data, int64_t n) {
  switch (dtype) {
    case DType::kString:
      return DestroyObjects<std::string>(data, n);
    case DType::kResource:
      return DestroyObjects<ResourceHandle>(data, n);
    case DType::kVariant:
      return DestroyObjects<Variant>(data, n);
    default:
      return;
  }
}

// Bytes of one block that holds header and data, or 0 when they lie apart.
size_t JoinedBytes(DType dtype, size_t data_bytes) {
  const size_t header_bytes = OwnHeaderBytes(dtype);
  return data_bytes <= kMaxSmallBlock - header_bytes ? header_bytes + data_bytes : 0;
}

template <class Rep>
TensorRep* NewHeader(size_t block_bytes, DType dtype, const Shape& shape, int64_t n) {
  void* block = AllocateSmallBlock(block_bytes);
  if (block == nullptr) return nullptr;
  TensorRep* rep = new (block) Rep;
  rep->dtype = dtype;
  rep->shape = shape;
  rep->num_elements = n;
  return rep;
}

// The header of a tensor that has its elements itself, and room for those where it is `joined`.
TensorRep* NewOwnHeader(size_t joined, DType dtype, const Shape& shape, int64_t n, bool of_host) {
  const bool charged = dtype == DType::kString || (of_host && joined == 0);
  const size_t bytes = joined != 0 ? joined : charged ? kChargedHeaderBytes : kHeaderBytes;
  TensorRep* rep = charged ? NewHeader<ChargedRep>(bytes, dtype, shape, n)
                           : NewHeader<TensorRep>(bytes, dtype, shape, n);
  if (rep != nullptr) rep->data = reinterpret_cast<char*>(rep) + OwnHeaderBytes(dtype);
  return rep;
}

// The strings' own header; null for other types and strings from outside.
ChargedRep* TextRepOf(TensorRep* rep) {
  if (rep->owner != nullptr) rep = rep->owner;
  if (rep->dtype != DType::kString || rep->release != nullptr) return nullptr;
  return static_cast<ChargedRep*>(rep);
}

void DestroyHeader(TensorRep* rep, size_t bytes) {
  if (rep->owner == nullptr && rep->release == nullptr &&
      (rep->dtype == DType::kString || HasHostBlock(*rep))) {
    static_cast<ChargedRep*>(rep)->~ChargedRep();
  } else {
    rep->~TensorRep();
  }
  FreeSmallBlock(rep, bytes);
}

void DestroyRep(TensorRep* rep) {
  TensorRep* owner = rep->owner;
  size_t header_bytes = kHeaderBytes;
  if (owner != nullptr) {
    // A view: bytes and release are the owner's.
  } else if (rep->release != nullptr) {
    (*rep->release)();
    delete rep->release;
  } else {
    header_bytes = OwnHeaderBytes(*rep);
    DestroyElements(rep->dtype, rep->data, rep->num_elements);
    if (rep->allocator != nullptr) {
      rep->allocator->Deallocate(rep->data, rep->block_bytes);
    } else if (rep->block_bytes != 0) {
      std::free(rep->data);
    } else {
      header_bytes =
          JoinedBytes(rep->dtype, static_cast<size_t>(rep->num_elements) * DTypeStride(rep->dtype));
    }
  }
  DestroyHeader(rep, header_bytes);
  if (owner != nullptr) Unref(owner);
}

// A header that views `bytes_of`'s data. The owner is never a view itself, so chains do not grow.
// A view of a buffer from outside names `release` too, which is never its own to call: whoever asks
// whether the bytes may be overwritten then learns it from the view's header alone.
TensorRep* NewView(TensorRep* bytes_of, DType dtype, const Shape& shape, void* data) {
  TensorRep* rep = NewHeader<TensorRep>(kHeaderBytes, dtype, shape, shape.num_elements());
  CHECK(rep != nullptr);
  rep->owner = bytes_of->owner != nullptr ? bytes_of->owner : bytes_of;
  Ref(rep->owner);
  rep->release = rep->owner->release;
  rep->data = data;
  return rep;
}

// Of this thread: how many resources are being deleted within one another, and those that wait.
struct ResourceDeletes {
  int depth = 0;
  std::vector<const Resource*>* waiting = nullptr;
};
thread_local constinit ResourceDeletes deletes;

// A graph makes chains of resources, each in a tensor that the one before it holds, as long as it
// likes. Those that are deep wait until the outermost is gone, so that the stack has an end.
void DeleteResource(const Resource* resource) {
  constexpr int kMaxDepth = 16;
  if (deletes.depth == kMaxDepth) return deletes.waiting->push_back(resource);
  if (deletes.depth > 0) {
    ++deletes.depth;
    delete resource;
    --deletes.depth;
    return;
  }
  std::vector<const Resource*> waiting;
  deletes = {.depth = 1, .waiting = &waiting};
  delete resource;
  while (!waiting.empty()) {
    const Resource* const next = waiting.back();
    waiting.pop_back();
    delete next;
  }
  deletes = {};
}

}  // namespace

void DestroyCounted(const Counted* object) {
  if (object->kind == Counted::Kind::kResource) {
    DeleteResource(static_cast<const Resource*>(object));
  } else {
    DestroyRep(const_cast<TensorRep*>(static_cast<const TensorRep*>(object)));
  }
}

Tensor Tensor::AdoptRep(TensorRep* rep) {
  return Tensor(Kind::kBuffer, rep->dtype, reinterpret_cast<uint64_t>(static_cast<Counted*>(rep)));
}

namespace {

struct Layout {
  int64_t n = 0;
  size_t bytes = 0;
};

Result<Layout> LayoutOf(DType dtype, const Shape& shape) {
  Layout layout;
  layout.n = shape.num_elements();
  if (__builtin_mul_overflow(static_cast<size_t>(layout.n), DTypeStride(dtype), &layout.bytes)) {
    return ResourceExhausted("a tensor of type ", dtype, " and shape ", shape,
                             " is larger than the address space");
  }
  return layout;
}

// The step has ended when so many elements were made.
Status GiveUp(TensorRep* rep, int64_t made) {
  rep->num_elements = made;
  Unref(rep);
  return CancelledStep();
}

std::string AllocationWords(DType dtype, const Shape& shape) {
  return StrCat("OOM when allocating tensor with shape", shape, " and type ", DTypeWord(dtype));
}

}  // namespace

Result<Tensor> Tensor::Allocate(Allocator& allocator, DType dtype, const Shape& shape) {
  const size_t size = DTypeSize(dtype);
  if (shape.IsScalar() && size != 0 && size <= 8) return Tensor(Kind::kInline, dtype, 0);
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dtype, shape));
  const size_t joined = JoinedBytes(dtype, layout.bytes);
  TensorRep* rep = NewOwnHeader(joined, dtype, shape, layout.n, false);
  if (rep == nullptr) return AllocationError(allocator, layout.bytes);
  if (joined == 0) {
    rep->data = allocator.Allocate(layout.bytes);
    if (rep->data == nullptr) {
      DestroyHeader(rep, OwnHeaderBytes(dtype));
      return AllocationError(allocator, layout.bytes).WithContext(AllocationWords(dtype, shape));
    }
    rep->allocator = &allocator;
    rep->block_bytes = layout.bytes;
  }
  const int64_t made = ConstructElements(dtype, rep->data, layout.n);
  if (made < layout.n) return GiveUp(rep, made);
  return AdoptRep(rep);
}

Result<Tensor> Tensor::AllocateHost(DType dtype, const Shape& shape) {
  const size_t size = DTypeSize(dtype);
  if (shape.IsScalar() && size != 0 && size <= 8) return Tensor(Kind::kInline, dtype, 0);
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dtype, shape));
  const size_t joined = JoinedBytes(dtype, layout.bytes);
  TensorRep* rep = NewOwnHeader(joined, dtype, shape, layout.n, true);
  if (rep == nullptr) return ResourceExhausted("out of memory");
  if (joined == 0) {
    rep->block_bytes = WholeBlocks(layout.bytes);
    rep->data = std::aligned_alloc(kTensorAlignment, rep->block_bytes);
    if (rep->data == nullptr) {
      DestroyHeader(rep, kChargedHeaderBytes);
      return ResourceExhausted(AllocationWords(dtype, shape), ": out of memory: ", layout.bytes,
                               " bytes asked for");
    }
  }
  const int64_t made = ConstructElements(dtype, rep->data, layout.n);
  if (made < layout.n) return GiveUp(rep, made);
  return AdoptRep(rep);
}

namespace {

TensorRep* RepOf(const Tensor& tensor) {
  return static_cast<TensorRep*>(reinterpret_cast<Counted*>(tensor.payload_word()));
}

// Names the tensor whose strings there is no room for.
Status SetTextCharge(Allocator& allocator, ChargedRep& rep, size_t bytes) {
  Status status = rep.charge.Set(allocator, bytes);
  if (status.ok()) return status;
  return status.WithContext(StrCat("strings of a tensor of shape ", rep.shape));
}

ChargedRep* TextRepOf(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString || tensor.kind() != Tensor::Kind::kBuffer) return nullptr;
  return TextRepOf(RepOf(tensor));
}

// True for the first who comes. Who comes second does not wait: the first has counted, or says that
// there is no room.
bool IsFirstToCount(ChargedRep& rep) {
  return !rep.counted.load(std::memory_order_acquire) &&
         !rep.counted.exchange(true, std::memory_order_acq_rel);
}

}  // namespace

Status ClaimTextHeap(Allocator& allocator, Tensor& tensor, size_t bytes) {
  ChargedRep* const rep = TextRepOf(tensor);
  if (rep == nullptr || bytes == 0) return OkStatus();
  if (__builtin_add_overflow(bytes, rep->charge.bytes(), &bytes)) {
    return ResourceExhausted("strings longer than the address space");
  }
  return SetTextCharge(allocator, *rep, bytes);
}

Status ChargeTextHeap(Allocator& allocator, const Tensor& tensor) {
  ChargedRep* const rep = TextRepOf(tensor);
  if (rep == nullptr || !IsFirstToCount(*rep)) return OkStatus();
  size_t bytes = HasHostBlock(*rep) ? rep->block_bytes : 0;
  const auto* const texts = static_cast<const std::string*>(rep->data);
  for (int64_t i = 0; i < rep->num_elements; ++i) {
    bytes += TextHeapBytes(texts[i].capacity());
  }
  Status status = SetTextCharge(allocator, *rep, bytes);
  if (!status.ok()) rep->counted.store(false, std::memory_order_release);
  return status;
}

Status RechargeTextHeap(Allocator& allocator, Tensor& tensor) {
  if (ChargedRep* const rep = TextRepOf(tensor))
    rep->counted.store(false, std::memory_order_release);
  return ChargeTextHeap(allocator, tensor);
}

Status ChargeHostBlock(Allocator& allocator, const Tensor& tensor) {
  TensorRep* const rep = RepOf(tensor);
  if (rep->dtype == DType::kString) return ChargeTextHeap(allocator, tensor);
  auto& charged = static_cast<ChargedRep&>(*rep);
  if (!IsFirstToCount(charged)) return OkStatus();
  Status status = charged.charge.Set(allocator, rep->block_bytes);
  if (status.ok()) return status;
  charged.counted.store(false, std::memory_order_release);
  return status.WithContext(AllocationWords(rep->dtype, rep->shape));
}

size_t UncountedBytes(const Tensor& tensor) {
  if (tensor.kind() != Tensor::Kind::kBuffer) return 0;
  const TensorRep* const r = RepOf(tensor);
  if (r->refs.load(std::memory_order_acquire) != 1) return 0;
  const TensorRep* const holder = r->owner != nullptr ? r->owner : r;
  size_t bytes = r->owner != nullptr ? kHeaderBytes : 0;
  if (r->owner == nullptr || holder->refs.load(std::memory_order_acquire) == 1) {
    bytes += holder->release != nullptr ? kHeaderBytes : OwnHeaderBytes(*holder);
    const bool counted =
        HasHostBlock(*holder) && static_cast<const ChargedRep*>(holder)->counted.load();
    if (holder->allocator == nullptr && !counted) {
      bytes += static_cast<size_t>(holder->num_elements) * DTypeStride(holder->dtype);
    }
  }
  return bytes;
}

TensorBlock BlockOf(const Tensor& tensor) {
  if (tensor.kind() != Tensor::Kind::kBuffer) return {};
  const TensorRep* rep = RepOf(tensor);
  if (rep->owner != nullptr) rep = rep->owner;
  return {.address = rep->data,
          .bytes = static_cast<size_t>(rep->num_elements) * DTypeStride(rep->dtype),
          .allocator = rep->allocator};
}

Tensor Tensor::HostTensor(DType dtype, const Shape& shape) {
  Result<Tensor> tensor = AllocateHost(dtype, shape);
  CHECK(tensor.ok());
  return *std::move(tensor);
}

Tensor Tensor::FromBuffer(DType dtype, const Shape& shape, void* data,
                          std::function<void()> release) {
  TensorRep* rep = NewHeader<TensorRep>(kHeaderBytes, dtype, shape, shape.num_elements());
  CHECK(rep != nullptr);
  rep->data = data;
  rep->release = new std::function<void()>(std::move(release));
  return AdoptRep(rep);
}

Result<Tensor> AllocateBlock(Allocator& allocator, DType dtype, const Shape& shape) {
  if (!IsPlain(dtype)) {
    return InvalidArgument("elements of type ", dtype, " are objects, which live in host memory");
  }
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dtype, shape));
  const size_t bytes = std::max<size_t>(layout.bytes, 1);
  void* const block = allocator.Allocate(bytes);
  if (block == nullptr) {
    return AllocationError(allocator, bytes).WithContext(AllocationWords(dtype, shape));
  }
  Tensor tensor = Tensor::FromBuffer(dtype, shape, block, nullptr);
  TensorRep& rep = *RepOf(tensor);
  delete std::exchange(rep.release, nullptr);
  rep.allocator = &allocator;
  rep.block_bytes = bytes;
  return tensor;
}

Tensor Tensor::Reference(RefPtr<Resource> resource, DType dtype) {
  return Tensor(Kind::kReference, dtype,
                reinterpret_cast<uint64_t>(static_cast<Counted*>(resource.release())));
}

bool Tensor::SharesBufferWith(const Tensor& other) const {
  if (kind() != Kind::kBuffer || other.kind() != Kind::kBuffer) return false;
  const TensorRep* a = rep()->owner != nullptr ? rep()->owner : rep();
  const TensorRep* b = other.rep()->owner != nullptr ? other.rep()->owner : other.rep();
  return a == b;
}

Result<Tensor> Tensor::Reshaped(const Shape& new_shape) const {
  if (new_shape.num_elements() != num_elements()) {
    return InvalidArgument("cannot reshape ", num_elements(), " elements of shape ", shape(),
                           " to shape ", new_shape, " with ", new_shape.num_elements());
  }
  if (kind() == Kind::kInline) {
    if (new_shape.IsScalar()) return *this;
    ASSIGN_OR_RETURN(Tensor t, AllocateHost(dtype(), new_shape));
    std::memcpy(t.mutable_raw_data(), &payload_, DTypeSize(dtype()));
    return t;
  }
  if (new_shape.IsScalar() && IsPlain(dtype()) && DTypeSize(dtype()) <= 8) {
    uint64_t bits = 0;
    std::memcpy(&bits, raw_data(), DTypeSize(dtype()));
    return Tensor(Kind::kInline, dtype(), bits);
  }
  return AdoptRep(NewView(rep(), dtype(), new_shape, rep()->data));
}

Tensor Tensor::Rows(int64_t begin, int64_t end) const {
  Dims dims = rep()->shape.dims();
  const int64_t rows = dims[0];
  CHECK(begin >= 0 && begin <= end && end <= rows);
  const size_t row_bytes = rows == 0 ? 0 : bytes() / static_cast<size_t>(rows);
  dims[0] = end - begin;
  return AdoptRep(
      NewView(rep(), dtype(), Shape(std::move(dims)),
              static_cast<char*>(rep()->data) + static_cast<size_t>(begin) * row_bytes));
}

Result<Tensor> Tensor::Bitcast(DType to) const {
  if (!IsPlain(dtype()) || DTypeSize(dtype()) != DTypeSize(to)) {
    return InvalidArgument("cannot view elements of type ", dtype(), " as ", to, " in place");
  }
  if (kind() == Kind::kInline) return Tensor(Kind::kInline, to, payload_);
  return AdoptRep(NewView(rep(), to, rep()->shape, rep()->data));
}

Result<Tensor> Tensor::Clone(Allocator& allocator) const {
  if (kind() != Kind::kBuffer) return *this;
  ASSIGN_OR_RETURN(Tensor copy, Allocate(allocator, dtype(), rep()->shape));
  const int64_t n = num_elements();
  switch (dtype()) {
    case DType::kString:
      RETURN_IF_ERROR(ClaimTextHeap(allocator, copy, TextHeapBytes(flat<std::string>())));
      std::copy_n(data<std::string>(), n, copy.mutable_data<std::string>());
      break;
    case DType::kResource:
      std::copy_n(data<ResourceHandle>(), n, copy.mutable_data<ResourceHandle>());
      break;
    case DType::kVariant:
      std::copy_n(data<Variant>(), n, copy.mutable_data<Variant>());
      break;
    default:
      if (n > 0) std::memcpy(copy.mutable_raw_data(), raw_data(), bytes());
  }
  return copy;
}

namespace {

template <class T>
void AppendElement(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    out.append("'").append(value.substr(0, 40)).append(value.size() > 40 ? "...'" : "'");
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    AppendPart(out, static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    AppendPart(out, StrCat("(", value.real(), ",", value.imag(), ")"));
  } else if constexpr (std::is_same_v<T, int8_t>) {
    AppendPart(out, int{value});  // no character
  } else {
    AppendPart(out, value);
  }
}

}  // namespace

std::string Tensor::ToString() const {
  if (empty()) return "no tensor";
  std::string out = StrCat(dtype(), is_reference() ? "_ref" : "");
  if (is_reference()) return out;
  out.append(shape().ToString());
  const int64_t shown = std::min<int64_t>(num_elements(), 8);
  ForEachType<decltype(JoinTypes(PodTypes{}, Types<std::string>{}))>([&]<class T>() {
    if (dtype() != kDTypeOf<T>) return;
    for (int64_t i = 0; i < shown; ++i) {
      out.push_back(' ');
      AppendElement(out, data<T>()[i]);
    }
  });
  if (shown < num_elements()) out.append(" ...");
  return out;
}

}  // namespace thalweg
