// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/status.h"

#include <atomic>

namespace thalweg {

struct Status::Rep {
  std::atomic<int> refs{1};
  Code code;
  std::string message;
};

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kUnknown:
      return "UNKNOWN";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

Status::Status(Code code, std::string message) {
  if (code == Code::kOk) return;
  rep_ = new Rep{.code = code, .message = std::move(message)};
}

Status MakeStatus(Code code, std::initializer_list<TextPart> parts) {
  return Status(code, CatParts(parts));
}

Code Status::rep_code() const { return rep_->code; }

void Status::Ref() const { rep_->refs.fetch_add(1, std::memory_order_relaxed); }

void Status::Unref() {
  if (rep_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
}

std::string_view Status::message() const {
  return rep_ == nullptr ? std::string_view() : std::string_view(rep_->message);
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return StrCat(CodeName(code()), ": ", message());
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(code(), StrCat(context, ": ", message()));
}

}  // namespace thalweg
