// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/trace.h"

#include "capi/calls.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "capi/translate.h"
#include "engine/context.h"
#include "engine/trace.h"

namespace capi = minfer::capi;
using minfer::Status;

void mf_trace_options_init(mf_trace_options* out, size_t struct_size) {
  capi::InitSized(out, struct_size);
}

mf_status mf_context_trace_start(mf_context* context, const mf_trace_options* options,
                                 mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    MF_ASSIGN_OR_RETURN(const mf_trace_options in, capi::ReadOptions(options, "mf_trace_options"));
    MF_RETURN_IF_ERROR(capi::CheckReserved(in.reserved, sizeof(in.reserved), "mf_trace_options"));
    MF_RETURN_IF_ERROR(capi::CheckFlag(in.values, "values"));
    if (in.write == nullptr) return capi::NullArgument("write");
    return call.context().StartTrace({in.values != 0, in.write, in.write_user_data});
  });
}

mf_status mf_context_trace_stop(mf_context* context, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    return call.context().StopTrace();
  });
}

mf_status mf_context_dump_graph(mf_context* context, mf_graph_format format,
                                mf_trace_callback write, void* user_data, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> Status {
    capi::ContextCall call;
    MF_RETURN_IF_ERROR(call.Enter(context));
    if (write == nullptr) return capi::NullArgument("write");
    if (format != MF_GRAPH_DOT && format != MF_GRAPH_JSON) {
      return capi::InvalidArgument("format", minfer::StrCat(format, " is no format of a graph"));
    }
    MF_ASSIGN_OR_RETURN(const std::string text,
                        call.context().PrintGraph(/*dot=*/format == MF_GRAPH_DOT));
    minfer::WriteText(write, user_data, text);
    return minfer::OkStatus();
  });
}
