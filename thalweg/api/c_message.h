/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) for protocol messages of every type that
 * TensorFlow 1.15 and 2.21 write, as trees.
 * Ownership: a tree is the caller's until tw_message_free, and owns its parts, texts and values.
 * Threads: any may read; one at a time fills a message in.
 * Errors: INVALID_ARGUMENT with byte and field, NOT_FOUND for a type that is not known. */
#ifndef THALWEG_C_MESSAGE_H_
#define THALWEG_C_MESSAGE_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwMessage TwMessage;         /* a tree and its memory; read by any thread */
typedef struct TwMessagePart TwMessagePart; /* one message of a tree, which owns it */
/* Reads and checks the whole. `type`: "tensorflow.GraphDef". An error names byte and field. */
TW_EXPORT TwMessage* tw_message_parse(const char* type, const void* data, size_t size,
                                      TwStatus* status);
TW_EXPORT void tw_message_free(TwMessage* message);
TW_EXPORT const TwMessagePart* tw_message_root(const TwMessage* message);
/* The bytes of a part: fields by number, maps by key. */
TW_EXPORT TwBuffer* tw_message_serialize(const TwMessagePart* part, TwStatus* status);
/* Fields that the type does not have, as they came. */
TW_EXPORT const char* tw_message_unknown(const TwMessagePart* part, size_t* size);
/* A field that is there. Values are int64_t, uint64_t or double (floats and bools as one of them,
 * enums as int64_t) when it is single, arrays of the field's own width when it is repeated. */
#define TW_MESSAGE_FIELDS 63 /* of one message, at most */
typedef struct TwMessageField {
  int32_t number;
  int32_t type; /* protobuf's number: 1 double, 2 float, 3 int64 ... 11 message, 18 sint64 */
  int32_t repeated;
  int32_t map;        /* values are entries: messages with key 1 and value 2, by key */
  size_t count;       /* 1 when it is single */
  const void* values; /* repeated numbers and bools, else for the two functions below */
  union {
    int64_t i;
    uint64_t u;
    double d;
  } single;
} TwMessageField;
/* Writes at most `capacity` fields, by number, and gives how many there are. */
TW_EXPORT int32_t tw_message_fields(const TwMessagePart* part, TwMessageField* fields,
                                    int32_t capacity);
/* Value i of a field of text or bytes, and of one of messages; NULL where there is none. */
TW_EXPORT const char* tw_message_text(const TwMessageField* field, size_t i, size_t* size);
TW_EXPORT const TwMessagePart* tw_message_part(const TwMessageField* field, size_t i);
/* An empty message, to be filled in by one thread at a time; its root, and what that gives, stay as
 * long as it does. */
TW_EXPORT TwMessage* tw_message_new(const char* type, TwStatus* status);
TW_EXPORT TwMessagePart* tw_message_filled(TwMessage* message);
/* What field `number` is: type, repeated, map; 0 where the type of the part has none of it. */
TW_EXPORT int32_t tw_message_field(const TwMessagePart* part, int32_t number,
                                   TwMessageField* field);
/* Puts a number or text in field `value->number`, one more where it is repeated: `single` of what
 * tw_message_field told; text as `single.u` bytes at `values`, which are copied. */
TW_EXPORT TwCode tw_message_put(TwMessagePart* part, const TwMessageField* value, TwStatus* status);
/* The message of a field, made when it is not there; one more where it is repeated. */
TW_EXPORT TwMessagePart* tw_message_put_part(TwMessagePart* part, int32_t number, TwStatus* status);
/* The entry of a map, whose value is field 2 of it, made when it is not there. `key`: an integer or
 * bool (`type` 3) or text (9), as in tw_message_put. */
TW_EXPORT TwMessagePart* tw_message_put_entry(TwMessagePart* part, int32_t number,
                                              const TwMessageField* key, TwStatus* status);
/* Adds what another message of the type has: single fields are replaced, repeated ones grow. */
TW_EXPORT TwCode tw_message_merge(TwMessagePart* part, const TwMessagePart* other,
                                  TwStatus* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_MESSAGE_H_ */
