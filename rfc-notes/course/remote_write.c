// SPDX-License-Identifier: Apache-2.0
// The session of chapter 8 in C. The client sends the address and the key of 64 bytes of its memory. The server writes
// into these bytes by RDMA Write, and then sends a message that says so.
// usage: remote_write          the server, which serves one client
//        remote_write ADDRESS  the client
#include <endian.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct advertisement {  // in the byte order of the network
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

static char memory[64];                        // of the client: the server writes into it
static char text[] = "Hello, remote memory!";  // of the server: the source of the Write
static struct advertisement advert;
static char answer[] = "done";

static void check(int is_right, const char *what) {
  if (is_right) return;
  fprintf(stderr, "remote_write: %s: %s\n", what, strerror(errno));
  exit(1);
}

// Waits for a completion, and checks its status.
static void await(int got, const struct ibv_wc *wc, const char *what) {
  check(got == 1, what);
  if (wc->status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "remote_write: %s: status %d, vendor_err %#x\n", what, wc->status, wc->vendor_err);
  exit(1);
}

// Returns an id with a queue pair, or with a listener if `host` is null.
static struct rdma_cm_id *make_id(const char *host) {
  struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = host ? 0 : RAI_PASSIVE};
  struct ibv_qp_init_attr attr = {.sq_sig_all = 1};
  attr.cap = (struct ibv_qp_cap){.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1};
  struct rdma_addrinfo *info = NULL;
  struct rdma_cm_id *id = NULL;
  check(rdma_getaddrinfo(host, "7471", &hints, &info) == 0, "rdma_getaddrinfo");
  check(rdma_create_ep(&id, info, NULL, &attr) == 0, "rdma_create_ep");
  rdma_freeaddrinfo(info);
  return id;
}

static void serve(void) {
  struct rdma_cm_id *listener = make_id(NULL), *id = NULL;
  struct ibv_wc wc;
  check(rdma_listen(listener, 1) == 0 && rdma_get_request(listener, &id) == 0, "rdma_get_request");
  struct ibv_mr *advert_mr = rdma_reg_msgs(id, &advert, sizeof advert);
  struct ibv_mr *text_mr = rdma_reg_msgs(id, text, sizeof text);
  struct ibv_mr *answer_mr = rdma_reg_msgs(id, answer, sizeof answer);
  check(advert_mr && text_mr && answer_mr, "rdma_reg_msgs");
  check(rdma_post_recv(id, NULL, &advert, sizeof advert, advert_mr) == 0, "rdma_post_recv");
  check(rdma_accept(id, NULL) == 0, "rdma_accept");
  await(rdma_get_recv_comp(id, &wc), &wc, "the advertisement");
  const uint64_t address = be64toh(advert.address);
  const uint32_t rkey = be32toh(advert.rkey);
  check(rdma_post_write(id, NULL, text, sizeof text, text_mr, 0, address, rkey) == 0, "rdma_post_write");
  check(rdma_post_send(id, NULL, answer, sizeof answer, answer_mr, 0) == 0, "rdma_post_send");
  await(rdma_get_send_comp(id, &wc), &wc, "the Write");
  await(rdma_get_send_comp(id, &wc), &wc, "the answer");
  rdma_disconnect(id);
}

static void ask(const char *host) {
  struct rdma_cm_id *id = make_id(host);
  struct ibv_wc wc;
  struct ibv_mr *memory_mr = rdma_reg_write(id, memory, sizeof memory);  // with IBV_ACCESS_REMOTE_WRITE
  struct ibv_mr *advert_mr = rdma_reg_msgs(id, &advert, sizeof advert);
  struct ibv_mr *answer_mr = rdma_reg_msgs(id, answer, sizeof answer);
  check(memory_mr && advert_mr && answer_mr, "rdma_reg_write");
  // The receive is posted before the server may send.
  check(rdma_post_recv(id, NULL, answer, sizeof answer, answer_mr) == 0, "rdma_post_recv");
  check(rdma_connect(id, NULL) == 0, "rdma_connect");
  advert = (struct advertisement){htobe64((uintptr_t)memory), htobe32(memory_mr->rkey), htobe32(sizeof memory)};
  check(rdma_post_send(id, NULL, &advert, sizeof advert, advert_mr, 0) == 0, "rdma_post_send");
  await(rdma_get_send_comp(id, &wc), &wc, "the advertisement");
  await(rdma_get_recv_comp(id, &wc), &wc, "the answer");
  printf("the server wrote: %s\n", memory);
  rdma_disconnect(id);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    ask(argv[1]);
  } else {
    serve();
  }
  return 0;
}
