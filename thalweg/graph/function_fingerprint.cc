// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_fingerprint.h"

#include <map>
#include <string>

#include "thalweg/base/fingerprint.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace fd = pb::FunctionDef;
namespace nd = pb::NodeDef;
namespace av = pb::AttrValue;

class Mixer {
 public:
  void Mix(uint64_t value) {
    const uint64_t both[] = {hash_, value};
    hash_ = Fingerprint64({reinterpret_cast<const char*>(both), sizeof(both)});
  }
  void Mix(std::string_view text) { Mix(Fingerprint64(text)); }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

std::string_view AfterLastSlash(std::string_view text) {
  const size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

// What cannot be serialized is none of a graph's.
void MixBytes(Mixer& mixer, const Message& message) {
  const Result<std::string> bytes = Serialize(message);
  if (bytes.ok()) mixer.Mix(*bytes);
}

bool Counts(std::string_view attr) { return !attr.starts_with('_') && attr != "token"; }

class Reader {
 public:
  explicit Reader(const FunctionLibrary& library) : library_(library) {}

  uint64_t Function(std::string_view name) {
    const std::string_view bytes = library_.FindDefinition(name);
    if (bytes.empty()) return Fingerprint64(name);
    // A function that calls itself, or was met before, stands under its number.
    const auto [known, is_new] = numbers_.emplace(name, numbers_.size());
    if (!is_new) return known->second;
    const Result<OwnedMessage> definition = ParseMessage(fd::Descriptor(), bytes, {.borrow = true});
    return definition.ok() ? Body(**definition) : Fingerprint64(bytes);
  }

  void Attr(Mixer& mixer, const Message& value) {
    const FieldDescriptor* const kind = value.WhichOneof(av::kI);
    mixer.Mix(kind == nullptr ? 0 : static_cast<uint64_t>(kind->number));
    if (kind == nullptr) return;
    if (kind->number == av::kFunc) return Called(mixer, value.GetMessage(av::kFunc));
    if (kind->number == av::kTensor) return TensorValue(mixer, value.GetMessage(av::kTensor));
    if (kind->number == av::kList) {
      const Message& list = value.GetMessage(av::kList);
      for (const Message* function : list.Messages(av::ListValue::kFunc)) {
        Called(mixer, *function);
      }
      if (!list.Messages(av::ListValue::kFunc).empty()) return;
    }
    MixBytes(mixer, value);
  }

 private:
  uint64_t Body(const Message& definition) {
    Mixer mixer;
    std::map<std::string, std::string, std::less<>>
        places;  // where a value of each name comes from
    for (const Message* arg :
         definition.GetMessage(fd::kSignature).Messages(pb::OpDef::kInputArg)) {
      places.emplace(arg->GetString(pb::OpDef::ArgDef::kName), StrCat("argument ", places.size()));
    }
    int number = 0;
    for (const Message* node : definition.Messages(fd::kNodeDef)) {
      places.emplace(node->GetString(nd::kName), StrCat("node ", number++));
    }
    for (const Message* node : definition.Messages(fd::kNodeDef)) {
      mixer.Mix(Function(node->GetString(nd::kOp)));
      for (const std::string_view input : node->Repeated<std::string_view>(nd::kInput)) {
        mixer.Mix(Place(places, input));
      }
      Attrs(mixer, node->Messages(nd::kAttr));
    }
    const Message& signature = definition.GetMessage(fd::kSignature);
    for (const Message* result : signature.Messages(pb::OpDef::kOutputArg)) {
      const Message* const entry =
          definition.FindEntry(fd::kRet, result->GetString(pb::OpDef::ArgDef::kName));
      if (entry != nullptr) mixer.Mix(Place(places, entry->GetString(pb::kMapValue)));
    }
    return mixer.hash();
  }

  static std::string Place(const std::map<std::string, std::string, std::less<>>& places,
                           std::string_view input) {
    const bool is_control = input.starts_with('^');
    if (is_control) input.remove_prefix(1);
    const size_t colon = input.find(':');
    const auto found = places.find(input.substr(0, colon));
    const std::string_view output = colon == std::string_view::npos ? "" : input.substr(colon);
    return StrCat(is_control ? "^" : "", found == places.end() ? "" : found->second, output);
  }

  void Attrs(Mixer& mixer, std::span<const Message* const> entries) {
    std::map<std::string_view, const Message*> sorted;
    for (const Message* entry : entries) {
      const std::string_view name = entry->GetString(pb::kMapKey);
      if (Counts(name)) sorted.emplace(name, &entry->GetMessage(pb::kMapValue));
    }
    for (const auto& [name, value] : sorted) {
      mixer.Mix(name);
      Attr(mixer, *value);
    }
  }

  void Called(Mixer& mixer, const Message& function) {
    mixer.Mix(Function(function.GetString(pb::NameAttrList::kName)));
    Attrs(mixer, function.Messages(pb::NameAttrList::kAttr));
  }

  static void TensorValue(Mixer& mixer, const Message& proto) {
    const auto texts = proto.Repeated<std::string_view>(pb::TensorProto::kStringVal);
    if (texts.empty()) return MixBytes(mixer, proto);
    for (const std::string_view text : texts) mixer.Mix(AfterLastSlash(text));
  }

  const FunctionLibrary& library_;
  std::map<std::string, uint64_t, std::less<>> numbers_;
};

}  // namespace

uint64_t FunctionFingerprint(const FunctionLibrary& library, std::string_view name) {
  return Reader(library).Function(name);
}

uint64_t AttrsFingerprint(const FunctionLibrary& library, const AttrMap& attrs) {
  Mixer mixer;
  Reader reader(library);
  for (const auto& [name, value] : attrs) {
    if (!Counts(name)) continue;
    OwnedMessage proto(av::Descriptor());
    if (!AttrValueToProto(value, &*proto).ok()) continue;
    mixer.Mix(name);
    reader.Attr(mixer, *proto);
  }
  return mixer.hash();
}

uint64_t TensorFingerprint(const Tensor& tensor) {
  Mixer mixer;
  mixer.Mix(static_cast<uint64_t>(tensor.dtype()));
  for (int i = 0; i < tensor.rank(); ++i) mixer.Mix(static_cast<uint64_t>(tensor.dim(i)));
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.flat<std::string>()) mixer.Mix(AfterLastSlash(text));
  } else if (IsPlain(tensor.dtype())) {
    mixer.Mix(std::string_view(static_cast<const char*>(tensor.raw_data()), tensor.bytes()));
  }
  return mixer.hash();
}

}  // namespace thalweg
