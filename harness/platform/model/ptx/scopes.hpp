// Whose a name in PTX is.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace gpubench::model::ptx {

// Names of registers, parameters and labels in nested braces, which inline assembly and calls use,
// are theirs alone.
class Scopes {
 public:
  void open() { scopes_.push_back({next_++, {}}); }
  void close() { scopes_.pop_back(); }
  bool is_nested() const { return scopes_.size() > 1; }
  std::string declare(const std::string& name) {
    if (!is_nested()) return name;
    scopes_.back().names.insert(name);
    return renamed(name, scopes_.back().number);
  }
  std::string find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->names.contains(name)) return renamed(name, scope->number);
    }
    return name;
  }
  // A label may be used before it stands: as the innermost scope's, until the end of the kernel.
  unsigned innermost() const { return scopes_.back().number; }
  static std::string renamed(const std::string& name, unsigned scope) {
    return name + "@" + std::to_string(scope);
  }

 private:
  struct Scope {
    unsigned number;
    std::set<std::string> names;
  };
  std::vector<Scope> scopes_;
  unsigned next_ = 0;
};

}  // namespace gpubench::model::ptx
