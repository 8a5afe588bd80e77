// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/printable.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace minfer {
namespace {

// Values that are decoded and encoded at a time, on the stack; whole blocks of every type.
constexpr int64_t kPiece = 1024;
// Values of one task: some milliseconds of work, which is how soon a cancel is seen.
constexpr int64_t kTask = 16 * kPiece;
// Values of one call of the threads, and bytes of one read of a tensor that is copied.
constexpr int64_t kRound = 64 * kTask;
constexpr uint64_t kCopyBytes = 4u << 20;

uint64_t BytesOf(ElementType type, int64_t count) {
  const ElementTraits& traits = *FindElementTraits(type);
  return static_cast<uint64_t>(count / traits.block_elements) *
         static_cast<uint64_t>(traits.block_bytes);
}

struct Errors {
  double squares = 0.0;
  double error_squares = 0.0;
  double max_error = 0.0;
  int64_t not_finite = -1;  // the first value of the task that is not

  void Add(const Errors& other) {
    squares += other.squares;
    error_squares += other.error_squares;
    max_error = std::max(max_error, other.max_error);
  }
};

// One call of the threads: kTask values a task.
struct Round {
  ElementType from;
  ElementType to;
  const uint8_t* in;
  uint8_t* out;
  int64_t count;
  bool measure;
  const std::atomic<bool>* cancel;
  std::vector<Errors> errors;  // one a task, so that sums have one order

  static void Run(void* arg, int64_t task, int32_t /*worker*/) {
    static_cast<Round*>(arg)->RunTask(task);
  }
  void RunTask(int64_t task);
};

void Round::RunTask(int64_t task) {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  Errors& sums = errors[static_cast<size_t>(task)];
  const int64_t end = std::min(count, (task + 1) * kTask);
  float x[kPiece];
  float back[kPiece];
  for (int64_t at = task * kTask; at < end; at += kPiece) {
    const int64_t n = std::min(kPiece, end - at);
    uint8_t* encoded = out + BytesOf(to, at);
    kernels::DequantizeRow(from, in + BytesOf(from, at), x, n);
    for (int64_t i = 0; i < n; ++i) {
      if (std::isfinite(x[i])) continue;
      sums.not_finite = at + i;
      return;
    }
    kernels::QuantizeRow(to, x, encoded, n);
    if (!measure) continue;
    kernels::DequantizeRow(to, encoded, back, n);
    for (int64_t i = 0; i < n; ++i) {
      const double error = static_cast<double>(x[i]) - static_cast<double>(back[i]);
      sums.squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      sums.error_squares += error * error;
      sums.max_error = std::max(sums.max_error, std::fabs(error));
    }
  }
}

class Quantizer {
 public:
  Quantizer(const ModelFiles& files, const QuantizeOptions& options)
      : files_(files), options_(options) {}

  StatusOr<QuantizeResult> Run(const GgufWriter::ByteSink& sink);

 private:
  Status Prepare();
  Status WriteTensor(size_t index, const GgufWriter::ByteSink& out);
  Status Copy(const TensorInfo& tensor, const GgufWriter::ByteSink& out);
  Status Encode(const TensorInfo& tensor, ElementType to, const GgufWriter::ByteSink& out,
                Errors* sums);
  Status RunRound(const TensorInfo& tensor, int64_t begin, Round* round, Errors* sums);
  Status Advance(uint64_t bytes);
  Status CheckCancel() const;

