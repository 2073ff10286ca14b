// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/message.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/check.h"

namespace thalweg {
namespace {

enum class Kind : uint8_t {
  kStart = 1,
  kDone = 2,
  kFail = 3,
  kCancel = 4,
  kTracedStart = 5,   // and what is to be told; 6 was a DONE behind it
  kWatchedStart = 7,  // and failures are traced
  kEcho = 8,
};

template <class T>
void Put(ControlBytes* out, T value) {
  out->Append(&value, sizeof value);
}

// The rest of the message is the text.
void PutReason(ControlBytes* out, Code code, std::string_view text) {
  Put(out, static_cast<uint8_t>(code));
  out->Append(text.data(), std::min(text.size(), out->room()));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  Reader& Get(T* value) {
    ok_ = ok_ && rest_.size() >= sizeof(T);
    if (!ok_) return *this;
    std::memcpy(value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return *this;
  }
  Reader& GetFlag(bool* value) {
    uint8_t byte = 0;
    Get(&byte);
    ok_ = ok_ && byte <= 1;
    *value = byte == 1;
    return *this;
  }
  Reader& GetReason(Code* code, std::string* text) {
    uint8_t number = 0;
    Get(&number);
    ok_ = ok_ && number != 0 && number <= static_cast<uint8_t>(Code::kUnauthenticated);
    *code = static_cast<Code>(number);
    *text = rest_;
    rest_ = {};
    return *this;
  }
  bool Ended() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Encoder {
  ControlBytes* out;
  void operator()(const StartMessage& m) const {
    Put(out, !m.trace.any()     ? Kind::kStart
             : m.trace.failures ? Kind::kWatchedStart
                                : Kind::kTracedStart);
    Put(out, m.step);
    Put(out, m.lowest_open);
    Put(out, m.session);
    Put(out, m.plan);
    Put(out, m.incarnation);
    Put(out, m.time_left);
    if (!m.trace.any()) return;
    Put(out, static_cast<uint8_t>(m.trace.times));
    Put(out, static_cast<uint8_t>(m.trace.graphs));
    Put(out, m.trace_edge);
  }
  void operator()(const DoneMessage& m) const {
    Put(out, Kind::kDone);
    Put(out, m.step);
  }
  void operator()(const FailMessage& m) const {
    Put(out, Kind::kFail);
    Put(out, m.step);
    Put(out, static_cast<uint8_t>(m.derived));
    PutReason(out, m.code, m.text);
  }
  void operator()(const CancelMessage& m) const {
    Put(out, Kind::kCancel);
    Put(out, m.step);
    PutReason(out, m.code, m.text);
  }
  void operator()(const EchoMessage& m) const {
    Put(out, Kind::kEcho);
    Put(out, m.number);
    Put(out, static_cast<uint8_t>(m.is_answer));
  }
};

Result<StepMessage> Checked(bool valid, StepMessage message, const char* what) {
  if (valid) return message;
  return InvalidArgument("a control message is no ", what, ": its length or a value is wrong");
}

Result<StepMessage> DecodeStart(Reader reader, Kind kind) {
  StartMessage m;
  bool valid = true;
  reader.Get(&m.step)
      .Get(&m.lowest_open)
      .Get(&m.session)
      .Get(&m.plan)
      .Get(&m.incarnation)
      .Get(&m.time_left);
  if (kind != Kind::kStart) {
    m.trace.failures = kind == Kind::kWatchedStart;
    reader.GetFlag(&m.trace.times).GetFlag(&m.trace.graphs).Get(&m.trace_edge);
    valid = m.trace.any();
  }
  return Checked(
      valid && reader.Ended() && m.time_left >= 0 && m.lowest_open <= NumberOfStep(m.step), m,
      "START");
}

Result<StepMessage> DecodeDone(Reader reader) {
  DoneMessage m;
  const bool valid = reader.Get(&m.step).Ended();
  return Checked(valid, m, "DONE");
}

Result<StepMessage> DecodeFail(Reader reader) {
  FailMessage m;
  reader.Get(&m.step).GetFlag(&m.derived).GetReason(&m.code, &m.text);
  const bool valid = reader.Ended();
  return Checked(valid, std::move(m), "FAIL");
}

Result<StepMessage> DecodeCancel(Reader reader) {
  CancelMessage m;
  reader.Get(&m.step).GetReason(&m.code, &m.text);
  const bool valid = reader.Ended();
  return Checked(valid, std::move(m), "CANCEL");
}

Result<StepMessage> DecodeEcho(Reader reader) {
  EchoMessage m;
  const bool valid = reader.Get(&m.number).GetFlag(&m.is_answer).Ended();
  return Checked(valid, m, "ECHO");
}

}  // namespace

void ControlBytes::Append(const void* bytes, size_t size) {
  CHECK(size <= room());
  if (size > 0) std::memcpy(bytes_.data() + size_, bytes, size);
  size_ += size;
}

ControlBytes Encode(const StepMessage& message) {
  ControlBytes bytes;
  std::visit(Encoder{&bytes}, message);
  return bytes;
}

Result<StepMessage> DecodeStepMessage(std::string_view bytes) {
  Reader reader(bytes);
  uint8_t kind = 0;
  reader.Get(&kind);
  switch (static_cast<Kind>(kind)) {
    case Kind::kStart:
    case Kind::kTracedStart:
    case Kind::kWatchedStart:
      return DecodeStart(reader, static_cast<Kind>(kind));
    case Kind::kDone:
      return DecodeDone(reader);
    case Kind::kFail:
      return DecodeFail(reader);
    case Kind::kCancel:
      return DecodeCancel(reader);
    case Kind::kEcho:
      return DecodeEcho(reader);
  }
  return InvalidArgument("a control message of ", bytes.size(), " bytes has the unknown kind ",
                         static_cast<int>(kind));
}

}  // namespace thalweg
