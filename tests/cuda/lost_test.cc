// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A device that is lost in the middle of things. In a program of its own: nothing that runs after
// the fault can use the device.
#include "kernels/cuda/vector/rows.h"
#include "tests/cuda/device_data.h"
#include "tests/support/engine_fixture.h"

namespace minfer::testing {
namespace {

// A kernel reads where there is no memory: from here on every call on the device fails.
void LoseDevice() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  const DeviceBytes ids = ToDevice(std::vector<int32_t>{0});
  const DeviceBytes out(64 * sizeof(float));
  REQUIRE(kernels::cuda::SelectRows(reinterpret_cast<const float*>(0x1000), 1, 64,
                                    ids.as<int32_t>(), 1, out.as<float>(),
                                    stream) == kernels::KernelStatus::kOk);
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
  }
  REQUIRE(cudaStreamQuery(stream) == cudaErrorIllegalAddress);
  // As a host that does not look would leave it.
  cudaGetLastError();
}

Status Run(Session* session) {
  MF_RETURN_IF_ERROR(session->Feed({5, 6, 7}));
  return session->Decode(nullptr);
}

TEST_CASE("CUDA lost: every handle says UNAVAILABLE, all of them can go, the CPU goes on",
          "[cuda]") {
  const std::optional<int32_t> device = CudaDeviceIndex();
  if (!device.has_value()) return;
  ContextOptions options;
  options.n_threads = 2;
  options.n_ctx = 64;
  const std::vector<int32_t> prompt = {1, 262, 261, 70, 80, 3};
  const std::string path = TinyModelPath("llama");
  std::shared_ptr<Context> host = MakeContext(LoadModel(path), options);
  const std::vector<float> want = Decode(MakeSession(host).get(), prompt);
  const std::shared_ptr<const Model> model = LoadModel(path, *device);
  std::shared_ptr<Context> first = MakeContext(model, options);
  std::shared_ptr<Context> second = MakeContext(model, options);
  std::unique_ptr<Session> a = MakeSession(first);
  std::unique_ptr<Session> b = MakeSession(second);
  MF_REQUIRE_OK(Run(a.get()));
  MF_REQUIRE_OK(Run(b.get()));
  const int64_t position = a->position();

  LoseDevice();
  for (Session* session : {a.get(), b.get(), a.get()}) {
    const Status status = Run(session);
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK_FALSE(status.name().empty());
  }
  CHECK(a->position() == position);  // nothing was committed
  CHECK(Context::Create(model, options).status().code() == StatusCode::kUnavailable);
  // A context of the CPU goes on, an old one and a new one.
  CHECK(Decode(MakeSession(host).get(), prompt) == want);
  CHECK(Decode(MakeSession(MakeContext(LoadModel(path), options)).get(), prompt) == want);
  const uint64_t taken = first->memory().total.bytes;
  CHECK(taken > 0);
  a = nullptr;
  b = nullptr;
  first = nullptr;
  second = nullptr;
  CHECK(Decode(MakeSession(host).get(), prompt) == want);
}

}  // namespace
}  // namespace minfer::testing
