// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Status carries what mf_error carries: a canonical code, the subsystem, a name (tensor, node, key,
// device), byte counts, a file offset and a message. Codes have the numbers of the C header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace minfer {

// The numbers are those of the canonical (Abseil, gRPC) codes and of mf_status.
enum class StatusCode : int32_t {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

// Which part of the library speaks; the numbers are those of MF_SUBSYSTEM_*.
enum class Subsystem : int32_t {
  kNone = 0,
  kApi = 1,
  kFile = 2,
  kGguf = 3,
  kTokenizer = 4,
  kChat = 5,
  kModel = 6,
  kGraph = 7,
  kPlan = 8,
  kBackend = 9,
  kKv = 10,
  kSampling = 11,
  kEngine = 12,
};

std::string_view StatusCodeName(StatusCode code);
std::string_view SubsystemName(Subsystem subsystem);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, Subsystem subsystem, std::string message);

  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return detail_ == nullptr; }
  StatusCode code() const { return detail_ ? detail_->code : StatusCode::kOk; }
  Subsystem subsystem() const { return detail_ ? detail_->subsystem : Subsystem::kNone; }
  std::string_view message() const { return detail_ ? std::string_view(detail_->message) : ""; }
  // The tensor, node, key or device that the error is about; empty when there is none.
  std::string_view name() const { return detail_ ? std::string_view(detail_->name) : ""; }
  uint64_t bytes_wanted() const { return detail_ ? detail_->bytes_wanted : 0; }
  uint64_t bytes_available() const { return detail_ ? detail_->bytes_available : 0; }
  // Offset in the file where the fault was seen; 0 when the error is not about a file.
  uint64_t file_offset() const { return detail_ ? detail_->file_offset : 0; }

  // Each does nothing on an OK status.
  Status&& WithName(std::string_view name) &&;
  Status&& WithBytes(uint64_t wanted, uint64_t available) &&;
  Status&& WithOffset(uint64_t file_offset) &&;

  // "INVALID_ARGUMENT [gguf] tensor 'x': message (wanted 8 bytes, 4 available, at offset 12)".
  std::string ToString() const;

 private:
  struct Detail {
    StatusCode code = StatusCode::kOk;
    Subsystem subsystem = Subsystem::kNone;
    uint64_t bytes_wanted = 0;
    uint64_t bytes_available = 0;
    uint64_t file_offset = 0;
    std::string name;
    std::string message;
  };
  std::unique_ptr<Detail> detail_;
};

inline Status OkStatus() { return Status(); }

// A value or the reason why there is none. Reading the value of a failed one is a bug of ours.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value)
      : rep_(std::in_place_index<1>, std::move(value)) {}  // NOLINT: implicit by design
  StatusOr(Status status) : rep_(std::in_place_index<0>, std::move(status)) {  // NOLINT
    if (std::get<0>(rep_).ok()) {
      rep_.template emplace<0>(StatusCode::kInternal, Subsystem::kNone,
                               "OK status without a value");
    }
  }

  bool ok() const { return rep_.index() == 1; }
  Status status() const& { return ok() ? Status() : std::get<0>(rep_); }
  Status status() && { return ok() ? Status() : std::get<0>(std::move(rep_)); }

  T& value() & { return std::get<1>(rep_); }
  const T& value() const& { return std::get<1>(rep_); }
  T&& value() && { return std::get<1>(std::move(rep_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> rep_;
};

}  // namespace minfer

#define MF_STATUS_CONCAT_INNER(a, b) a##b
#define MF_STATUS_CONCAT(a, b) MF_STATUS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` is not OK.
#define MF_RETURN_IF_ERROR(expression)                                                   \
  do {                                                                                   \
    if (::minfer::Status mf_status_ = (expression); !mf_status_.ok()) return mf_status_; \
  } while (false)

// MF_ASSIGN_OR_RETURN(auto x, F()): declares x from F's value, or returns F's status.
#define MF_ASSIGN_OR_RETURN(lhs, expression) \
  MF_ASSIGN_OR_RETURN_IMPL(MF_STATUS_CONCAT(mf_status_or_, __LINE__), lhs, expression)
#define MF_ASSIGN_OR_RETURN_IMPL(statusor, lhs, expression) \
  auto statusor = (expression);                             \
  if (!statusor.ok()) return std::move(statusor).status();  \
  lhs = std::move(statusor).value()
