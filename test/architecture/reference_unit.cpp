// SPDX-License-Identifier: Apache-2.0
// What check_unit_times.py compares compile times with: a unit of middling size that needs the
// standard library only. Never linked. Whoever changes it measures REFERENCE_SECONDS anew.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

template <typename Key>
class Register {
 public:
  using Rule = std::function<bool(const Key&, const std::string&)>;

  void add(Key key, Rule rule) { rules_.emplace(std::move(key), std::make_shared<Rule>(rule)); }
  std::vector<std::string> kept(const std::vector<std::string>& names) const {
    std::vector<std::string> out;
    for (const auto& [key, rule] : rules_) {
      std::copy_if(names.begin(), names.end(), std::back_inserter(out),
                   [&](const std::string& name) { return (*rule)(key, name); });
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  std::multimap<Key, std::shared_ptr<Rule>> rules_;
};

template <typename Key>
std::size_t count(Key key, const std::vector<std::string>& names) {
  Register<Key> rules;
  rules.add(key, [](const Key& k, const std::string& name) { return name > std::to_string(k); });
  return rules.kept(names).size();
}

}  // namespace

std::size_t reference(const std::vector<std::string>& names);
std::size_t reference(const std::vector<std::string>& names) {
  return count(1, names) + count(2L, names) + count(3U, names) + count(4UL, names) +
         count(5.0, names) + count(6.0F, names);
}
