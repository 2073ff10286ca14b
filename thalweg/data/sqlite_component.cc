// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <cstdio>
#include <new>

#include "thalweg/data/sqlite_api.h"

struct ThalwegQuery {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
};

namespace {

// Between two questions whether a row is still wanted.
constexpr int kInstructions = 100'000;

void Close(ThalwegQuery* query) {
  sqlite3_finalize(query->statement);
  sqlite3_close(query->database);
  delete query;
}

ThalwegQuery* Open(const char* path, const char* text, int (*is_unwanted)(void*), void* arg,
                   char* why, unsigned size) {
  auto* const query = new (std::nothrow) ThalwegQuery;
  if (query == nullptr) return nullptr;
  const char* rest = nullptr;
  int code =
      sqlite3_open_v2(path, &query->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_progress_handler(query->database, kInstructions, is_unwanted, arg);
    code = sqlite3_prepare_v2(query->database, text, -1, &query->statement, &rest);
  }
  if (code == SQLITE_OK && query->statement != nullptr) return query;
  std::snprintf(why, size, "%s",
                code == SQLITE_OK ? "the query is empty" : sqlite3_errmsg(query->database));
  Close(query);
  return nullptr;
}

int Columns(ThalwegQuery* query) { return sqlite3_column_count(query->statement); }

ThalwegStep Step(ThalwegQuery* query, char* why, unsigned size) {
  const int code = sqlite3_step(query->statement);
  if (code == SQLITE_ROW) return kThalwegRow;
  if (code == SQLITE_DONE) return kThalwegEnd;
  if (code == SQLITE_INTERRUPT) return kThalwegStopped;
  std::snprintf(why, size, "%s", sqlite3_errmsg(query->database));
  return kThalwegFailed;
}

long long Integer(ThalwegQuery* query, int column) {
  return sqlite3_column_int64(query->statement, column);
}

double Real(ThalwegQuery* query, int column) {
  return sqlite3_column_double(query->statement, column);
}

const char* Text(ThalwegQuery* query, int column, unsigned long* size) {
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_column_text(query->statement, column));
  *size = static_cast<unsigned long>(sqlite3_column_bytes(query->statement, column));
  return text != nullptr ? text : "";
}

constexpr ThalwegSqliteApi kApi = {Open, Close, Columns, Step, Integer, Real, Text};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegSqliteApi* thalweg_sqlite(
    int version) {
  return version == THALWEG_SQLITE_VERSION ? &kApi : nullptr;
}
