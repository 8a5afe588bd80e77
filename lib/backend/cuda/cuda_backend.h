// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The CUDA backend: nodes become kernel launches in one stream of its own, and splits that repeat
// become captured graphs. Nothing waits for the device but Synchronize and the events of reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/cuda_pool.h"
#include "backend/cuda/cuda_readback.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/cuda_upload.h"
#include "backend/cuda/cuda_weight_store.h"
#include "backend/cuda/held_launches.h"
#include "backend/cuda/product_choice.h"
#include "backend/device.h"
#include "kernels/common/kernel_status.h"
#include "kernels/cuda/attention_decode/attention_decode.h"
#include "kernels/cuda/common/kernel_stream.h"
#include "kernels/cuda/common/kv_layout.h"
#include "kernels/cuda/experts/expert_mmq.h"
#include "kernels/cuda/experts/experts.h"
#include "kernels/cuda/kv/kv_store.h"
#include "kernels/cuda/mmvq/mmvq.h"
#include "kernels/cuda/sampling/top_entries.h"
#include "kernels/cuda/transfer/scatter.h"
#include "kernels/cuda/transfer/step_begin.h"
#include "kernels/cuda/vector/vector.h"

namespace minfer {

class CudaBackend final : public Backend {
 public:
  // Without memory in the options the backend only answers what a plan asks.
  static StatusOr<std::unique_ptr<Backend>> Create(
      const std::shared_ptr<const CudaRuntime>& runtime, const BackendOptions& options);
  ~CudaBackend() override;

  std::string_view name() const override { return "cuda"; }
  Support Supports(const Graph& graph, const Node& node) const override;
  bool CanRunInPlace(const Graph& graph, const Node& node, int input) const override;

  StatusOr<BufferId> Allocate(uint64_t bytes, MemoryClass memory_class) override;
  void Recycle(BufferId buffer) override { pool_->Recycle(buffer); }
  uint64_t pool_generation() const override { return pool_->generation(); }
  uint64_t AllocationBytes(uint64_t bytes) const override { return bytes; }
  bool IsPending(BufferId buffer) const override { return pool_->writer(buffer) > finished_work_; }
  StatusOr<void*> HostPointer(const BufferRange& range) override;

  Status Write(const BufferRange& to, const void* data) override;
  Status WriteAll(absl::Span<const HostWrite> writes) override;
  StatusOr<std::shared_ptr<Event>> Read(const BufferRange& from, void* host) override;
  Status Copy(const BufferRange& from, const BufferRange& to) override;

  Status TopEntries(const TopRows& rows, const BufferRange& work, TopEntry* host) override;
  uint64_t TopBytes(int64_t rows, int64_t count) const override;
  bool RecordsTail() const override;

  uint64_t ScratchBytes(const Graph& graph) const override;
  StatusOr<KvPageBytes> PageBytes(const KvLayerShape& shape) const override;
  uint64_t StagingBytes() const override {
    return CudaUploadRing::kBytes + CudaReadback::PinnedBytes(options_.pinned_readback);
  }
  Status ReserveScratch(uint64_t bytes) override;

  StatusOr<SplitAction> BeginSplit(const Graph& graph, NodeId begin, NodeId end) override;
  Status Execute(const NodeCall& call) override;
  Status EndSplit() override;
  void AbortSplit(const Status& why) override;
  void SetDirect(bool direct) override { direct_ = direct; }
  void ForgetGraph(uint64_t graph_uid) override;
  Status Synchronize() override;
  void SetCancelFlags(absl::Span<const std::atomic<bool>* const> flags) override {
    cancel_flags_ = flags;
  }

  BackendStatistics statistics() const override { return statistics_; }
  std::vector<KernelReport> kernel_report() const override;
  void UpdateReport(std::vector<KernelReport>* report) const override;

