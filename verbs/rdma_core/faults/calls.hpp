// SPDX-License-Identifier: Apache-2.0
// Where faults get in: the calls that programs reach through pointers are replaced by ones that ask
// the Injector; without one they are as they were. What is exported asks may_fail().
#pragma once

#include <infiniband/verbs.h>

#include "faults/plan.hpp"
#include "process/core.hpp"

namespace iwarp::rdma_core {

struct Context;
struct Cq;
struct Qp;
struct Srq;

namespace fault {

/// Throws std::system_error when the call is to fail.
void may_fail(Core& core, Event event);
bool is_removed(const Core& core);
void show_port(const Core& core, ibv_port_attr& port);

// For objects that are made and end, where there is an Injector.
void opened(Context& context);
void made(Cq& cq);
void made(Qp& qp);
void reset(Qp& qp);
void gone(Qp& qp);
void gone(Srq& srq);
void gone(Context& context);
/// Requests built call by call: 0, or the errno that all of them fail with.
int posted(Qp& qp, std::size_t count);

}  // namespace fault
}  // namespace iwarp::rdma_core
