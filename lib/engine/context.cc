// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/context.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "engine/step_runner.h"
#include "graph/print.h"

namespace minfer {
namespace {

// How long a leader waits for threads that are picking their next token: about what sampling takes,
// so that their rows share one step.
constexpr std::chrono::microseconds kStragglerWait{300};
// How often a waiting call looks at its cancel flags; mf_cancel_request may not wake it, since it
// is async-signal-safe.
constexpr std::chrono::milliseconds kCancelPoll{10};

bool IsSet(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

}  // namespace

StatusOr<std::shared_ptr<Context>> Context::Create(std::shared_ptr<const Model> model,
                                                   const ContextOptions& options) {
  std::shared_ptr<Context> context(new Context());
  context->model_ = std::move(model);
  MF_RETURN_IF_ERROR(context->Initialize(options));
  return context;
}

Status Context::Initialize(const ContextOptions& options) {
  const ModelDescription& description = model_->description();
  cancel_ = options.cancel;
  if (IsSet(cancel_)) {
    return Status(StatusCode::kCancelled, Subsystem::kEngine, "cancelled before creation");
  }
  MF_ASSIGN_OR_RETURN(config_, ResolveContext(description, *model_->device(), options));
  MF_RETURN_IF_ERROR(CheckBudget(options));
  logger_ =
      std::make_shared<const Logger>(options.log_sink, options.log_user_data, options.log_level);
  for (size_t d = 0; d < model_->placement().devices.size(); ++d) {
    accounts_.push_back(std::make_shared<MemoryAccount>(options.budget_bytes));
    MF_ASSIGN_OR_RETURN(std::shared_ptr<HostMemory> memory,
                        HostMemory::Create(options.allocator, accounts_.back()));
    memories_.push_back(std::move(memory));
  }
  runner_ = options.runner;
  if (runner_ == nullptr) {
    ThreadPoolOptions pool;
    pool.n_threads = config_.n_threads;
    MF_ASSIGN_OR_RETURN(runner_, ThreadPool::Create(pool));
  }
  MF_RETURN_IF_ERROR(CreateBackends(options));
  sessions_.assign(static_cast<size_t>(config_.n_sessions), nullptr);
  MF_RETURN_IF_ERROR(AllocateKv());
  MF_RETURN_IF_ERROR(AllocateTop());
  MF_ASSIGN_OR_RETURN(logits_, host_memory().Allocate(MemoryClass::kStaging,
                                                      LogitsBytes(config_, description), "logits"));
  logger_->Info("context: ", config_.n_sessions, " sessions of ", config_.n_ctx, " tokens, ",
                memory().total.bytes, " bytes, ", runner_->concurrency(), " threads, ",
                model_->device()->info().level,
                UsesLongFactors(description, config_.n_ctx) ? ", long RoPE factors" : "");
  return OkStatus();
}

// Of each device, before anything is taken.
Status Context::CheckBudget(const ContextOptions& options) const {
  const Placement& placement = model_->placement();
  MF_ASSIGN_OR_RETURN(const std::vector<MemoryUse> plan,
                      PlanContextByDevice(model_->description(), placement, options));
  for (const MemoryUse& use : plan) {
    if (options.budget_bytes == 0 || use.total() <= options.budget_bytes) continue;
    return Status(StatusCode::kResourceExhausted, Subsystem::kEngine,
                  StrCat("the context needs ", use.total() - options.budget_bytes,
                         " bytes more than its budget"))
        .WithName("budget_bytes")
        .WithBytes(use.total(), options.budget_bytes);
  }
  return OkStatus();
}

MemoryAccount::Snapshot Context::memory() const {
  MemoryAccount::Snapshot sum;
  for (const std::shared_ptr<MemoryAccount>& account : accounts_) {
    AddSnapshot(account->Read(), &sum);
  }
  return sum;
}

Status Context::CreateBackends(const ContextOptions& wanted) {
  BackendOptions options;
  options.runner = runner_.get();
  options.logger = logger_.get();
  ApplyTuning(config_.tuning, &options);
  options.deterministic = config_.deterministic;
  options.host_stream = wanted.cuda_stream;
  options.host_context = wanted.cuda_context;
  const auto& devices = model_->placement().devices;
  if ((wanted.cuda_stream != nullptr || wanted.cuda_context != nullptr) &&
      devices[0]->info().kind != DeviceKind::kCuda) {
    return Status(StatusCode::kInvalidArgument, Subsystem::kEngine,
                  "the model does not run on a CUDA device")
        .WithName(wanted.cuda_stream != nullptr ? "cuda_stream" : "cuda_context");
  }
  for (size_t d = 0; d < devices.size(); ++d) {
    options.memory = memories_[d];
    MF_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, devices[d]->CreateBackend(options));
    backends_.push_back(std::move(backend));
  }
  return OkStatus();
}

Status Context::AllocateKv() {
  const ModelDescription& description = model_->description();
  const Placement& placement = model_->placement();
  kv_ = std::make_unique<KvCache>(config_.kv);
  ExecutorBindings bindings;
  for (size_t b = 0; b < backends_.size(); ++b) {
    bindings.backends.push_back(backends_[b].get());
    bindings.weight_stores.push_back(&model_->weights(b));
    bindings.kv_layers.emplace_back(static_cast<size_t>(description.hp.n_layers));
  }
  bindings.rope_configs = model_->rope_configs(config_.n_ctx);
  bindings.host_memory = &host_memory();
  for (size_t b = 0; b < backends_.size(); ++b) {
    for (size_t g = 0; g < config_.kv.groups.size(); ++g) {
      const KvGroup group = KvGroupOn(placement, static_cast<int32_t>(b), config_.kv.groups[g]);
      if (group.layers.empty()) continue;
      KvPart part{static_cast<int32_t>(g), b, group.layers.size(), {}, {}};
      MF_ASSIGN_OR_RETURN(part.bytes, MeasureKvGroup(*backends_[b], config_.kv, group));
      MF_ASSIGN_OR_RETURN(part.buffer, backends_[b]->Allocate(part.bytes.total, MemoryClass::kKv));
      BindKvLayers(part, group, &bindings.kv_layers[b]);
      kv_parts_.push_back(part);
    }
  }
  StepInputs inputs;
  MF_ASSIGN_OR_RETURN(Graph largest, BuildStepGraph(description, LargestParams(config_), &inputs));
  largest.uid = 1;
  const std::vector<int32_t> wanted = PlaceNodes(placement, largest);
  MF_ASSIGN_OR_RETURN(executor_, Executor::Create(std::move(bindings), std::move(largest), wanted));
  graphs_ = std::make_unique<StepGraphs>(&description, executor_.get());
  return OkStatus();
}

void Context::BindKvLayers(const KvPart& part, const KvGroup& group,
                           std::vector<KvLayerBinding>* layers) const {
  uint64_t offset = 0;
  for (const int32_t layer : group.layers) {
    KvLayerBinding& binding = (*layers)[static_cast<size_t>(layer)];
    binding.k = {part.buffer, offset, part.bytes.k_layer};
    binding.v = {part.buffer, offset + part.bytes.k_layer, part.bytes.v_layer};
    binding.k_page_bytes = part.bytes.page.k;
    binding.v_page_bytes = part.bytes.page.v;
    binding.k_format = config_.kv_format_k;
    binding.v_format = config_.kv_format_v;
    offset += part.bytes.k_layer + part.bytes.v_layer;
  }
}

Context::~Context() = default;

Status Context::AllocateTop() {
  Backend& backend = LogitsBackend();
  top_sizes_ =
      MeasureTop(config_, model_->description(), *model_->placement().devices.back(), backend);
  if (top_sizes_.entries == 0) return OkStatus();
  MF_ASSIGN_OR_RETURN(device_logits_,
                      backend.Allocate(top_sizes_.logits, MemoryClass::kActivations));
  MF_ASSIGN_OR_RETURN(top_buffer_, backend.Allocate(top_sizes_.entries, MemoryClass::kScratch));
  MF_ASSIGN_OR_RETURN(
      top_entries_, host_memory().Allocate(MemoryClass::kStaging, top_sizes_.host, "top entries"));
  return OkStatus();
}

BufferRange Context::DeviceLogits(int32_t side, int32_t slot, int64_t rows) const {
  const uint64_t row = static_cast<uint64_t>(model_->description().hp.n_vocab) * sizeof(float);
  const uint64_t first = static_cast<uint64_t>(side) * static_cast<uint64_t>(config_.n_sessions) +
                         static_cast<uint64_t>(slot);
  return {device_logits_, first * row, static_cast<uint64_t>(rows) * row};
}

Status Context::FetchLogits(Session* session, bool leads) {
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  if (!leads) {
    lock.lock();
    if (!session->logits_on_device_) return OkStatus();
    // Steps and other calls keep off the session while this one waits for the backend.
    const bool was_in_step = std::exchange(session->in_step_, true);
    ++active_calls_;
    // A callback of the leader's step finds the backend idle.
    const auto is_free = [this] { return !leading_ || leader_ == std::this_thread::get_id(); };
    changed_.wait(lock, is_free);
    --active_calls_;
    session->in_step_ = was_in_step;
    changed_.notify_all();
  }
  if (!session->logits_on_device_) return OkStatus();
  MF_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event,
                      LogitsBackend().Read(DeviceLogits(session->logits_side_, session->slot_, 1),
                                           SessionLogits(session->slot_)));
  MF_RETURN_IF_ERROR(event->Wait());
  session->logits_on_device_ = false;
  return OkStatus();
}

