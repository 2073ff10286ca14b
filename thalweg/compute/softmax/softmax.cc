// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/softmax/softmax.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/softmax/kernels.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;  // elements of a shard

template <class T>
const SoftmaxKernels<T>& KernelsOf(const IsaTable& isa) {
  if constexpr (std::is_same_v<T, float>) {
    return *isa.softmax_float;
  } else {
    return *isa.softmax_double;
  }
}

// Rows of one stored type as rows of T: in place when they are T, else through scratch.
template <class T>
class RowBuffer {
 public:
  RowBuffer(Work& work, const StorageType& type, int64_t n)
      : type_(type), half_(*work.isa().half), wide_(work, type.widen != nullptr ? n : 0) {}
  explicit operator bool() const { return static_cast<bool>(wide_); }

  const T* Read(const void* base, int64_t offset, int64_t n) const {
    const char* from = static_cast<const char*>(base) + offset * type_.size;
    if (type_.widen == nullptr) return reinterpret_cast<const T*>(from);
    type_.widen(half_, wide_.get(), from, n);
    return wide_.get();
  }
  // Where to put a row that Write then stores.
  T* Target(void* base, int64_t offset) const {
    if (type_.widen != nullptr) return wide_.get();
    return static_cast<T*>(base) + offset;
  }
  void Write(const T* row, void* base, int64_t offset, int64_t n) const {
    if (type_.narrow != nullptr)
      type_.narrow(half_, static_cast<char*>(base) + offset * type_.size, row, n);
  }

 private:
  const StorageType& type_;
  const HalfKernels& half_;
  Scratch<T> wide_;
};

template <class T>
Status SoftmaxRows(Work& work, const StorageType& type, bool log, int64_t rows, int64_t classes,
                   const void* logits, void* out) {
  const SoftmaxKernels<T>& k = KernelsOf<T>(work.isa());
  const int64_t grain = std::max<int64_t>(1, kGrain / classes);
  return ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    const RowBuffer<T> buffer(work, type, classes);
    if (!buffer) return false;
    for (int64_t row = shard * grain; row < std::min(rows, (shard + 1) * grain); ++row) {
      const int64_t offset = row * classes;
      const T* x = buffer.Read(logits, offset, classes);
      T* y = buffer.Target(out, offset);
      (log ? k.log_softmax : k.softmax)(y, x, classes);
      buffer.Write(y, out, offset, classes);
    }
    return true;
  });
}

Status RunSoftmax(Work& work, DType dtype, bool log, int64_t rows, int64_t classes,
                  const void* logits, void* out) {
  const StorageType type = StorageTypeOf(dtype);
  if (!type.ok || (type.compute != kEwFloat && type.compute != kEwDouble)) {
    return Unimplemented("softmax of elements of type ", dtype);
  }
  if (rows == 0 || classes == 0) return OkStatus();
  return type.compute == kEwFloat
             ? SoftmaxRows<float>(work, type, log, rows, classes, logits, out)
             : SoftmaxRows<double>(work, type, log, rows, classes, logits, out);
}

// One operand of a cross entropy: where rows begin and how their elements follow.
struct Operand {
  const void* data;
  int64_t row_stride, column_stride;
};

template <class T>
void StoreLoss(const StorageType& type, const HalfKernels& half, T value, int64_t row, void* loss) {
  if (type.narrow != nullptr) {
    type.narrow(half, static_cast<char*>(loss) + row * type.size, &value, 1);
  } else {
    static_cast<T*>(loss)[row] = value;
  }
}

// Calls body(row, x, grad) -> loss for every row; logits with column stride 0 are spread first.
template <class T, class Body>
Status ForCrossEntropyRows(Work& work, const StorageType& type, int64_t rows, int64_t classes,
                           const Operand& logits, void* loss, void* grad, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, classes));
  return ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    const RowBuffer<T> x_buffer(work, type, classes), grad_buffer(work, type, classes);
    Scratch<T> spread(work, logits.column_stride == 0 ? classes : 0), labels(work, classes);
    if (!x_buffer || !grad_buffer || !spread || !labels) return false;
    for (int64_t row = shard * grain; row < std::min(rows, (shard + 1) * grain); ++row) {
      const T* x = x_buffer.Read(logits.data, row * logits.row_stride,
                                 logits.column_stride == 0 ? 1 : classes);
      if (logits.column_stride == 0) {
        std::fill_n(spread.get(), classes, x[0]);
        x = spread.get();
      }
      T* g = grad_buffer.Target(grad, row * classes);
      StoreLoss(type, *work.isa().half, body(row, x, g, labels.get()), row, loss);
      grad_buffer.Write(g, grad, row * classes, classes);
    }
    return true;
  });
}

