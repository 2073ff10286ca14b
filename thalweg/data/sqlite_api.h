// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_sqlite.so, the component that holds
// SQLite. Plain C on purpose: the two are built apart and share no symbols. Private to data/.
//   const ThalwegSqliteApi* api = thalweg_sqlite(THALWEG_SQLITE_VERSION);   // by dlsym
// Ownership: a query is the caller's, until close; a text is good until the next call.
// Threads: any, one query from one at a time.
// Errors: null or kThalwegFailed, with words in `why`; kThalwegStopped where `is_unwanted` said so.
#pragma once

extern "C" {

#define THALWEG_SQLITE_VERSION 1

struct ThalwegQuery;
enum ThalwegStep { kThalwegRow, kThalwegEnd, kThalwegStopped, kThalwegFailed };

struct ThalwegSqliteApi {
  // A query of a database, which is only read. `is_unwanted(arg)` is asked now and then while a row
  // is looked for. Null: what is wrong is in `why`, of `size` bytes.
  ThalwegQuery* (*open)(const char* path, const char* query, int (*is_unwanted)(void*), void* arg,
                        char* why, unsigned size);
  void (*close)(ThalwegQuery* query);
  int (*columns)(ThalwegQuery* query);
  enum ThalwegStep (*step)(ThalwegQuery* query, char* why, unsigned size);
  // What the row has; what is null is zero, or empty.
  long long (*integer)(ThalwegQuery* query, int column);
  double (*real)(ThalwegQuery* query, int column);
  // Until the next call.
  const char* (*text)(ThalwegQuery* query, int column, unsigned long* size);
};

// Null for a version that the component does not know.
typedef const ThalwegSqliteApi* (*ThalwegSqliteEntry)(int version);
}