float* Context::SessionLogits(int32_t slot) const {
  return reinterpret_cast<float*>(logits_.data()) +
         static_cast<int64_t>(slot) * model_->description().hp.n_vocab;
}

Status Context::CopyPages(const std::vector<PageCopy>& copies) {
  for (const PageCopy& copy : copies) {
    for (const KvPart& part : kv_parts_) {
      if (part.group == copy.group) MF_RETURN_IF_ERROR(CopyPage(copy, part));
    }
  }
  return OkStatus();
}

Status Context::CopyPage(const PageCopy& copy, const KvPart& part) {
  Backend& backend = *backends_[part.backend];
  const KvGroupBytes& bytes = part.bytes;
  const auto page = [&](uint64_t base, int32_t index, uint64_t size) {
    return BufferRange{part.buffer, base + static_cast<uint64_t>(index) * size, size};
  };
  uint64_t offset = 0;
  for (size_t layer = 0; layer < part.n_layers; ++layer) {
    MF_RETURN_IF_ERROR(
        backend.Copy(page(offset, copy.from, bytes.page.k), page(offset, copy.to, bytes.page.k)));
    const uint64_t v = offset + bytes.k_layer;
    MF_RETURN_IF_ERROR(
        backend.Copy(page(v, copy.from, bytes.page.v), page(v, copy.to, bytes.page.v)));
    offset += bytes.k_layer + bytes.v_layer;
  }
  return OkStatus();
}

