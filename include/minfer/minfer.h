/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * libminfer: runs GGUF language models inside your program. This header includes the others; each
 * of them is about one noun and says what it is, who owns it and who may call it. Start at
 * types.h, which holds the rules for all.
 *
 * Every failure is a status, with one exception: a model file that is mapped and that another
 * program makes shorter. MF_LOAD_MAP in model.h says what happens then, and MF_LOAD_READ, which
 * never maps, avoids it.
 */
#ifndef MINFER_MINFER_H_
#define MINFER_MINFER_H_

#include "cancel.h"
#include "chat.h"
#include "context.h"
#include "device.h"
#include "error.h"
#include "generate.h"
#include "host.h"
#include "library.h"
#include "log.h"
#include "memory.h"
#include "metadata.h"
#include "model.h"
#include "plan.h"
#include "quantize.h"
#include "sampling.h"
#include "session.h"
#include "source.h"
#include "tensor.h"
#include "tokenizer.h"
#include "trace.h"
#include "types.h"

#endif /* MINFER_MINFER_H_ */