template <class T>
Status DenseRows(Work& work, const StorageType& type, int64_t rows, int64_t classes,
                 const CrossEntropyStrides& s, const void* logits, const void* labels, void* loss,
                 void* grad) {
  const SoftmaxKernels<T>& k = KernelsOf<T>(work.isa());
  const auto body = [&](int64_t row, const T* x, T* g, T* wide_labels) {
    const char* from = static_cast<const char*>(labels) + row * s.labels_row * type.size;
    const T* label = reinterpret_cast<const T*>(from);
    if (type.widen != nullptr) {
      type.widen(*work.isa().half, wide_labels, from, s.labels_column == 0 ? 1 : classes);
      label = wide_labels;
    }
    return k.dense(g, x, label, s.labels_column, classes);
  };
  return ForCrossEntropyRows<T>(work, type, rows, classes, {logits, s.logits_row, s.logits_column},
                                loss, grad, body);
}

int64_t LabelAt(DType type, const void* labels, int64_t row) {
  return type == DType::kInt32 ? static_cast<const int32_t*>(labels)[row]
                               : static_cast<const int64_t*>(labels)[row];
}

template <class T>
Status SparseRows(Work& work, const StorageType& type, int64_t rows, int64_t classes,
                  const void* logits, DType labels_type, const void* labels, void* loss,
                  void* grad) {
  const SoftmaxKernels<T>& k = KernelsOf<T>(work.isa());
  const auto body = [&](int64_t row, const T* x, T* g, T*) {
    return k.sparse(g, x, LabelAt(labels_type, labels, row), classes);
  };
  return ForCrossEntropyRows<T>(work, type, rows, classes, {logits, classes, 1}, loss, grad, body);
}

Status CheckType(DType dtype, const StorageType& type) {
  if (type.ok && (type.compute == kEwFloat || type.compute == kEwDouble)) return OkStatus();
  return Unimplemented("cross entropy of elements of type ", dtype);
}

Status ZeroLoss(const StorageType& type, int64_t rows, void* loss) {
  std::fill_n(static_cast<char*>(loss), rows * type.size, '\0');
  return OkStatus();
}

}  // namespace

Status Softmax(Work& work, DType dtype, int64_t rows, int64_t classes, const void* logits,
               void* out) {
  return RunSoftmax(work, dtype, false, rows, classes, logits, out);
}

Status LogSoftmax(Work& work, DType dtype, int64_t rows, int64_t classes, const void* logits,
                  void* out) {
  return RunSoftmax(work, dtype, true, rows, classes, logits, out);
}

Status CrossEntropy(Work& work, DType dtype, int64_t rows, int64_t classes,
                    const CrossEntropyStrides& strides, const void* logits, const void* labels,
                    void* loss, void* grad) {
  const StorageType type = StorageTypeOf(dtype);
  RETURN_IF_ERROR(CheckType(dtype, type));
  if (classes == 0) return ZeroLoss(type, rows, loss);
  return type.compute == kEwFloat
             ? DenseRows<float>(work, type, rows, classes, strides, logits, labels, loss, grad)
             : DenseRows<double>(work, type, rows, classes, strides, logits, labels, loss, grad);
}

Status SparseCrossEntropy(Work& work, DType dtype, int64_t rows, int64_t classes,
                          const void* logits, DType labels_type, const void* labels, void* loss,
                          void* grad) {
  const StorageType type = StorageTypeOf(dtype);
  RETURN_IF_ERROR(CheckType(dtype, type));
  if (labels_type != DType::kInt32 && labels_type != DType::kInt64) {
    return Unimplemented("cross entropy with labels of type ", labels_type);
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t label = LabelAt(labels_type, labels, row);
    if (label < 0 || label >= classes) {
      return InvalidArgument("Received a label value of ", label,
                             " which is outside the valid range of [0, ", classes, "), in row ",
                             row);
    }
  }
  return type.compute == kEwFloat
             ? SparseRows<float>(work, type, rows, classes, logits, labels_type, labels, loss, grad)
             : SparseRows<double>(work, type, rows, classes, logits, labels_type, labels, loss,
                                  grad);
}

}  // namespace thalweg::compute
