// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/str_cat.h"
#include "engine/backends.h"
#include "engine/device_choice.h"
#include "engine/weight_copies.h"
#include "tokenizer/gguf_vocabulary.h"

namespace minfer {
namespace {

// Bytes read between two looks at the cancel flag: some 5 ms of a slow disk.
constexpr uint64_t kReadChunk = 4u << 20;

const WeightPlace& PlaceOf(const ModelHeader& header, WeightId id) {
  return header.description.places[static_cast<size_t>(id)];
}

// The bytes in the mapping or the caller's memory; nullptr when they must be copied together.
const uint8_t* DataInPlace(const ModelHeader& header, const ModelOptions& options, WeightId id) {
  const WeightPlace& place = PlaceOf(header, id);
  if (options.read_weights || place.tensors.size() > 1) return nullptr;
  const uint8_t* data = header.files.TensorData(header.files.tensors()[place.tensors[0]]);
  return data == nullptr ? nullptr : data + place.offset;
}

// What the stores of a model keep, in the order of the placement's devices.
StatusOr<std::vector<WeightCopies>> CopiesOf(const ModelDescription& model,
                                             const ModelOptions& options,
                                             const Placement& placement) {
  MF_ASSIGN_OR_RETURN(const Tuning tuning, ParseTuning(options.tuning, LeverScope::kModel));
  MF_ASSIGN_OR_RETURN(const std::vector<uint32_t> masks, PlaceWeights(placement, model));
  std::vector<WeightCopies> all;
  for (size_t d = 0; d < placement.devices.size(); ++d) {
    std::vector<bool> reads;
    reads.reserve(masks.size());
    for (const uint32_t mask : masks) reads.push_back((mask >> d & 1u) != 0);
    MF_ASSIGN_OR_RETURN(WeightCopies copies, ChooseWeightCopies(model, tuning, reads));
    all.push_back(std::move(copies));
  }
  return all;
}

Status Cancelled(uint64_t done, uint64_t total) {
  return Status(StatusCode::kCancelled, Subsystem::kEngine,
                StrCat("load cancelled after ", done, " of ", total, " bytes"));
}

uint64_t WeightBytes(const ModelDescription& model) {
  uint64_t total = 0;
  for (const WeightInfo& info : model.weight_table) total += info.bytes;
  return total;
}

// A file with fewer embedding rows than tokens would be read past its end.
Status CheckVocabulary(const ModelHeader& header) {
  const int32_t rows = header.description.hp.n_vocab;
  const int32_t tokens = header.tokenizer->vocab_size();
  if (tokens <= rows) return OkStatus();
  return Status(StatusCode::kInvalidArgument, Subsystem::kModel,
                StrCat(tokens, " tokens but ", rows, " rows of embeddings"))
      .WithName("token_embd.weight");
}

// A fault of the model or its vocabulary knows the key or tensor by name: here it gets its place in
// the file. What is missing gets the end of the header, where one has looked in vain.
Status AddPlace(Status status, const ModelFiles& files) {
  if (status.ok() || status.file_offset() != 0) return status;
  if (const TensorInfo* tensor = files.FindTensor(status.name()); tensor != nullptr) {
    return std::move(status).WithOffset(tensor->file_offset);
  }
  const Metadata& metadata = files.metadata();
  std::optional<size_t> at = metadata.Find(status.name());
  if (!at.has_value() && status.subsystem() == Subsystem::kTokenizer) {
    // Named are a rule, a kind of tokenizer, a token.
    at = metadata.Find("tokenizer.ggml.model");
  }
  return std::move(status).WithOffset(at.has_value() ? metadata.file_offset(*at)
                                                     : files.parts()[0].header_bytes());
}

// What can be said of a model that this version does not run.
ModelDescription DescribeInPart(const ModelFiles& files) {
  const auto text = [&](std::string_view key) {
    const StatusOr<std::string_view> value = files.metadata().GetString(key);
    return value.ok() ? std::string(*value) : std::string();
  };
  ModelDescription model;
  model.hp.architecture = text("general.architecture");
  model.hp.name = text("general.name");
  const StatusOr<uint32_t> file_type = files.metadata().GetU32("general.file_type");
  if (file_type.ok()) model.hp.file_type = *file_type;
  return model;
}

}  // namespace

StatusOr<ModelHeader> ReadModelHeader(ModelFiles files, const ModelOptions& options) {
  MF_RETURN_IF_ERROR(ParseTuning(options.tuning, LeverScope::kModel).status());
  DescribeOptions describe;
  describe.allow_unknown_keys = options.allow_unknown_keys;
  StatusOr<ModelDescription> description = DescribeModel(files, describe);
  if (!description.ok()) return AddPlace(description.status(), files);
  StatusOr<std::unique_ptr<Tokenizer>> tokenizer = LoadTokenizer(files.metadata());
  if (!tokenizer.ok()) return AddPlace(tokenizer.status(), files);
  ModelHeader header{std::move(files), *std::move(description), *std::move(tokenizer)};
  Status fits = CheckVocabulary(header);
  if (!fits.ok()) return AddPlace(std::move(fits), header.files);
  return header;
}

StatusOr<Placement> PlaceModel(const ModelHeader& header, const ModelOptions& options,
                               const Logger* logger) {
  MF_ASSIGN_OR_RETURN(const Tuning tuning, ParseTuning(options.tuning, LeverScope::kModel));
  PlacementOptions wanted;
  wanted.device = options.device;
  wanted.gpu_layers = tuning.gpu_layers;
  wanted.gpu_budget = static_cast<uint64_t>(tuning.gpu_budget_mib) << 20;
  if (wanted.device == kAnyDevice) {
    const bool whole = wanted.gpu_layers < 0 && wanted.gpu_budget == 0;
    wanted.device = ChooseDevice(header.description, whole, FindDevices(), logger);
  }
  return MakePlacement(header.description, wanted);
}

StatusOr<std::vector<MemoryUse>> PlanModelByDevice(const ModelHeader& header,
                                                   const Placement& placement,
                                                   const ModelOptions& options) {
  const ModelDescription& model = header.description;
  std::vector<MemoryUse> uses(placement.devices.size());
  MF_ASSIGN_OR_RETURN(const std::vector<uint32_t> masks, PlaceWeights(placement, model));
  MF_ASSIGN_OR_RETURN(std::vector<WeightCopies> copies, CopiesOf(model, options, placement));
  for (size_t d = 0; d < placement.devices.size(); ++d) {
    WeightStoreOptions store_options;
    store_options.copies = std::move(copies[d]);
    MF_ASSIGN_OR_RETURN(const std::shared_ptr<WeightStore> store,
                        placement.devices[d]->CreateWeightStore(store_options));
    for (size_t id = 0; id < model.weight_table.size(); ++id) {
      if ((masks[id] >> d & 1u) == 0) continue;
      const WeightInfo& info = model.weight_table[id];
      const bool in_place = DataInPlace(header, options, static_cast<WeightId>(id)) != nullptr;
      uses[d][MemoryClass::kWeights] += store->BytesFor(info, in_place);
      if (in_place) uses[d][MemoryClass::kMapped] += info.bytes;
    }
  }
  return uses;
}

StatusOr<MemoryUse> PlanModel(const ModelHeader& header, const ModelOptions& options) {
  MF_ASSIGN_OR_RETURN(const Placement placement, PlaceModel(header, options));
  MF_ASSIGN_OR_RETURN(const std::vector<MemoryUse> uses,
                      PlanModelByDevice(header, placement, options));
  return SumOf(uses);
}

MemoryAccount::Snapshot Model::memory() const {
  MemoryAccount::Snapshot sum;
  for (const std::shared_ptr<MemoryAccount>& account : accounts_) {
    AddSnapshot(account->Read(), &sum);
  }
  return sum;
}

StatusOr<std::shared_ptr<const Model>> Model::Load(ModelFiles files, const ModelOptions& options) {
  if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
    return Cancelled(0, 0);
  }
  if (options.header_only) return LoadHeader(std::move(files), options);
  MF_ASSIGN_OR_RETURN(ModelHeader header, ReadModelHeader(std::move(files), options));
  const std::shared_ptr<Model> model = Create(std::move(header), options);
  MF_ASSIGN_OR_RETURN(model->placement_, PlaceModel(model->header_, options, model->logger_.get()));
  WeightStoreOptions store_options;
  store_options.logger = model->logger_.get();
  MF_ASSIGN_OR_RETURN(std::vector<WeightCopies> copies,
                      CopiesOf(model->description(), options, model->placement_));
  model->accounts_.clear();
  for (size_t d = 0; d < copies.size(); ++d) {
    model->accounts_.push_back(std::make_shared<MemoryAccount>());
    MF_ASSIGN_OR_RETURN(store_options.memory,
                        HostMemory::Create(options.allocator, model->accounts_.back()));
    store_options.copies = std::move(copies[d]);
    MF_ASSIGN_OR_RETURN(std::shared_ptr<WeightStore> store,
                        model->placement_.devices[d]->CreateWeightStore(store_options));
    model->stores_.push_back(std::move(store));
  }
  MF_RETURN_IF_ERROR(model->LoadRope());
  MF_RETURN_IF_ERROR(model->LoadWeights(options));
  MF_RETURN_IF_ERROR(model->files().CheckUnchanged());
  model->logger_->Info("loaded ", model->description().hp.architecture, " \"",
                       model->description().hp.name, "\", ", model->n_parameters_, " parameters, ",
                       WeightBytes(model->description()), " bytes");
  return std::shared_ptr<const Model>(model);
}

