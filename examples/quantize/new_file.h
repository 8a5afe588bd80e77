// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// A file that is there whole or not at all: written under another name beside its own, put on the
// disk, then renamed. What was not finished is removed.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // False after a failure; Problem() says which.
  bool Open();
  bool Write(std::string_view bytes);
  bool Finish();
  std::string Problem() const;

 private:
  bool Check(bool worked);

  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
  int error_number_ = 0;
};
