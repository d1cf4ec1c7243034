// What each word of a buffer holds, as a checker sees it by what a program queues.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

namespace lab {

// A value for each of `size` words. Programs move many words at a time, so these are few pieces of
// words with the same value.
template <class Value>
class Pieces {
 public:
  struct Piece {
    std::size_t begin, end;
    Value value;
  };

  Pieces(std::size_t size, const Value& value) : size_(size), values_{{0, value}} {}
  std::size_t size() const { return size_; }

  void set(std::size_t begin, std::size_t end, const Value& value) {
    if (begin >= end) return;
    split(begin);
    if (end < size_) split(end);
    values_.erase(values_.lower_bound(begin), values_.lower_bound(end));
    values_.emplace(begin, value);
  }
  // Those between two words, cut off there.
  std::vector<Piece> between(std::size_t begin, std::size_t end) const {
    std::vector<Piece> pieces;
    if (begin >= end) return pieces;
    for (auto at = std::prev(values_.upper_bound(begin)); at != values_.end(); ++at) {
      if (at->first >= end) break;
      const auto next = std::next(at);
      const std::size_t until = next == values_.end() ? size_ : next->first;
      pieces.push_back({std::max(begin, at->first), std::min(end, until), at->second});
    }
    return pieces;
  }
  // How many words hold it.
  std::size_t count(const Value& value) const {
    std::size_t words = 0;
    for (const Piece& piece : between(0, size_)) {
      if (piece.value == value) words += piece.end - piece.begin;
    }
    return words;
  }

 private:
  void split(std::size_t at) {
    values_.emplace(at, std::prev(values_.upper_bound(at))->second);  // nothing where one begins
  }

  std::size_t size_;
  std::map<std::size_t, Value> values_;  // by the word that they begin at
};

}  // namespace lab
