// SPDX-License-Identifier: Apache-2.0
// A preloaded library that simulates a name server that does not answer. Lookups of "slow.invalid"
// block forever. When a lookup has begun, the library creates the file that SLOW_NAMES_BEGUN names.
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (name != nullptr && std::string_view(name) == "slow.invalid") {
    close(open(std::getenv("SLOW_NAMES_BEGUN"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (;;) pause();
  }
  using Real = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto kReal = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return kReal(name, service, hints, found);
}
