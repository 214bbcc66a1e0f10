// SPDX-License-Identifier: Apache-2.0
// A program with both ends of an rdma_cm connection in one process and with one mistake. It makes
// the mistake through the inline functions of rdma-core that C programs use. It is built with and
// without debug information. A report of the mistake must name the line marked PLACE.
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kLength = 64 };

static volatile sig_atomic_t has_child;

static char source[kLength] = "source";
static char sink[kLength] = "sink";
static struct rdma_cm_id* listener;
static struct rdma_cm_id* server;
static struct rdma_cm_id* client;

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "mistakes: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void note_child(int number) {
  (void)number;
  has_child = 1;
}

/// Checks that the program does not see the helper process that looks up source lines for reports.
static void check_no_child(void) {
  check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child that is not ours");
  check(!has_child, "SIGCHLD");
}

static struct rdma_cm_id* make_end(const char* port, int flags) {
  struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP};
  struct rdma_addrinfo* found = NULL;
  check(rdma_getaddrinfo("127.0.0.1", port, &hints, &found) == 0, "rdma_getaddrinfo");
  struct ibv_qp_init_attr attr = {
      .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
      .sq_sig_all = 1};
  struct rdma_cm_id* out = NULL;
  check(rdma_create_ep(&out, found, NULL, &attr) == 0, "rdma_create_ep");
  rdma_freeaddrinfo(found);
  return out;
}

static uint8_t private_length;

static void* connect_client(void* param) {
  check(rdma_connect(client, param) == 0, "rdma_connect");  // PLACE connect
  return NULL;
}

static void connect_ends(uint8_t rnr_retry) {
  static const char private_data[UINT8_MAX];
  struct rdma_conn_param param = {.private_data = private_data,
                                  .private_data_len = private_length,
                                  .responder_resources = 1,
                                  .initiator_depth = 1,
                                  .rnr_retry_count = rnr_retry};
  listener = make_end(NULL, RAI_PASSIVE);
  check(rdma_listen(listener, 1) == 0, "rdma_listen");
  char port[8];
  snprintf(port, sizeof port, "%u", ntohs(rdma_get_src_port(listener)));
  client = make_end(port, 0);
  pthread_t thread;
  check(pthread_create(&thread, NULL, connect_client, &param) == 0, "pthread_create");
  check(rdma_get_request(listener, &server) == 0, "rdma_get_request");
  check(rdma_accept(server, &param) == 0, "rdma_accept");  // PLACE accept
  pthread_join(thread, NULL);
}

/// Posts a Send and prints "sent". Posts the receive for this Send only when SIGUSR1 arrives.
static void receive_late(const sigset_t* signals) {
  struct ibv_mr* from = rdma_reg_msgs(client, source, kLength);
  struct ibv_mr* to = rdma_reg_msgs(server, sink, kLength);
  struct ibv_wc wc;
  int number = 0;
  check(rdma_post_send(client, NULL, source, kLength, from, 0) == 0, "rdma_post_send");
  puts("sent");
  fflush(stdout);
  sigwait(signals, &number);
  check(rdma_post_recv(server, (void*)7, sink, kLength, to) == 0, "rdma_post_recv");  // PLACE late
  check(rdma_get_recv_comp(server, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "the receive");
  check(memcmp(source, sink, kLength) == 0, "the message");
}

/// Reads into memory that is registered only for local access.
static void read_into_local_memory(void) {
  signal(SIGCHLD, note_child);
  struct ibv_mr* from = rdma_reg_read(server, source, kLength);
  struct ibv_mr* to = rdma_reg_msgs(client, sink, kLength);
  struct ibv_wc wc;
  check(rdma_post_read(client, NULL, sink, kLength, to, 0, (uintptr_t)source, from->rkey) == 0,  // PLACE read
        "rdma_post_read");
  check(rdma_get_send_comp(client, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "the Read");
  check(memcmp(source, sink, kLength) == 0, "what was read");
  check_no_child();
}

/// Writes to a region that does not allow Writes.
static void write_without_right(void) {
  struct ibv_mr* from = rdma_reg_msgs(client, source, kLength);
  struct ibv_mr* to = rdma_reg_msgs(server, sink, kLength);
  struct ibv_wc wc;
  check(rdma_post_recv(client, NULL, source, kLength, from) == 0, "rdma_post_recv");
  check(rdma_post_recv(server, NULL, sink, kLength, to) == 0, "rdma_post_recv");
  check(rdma_post_write(client, NULL, source, kLength, from, 0, (uintptr_t)sink, to->rkey) == 0,
        "rdma_post_write");
  // The receives of each end are flushed after the disconnect event.
  check(rdma_get_recv_comp(server, &wc) == 1 && wc.status != IBV_WC_SUCCESS, "the server's end");
  check(rdma_get_recv_comp(client, &wc) == 1 && wc.status != IBV_WC_SUCCESS, "the end");
  check(rdma_get_send_comp(client, &wc) == 1, "the Write");
  check(strcmp(sink, "sink") == 0, "the sink was written");
  printf("the Write: %s\n", ibv_wc_status_str(wc.status));
}

/// Makes the mistake in a child of fork(). The parent ignores the exit status of the child.
static void mistake_of_a_child(void) {
  const pid_t child = fork();
  check(child >= 0, "fork");
  if (child == 0) {
    connect_ends(7);
    read_into_local_memory();
    exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
}

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  const char* const what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "late") == 0) {
    connect_ends((uint8_t)number);
    receive_late(&signals);
  } else if (strcmp(what, "read") == 0) {
    connect_ends(7);
    read_into_local_memory();
    return number;
  } else if (strcmp(what, "write") == 0) {
    connect_ends(7);
    write_without_right();
  } else if (strcmp(what, "private") == 0) {
    private_length = (uint8_t)number;
    connect_ends(7);
  } else if (strcmp(what, "child") == 0) {
    mistake_of_a_child();
    return number;
  } else {
    return 2;
  }
  return 0;
}
