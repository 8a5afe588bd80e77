// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The operations of a mixture of experts in scalar code.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/str_cat.h"
#include "tests/support/scalar_ops.h"

namespace minfer::testing {
namespace {

template <typename T>
void Put(const ScalarCall& call, size_t i, const std::vector<T>& values) {
  if (!values.empty()) std::memcpy(call.outputs[i], values.data(), values.size() * sizeof(T));
}

const float* InF(const ScalarCall& call, size_t i) {
  return static_cast<const float*>(call.inputs[i]);
}
const int32_t* InI(const ScalarCall& call, size_t i) {
  return static_cast<const int32_t*>(call.inputs[i]);
}

// Every score's share of the softmax.
std::vector<double> Shares(const float* scores, int64_t n) {
  const double highest = *std::max_element(scores, scores + n);
  std::vector<double> shares;
  for (int64_t e = 0; e < n; ++e) shares.push_back(std::exp(scores[e] - highest));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

// The expert of each slot, from the ordered slots and the counts.
StatusOr<std::vector<int64_t>> ExpertsOf(const ScalarCall& call) {
  const int64_t n_slots = call.input_shapes[1].rows;
  std::vector<int64_t> experts(static_cast<size_t>(n_slots), -1);
  int64_t at = 0;
  for (int64_t e = 0; e < call.input_shapes[2].rows; ++e) {
    for (int32_t i = 0; i < InI(call, 2)[e]; ++i, ++at) {
      const int32_t slot = at < n_slots ? InI(call, 1)[at] : -1;
      if (slot < 0 || slot >= n_slots || experts[static_cast<size_t>(slot)] >= 0) {
        return ScalarError(call, StrCat("slot ", slot, " at place ", at, " of ", n_slots));
      }
      experts[static_cast<size_t>(slot)] = e;
    }
  }
  if (at != n_slots) return ScalarError(call, StrCat(at, " slots are counted of ", n_slots));
  return experts;
}

}  // namespace

Status ScalarTopExperts(const ScalarCall& call) {
  const OpAttributes& a = call.node.attributes;
  const ValueShape& shape = call.input_shapes[0];
  std::vector<int32_t> ids;
  std::vector<float> weights;
  for (int64_t r = 0; r < shape.rows; ++r) {
    const float* scores = InF(call, 0) + r * shape.cols;
    const std::vector<double> shares = Shares(scores, shape.cols);
    std::vector<int32_t> order(shares.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [scores](int32_t x, int32_t y) { return scores[x] > scores[y]; });
    double chosen = 0.0;
    for (int32_t j = 0; j < a.n_used; ++j) {
      chosen += shares[static_cast<size_t>(order[static_cast<size_t>(j)])];
    }
    for (int32_t j = 0; j < a.n_used; ++j) {
      const int32_t id = order[static_cast<size_t>(j)];
      const double share = shares[static_cast<size_t>(id)];
      ids.push_back(id);
      weights.push_back(static_cast<float>((a.normalise ? share / chosen : share) * a.factor));
    }
  }
  Put(call, 0, ids);
  Put(call, 1, weights);
  return OkStatus();
}

Status ScalarGroupExperts(const ScalarCall& call) {
  std::vector<int32_t> slots;
  std::vector<int32_t> counts(static_cast<size_t>(call.node.attributes.n_experts), 0);
  const int64_t n_slots = call.input_shapes[0].elements();
  for (size_t e = 0; e < counts.size(); ++e) {
    for (int64_t s = 0; s < n_slots; ++s) {
      if (InI(call, 0)[s] != static_cast<int32_t>(e)) continue;
      slots.push_back(static_cast<int32_t>(s));
      ++counts[e];
    }
  }
  if (static_cast<int64_t>(slots.size()) != n_slots) return ScalarError(call, "an id is no expert");
  Put(call, 0, slots);
  Put(call, 1, counts);
  return OkStatus();
}

Status ScalarExpertMatMul(const ScalarCall& call, const float* weights, const float* bias) {
  MF_ASSIGN_OR_RETURN(const std::vector<int64_t> experts, ExpertsOf(call));
  const int64_t k = call.weight_shapes[0][0];
  const int64_t n = call.weight_shapes[0][1];
  std::vector<float> out;
  for (size_t s = 0; s < experts.size(); ++s) {
    const float* x = InF(call, 0) + static_cast<int64_t>(s) / call.node.attributes.fan_out * k;
    for (int64_t i = 0; i < n; ++i) {
      const float* row = weights + (experts[s] * n + i) * k;
      double sum = 0.0;
      for (int64_t c = 0; c < k; ++c) {
        sum += static_cast<double>(row[c]) * static_cast<double>(x[c]);
      }
      out.push_back(static_cast<float>(sum));
      if (bias != nullptr) out.back() += bias[experts[s] * n + i];
    }
  }
  Put(call, 0, out);
  return OkStatus();
}

Status ScalarCombineExperts(const ScalarCall& call) {
  const ValueShape& weights = call.input_shapes[1];
  const int64_t cols = call.input_shapes[0].cols;
  std::vector<float> out;
  for (int64_t r = 0; r < weights.rows; ++r) {
    for (int64_t i = 0; i < cols; ++i) {
      double sum = 0.0;
      for (int64_t slot = r * weights.cols; slot < (r + 1) * weights.cols; ++slot) {
        sum += static_cast<double>(InF(call, 1)[slot]) *
               static_cast<double>(InF(call, 0)[slot * cols + i]);
      }
      out.push_back(static_cast<float>(sum));
    }
  }
  Put(call, 0, out);
  return OkStatus();
}

Status ScalarGateRows(const ScalarCall& call) {
  const ValueShape& shape = call.input_shapes[0];
  std::vector<float> out;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const double gate = InF(call, 1)[i / shape.cols];
    out.push_back(static_cast<float>(InF(call, 0)[i] / (1.0 + std::exp(-gate))));
  }
  Put(call, 0, out);
  return OkStatus();
}

}  // namespace minfer::testing
