// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include "file_work.h"

namespace cli {

NamedArrays RunFetches(const tw::Model& model, const tw::ModelSignature& signature,
                       const NamedArrays& feeds, const std::vector<std::string>& fetches) {
  std::vector<const char*> fed;
  std::vector<TwTensor*> values, results(fetches.size());
  for (const auto& [name, value] : feeds) {
    fed.push_back(name.c_str());
    values.push_back(value.c());
  }
  const int32_t place = tw_model_find_signature(model.c(), signature.name.c_str(), nullptr);
  tw::internal::StatusHolder status;
  tw_model_fetch(model.c(), place, nullptr, fed.data(), values.data(),
                 static_cast<int32_t>(fed.size()), Pointers(fetches).data(),
                 static_cast<int32_t>(fetches.size()), results.data(), status.c);
  status.Take().OrThrow();
  NamedArrays arrays;
  for (size_t i = 0; i < results.size(); ++i) arrays.emplace_back(fetches[i], results[i]);
  return arrays;
}

std::vector<std::string> Recordable(const tw::Model& model, const tw::ModelSignature& signature) {
  const Json names = GetJson([&](TwStatus* status) -> TwBuffer* {
    const int32_t place = tw_model_find_signature(model.c(), signature.name.c_str(), status);
    return place < 0 ? nullptr : tw_model_recordable(model.c(), place, status);
  });
  return names.get<std::vector<std::string>>();
}

NamedArrays RecordStep(const tw::Model& model, const tw::ModelSignature& signature,
                       const NamedArrays& feeds) {
  NamedArrays recorded;
  for (const auto& [name, value] : feeds) recorded.emplace_back("in." + name, value);
  for (const auto& [name, value] :
       RunFetches(model, signature, feeds, Recordable(model, signature))) {
    if (HasNpyType(value.dtype())) recorded.emplace_back("out." + name, value);
  }
  return recorded;
}

}  // namespace cli