  const ModelFiles& files_;
  const QuantizeOptions& options_;
  GgufWriter writer_;
  std::vector<ElementType> types_;
  std::shared_ptr<ParallelRunner> runner_;
  std::vector<uint8_t> in_;
  std::vector<uint8_t> out_;
  uint64_t done_ = 0;
};

Status Quantizer::CheckCancel() const {
  if (options_.cancel == nullptr || !options_.cancel->load(std::memory_order_relaxed)) {
    return OkStatus();
  }
  return Status(StatusCode::kCancelled, Subsystem::kEngine,
                StrCat("cancelled after ", done_, " of ", files_.tensor_bytes(), " bytes"));
}

Status Quantizer::Advance(uint64_t bytes) {
  done_ += bytes;
  MF_RETURN_IF_ERROR(CheckCancel());
  return options_.progress ? options_.progress(done_, files_.tensor_bytes()) : OkStatus();
}

Status Quantizer::Prepare() {
  MF_ASSIGN_OR_RETURN(types_, ChooseTypes(files_, options_.rules));
  writer_.CopyMetadata(files_.metadata());
  writer_.Set<uint32_t>("general.file_type", FileTypeOf(options_.rules.type));
  writer_.Set<uint32_t>("general.quantization_version", 2);
  for (size_t i = 0; i < types_.size(); ++i) {
    const TensorInfo& tensor = files_.tensors()[i];
    MF_RETURN_IF_ERROR(writer_.AddTensor(tensor.name, types_[i], tensor.shape()));
  }
  if (options_.runner != nullptr) {
    runner_ = options_.runner;
    return OkStatus();
  }
  ThreadPoolOptions pool;
  pool.n_threads = options_.n_threads;
  MF_ASSIGN_OR_RETURN(runner_, ThreadPool::Create(pool));
  return OkStatus();
}

StatusOr<QuantizeResult> Quantizer::Run(const GgufWriter::ByteSink& sink) {
  MF_RETURN_IF_ERROR(CheckCancel());
  MF_RETURN_IF_ERROR(Prepare());
  QuantizeResult result;
  const auto counted = [&](absl::Span<const uint8_t> bytes) {
    result.file_bytes += bytes.size();
    return sink(bytes);
  };
  MF_RETURN_IF_ERROR(writer_.Write(
      [this](size_t index, const GgufWriter::ByteSink& out) { return WriteTensor(index, out); },
      counted));
  result.n_tensors = types_.size();
  result.bytes_before = files_.tensor_bytes();
  for (size_t i = 0; i < types_.size(); ++i) {
    result.n_changed += types_[i] != files_.tensors()[i].type ? 1 : 0;
    result.bytes_after += writer_.tensor_bytes(i);
  }
  return result;
}

Status Quantizer::WriteTensor(size_t index, const GgufWriter::ByteSink& out) {
  const TensorInfo& tensor = files_.tensors()[index];
  QuantizedTensor told;
  told.index = index;
  told.name = tensor.name;
  told.from = tensor.type;
  told.to = types_[index];
  told.bytes_before = tensor.bytes;
  told.bytes_after = writer_.tensor_bytes(index);
  if (told.from == told.to) {
    MF_RETURN_IF_ERROR(Copy(tensor, out));
  } else {
    Errors sums;
    MF_RETURN_IF_ERROR(Encode(tensor, told.to, out, &sums));
    double count = 1.0;
    for (const int64_t dim : tensor.shape()) count *= static_cast<double>(dim);
    count = std::max(count, 1.0);
    told.rms = std::sqrt(sums.squares / count);
    told.rms_error = std::sqrt(sums.error_squares / count);
    told.max_error = sums.max_error;
  }
  return options_.tensor ? options_.tensor(told) : OkStatus();
}

Status Quantizer::Copy(const TensorInfo& tensor, const GgufWriter::ByteSink& out) {
  for (uint64_t offset = 0; offset < tensor.bytes; offset += kCopyBytes) {
    in_.resize(static_cast<size_t>(std::min(kCopyBytes, tensor.bytes - offset)));
    MF_RETURN_IF_ERROR(files_.ReadTensor(tensor, offset, absl::MakeSpan(in_)));
    MF_RETURN_IF_ERROR(out(in_));
    MF_RETURN_IF_ERROR(Advance(in_.size()));
  }
  return OkStatus();
}

Status Quantizer::Encode(const TensorInfo& tensor, ElementType to, const GgufWriter::ByteSink& out,
                         Errors* sums) {
  int64_t total = 1;
  for (const int64_t dim : tensor.shape()) total *= dim;  // the reader saw that it fits
  for (int64_t begin = 0; begin < total; begin += kRound) {
    const int64_t count = std::min(kRound, total - begin);
    in_.resize(static_cast<size_t>(BytesOf(tensor.type, count)));
    out_.resize(static_cast<size_t>(BytesOf(to, count)));
    MF_RETURN_IF_ERROR(files_.ReadTensor(tensor, BytesOf(tensor.type, begin), absl::MakeSpan(in_)));
    Round round = {};
    round.from = tensor.type;
    round.to = to;
    round.in = in_.data();
    round.out = out_.data();
    round.count = count;
    round.measure = static_cast<bool>(options_.tensor);
    round.cancel = options_.cancel;
    MF_RETURN_IF_ERROR(RunRound(tensor, begin, &round, sums));
    MF_RETURN_IF_ERROR(out(out_));
    MF_RETURN_IF_ERROR(Advance(in_.size()));
  }
  return OkStatus();
}

Status Quantizer::RunRound(const TensorInfo& tensor, int64_t begin, Round* round, Errors* sums) {
  round->errors.resize(static_cast<size_t>((round->count + kTask - 1) / kTask));
  runner_->For(static_cast<int64_t>(round->errors.size()), Round::Run, round);
  if (runner_->TakeFailure()) {
    return Status(StatusCode::kAborted, Subsystem::kEngine,
                  "the host's threads threw, skipped a part or ran one twice");
  }
  MF_RETURN_IF_ERROR(CheckCancel());
  for (const Errors& errors : round->errors) {
    if (errors.not_finite >= 0) {
      const std::string name = Printable(tensor.name);
      return Status(
                 StatusCode::kDataLoss, Subsystem::kEngine,
                 StrCat("tensor '", name, "': value ", begin + errors.not_finite, " is not finite"))
          .WithName(name)
          .WithOffset(tensor.file_offset);
    }
    sums->Add(errors);
  }
  return OkStatus();
}

}  // namespace

StatusOr<QuantizeResult> QuantizeModel(const ModelFiles& files, const QuantizeOptions& options,
                                       const GgufWriter::ByteSink& sink) {
  MF_ASSIGN_OR_RETURN(const QuantizeResult result, Quantizer(files, options).Run(sink));
  MF_RETURN_IF_ERROR(files.CheckUnchanged());
  return result;
}

}  // namespace minfer
