// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Mirostat, version 2: holds the surprise of the text near a target by moving the bound at which
// candidates are cut. S. Basu, G. S. Ramachandran, N. S. Keskar, L. R. Varshney, "Mirostat: a
// neural text decoding algorithm that directly controls perplexity", 2021; version 2 is the
// authors' own variant that needs no estimate of the tail.
#pragma once

#include <cstdint>
#include <vector>

#include "sampling/candidates.h"

namespace minfer {

// Removes the candidates whose surprise -log2 p(x) is above mu; the best one stays. Returns the
// total weight before the cut: the paper's surprise is that of the model's own distribution.
double MirostatCut(CandidateList& list, double mu);

// -log2 of the share that `logit` has of `total`, where the highest logit has weight 1.
double SurpriseBits(float logit, float highest, double total);

// mu - eta * (surprise - tau).
double MirostatStep(double mu, double surprise, double tau, double eta);

// mu of each position: a value counts from the position it was committed at until the next one, so
// that a rewind to any position finds the mu that held there.
class MirostatTrack {
 public:
  // mu for a draw at `position`; `initial` where nothing was committed before it.
  double At(int64_t position, double initial) const;
  // mu after the token at `position`; forgets what stood at it or later. Strong guarantee.
  void Commit(int64_t position, double mu);
  // Forgets the tokens at `position` and later.
  void Rewind(int64_t position);

 private:
  struct Entry {
    int64_t position;
    double mu;
  };
  std::vector<Entry> entries_;  // positions rise
};

}  // namespace minfer
