// SPDX-License-Identifier: Apache-2.0
// Sends a large message with UCX from memory that is mapped read-only, such as the weights of a
// model in a file. An adapter cannot register such memory for writing, so UCX must choose a
// protocol for which it is enough to read the memory, or copy the message.
#include <sys/mman.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kSize = std::size_t{16} << 20;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

bool is_pending(void* request) {
  return UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS;
}

}  // namespace

int main() {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  ucp_config_t* config = nullptr;
  require(ucp_config_read(nullptr, nullptr, &config) == UCS_OK, "ucp_config_read");
  ucp_context_h context = nullptr;
  require(ucp_init(&params, config, &context) == UCS_OK, "ucp_init");
  std::array<ucp_worker_h, 2> workers{};
  const ucp_worker_params_t worker_params{};
  for (ucp_worker_h& worker : workers)
    require(ucp_worker_create(context, &worker_params, &worker) == UCS_OK, "ucp_worker_create");

  ucp_ep_params_t ep_params{};
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  require(ucp_worker_get_address(workers[1], &address, &length) == UCS_OK,
          "ucp_worker_get_address");
  ep_params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  ep_params.address = address;
  ucp_ep_h ep = nullptr;
  require(ucp_ep_create(workers[0], &ep_params, &ep) == UCS_OK, "ucp_ep_create");

  void* const mapped = mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapped != MAP_FAILED, "mmap");
  std::vector<char> received(kSize, 'x');
  const ucp_request_param_t request_params{};
  const std::array requests{
      ucp_tag_recv_nbx(workers[1], received.data(), kSize, 7, ucp_tag_t(-1), &request_params),
      ucp_tag_send_nbx(ep, mapped, kSize, 7, &request_params)};
  while (std::ranges::any_of(requests, is_pending)) {
    for (ucp_worker_h worker : workers) ucp_worker_progress(worker);
  }
  require(std::ranges::count(received, '\0') == kSize, "comparing the message");
  std::puts("right");
}
