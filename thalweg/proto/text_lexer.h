// SPDX-License-Identifier: Apache-2.0
// TextLexer: the tokens of protobuf text. Private to this room.
//   TextLexer lexer("a: 1");  // lexer.token() is the identifier a
//   lexer.Advance();          // it is the colon
// A malformed token ends nothing: the parser reports error().
// Ownership: the text outlives the lexer and its tokens.
// Threads: one at a time.
// Errors: none of its own: a bad token has the kind kBad, an escape its `what` and place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thalweg {

enum class TextTokenKind { kEnd, kIdentifier, kNumber, kString, kSymbol, kBad };

struct TextToken {
  TextTokenKind kind = TextTokenKind::kEnd;
  std::string_view text;  // a string with its quotes
  size_t offset = 0;

  bool Is(char symbol) const { return kind == TextTokenKind::kSymbol && text[0] == symbol; }
};

class TextLexer {
 public:
  explicit TextLexer(std::string_view text) : text_(text) { Advance(); }

  const TextToken& token() const { return token_; }
  void Advance();
  // What is wrong with a token of kind kBad.
  const char* error() const { return error_; }
  // "line:column" of a place in the text, both from 1.
  std::string Place(size_t offset) const;

 private:
  void SkipBlanks();
  size_t NumberEnd(size_t at) const;
  void LexString();
  void Take(TextTokenKind kind, size_t end);
  void Bad(const char* error, size_t end);

  std::string_view text_;
  size_t next_ = 0;
  TextToken token_;
  const char* error_ = "";
};

// Appends the bytes that a string token stands for; on failure says why and where in the token.
struct TextEscapeError {
  const char* what = nullptr;  // null: fine
  size_t offset = 0;
};
TextEscapeError AppendUnescaped(std::string& out, std::string_view quoted);

}  // namespace thalweg