void Context::SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) {
  for (const auto& backend : backends_) backend->SetCancelFlags(flags);
}

void Context::PublishStatistics() {
  BackendStatistics sum;
  kernel_reports_.resize(backends_.size());
  for (size_t b = 0; b < backends_.size(); ++b) {
    const BackendStatistics one = backends_[b]->statistics();
    sum.nodes_executed += one.nodes_executed;
    sum.matmul_nodes += one.matmul_nodes;
    sum.weight_bytes_read += one.weight_bytes_read;
    sum.cancel_polls += one.cancel_polls;
    sum.work_between_polls_max = std::max(sum.work_between_polls_max, one.work_between_polls_max);
    sum.steps_captured += one.steps_captured;
    sum.launches_captured += one.launches_captured;
    sum.steps_replayed += one.steps_replayed;
    backends_[b]->UpdateReport(&kernel_reports_[b]);
  }
  statistics_.backend = sum;
}

Status Context::CheckUsable() const {
  if (!shutdown_.load(std::memory_order_relaxed)) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine, "the context was destroyed");
}

StatusOr<std::unique_ptr<Session>> Context::CreateSession() {
  MF_ASSIGN_OR_RETURN(Sampler sampler,
                      Sampler::Create(DefaultSamplingSettings(), model_->n_tokens()));
  std::lock_guard<std::mutex> lock(mutex_);
  MF_RETURN_IF_ERROR(CheckUsable());
  for (size_t slot = 0; slot < sessions_.size(); ++slot) {
    if (sessions_[slot] != nullptr) continue;
    auto session = std::make_unique<Session>(shared_from_this(), static_cast<int32_t>(slot),
                                             kv_->NewSequence(), std::move(sampler));
    sessions_[slot] = session.get();
    return session;
  }
  return Status(StatusCode::kResourceExhausted, Subsystem::kEngine,
                StrCat("all ", sessions_.size(), " sessions of the context exist"))
      .WithName("n_sessions");
}

void Context::ReleaseSession(Session* session) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [session] { return !session->in_step_; });
  kv_->Release(&session->sequence_);
  sessions_[static_cast<size_t>(session->slot_)] = nullptr;
}

bool Context::IsCancelled(const Session& session) const {
  return session.cancelled_.load(std::memory_order_relaxed) || IsSet(session.call_cancel_) ||
         IsSet(cancel_) || shutdown_.load(std::memory_order_relaxed);
}

// A thread that does not come in time, because its callback is slow, is not waited for again until
// it has come back: it delays its own session only.
void Context::WaitForStragglers(std::unique_lock<std::mutex>* lock) {
  const auto deadline = std::chrono::steady_clock::now() + kStragglerWait;
  auto is_awaited = [](const Session* session) {
    return session != nullptr && session->generating_ && !session->submitted_ && !session->late_;
  };
  auto all_here = [&] { return std::none_of(sessions_.begin(), sessions_.end(), is_awaited); };
  if (changed_.wait_until(*lock, deadline, all_here)) return;
  for (Session* session : sessions_) {
    if (is_awaited(session)) session->late_ = true;
  }
}