std::shared_ptr<Model> Model::Create(ModelHeader header, const ModelOptions& options) {
  std::shared_ptr<Model> model(new Model(std::move(header)));
  model->logger_ =
      std::make_shared<const Logger>(options.log_sink, options.log_user_data, options.log_level);
  for (const std::string& warning : model->tokenizer().warnings()) {
    model->logger_->Warning(warning);
  }
  model->accounts_ = {std::make_shared<MemoryAccount>()};
  for (const TensorInfo& tensor : model->files().tensors()) {
    uint64_t elements = 1;
    for (int64_t dim : tensor.shape()) elements *= static_cast<uint64_t>(dim);
    model->n_parameters_ += elements;
  }
  return model;
}

StatusOr<std::shared_ptr<const Model>> Model::LoadHeader(ModelFiles files,
                                                         const ModelOptions& options) {
  DescribeOptions describe;
  describe.allow_unknown_keys = true;
  StatusOr<ModelDescription> description = DescribeModel(files, describe);
  StatusOr<std::unique_ptr<Tokenizer>> tokenizer = LoadTokenizer(files.metadata());
  const Status tokenizer_status = AddPlace(tokenizer.status(), files);
  if (!tokenizer.ok()) {
    VocabularyData no_words;
    no_words.model = "none";
    tokenizer = Tokenizer::Create(no_words);
    MF_RETURN_IF_ERROR(tokenizer.status());
  }
  ModelDescription known = description.ok() ? *std::move(description) : DescribeInPart(files);
  const std::shared_ptr<Model> model =
      Create({std::move(files), std::move(known), *std::move(tokenizer)}, options);
  MF_RETURN_IF_ERROR(model->files().CheckUnchanged());
  model->tokenizer_status_ = tokenizer_status;
  return std::shared_ptr<const Model>(model);
}

