/* SPDX-FileCopyrightText: 2026 The libminfer authors */
/* SPDX-License-Identifier: Apache-2.0 */

/**
 * Tokenizer: turns text into token ids and back, by the rules that the model file names. It is a
 * part of its model, which owns it and never changes it; any thread may use it. These calls work
 * without a context and take no device.
 *
 * The text of one token is bytes, at times a part of a UTF-8 character. A session's generate
 * streams whole characters; here a piece is given as it is.
 */
#ifndef MINFER_TOKENIZER_H_
#define MINFER_TOKENIZER_H_

#include "error.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of encoding; 0 is plain text. */
enum {
  /** Add what the model file says belongs around a text: mostly a beginning-of-sequence token. */
  MF_ENCODE_ADD_SPECIAL = 1u << 0,
  /** Let the text of a control token, such as "<|im_end|>", become that token. Only for text that
   * the host itself made, as mf_chat_render()'s: in text of a user it lets the user forge turns. */
  MF_ENCODE_PARSE_SPECIAL = 1u << 1,
  /** The text continues another one: no space is put before it, where the model has that rule. */
  MF_ENCODE_CONTINUE = 1u << 2
};

/** Flags of decoding; 0 leaves control tokens out. */
enum {
  /** Write control tokens as their text. */
  MF_DECODE_SPECIAL = 1u << 0,
  /** The tokens continue others: a space that encoding may have put before a text stays. */
  MF_DECODE_CONTINUE = 1u << 1
};

/** Attributes of a token: bits of mf_tokenizer_attributes(). */
enum {
  MF_TOKEN_NORMAL = 1u << 0,
  MF_TOKEN_UNKNOWN = 1u << 1,
  /** Steers the model; decodes to nothing unless asked. */
  MF_TOKEN_CONTROL = 1u << 2,
  MF_TOKEN_USER_DEFINED = 1u << 3,
  MF_TOKEN_UNUSED = 1u << 4,
  /** Stands for one raw byte. */
  MF_TOKEN_BYTE = 1u << 5,
  /** Ends a generation. */
  MF_TOKEN_END = 1u << 6
};

/** A special token to ask for. New ones are appended. */
typedef int32_t mf_special;

enum {
  /** Beginning of sequence. */
  MF_SPECIAL_BOS = 1,
  /** End of sequence. */
  MF_SPECIAL_EOS = 2,
  /** End of turn. */
  MF_SPECIAL_EOT = 3,
  /** End of message. */
  MF_SPECIAL_EOM = 4,
  MF_SPECIAL_UNKNOWN = 5,
  MF_SPECIAL_SEPARATOR = 6,
  MF_SPECIAL_PADDING = 7,
  MF_SPECIAL_MASK = 8,
  /** Filling in the middle. */
  MF_SPECIAL_FIM_PREFIX = 9,
  MF_SPECIAL_FIM_SUFFIX = 10,
  MF_SPECIAL_FIM_MIDDLE = 11,
  MF_SPECIAL_FIM_PADDING = 12,
  MF_SPECIAL_FIM_REPOSITORY = 13,
  MF_SPECIAL_FIM_SEPARATOR = 14
};

/**
 * How many tokens a text has, without writing them.
 *
 * @param model the model.
 * @param text UTF-8; NULL only with length 0. Bytes that are not UTF-8 are encoded all the same.
 * @param length bytes of text.
 * @param flags MF_ENCODE_ flags, or 0.
 * @param out_count the number.
 * @param error optional.
 * @return OK; INVALID_ARGUMENT for NULL or an unknown flag; FAILED_PRECONDITION in a forked child;
 *         CANCELLED when the model is destroyed meanwhile.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_tokenizer_count(const mf_model* model, const char* text, size_t length,
                                    uint32_t flags, size_t* out_count, mf_error* error);

/**
 * Encodes a text into tokens, in two-call form. A buffer of length + 8 tokens is always enough, so
 * that one call does.
 *
 * @param model the model.
 * @param text UTF-8; NULL only with length 0. Bytes that are not UTF-8 are encoded all the same.
 * @param length bytes of text.
 * @param flags MF_ENCODE_ flags, or 0.
 * @param out_tokens where to write; NULL with capacity 0 asks for the number.
 * @param capacity tokens that out_tokens holds.
 * @param out_count the number of tokens, also when they did not fit.
 * @param error optional.
 * @return OK; OUT_OF_RANGE when they did not fit; INVALID_ARGUMENT for NULL or an unknown flag;
 *         FAILED_PRECONDITION in a forked child; CANCELLED when the model is destroyed meanwhile.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_tokenizer_encode(const mf_model* model, const char* text, size_t length,
                                     uint32_t flags, mf_token* out_tokens, size_t capacity,
                                     size_t* out_count, mf_error* error);

/**
 * Decodes tokens into text, in two-call form.
 *
 * @param model the model.
 * @param tokens ids; NULL only with 0 of them.
 * @param n_tokens how many.
 * @param flags MF_DECODE_ flags, or 0.
 * @param out_text where to write; NULL with capacity 0 asks for the length.
 * @param capacity bytes that out_text holds.
 * @param out_length the number of bytes, also when they did not fit; there is no terminator.
 * @param error optional.
 * @return OK; OUT_OF_RANGE when it did not fit; INVALID_ARGUMENT for NULL, an unknown flag or an
 *         id that the vocabulary does not have; FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_tokenizer_decode(const mf_model* model, const mf_token* tokens, size_t n_tokens,
                                     uint32_t flags, char* out_text, size_t capacity,
                                     size_t* out_length, mf_error* error);

/**
 * The bytes of one token, in two-call form. They may be a part of a character.
 *
 * @param model the model.
 * @param token the id.
 * @param flags MF_DECODE_ flags, or 0.
 * @param out_text where to write; NULL with capacity 0 asks for the length.
 * @param capacity bytes that out_text holds.
 * @param out_length the number of bytes, also when they did not fit; there is no terminator.
 * @param error optional.
 * @return OK; OUT_OF_RANGE when it did not fit; INVALID_ARGUMENT for NULL, an unknown flag or an
 *         id that the vocabulary does not have; FAILED_PRECONDITION in a forked child.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_status mf_tokenizer_piece(const mf_model* model, mf_token token, uint32_t flags,
                                    char* out_text, size_t capacity, size_t* out_length,
                                    mf_error* error);

/**
 * What kind of token it is.
 *
 * @param model the model.
 * @param token the id.
 * @return MF_TOKEN_ bits; 0 for NULL or an id that the vocabulary does not have.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API uint32_t mf_tokenizer_attributes(const mf_model* model, mf_token token);

/**
 * The id of a special token.
 *
 * @param model the model.
 * @param special one of the MF_SPECIAL_ values.
 * @return the id; MF_TOKEN_NONE when the model has none, for NULL and for an unknown number.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API mf_token mf_tokenizer_special(const mf_model* model, mf_special special);

/**
 * How many tokens the vocabulary has: ids go from 0 to this - 1.
 *
 * @param model the model.
 * @return the number; 0 for NULL.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API size_t mf_tokenizer_size(const mf_model* model);

/**
 * Whether a token ends a generation. A model may have several such tokens.
 *
 * @param model the model.
 * @param token the id.
 * @return 1 or 0; 0 for NULL or an id that the vocabulary does not have.
 * @threadsafety thread-safe
 * @since 0.1
 */
MF_API int32_t mf_tokenizer_is_eog(const mf_model* model, mf_token token);

#ifdef __cplusplus
}
#endif

#endif /* MINFER_TOKENIZER_H_ */
