// SPDX-License-Identifier: Apache-2.0
// Objects of libibverbs whose destructor destroys them. get() is null if creating failed. destroy()
// destroys at once and returns what the call returned, which a case compares.
#pragma once

#include <infiniband/verbs.h>

#include <utility>

#include "judge/frame/judge.hpp"

namespace iwarp::judge {

template <typename T, int (*Destroy)(T*)>
class Object {
 public:
  Object() = default;
  explicit Object(T* made) : made_(made) {}
  Object(Object&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }
  ~Object() {
    if (made_ != nullptr) Destroy(made_);
  }
  T* get() const { return made_; }
  T* operator->() const { return made_; }
  explicit operator bool() const { return made_ != nullptr; }
  /// Returns 0 or an errno value. If destroying fails, the object remains, and the destructor tries
  /// again.
  int destroy() {
    const int code = errno_of(Destroy(made_));
    if (code == 0) made_ = nullptr;
    return code;
  }
  T* release() { return std::exchange(made_, nullptr); }

 private:
  T* made_ = nullptr;
};

// Functions, because some of libibverbs' names are macros or have other types.
inline int dereg_mr(ibv_mr* mr) { return ibv_dereg_mr(mr); }
inline int dealloc_mw(ibv_mw* mw) { return ibv_dealloc_mw(mw); }

using Context = Object<ibv_context, ibv_close_device>;
using Pd = Object<ibv_pd, ibv_dealloc_pd>;
using Mr = Object<ibv_mr, dereg_mr>;
using Mw = Object<ibv_mw, dealloc_mw>;
using Channel = Object<ibv_comp_channel, ibv_destroy_comp_channel>;
using Cq = Object<ibv_cq, ibv_destroy_cq>;
using Srq = Object<ibv_srq, ibv_destroy_srq>;
using Qp = Object<ibv_qp, ibv_destroy_qp>;
using Ah = Object<ibv_ah, ibv_destroy_ah>;

}  // namespace iwarp::judge
