// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What Gemma 2 and 3 share. Their norm weights hold the "+1" of the papers already.
//   x_0 = sqrt(n_embd) embedding
//   h = x + rms(W_o attention(...)) attn_post_norm,  y = h + rms(ffn(rms(h) ffn_norm))
//   ffn_post_norm ffn(m) = W_down (gelu(W_gate m) * (W_up m));  logits = softcap(W_embedding
//   rms(x_L) output_norm)
#pragma once

#include "models/architecture.h"

namespace minfer {

// A.attention.scale, A.attn_logit_softcapping, A.final_logit_softcapping. Without the first, scores
// are divided by the root of the head size; in a model of `wide_layers` layers, the largest of its
// family, by that of n_embd / n_heads.
Status ReadGemmaScales(const ModelFiles& file, int32_t wide_layers, float attn_softcap_absent,
                       float final_softcap_absent, Hyperparameters* hp);

Status CollectGemmaWeights(const Hyperparameters& hp, WeightCollector* collector,
                           ModelWeights* weights);

ValueId GemmaDecoder(const ModelDescription& model, const StepInputs& inputs,
                     GraphBuilder* builder);

}  // namespace minfer