void Context::LeadOneStep(std::unique_lock<std::mutex>* lock) {
  leading_ = true;
  leader_ = std::this_thread::get_id();
  auto lead_over = absl::MakeCleanup([this] {
    leading_ = false;
    changed_.notify_all();
  });
  WaitForStragglers(lock);
  StepRunner runner(this, /*include_idle=*/false, StepOptions());
  StepResult result;
  // What failed is in the sessions; a step of no host has no status of its own.
  Status ignored = runner.Run(lock, &result);
  (void)ignored;
}

Status Context::RunPending(Session* session, const std::atomic<bool>* cancel) {
  std::unique_lock<std::mutex> lock(mutex_);
  MF_RETURN_IF_ERROR(CheckUsable());
  session->call_cancel_ = cancel;
  session->submitted_ = true;
  session->late_ = false;
  session->done_ = false;
  session->outcome_ = OkStatus();
  ++active_calls_;
  auto leave = absl::MakeCleanup([&] {
    session->submitted_ = false;
    session->call_cancel_ = nullptr;
    --active_calls_;
    changed_.notify_all();
  });
  changed_.notify_all();
  while (!session->done_) {
    if (!session->in_step_ && IsCancelled(*session)) {
      session->DropPending();
      return Status(StatusCode::kCancelled, Subsystem::kEngine,
                    StrCat("cancelled at position ", session->position()));
    }
    if (leading_) {
      changed_.wait_for(lock, kCancelPoll);
    } else {
      LeadOneStep(&lock);
    }
  }
  return session->TakeOutcome();
}

Status Context::Step(const StepOptions& options, StepResult* result) {
  *result = StepResult();
  std::unique_lock<std::mutex> lock(mutex_);
  MF_RETURN_IF_ERROR(CheckUsable());
  ++active_calls_;
  auto leave = absl::MakeCleanup([&] {
    --active_calls_;
    changed_.notify_all();
  });
  while (leading_) {
    if (IsSet(options.cancel) || IsSet(cancel_) || shutdown_.load(std::memory_order_relaxed)) {
      return Status(StatusCode::kCancelled, Subsystem::kEngine, "the step was cancelled");
    }
    changed_.wait_for(lock, kCancelPoll);
  }
  leading_ = true;
  leader_ = std::this_thread::get_id();
  auto lead_over = absl::MakeCleanup([&] { leading_ = false; });
  StepRunner runner(this, /*include_idle=*/true, options);
  return runner.Run(&lock, result);
}

Status Context::CheckNoStep() const {
  MF_RETURN_IF_ERROR(CheckUsable());
  if (!leading_) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine, "a step is running");
}

Status Context::StartTrace(const TraceOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  MF_RETURN_IF_ERROR(CheckNoStep());
  if (trace_ != nullptr) {
    return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine, "a trace is on");
  }
  trace_ = std::make_unique<Trace>(options);
  executor_->SetObserver(trace_.get());
  return OkStatus();
}

Status Context::StopTrace() {
  std::unique_ptr<Trace> trace;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    MF_RETURN_IF_ERROR(CheckNoStep());
    if (trace_ == nullptr) {
      return Status(StatusCode::kFailedPrecondition, Subsystem::kEngine, "no trace is on");
    }
    executor_->SetObserver(nullptr);
    trace = std::move(trace_);
  }
  trace->Finish();
  return OkStatus();
}

StatusOr<std::string> Context::PrintGraph(bool dot) const {
  MF_RETURN_IF_ERROR(CheckUsable());
  const Graph& graph = executor_->largest();
  return dot ? PrintDot(graph) : PrintJson(graph);
}

void Context::RequestShutdown() {
  shutdown_.store(true, std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

void Context::Shutdown() {
  RequestShutdown();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return active_calls_ == 0; });
}

ContextStatistics Context::statistics() const {
  std::lock_guard<std::mutex> lock(mutex_);
  ContextStatistics statistics = statistics_;
  statistics.n_sessions = static_cast<uint64_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](Session* s) { return s != nullptr; }));
  statistics.n_graphs_built = graphs_->built();
  statistics.n_graphs_reused = graphs_->reused();
  for (size_t g = 0; g < config_.kv.groups.size(); ++g) {
    const PagePool& pool = kv_->pool(static_cast<int32_t>(g));
    statistics.n_kv_pages += static_cast<uint64_t>(pool.total() - 1);
    statistics.n_kv_pages_used += static_cast<uint64_t>(pool.total() - 1 - pool.available());
  }
  return statistics;
}

std::vector<KernelReport> Context::kernel_report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<KernelReport> all;
  for (const std::vector<KernelReport>& report : kernel_reports_) {
    all.insert(all.end(), report.begin(), report.end());
  }
  return all;
}

}  // namespace minfer