 private:
  struct SplitKey {
    uint64_t uid = 0;
    NodeId begin = 0;
    NodeId end = 0;
    friend bool operator==(const SplitKey&, const SplitKey&) = default;
  };
  struct CapturedStep {
    SplitKey key;
    uint64_t generation = 0;
    cudaGraphExec_t graph = nullptr;
    bool prompt = false;  // it has rows of one
    BackendStatistics counted;
    std::vector<BufferId> written;
    kernels::cuda::ScatterArgs inputs;  // that it takes to their places
    kernels::cuda::TopEntriesArgs top;  // that it ends with; no rows: it does not
  };
  // How often a split has run directly since the pool last moved.
  struct Runs {
    SplitKey key;
    uint64_t generation = 0;
    int count = 0;
    bool without_top = false;  // what was recorded was not asked for once
  };
  struct OpenSplit {
    const Graph* graph = nullptr;
    SplitKey key;
    NodeId next = 0;
    bool failed = false;
    bool waited = false;                // an attention for what came before
    bool records_top = false;           // best entries may come behind the nodes
    kernels::cuda::ScatterArgs inputs;  // recorded
    kernels::cuda::TopEntriesArgs top;  // recorded
  };
  // A matrix product of a node.
  struct Product {
    const WeightInfo* info = nullptr;
    const void* weights = nullptr;
    CudaWeightStore::Entry copies;
    const float* bias = nullptr;
    float* out = nullptr;
  };
  // The arguments of a kernel that multiplies with one matrix.
  template <typename Args, typename Values>
  static Args MatrixArgs(const Product& product, const Values* x, int64_t m) {
    const WeightInfo& info = *product.info;
    return {info.type, product.weights, info.ne1,    info.ne0, x,
            m,         product.bias,    product.out, info.ne1};
  }
  // Scratch's end, all zeros between launches.
  static constexpr uint64_t kCounterBytes = 64 << 10;
  // How a node reads its input where rows are few.
  struct ActivationForm {
    bool quantized = false;  // by one product at least
    bool all_quantized = false;
    bool residual = false;
    bool streamed = false;
  };
  // A value that scratch holds quantised.
  struct Planes {
    ValueId value = kNoId;
    ValueId slots = kNoId;  // by the tiles of experts with these slots, instead of by rows
    ActivationForm form;
    kernels::cuda::PlaneTarget target;
    bool only = false;         // the value's own buffer was not written
    bool by_producer = false;  // by the kernel that made the value
  };
  struct ReportKey {
    OpKind op;
    int64_t shape;
    int32_t variant;
    friend bool operator==(const ReportKey&, const ReportKey&) = default;
  };

  CudaBackend(std::shared_ptr<const CudaRuntime> runtime, const BackendOptions& options);

  bool starts_early() const { return options_.early_launch && tier().capability >= 90; }
  // Scratch before the counters.
  uint64_t scratch_room() const {
    return scratch_bytes_ < kCounterBytes ? 0 : scratch_bytes_ - kCounterBytes;
  }
  // The stream for kernels that wait for those before them.
  kernels::cuda::KernelStream queue() const {
    return {stream_->get(), starts_early(), runtime_->opt_ins(), window_open_};
  }
  // And for those that do not, so that none starts early.
  kernels::cuda::KernelStream in_turn() const {
    return {stream_->get(), false, runtime_->opt_ins(), window_open_};
  }

  // cuda_backend.cc
  Status Internal(const std::string& message) const;
  Status NodeError(const NodeCall& call, const std::string& message) const;
  Status FromKernel(const NodeCall& call, kernels::KernelStatus status) const;
  StatusOr<const void*> Weight(const NodeCall& call, size_t index) const;
  Status TakeMatrix(const NodeCall& call, size_t index, Product* product) const;
  StatusOr<float*> Floats(const BufferRange& range) const;
  StatusOr<const int32_t*> Ints(const BufferRange& range) const;
  StatusOr<int32_t*> MutableInts(const BufferRange& range) const;
  Status CheckUsable(const char* what);
  Status CheckReady(const char* what);
  // cuda_host_stream.cc
  Status AcceptHost();
  Status FollowHost();
  // cuda_inputs.cc
  StatusOr<bool> PlanScatter(absl::Span<const HostWrite> writes,
                             kernels::cuda::ScatterArgs* args) const;
  Status SendInputs();
  bool BeginsStep(const NodeCall& call) const;
  Status InputsBefore(const NodeCall& call);
  Status BeginStep(const NodeCall& call, kernels::cuda::StepBeginArgs args);
  Status TableForBegin(const NodeCall& call, kernels::cuda::StepBeginArgs begin,
                       const kernels::cuda::RopeAngles& angles, const int32_t* positions,
                       float* out);
  // What kernels may use: the device's row of the tier table, or the forced one.
  CudaTier tier() const;
  std::vector<KernelReport> ReportTail() const;
  void CountReport(const NodeCall& call, int64_t shape, int32_t variant, KernelReport row);

  // cuda_split.cc
  Status OutsideWindow(const char* what);
  void AbortWindow();
  bool Records(const Graph& graph) const;
  Runs& RunsOf(const SplitKey& key);
  bool WantsWindow(const SplitKey& key);
  void DropTop();
  void OpenWindow();
  Status CloseWindow();
  Status Replay(const CapturedStep& step);
  void Destroy(const CapturedStep& step);
  Status Dispatch(const NodeCall& call);
  void CountNode(const NodeCall& call);

