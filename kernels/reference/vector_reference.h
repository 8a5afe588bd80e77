// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The plain twins of the vector kernels, one value at a time. The elementary functions come twice:
// as the polynomials of math_body.h (equal to the generic unit bit for bit), and in double from the
// C library, for the error of these polynomials.
#pragma once

#include <cstdint>

namespace minfer::kernels::reference {

float Exp(float x);
float Tanh(float x);
float Silu(float x);
float GeluTanh(float x);
float ClampedSwiglu(float gate, float up, float alpha, float limit);

double TrueSilu(double x);
double TrueGeluTanh(double x);
double TrueClampedSwiglu(double gate, double up, double alpha, double limit);

void RmsNorm(const float* x, const float* weight, float* out, int64_t n, float eps);

void LayerNorm(const float* x, const float* weight, const float* bias, float* out, int64_t n,
               float eps);

void Rope(const float* x, float* out, const float* cos_sin, int32_t n_heads, int32_t head_dim,
          int32_t rope_dim, bool neox);

}  // namespace minfer::kernels::reference
