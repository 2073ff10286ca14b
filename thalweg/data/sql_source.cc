// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/sql_source.h"

#include <memory>
#include <utility>

#include "thalweg/base/component.h"
#include "thalweg/data/sqlite_api.h"
#include "thalweg/data/state.h"

namespace thalweg {
namespace {

// Open or not for the whole process, whoever asks.
const ThalwegSqliteApi* SqliteApi() {
  static const ThalwegSqliteApi* const api = []() -> const ThalwegSqliteApi* {
    const auto entry = reinterpret_cast<ThalwegSqliteEntry>(
        FindComponent("libthalweg_sqlite.so", "thalweg_sqlite"));
    return entry == nullptr ? nullptr : entry(THALWEG_SQLITE_VERSION);
  }();
  return api;
}

bool IsColumnType(DType type) {
  switch (type) {
    case DType::kString:
    case DType::kBool:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kDouble:
      return true;
    default:
      return false;
  }
}

class Sql : public Dataset {
 public:
  Sql(std::string database, std::string query, ElementSpec spec)
      : Dataset(std::move(spec)), database_(std::move(database)), query_(std::move(query)) {}
  std::string Kind() const override { return "Sql"; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<SqlStage>(*this, shared_from_this()));
  }

 private:
  class SqlStage : public Stage {
   public:
    SqlStage(const Sql& sql, DatasetPtr owner) : sql_(sql), owner_(std::move(owner)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (ended_) return Poll::kEnd;
      asks_ = &poller;
      if (query_ == nullptr) RETURN_IF_ERROR(Open());
      // Where it was restored: behind the rows that were given before.
      for (; passed_ < at_; ++passed_) {
        ASSIGN_OR_RETURN(const bool row, Step(poller));
        if (!row) return Poll::kEnd;
      }
      ASSIGN_OR_RETURN(const bool row, Step(poller));
      if (!row) return Poll::kEnd;
      ++passed_;
      ++at_;
      const std::vector<DType>& types = sql_.spec().types;
      out->clear();
      for (size_t c = 0; c < types.size(); ++c) {
        out->push_back(Column(static_cast<int>(c), types[c]));
      }
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller&, StateWriter& writer) override {
      writer.Add(at_);
      writer.Add(ended_ ? 1 : 0);
      return Poll::kElement;
    }
    Status Restore(const Poller&, StateReader& reader) override {
      int64_t ended = 0;
      RETURN_IF_ERROR(reader.Read(&at_));
      RETURN_IF_ERROR(reader.Read(&ended));
      ended_ = ended != 0;
      return at_ >= 0 ? OkStatus()
                      : InvalidArgument("the state of the iterator is negative: ", at_);
    }

   private:
    using Query = std::unique_ptr<ThalwegQuery, void (*)(ThalwegQuery*)>;

    static int IsUnwanted(void* stage) {
      return static_cast<SqlStage*>(stage)->asks_->Look().ok() ? 0 : 1;
    }

    Status Open() {
      const ThalwegSqliteApi* const api = SqliteApi();
      if (api == nullptr) {
        return Unimplemented("databases need libthalweg_sqlite.so (and SQLite) beside the library");
      }
      char why[300] = "no memory";
      Query query(api->open(sql_.database_.c_str(), sql_.query_.c_str(), IsUnwanted, this, why,
                            sizeof(why)),
                  api->close);
      if (query == nullptr) {
        return InvalidArgument("database ", sql_.database_, ", query '", sql_.query_, "': ", why);
      }
      const size_t columns = static_cast<size_t>(api->columns(query.get()));
      if (columns != sql_.spec().types.size()) {
        return InvalidArgument("The number of columns in query (", columns,
                               ") must match the number of elements in output_types (",
                               sql_.spec().types.size(), "): '", sql_.query_, "'");
      }
      query_ = std::move(query);
      return OkStatus();
    }

    // Whether there is another row. A pass ends with an error of the database.
    Result<bool> Step(const Poller& poller) {
      char why[300] = "";
      const ThalwegStep step = SqliteApi()->step(query_.get(), why, sizeof(why));
      if (step == kThalwegRow) return true;
      query_ = nullptr;
      if (step == kThalwegStopped) {
        passed_ = 0;  // the query begins anew for who asks next
        RETURN_IF_ERROR(poller.Look());
      }
      ended_ = true;
      if (step == kThalwegEnd) return false;
      return Unknown("database ", sql_.database_, ", row ", at_, " of '", sql_.query_, "': ", why);
    }

    Tensor Column(int c, DType type) const {
      const ThalwegSqliteApi& api = *SqliteApi();
      switch (type) {
        case DType::kString: {
          unsigned long size = 0;
          const char* const text = api.text(query_.get(), c, &size);
          return Tensor::Scalar(std::string(text, size));
        }
        case DType::kDouble:
          return Tensor::Scalar(api.real(query_.get(), c));
        case DType::kBool:
          return Tensor::Scalar(api.integer(query_.get(), c) != 0);
        default:
          return Number(api.integer(query_.get(), c), type);
      }
    }
    static Tensor Number(int64_t value, DType type) {
      switch (type) {
        case DType::kInt8:
          return Tensor::Scalar(static_cast<int8_t>(value));
        case DType::kInt16:
          return Tensor::Scalar(static_cast<int16_t>(value));
        case DType::kInt32:
          return Tensor::Scalar(static_cast<int32_t>(value));
        case DType::kUint8:
          return Tensor::Scalar(static_cast<uint8_t>(value));
        case DType::kUint16:
          return Tensor::Scalar(static_cast<uint16_t>(value));
        default:
          return Tensor::Scalar(value);
      }
    }

    const Sql& sql_;
    const DatasetPtr owner_;
    const Poller* asks_ = nullptr;  // while a row is looked for
    Query query_{nullptr, [](ThalwegQuery*) {}};
    int64_t at_ = 0;      // rows given
    int64_t passed_ = 0;  // rows of query_
    bool ended_ = false;
  };

  const std::string database_;
  const std::string query_;
};

}  // namespace

Result<DatasetPtr> SqlDataset(const std::string& driver, std::string database, std::string query,
                              ElementSpec spec) {
  if (driver != "sqlite") {
    return InvalidArgument("The database type, ", driver,
                           ", is not supported by SqlDataset. The set of supported databases is: "
                           "{'sqlite'}.");
  }
  for (const DType type : spec.types) {
    if (!IsColumnType(type)) {
      return InvalidArgument("output_types: no column of a database is of type ", type);
    }
  }
  return DatasetPtr(std::make_shared<Sql>(std::move(database), std::move(query), std::move(spec)));
}

}  // namespace thalweg
