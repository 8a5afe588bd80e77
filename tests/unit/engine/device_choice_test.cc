// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/device_choice.h"

#include "backend/cpu/cpu_device.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

// Refuses a weight by name, as a device without a kernel for it does.
class PickyStore final : public WeightStore {
 public:
  PickyStore(std::shared_ptr<WeightStore> store, std::string refused)
      : store_(std::move(store)), refused_(std::move(refused)) {}
  Status Register(WeightId, const WeightInfo&, const void*, bool) override {
    return Status(StatusCode::kInternal, Subsystem::kBackend, "only asked for sizes");
  }
  StatusOr<void*> Reserve(WeightId, const WeightInfo&) override {
    return Status(StatusCode::kInternal, Subsystem::kBackend, "only asked for sizes");
  }
  Status Finish() override { return OkStatus(); }
  uint64_t BytesFor(const WeightInfo& info, bool) const override {
    return info.name == refused_ ? 0 : store_->BytesFor(info, false);
  }

 private:
  std::shared_ptr<WeightStore> store_;
  std::string refused_;
};

// The CPU in the dress of a GPU.
class FakeGpu final : public Device {
 public:
  FakeGpu(int32_t capability, uint64_t memory_free, std::string refused = "")
      : cpu_(MakeCpuDevice()),
        capability_(capability),
        memory_free_(memory_free),
        refused_(std::move(refused)) {}

  DeviceInfo info() const override {
    DeviceInfo info;
    info.kind = DeviceKind::kCuda;
    info.name = StrCat("gpu ", capability_);
    info.capability = capability_;
    info.memory_total = uint64_t{1} << 40;
    info.memory_free = memory_free_;
    return info;
  }
  KvFormat default_kv_format() const override { return cpu_->default_kv_format(); }
  StatusOr<std::shared_ptr<WeightStore>> CreateWeightStore(
      const WeightStoreOptions& options) const override {
    MF_ASSIGN_OR_RETURN(std::shared_ptr<WeightStore> store, cpu_->CreateWeightStore(options));
    return std::shared_ptr<WeightStore>(std::make_shared<PickyStore>(std::move(store), refused_));
  }
  StatusOr<std::unique_ptr<Backend>> CreateBackend(const BackendOptions& options) const override {
    return cpu_->CreateBackend(options);
  }

 private:
  std::unique_ptr<Device> cpu_;
  int32_t capability_;
  uint64_t memory_free_;
  std::string refused_;
};

constexpr uint64_t kPlenty = uint64_t{1} << 40;

ModelHeader TinyHeader() {
  StatusOr<ModelFiles> files = ModelFiles::Open(TinyModelPath("llama"), FileAccess::kMap);
  MF_REQUIRE_OK(files);
  StatusOr<ModelHeader> header = ReadModelHeader(std::move(*files), ModelOptions());
  MF_REQUIRE_OK(header);
  return std::move(*header);
}

TEST_CASE("Device choice: the highest compute capability first, the CPU last", "[engine]") {
  const std::vector<std::shared_ptr<const Device>> devices = {
      MakeCpuDevice(), std::make_shared<FakeGpu>(75, kPlenty),
      std::make_shared<FakeGpu>(90, kPlenty), std::make_shared<FakeGpu>(90, kPlenty)};
  CHECK(DevicesByPreference(devices) == std::vector<size_t>{2, 3, 1, 0});
}

TEST_CASE("Device choice: the best that runs the model, the CPU where none does", "[engine]") {
  const ModelHeader header = TinyHeader();
  std::vector<std::string> lines;
  const Logger logger(
      [](void* user_data, int32_t, const char* text, size_t length) {
        static_cast<std::vector<std::string>*>(user_data)->emplace_back(text, length);
      },
      &lines, LogLevel::kWarning);
  std::vector<std::shared_ptr<const Device>> devices = {MakeCpuDevice(),
                                                        std::make_shared<FakeGpu>(75, kPlenty),
                                                        std::make_shared<FakeGpu>(90, kPlenty)};
  const ModelDescription& model = header.description;
  CHECK(ChooseDevice(model, true, devices, &logger) == 2);
  CHECK(lines.empty());

  devices[2] = std::make_shared<FakeGpu>(90, kPlenty, "output_norm.weight");
  CHECK(ChooseDevice(model, true, devices, &logger) == 1);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("gpu 90") && Catch::Contains("output_norm.weight"));

  devices[1] = std::make_shared<FakeGpu>(75, 1000);
  CHECK(ChooseDevice(model, true, devices, &logger) == 0);
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[2], Catch::Contains("gpu 75") && Catch::Contains("free are 1000"));
  // A part of the model may fit.
  CHECK(ChooseDevice(model, false, devices, &logger) == 1);
}

}  // namespace
}  // namespace minfer::testing