// A weight that both devices read is loaded for each.
Status Model::LoadWeights(const ModelOptions& options) {
  const ModelDescription& model = header_.description;
  MF_ASSIGN_OR_RETURN(const std::vector<uint32_t> masks, PlaceWeights(placement_, model));
  uint64_t total = 0;
  for (size_t id = 0; id < masks.size(); ++id) {
    for (size_t d = 0; d < stores_.size(); ++d) {
      if ((masks[id] >> d & 1u) != 0) total += model.weight_table[id].bytes;
    }
  }
  uint64_t done = 0;
  for (size_t d = 0; d < stores_.size(); ++d) {
    for (size_t id = 0; id < masks.size(); ++id) {
      if ((masks[id] >> d & 1u) == 0) continue;
      MF_RETURN_IF_ERROR(LoadOneWeight(options, static_cast<WeightId>(id), d, &done, total));
    }
    MF_RETURN_IF_ERROR(stores_[d]->Finish());
  }
  if (stores_.size() > 1) {
    logger_->Info("the first ", placement_.layers, " layers on ",
                  placement_.devices[0]->info().name, ", what follows on the CPU");
  }
  return OkStatus();
}

Status Model::LoadOneWeight(const ModelOptions& options, WeightId id, size_t device, uint64_t* done,
                            uint64_t total) {
  WeightStore* store = stores_[device].get();
  const WeightInfo& info = header_.description.weight_table[static_cast<size_t>(id)];
  auto advance = [&](uint64_t bytes) -> Status {
    *done += bytes;
    const bool stop =
        (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) ||
        (options.progress != nullptr &&
         !options.progress(options.progress_user_data, *done, total));
    return stop ? Cancelled(*done, total) : OkStatus();
  };
  if (const uint8_t* data = DataInPlace(header_, options, id); data != nullptr) {
    MF_RETURN_IF_ERROR(accounts_[device]->Reserve(MemoryClass::kMapped, info.bytes, info.name));
    MF_RETURN_IF_ERROR(store->Register(id, info, data, /*in_place=*/true));
    return advance(info.bytes);
  }
  MF_ASSIGN_OR_RETURN(void* memory, store->Reserve(id, info));
  uint8_t* target = static_cast<uint8_t*>(memory);
  const WeightPlace& place = PlaceOf(header_, id);
  const uint64_t part = info.bytes / place.tensors.size();
  for (const size_t index : place.tensors) {
    const TensorInfo& tensor = header_.files.tensors()[index];
    for (uint64_t offset = 0; offset < part; offset += kReadChunk) {
      const auto chunk = static_cast<size_t>(std::min(kReadChunk, part - offset));
      MF_RETURN_IF_ERROR(header_.files.ReadTensor(tensor, place.offset + offset, {target, chunk}));
      MF_RETURN_IF_ERROR(advance(chunk));
      target += chunk;
    }
  }
  return OkStatus();
}