  // cuda_sampling.cc
  StatusOr<kernels::cuda::TopEntriesArgs> TopArgs(const TopRows& rows,
                                                  const BufferRange& work) const;

  // cuda_vector.cc
  Status ExecuteGetRows(const NodeCall& call);
  Status ExecuteSelectRows(const NodeCall& call);
  Status ExecuteRmsNorm(const NodeCall& call);
  Status ExecuteLayerNorm(const NodeCall& call);
  Status ExecuteElementwise(const NodeCall& call);
  Status ExecuteRopeTable(const NodeCall& call);
  Status ExecuteRope(const NodeCall& call);

  // cuda_matmul.cc
  Status ExecuteMatMul(const NodeCall& call);
  Status ExecuteMatMulGroup(const NodeCall& call);
  Status ExecuteGatedMatMul(const NodeCall& call);
  StatusOr<const void*> QuantizedInput(const NodeCall& call, const ActivationForm& form);
  Status RunProducts(const NodeCall& call, absl::Span<const Product> products,
                     kernels::cuda::MmvqGate gate = kernels::cuda::MmvqGate::kNone,
                     const Planes* result = nullptr);
  Status RunFloat(const NodeCall& call, const Product& product, const float* x, int64_t m);
  Status RunSmall(const NodeCall& call, const Product& product, const void* halves, int64_t m);
  StatusOr<const void*> FewHalves(const NodeCall& call, const float* x);
  bool FusesGate(absl::Span<const Product> products, int64_t m) const;
  StatusOr<Planes> PlanesOfGate(const NodeCall& call);
  bool UsesResidual(const Graph& graph, const Node& node) const;
  static uint64_t ActivationBytes(int64_t m, int64_t k, bool residual);
  uint64_t ProductScratch(const Graph& graph, const Node& node) const;
  uint64_t FewHalvesAt(const Graph& graph, const Node& node) const;
  uint64_t MatMulScratch(const Graph& graph, const Node& node) const;
  void ReportMatMul(const NodeCall& call, const WeightInfo& info, const ActivationForm& form,
                    int64_t m, bool result_planes, bool mixed);

  // cuda_many_rows.cc
  bool StagesRaw() const;
  bool UsesWgmma() const;
  ProductKernel KernelFor(const WeightInfo& info, int64_t m, bool residual = false) const {
    return ChooseProduct(options_, tier(), {info.type, info.ne1, info.ne0, m, residual});
  }
  bool HasMmqCopies(absl::Span<const Product> products) const;
  static bool HasHalves(absl::Span<const Product> products, bool gated);
  uint64_t ManyRowsScratch(const Graph& graph, const Node& node, bool residual) const;
  bool TakesTogether(absl::Span<const Product> products, int64_t m, bool gated) const;
  Status RunManyRows(const NodeCall& call, absl::Span<const Product> products, bool residual,
                     kernels::cuda::MmvqGate gate);
  Status RunInteger(const NodeCall& call, absl::Span<const Product> products, bool residual,
                    kernels::cuda::MmvqGate gate, const float* x, uint8_t* scratch, int64_t m);
  Status DecodeColumns(const NodeCall& call, absl::Span<const Product> products, bool gated,
                       int64_t begin, int64_t end, uint8_t* decoded);
  Status RunHalves(const NodeCall& call, absl::Span<const Product> products,
                   kernels::cuda::MmvqGate gate, uint8_t* scratch, int64_t m);
  Status RunTensor(const NodeCall& call, const Product& product, const void* halves, int64_t m);
  void ReportManyRows(const NodeCall& call, const WeightInfo& info, int64_t m, ProductKernel kernel,
                      bool residual, bool copy);

