// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "new_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

NewFile::NewFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".part" + std::to_string(getpid())) {}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

bool NewFile::Check(bool worked) {
  if (!worked && error_number_ == 0) error_number_ = errno;
  return worked;
}

bool NewFile::Open() {
  // "x": a file of that name is somebody else's.
  file_ = std::fopen(temporary_.c_str(), "wbx");
  return Check(file_ != nullptr);
}

bool NewFile::Write(std::string_view bytes) {
  return Check(std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size());
}

bool NewFile::Finish() {
  if (!Check(std::fflush(file_) == 0) || !Check(fsync(fileno(file_)) == 0)) return false;
  std::FILE* file = std::exchange(file_, nullptr);
  const bool renamed =
      Check(std::fclose(file) == 0) && Check(std::rename(temporary_.c_str(), path_.c_str()) == 0);
  if (!renamed) std::remove(temporary_.c_str());
  return renamed;
}

std::string NewFile::Problem() const { return temporary_ + ": " + std::strerror(error_number_); }