Status Model::LoadRope() {
  const ModelDescription& description = header_.description;
  rope_configs_ = long_rope_configs_ = description.rope_configs;
  RopeConfig* rope = &rope_configs_[0];
  MF_RETURN_IF_ERROR(LoadFrequencyFactors(description.frequency_factors_tensor, rope));
  MF_RETURN_IF_ERROR(LoadFrequencyFactors(description.short_factors_tensor, rope));
  return LoadFrequencyFactors(description.long_factors_tensor, &long_rope_configs_[0]);
}

Status Model::LoadFrequencyFactors(int64_t tensor_index, RopeConfig* rope) const {
  if (tensor_index < 0) return OkStatus();
  const TensorInfo& tensor = header_.files.tensors()[static_cast<size_t>(tensor_index)];
  std::vector<float>& factors = rope->frequency_factors;
  factors.resize(static_cast<size_t>(tensor.dims[0]));
  MF_RETURN_IF_ERROR(
      header_.files.ReadTensor(tensor, 0,
                               absl::Span<uint8_t>(reinterpret_cast<uint8_t*>(factors.data()),
                                                   factors.size() * sizeof(float))));
  for (float factor : factors) {
    if (std::isfinite(factor) && factor > 0.0f) continue;
    return Status(StatusCode::kInvalidArgument, Subsystem::kModel,
                  StrCat("a frequency factor is ", factor))
        .WithName(tensor.name)
        .WithOffset(tensor.file_offset);
  }
  return OkStatus();
}

}  // namespace minfer
