// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

namespace minfer {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
  }
  return "UNKNOWN";
}

std::string_view SubsystemName(Subsystem subsystem) {
  switch (subsystem) {
    case Subsystem::kNone:
      return "none";
    case Subsystem::kApi:
      return "api";
    case Subsystem::kFile:
      return "file";
    case Subsystem::kGguf:
      return "gguf";
    case Subsystem::kTokenizer:
      return "tokenizer";
    case Subsystem::kChat:
      return "chat";
    case Subsystem::kModel:
      return "model";
    case Subsystem::kGraph:
      return "graph";
    case Subsystem::kPlan:
      return "plan";
    case Subsystem::kBackend:
      return "backend";
    case Subsystem::kKv:
      return "kv";
    case Subsystem::kSampling:
      return "sampling";
    case Subsystem::kEngine:
      return "engine";
  }
  return "unknown";
}

Status::Status(StatusCode code, Subsystem subsystem, std::string message) {
  if (code == StatusCode::kOk) return;
  detail_ = std::make_unique<Detail>();
  detail_->code = code;
  detail_->subsystem = subsystem;
  detail_->message = std::move(message);
}

Status::Status(const Status& other)
    : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) {
    detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
  }
  return *this;
}

Status&& Status::WithName(std::string_view name) && {
  if (detail_) detail_->name = std::string(name);
  return std::move(*this);
}

Status&& Status::WithBytes(uint64_t wanted, uint64_t available) && {
  if (detail_) {
    detail_->bytes_wanted = wanted;
    detail_->bytes_available = available;
  }
  return std::move(*this);
}

Status&& Status::WithOffset(uint64_t file_offset) && {
  if (detail_) detail_->file_offset = file_offset;
  return std::move(*this);
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text(StatusCodeName(code()));
  text.append(" [").append(SubsystemName(subsystem())).append("] ");
  if (!detail_->name.empty()) text.append("'").append(detail_->name).append("': ");
  text.append(detail_->message);
  if (bytes_wanted() != 0 || bytes_available() != 0) {
    text.append(" (wanted ").append(std::to_string(bytes_wanted())).append(" bytes, ");
    text.append(std::to_string(bytes_available())).append(" available)");
  }
  if (file_offset() != 0) text.append(" at offset ").append(std::to_string(file_offset()));
  return text;
}

}  // namespace minfer
