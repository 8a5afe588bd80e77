// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/cuda/cuda_backend.h"

#include <algorithm>

#include "backend/cuda/cuda_weight_store.h"
#include "base/log.h"
#include "base/str_cat.h"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/common/row_layout.h"

namespace minfer {
namespace {

// What Dispatch knows; an operation that comes later is refused until it has a kernel.
bool HasKernel(OpKind op) {
  switch (op) {
    case OpKind::kGetRows:
    case OpKind::kSelectRows:
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
    case OpKind::kMatMul:
    case OpKind::kMatMulGroup:
    case OpKind::kGatedMatMul:
    case OpKind::kAddBias:
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kGatedAct:
    case OpKind::kRopeTable:
    case OpKind::kRope:
    case OpKind::kKvStore:
    case OpKind::kRopeKvStore:
    case OpKind::kAttention:
    case OpKind::kTopExperts:
    case OpKind::kGroupExperts:
    case OpKind::kExpertMatMul:
    case OpKind::kCombineExperts:
    case OpKind::kGateRows:
      return true;
    default:
      return false;
  }
}

// Of an operation that chooses among experts or groups them; otherwise 0.
int64_t ExpertsOf(const Graph& graph, const Node& node) {
  switch (node.op) {
    case OpKind::kTopExperts:
      return graph.value(node.inputs[0]).shape.cols;
    case OpKind::kGroupExperts:
      return node.attributes.n_experts;
    case OpKind::kExpertMatMul:
      return graph.value(node.inputs[2]).shape.rows;
    default:
      return 0;
  }
}

}  // namespace

CudaBackend::CudaBackend(std::shared_ptr<const CudaRuntime> runtime, const BackendOptions& options)
    : runtime_(std::move(runtime)), options_(options) {}

StatusOr<std::unique_ptr<Backend>> CudaBackend::Create(
    const std::shared_ptr<const CudaRuntime>& runtime, const BackendOptions& options) {
  std::unique_ptr<CudaBackend> backend(new CudaBackend(runtime, options));
  if (options.memory == nullptr) return std::unique_ptr<Backend>(std::move(backend));
  MF_ASSIGN_OR_RETURN(backend->stream_, CudaStream::Create(runtime));
  MF_RETURN_IF_ERROR(backend->AcceptHost());
  backend->pool_ = std::make_unique<CudaPool>(runtime, options.memory);
  backend->upload_ = CudaUploadRing::Create(runtime, options.memory);
  backend->readback_ =
      std::make_unique<CudaReadback>(runtime, options.memory, options.pinned_readback);
  if (options.logger != nullptr) {
    options.logger->Info(
        "CUDA: ", runtime->name(), ", compute capability ", runtime->capability() / 10, ".",
        runtime->capability() % 10, " (", backend->tier().name,
        runtime->code_capability() / 10 == runtime->capability() / 10
            ? ""
            : StrCat(", by code for ", runtime->code_capability() / 10, ".",
                     runtime->code_capability() % 10),
        "), ", runtime->memory_total() >> 20, " MiB, ", runtime->processors(), " multiprocessors");
    if (!backend->upload_->pinned() || !backend->readback_->pinned()) {
      options.logger->Warning("CUDA: pinned memory was refused; transfers are slower");
    }
  }
  return std::unique_ptr<Backend>(std::move(backend));
}

// Graphs, then the stream with its work, then the memory that the work used.
CudaBackend::~CudaBackend() {
  for (const CapturedStep& step : captured_) Destroy(step);
  stream_ = nullptr;
}

Status CudaBackend::Internal(const std::string& message) const {
  return Status(StatusCode::kInternal, Subsystem::kBackend, StrCat("cuda: ", message))
      .WithName(name());
}

Status CudaBackend::NodeError(const NodeCall& call, const std::string& message) const {
  return Status(StatusCode::kInternal, Subsystem::kBackend, StrCat("cuda: ", message))
      .WithName(call.node->name);
}

Status CudaBackend::FromKernel(const NodeCall& call, kernels::KernelStatus status) const {
  if (status == kernels::KernelStatus::kOk) return OkStatus();
  if (status == kernels::KernelStatus::kDeviceError) {
    const cudaError_t error = cudaPeekAtLastError();
    if (error == cudaSuccess && window_open_) {
      return NodeError(call, "a kernel's first launch, with much shared memory, in a recording");
    }
    return runtime_->Error(error, StrCat("launching ", OpName(call.node->op)))
        .WithName(call.node->name);
  }
  return NodeError(call, StrCat(OpName(call.node->op), ": ", kernels::KernelStatusName(status)));
}

// Before anything is enqueued: the device answers, and no older error will be taken for a new one.
Status CudaBackend::CheckUsable(const char* what) {
  if (stream_ == nullptr) return Internal("this backend only plans");
  if (runtime_->lost()) {
    return Status(StatusCode::kUnavailable, Subsystem::kBackend,
                  StrCat("cuda: ", what, " on a device that was lost"))
        .WithName(runtime_->name());
  }
  MF_RETURN_IF_ERROR(runtime_->TakeLatched());
  return FollowHost();
}

// And inputs that still wait for their split go first.
Status CudaBackend::CheckReady(const char* what) {
  MF_RETURN_IF_ERROR(OutsideWindow(what));
  MF_RETURN_IF_ERROR(CheckUsable(what));
  return SendInputs();
}

CudaTier CudaBackend::tier() const { return ForceCudaTier(runtime_->tier(), options_.cuda_tier); }

Support CudaBackend::Supports(const Graph& graph, const Node& node) const {
  const OpAttributes& a = node.attributes;
  if (!HasKernel(node.op)) return {false, StrCat("no kernel for ", OpName(node.op))};
  if (const int64_t n_experts = ExpertsOf(graph, node); n_experts > kernels::cuda::kMaxExperts) {
    return {false, StrCat(n_experts, " experts are more than ", kernels::cuda::kMaxExperts)};
  }
  for (size_t i = 0; i < node.weights.size(); ++i) {
    if (node.weights[i] == kNoId) continue;
    const WeightInfo& info = graph.weight(node.weights[i]);
    const ElementTraits* traits = FindElementTraits(info.type);
    const char* type = traits == nullptr ? "?" : traits->name;
    const bool vector = node.op == OpKind::kRmsNorm || node.op == OpKind::kLayerNorm ||
                        node.op == OpKind::kAddBias || node.op == OpKind::kAttention ||
                        (node.op == OpKind::kExpertMatMul && i == 1) ||
                        (node.op == OpKind::kMatMulGroup && i >= node.weights.size() / 2);
    if (vector && info.type != ElementType::kF32) {
      return {false, StrCat("'", info.name, "' is ", type, ", its kernel reads F32")};
    }
    if (kernels::cuda::WeightRowBytes(info.type, info.ne0) == 0) {
      return {false, StrCat("no kernel reads type ", type, " of '", info.name, "' with rows of ",
                            info.ne0)};
    }
  }
  if (node.op == OpKind::kRopeTable && a.rope_dim > 2 * kernels::cuda::kMaxRopePairs) {
    return {false, StrCat(a.rope_dim, " rotated columns are more than ",
                          2 * kernels::cuda::kMaxRopePairs)};
  }
  if (node.op == OpKind::kAttention &&
      std::max(a.head_dim, a.head_dim_v) > kernels::cuda::kMaxHeadDim) {
    return {false, StrCat("heads of ", a.head_dim, " and ", a.head_dim_v, " are larger than ",
                          kernels::cuda::kMaxHeadDim)};
  }
  return {};
}

bool CudaBackend::CanRunInPlace(const Graph&, const Node& node, int input) const {
  switch (node.op) {
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kGatedAct:
      return input == 0 || input == 1;
    case OpKind::kAddBias:
    case OpKind::kScale:
    case OpKind::kSoftcap:
    case OpKind::kAct:
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
    case OpKind::kRope:
    case OpKind::kGateRows:
      return input == 0;
    default:
      return false;
  }
}

StatusOr<BufferId> CudaBackend::Allocate(uint64_t bytes, MemoryClass memory_class) {
  MF_RETURN_IF_ERROR(OutsideWindow("allocation"));
  MF_RETURN_IF_ERROR(CheckUsable("allocation"));
  return pool_->Allocate(bytes, memory_class);
}

StatusOr<void*> CudaBackend::HostPointer(const BufferRange& range) {
  MF_RETURN_IF_ERROR(pool_->Resolve(range).status());
  if (IsPending(range.buffer)) {
    return Internal(StrCat("buffer ", range.buffer.index, " has unfinished writes"));
  }
  return static_cast<void*>(nullptr);
}

Status CudaBackend::Write(const BufferRange& to, const void* data) {
  MF_RETURN_IF_ERROR(CheckReady("write"));
  MF_ASSIGN_OR_RETURN(uint8_t * target, pool_->Resolve(to));
  if (to.bytes == 0) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  MF_RETURN_IF_ERROR(upload_->Write(target, data, to.bytes, stream_->get()));
  pool_->SetWriter(to.buffer, ++enqueued_work_);
  return OkStatus();
}

StatusOr<std::shared_ptr<Event>> CudaBackend::Read(const BufferRange& from, void* host) {
  MF_RETURN_IF_ERROR(CheckReady("read"));
  MF_ASSIGN_OR_RETURN(const uint8_t* source, pool_->Resolve(from));
  const CudaDeviceScope scope(*runtime_);
  return readback_->Read(source, host, from.bytes, stream_->get());
}

Status CudaBackend::Copy(const BufferRange& from, const BufferRange& to) {
  MF_RETURN_IF_ERROR(CheckReady("copy"));
  MF_ASSIGN_OR_RETURN(const uint8_t* source, pool_->Resolve(from));
  MF_ASSIGN_OR_RETURN(uint8_t * target, pool_->Resolve(to));
  if (from.bytes != to.bytes) {
    return Internal(StrCat("copy of ", from.bytes, " bytes to ", to.bytes));
  }
  if (to.bytes == 0) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  const CudaReadback::Delivery& delivery = readback_->delivery();
  const bool follows = delivery.work > 0 && delivery.last == enqueued_work_;
  pool_->SetWriter(to.buffer, ++enqueued_work_);
  if (follows) readback_->Followed(enqueued_work_);
  return runtime_->Check(
      cudaMemcpyAsync(target, source, to.bytes, cudaMemcpyDeviceToDevice, stream_->get()),
      "enqueuing a copy");
}

uint64_t CudaBackend::ScratchBytes(const Graph& graph) const {
  uint64_t most = 0;
  for (const Node& node : graph.nodes) {
    switch (node.op) {
      case OpKind::kMatMul:
      case OpKind::kMatMulGroup:
      case OpKind::kGatedMatMul:
        most = std::max(most, MatMulScratch(graph, node));
        break;
      case OpKind::kAttention:
        most = std::max(most, AttentionScratch(graph, node));
        break;
      case OpKind::kExpertMatMul:
        most = std::max(most, ExpertScratch(graph, node));
        break;
      default:
        break;
    }
  }
  // Behind all that: the counters of attention, at the end of whatever scratch there is.
  return (most + 255) / 256 * 256 + kCounterBytes;
}

StatusOr<KvPageBytes> CudaBackend::PageBytes(const KvLayerShape& shape) const {
  KvPageBytes bytes;
  bytes.k = static_cast<uint64_t>(
      kernels::cuda::KvPageBytes(shape.k_format, shape.n_kv_heads, shape.head_dim_k));
  bytes.v = static_cast<uint64_t>(
      kernels::cuda::KvPageBytes(shape.v_format, shape.n_kv_heads, shape.head_dim_v));
  return bytes;
}

Status CudaBackend::ReserveScratch(uint64_t bytes) {
  if (scratch_.valid() && scratch_bytes_ >= bytes) return OkStatus();
  MF_ASSIGN_OR_RETURN(const BufferId larger, Allocate(bytes, MemoryClass::kScratch));
  if (scratch_.valid()) pool_->Recycle(scratch_);
  scratch_ = larger;
  scratch_bytes_ = bytes;
  if (bytes < kCounterBytes) return OkStatus();
  MF_ASSIGN_OR_RETURN(uint8_t * counters,
                      pool_->Resolve({scratch_, bytes - kCounterBytes, kCounterBytes}));
  const CudaDeviceScope scope(*runtime_);
  return runtime_->Check(cudaMemsetAsync(counters, 0, kCounterBytes, stream_->get()),
                         "clearing counters");
}

StatusOr<const void*> CudaBackend::Weight(const NodeCall& call, size_t index) const {
  const WeightId id = call.node->weights[index];
  const auto* store = static_cast<const CudaWeightStore*>(call.weights);
  const void* data = store == nullptr ? nullptr : store->entry(id).data;
  if (data == nullptr) {
    return NodeError(call, StrCat("weight '", call.graph->weight(id).name, "' is not registered"));
  }
  return data;
}

Status CudaBackend::TakeMatrix(const NodeCall& call, size_t index, Product* product) const {
  const WeightId id = call.node->weights[index];
  product->info = &call.graph->weight(id);
  MF_ASSIGN_OR_RETURN(product->weights, Weight(call, index));
  product->copies = static_cast<const CudaWeightStore*>(call.weights)->entry(id);
  return OkStatus();
}

StatusOr<float*> CudaBackend::Floats(const BufferRange& range) const {
  MF_ASSIGN_OR_RETURN(uint8_t * data, pool_->Resolve(range));
  return reinterpret_cast<float*>(data);
}

StatusOr<const int32_t*> CudaBackend::Ints(const BufferRange& range) const {
  MF_ASSIGN_OR_RETURN(const uint8_t* data, pool_->Resolve(range));
  return reinterpret_cast<const int32_t*>(data);
}

StatusOr<int32_t*> CudaBackend::MutableInts(const BufferRange& range) const {
  MF_ASSIGN_OR_RETURN(uint8_t * data, pool_->Resolve(range));
  return reinterpret_cast<int32_t*>(data);
}

void CudaBackend::CountReport(const NodeCall& call, int64_t shape, int32_t variant,
                              KernelReport row) {
  const ReportKey key{call.node->op, shape, variant};
  for (size_t i = 0; i < report_keys_.size(); ++i) {
    if (!(report_keys_[i] == key)) continue;
    ++report_[i].calls;
    return;
  }
  row.op = std::string(OpName(call.node->op));
  row.calls = 1;
  if (options_.logger != nullptr) {
    options_.logger->Debug("CUDA: ", row.op, row.detail.empty() ? "" : " ", row.detail, ": ",
                           row.kernel, " (", row.reason, ")");
  }
  report_.push_back(std::move(row));
  report_keys_.push_back(key);
}

// How splits are launched, what picks tokens, and how results come back.
std::vector<KernelReport> CudaBackend::ReportTail() const {
  constexpr const char* kReplayed = "graphs, replayed from the fourth run on";
  constexpr const char* kOneByOne = "kernels launched one by one";
  const bool graphs = options_.cuda_graph && graphs_enabled_;
  std::vector<KernelReport> rows(4);
  KernelReport& split = rows[0];
  split.op = "split";
  split.kernel = graphs ? kReplayed : kOneByOne;
  split.reason = graphs                ? "runs repeat"
                 : options_.cuda_graph ? "recording was refused"
                                       : "tuning cuda_graph=0";
  split.detail = starts_early() ? "kernels start early" : "kernels in turn";
  split.calls = statistics_.steps_replayed - prompts_replayed_;
  KernelReport& prompt = rows[1];
  prompt = split;
  prompt.op = "split with prompts";
  if (graphs && !options_.prefill_capture) {
    prompt.kernel = kOneByOne;
    prompt.reason = "tuning prefill_capture=0";
  }
  prompt.calls = prompts_replayed_;
  KernelReport& sampling = rows[2];
  sampling.op = "sampling";
  sampling.kernel =
      options_.device_sampling ? "best entries found on the device" : "logits read back";
  sampling.reason = options_.device_sampling ? "greedy, or top-k below 64 and no penalties"
                                             : "tuning device_sampling=0";
  sampling.calls = top_calls_;
  KernelReport& read = rows[3];
  const bool pinned = readback_ != nullptr && readback_->pinned();
  read.op = "read";
  read.kernel = pinned && options_.pinned_readback ? "through pinned memory" : "pageable memory";
  read.reason = !options_.pinned_readback ? "tuning pinned_readback=0"
                : pinned                  ? "up to 4 MiB at once"
                                          : "pinned memory was refused";
  read.calls = readback_ == nullptr ? 0 : readback_->reads();
  return rows;
}

std::vector<KernelReport> CudaBackend::kernel_report() const {
  std::vector<KernelReport> rows = report_;
  for (KernelReport& row : ReportTail()) rows.push_back(std::move(row));
  return rows;
}

// Rows are only added; of those behind them, only the counts change while graphs are not refused.
void CudaBackend::UpdateReport(std::vector<KernelReport>* report) const {
  const uint64_t tail[] = {statistics_.steps_replayed - prompts_replayed_, prompts_replayed_,
                           top_calls_, readback_->reads()};
  if (report->size() != report_.size() + std::size(tail) || !graphs_enabled_) {
    *report = kernel_report();
    return;
  }
  for (size_t i = 0; i < report_.size(); ++i) (*report)[i].calls = report_[i].calls;
  for (size_t i = 0; i < std::size(tail); ++i) (*report)[report_.size() + i].calls = tail[i];
}

Status CudaBackend::Synchronize() {
  MF_RETURN_IF_ERROR(OutsideWindow("synchronize"));
  if (stream_ == nullptr) return OkStatus();
  const CudaDeviceScope scope(*runtime_);
  MF_RETURN_IF_ERROR(SendInputs());
  const uint64_t work = enqueued_work_;
  // What the host reads of a step is written last, but for copies on the device, so that its marks
  // end the step.
  const CudaReadback::Delivery last = readback_->delivery();
  const bool delivered =
      last.work > 0 && last.last == work && stream_->SeesMarks(last.marks, last.n_marks);
  Status status = delivered ? OkStatus() : stream_->Synchronize();
  if (status.ok()) inputs_read_ = false;
  follows_host_ = false;
  DropTop();
  Status read = readback_->FinishAll();
  if (status.ok()) status = std::move(read);
  if (status.ok()) status = runtime_->TakeLatched();
  if (status.ok()) status = TakeFault();
  finished_work_ = delivered ? last.work : work;
  return status;
}

}  // namespace minfer
