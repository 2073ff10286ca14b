// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/value_field_proto.h"

namespace thalweg {

namespace tp = pb::TensorProto;

ValueField FieldOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return {tp::kFloatVal, 1, true, true};
    case DType::kDouble:
      return {tp::kDoubleVal, 1, true, true};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kUint8:
      return {tp::kIntVal, 1, true, true};
    case DType::kUint16:
    case DType::kQint8:
    case DType::kQuint8:
    case DType::kQint16:
    case DType::kQuint16:
    case DType::kQint32:
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
      return {tp::kIntVal};
    case DType::kInt64:
      return {tp::kInt64Val, 1, true, true};
    case DType::kUint32:
      return {tp::kUint32Val, 1, true, true};
    case DType::kUint64:
      return {tp::kUint64Val, 1, true, true};
    case DType::kHalf:
    case DType::kBfloat16:
      return {tp::kHalfVal, 1, false, true};
    case DType::kBool:
      return {tp::kBoolVal};
    case DType::kComplex64:
      return {tp::kScomplexVal, 2};
    case DType::kComplex128:
      return {tp::kDcomplexVal, 2};
    case DType::kString:
      return {tp::kStringVal};
    case DType::kResource:
      return {tp::kResourceHandleVal};
    case DType::kVariant:
      return {tp::kVariantVal};
    case DType::kFloat8E5m2:
    case DType::kFloat8E4m3fn:
    case DType::kFloat8E4m3fnuz:
    case DType::kFloat8E4m3b11fnuz:
    case DType::kFloat8E5m2fnuz:
      return {tp::kFloat8Val};
    case DType::kInvalid:
      break;
  }
  return {};
}

}  // namespace thalweg
