/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* A stand-in for other libraries in the same process: it exports names that engines, loggers and
   allocator hooks are known by, and counts every call that reaches it. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int stand_in_calls = 0;

#define STAND_IN(name) \
  EXPORT int name(void) { return ++stand_in_calls; }

STAND_IN(ggml_init)
STAND_IN(ggml_free)
STAND_IN(ggml_abort)
STAND_IN(ggml_backend_load_all)
STAND_IN(ggml_backend_cpu_init)
STAND_IN(ggml_graph_compute)
STAND_IN(ggml_quantize_chunk)
STAND_IN(gguf_init_from_file)
STAND_IN(llama_backend_init)
STAND_IN(llama_model_load_from_file)
STAND_IN(llama_init_from_model)
STAND_IN(llama_decode)
STAND_IN(llama_tokenize)
STAND_IN(llama_sampler_sample)
STAND_IN(pcre2_version)
STAND_IN(_ZN6spdlog7details8registry8instanceEv)
STAND_IN(_ZN6spdlog8set_levelENS_5level10level_enumE)
STAND_IN(_ZN6minfer6StatusC1ENS_10StatusCodeENS_9SubsystemESs)
STAND_IN(_ZN6minfer4capi8CopyTextESt17basic_string_viewIcSt11char_traitsIcEEPcm)
