// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/checkpoint_listing.h"

#include <algorithm>

#include "thalweg/files/tensor_elements.h"

namespace thalweg {
namespace {

void AppendStatistics(JsonWriter& json, const Tensor& value) {
  const TensorStatistics s = StatisticsOf(value);
  json.BeginObject();
  if (value.dtype() == DType::kString) json.Key("text_bytes").Number(s.text_bytes);
  if (s.numbers > 0) {
    json.Key("min").Number(s.min).Key("max").Number(s.max);
    json.Key("mean").Number(s.mean).Key("deviation").Number(s.deviation);
  }
  if (s.numbers + s.nans + s.infinities > 0) {
    json.Key("zeros").Number(s.zeros).Key("nans").Number(s.nans);
    json.Key("infinities").Number(s.infinities);
  }
  json.EndObject();
}

// In the object that is open.
void AppendKindAndStatistics(JsonWriter& json, const Tensor& value) {
  json.Key("dtype").Text(DTypeName(value.dtype())).Key("shape");
  AppendShapeJson(json, value.shape());
  json.Key("statistics");
  AppendStatistics(json, value);
}

}  // namespace

std::string DescribeTensor(const Tensor& value) {
  JsonWriter json;
  json.BeginObject();
  AppendKindAndStatistics(json, value);
  json.EndObject();
  return json.Take();
}

void AppendShapeJson(JsonWriter& json, const Shape& shape) {
  json.BeginList();
  for (const int64_t dim : shape.dims()) json.Number(dim);
  json.EndList();
}

std::string ListCheckpoint(const CheckpointReader& reader, const std::string& path) {
  JsonWriter json;
  json.BeginObject().Key("path").Text(path);
  json.Key("format").Text(reader.is_bundle() ? "V2" : "V1");
  uint64_t elements = 0, bytes = 0;
  json.Key("tensors").BeginList();
  for (const CheckpointReader::Entry& tensor : reader.tensors()) {
    const auto n = static_cast<uint64_t>(tensor.shape.num_elements());
    json.BeginObject().Key("name").Text(tensor.name);
    json.Key("dtype").Text(DTypeName(tensor.dtype)).Key("shape");
    AppendShapeJson(json, tensor.shape);
    json.Key("bytes");
    if (IsPlain(tensor.dtype)) {
      json.Number(n * DTypeSize(tensor.dtype));
      bytes += n * DTypeSize(tensor.dtype);
    } else {
      json.Null();
    }
    json.Key("slices").Number(tensor.slices).EndObject();
    elements += n;
  }
  json.EndList().Key("elements").Number(elements).Key("bytes").Number(bytes).EndObject();
  return json.Take();
}

Result<std::string> ShowTensor(const CheckpointReader& reader, const std::string& name,
                               int64_t limit) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  ASSIGN_OR_RETURN(const Tensor value, reader.Read(name, *allocator));
  JsonWriter json;
  json.BeginObject().Key("name").Text(name);
  AppendKindAndStatistics(json, value);
  json.Key("values").BeginList();
  const int64_t n = value.num_elements();
  for (int64_t i = 0; i < (limit < 0 ? n : std::min(n, limit)); ++i) {
    AppendElementJson(json, value, i);
  }
  json.EndList().Key("elements").Number(n).EndObject();
  return json.Take();
}

}  // namespace thalweg