  // cuda_fuse.cc
  const Node* NextNode() const;  // of the split, after the one that runs
  static int64_t CountReads(const Graph& graph, ValueId value);
  ActivationForm FormOf(const Graph& graph, const Node& node) const;
  // Where the node's kernel quantises its output, for the next node; no value: nowhere.
  StatusOr<Planes> PlanesForNext(const NodeCall& call, uint64_t scratch_offset);
  bool HoldsForAdd(const NodeCall& call, const kernels::cuda::MmvqArgs& product) const;
  bool SelectsThenAdds(const NodeCall& call) const;
  Status SelectHeld(const NodeCall& call, HeldSum* sum);
  Status AddToHeld(const NodeCall& call, HeldSum sum);
  bool HoldsForStore(const NodeCall& call) const;
  HeldTail* HoldsForAttention(const NodeCall& call);
  bool LeadsToAttention(const Graph& graph) const;
  bool TakesTail(const NodeCall& call, const HeldTail& tail,
                 const kernels::cuda::AttentionArgs& attention) const;
  kernels::cuda::DecodeTail TakeTail(HeldTail held, kernels::cuda::AttentionArgs* attention);
  Status FlushTail(const NodeCall& call, HeldTail held);
  bool HoldsForProduct(const NodeCall& call, const kernels::cuda::MmvqNorm& norm) const;
  // The norm that waits for the node's product, or, where that can't take it, its launch now.
  StatusOr<kernels::cuda::MmvqNorm> TakeNorm(const NodeCall& call,
                                             absl::Span<const Product> products);
  Status CheckHeld(const NodeCall& call) const;

  // cuda_attention.cc
  Status ExecuteKvStore(const NodeCall& call);
  Status ExecuteAttention(const NodeCall& call);
  StatusOr<kernels::cuda::KvSide> Side(const NodeCall& call, bool key) const;
  Status RunDecodeRows(const NodeCall& call, kernels::cuda::AttentionArgs args, bool whole);
  bool UsesAttentionDecode(const kernels::cuda::AttentionArgs& args) const;
  StatusOr<uint32_t*> Counters(const kernels::cuda::AttentionArgs& args) const;
  static uint64_t AttentionPartials(const Graph& graph, const Node& node);
  static uint64_t AttentionScratch(const Graph& graph, const Node& node);

  // cuda_experts.cc
  kernels::cuda::FaultWord FaultOf(const NodeCall& call);
  Status TakeFault();
  Status ExecuteTopExperts(const NodeCall& call);
  Status ExecuteGroupExperts(const NodeCall& call);
  Status ExecuteExpertMatMul(const NodeCall& call);
  bool UsesExpertMmq(const WeightInfo& info, int64_t n_slots) const;
  uint64_t ExpertScratch(const Graph& graph, const Node& node) const;
  StatusOr<const void*> ExpertTiles(const NodeCall& call, const kernels::cuda::ExpertLists& lists,
                                    const float* x, int64_t k);
  Status RunExpertMmq(const NodeCall& call, const kernels::cuda::ExpertMatMulArgs& args);
  bool HoldsForExpertGate(const NodeCall& call) const;
  Status RunHeldExperts(const NodeCall& call, kernels::cuda::ExpertMmqArgs args);
  Status ExecuteCombineExperts(const NodeCall& call);
  Status ExecuteGateRows(const NodeCall& call);
  Status ExecuteClampedSwiglu(const NodeCall& call);

  std::shared_ptr<const CudaRuntime> runtime_;
  BackendOptions options_;
  std::unique_ptr<CudaStream> stream_;
  std::unique_ptr<CudaPool> pool_;
  std::unique_ptr<CudaUploadRing> upload_;
  std::unique_ptr<CudaReadback> readback_;
  std::unique_ptr<CudaEvent> host_mark_;  // in the host's stream, where there is one
  bool follows_host_ = false;             // the work since the last wait does
  BufferId scratch_;
  uint64_t scratch_bytes_ = 0;
  std::vector<kernels::cuda::RopeAngles> rope_angles_;
  std::vector<std::string> fault_names_;  // nodes, by the number that their launches carry
  absl::Span<const std::atomic<bool>* const> cancel_flags_;

  uint64_t top_calls_ = 0;
  uint64_t prompts_replayed_ = 0;
  uint64_t enqueued_work_ = 0;  // numbers of work; all up to finished_work_ has been waited for
  uint64_t finished_work_ = 0;
  kernels::cuda::ScatterArgs inputs_;  // packed, not sent yet
  bool inputs_read_ = false;           // those before may still be, by a step not waited for
  bool replays_top_ = false;  // a recording that was launched does, and was not asked to yet
  SplitKey replayed_;         // its split
  kernels::cuda::TopEntriesArgs replayed_top_;

  OpenSplit split_;
  bool window_open_ = false;
  bool graphs_enabled_ = true;
  bool direct_ = false;
  Planes planes_;
  HeldLaunches held_;
  BackendStatistics recorded_;
  std::vector<BufferId> written_;
  std::vector<CapturedStep> captured_;
  std::vector<Runs> runs_;

  BackendStatistics statistics_;
  std::vector<ReportKey> report_keys_;
  std::vector<KernelReport> report_;
};

}  // namespace minfer
