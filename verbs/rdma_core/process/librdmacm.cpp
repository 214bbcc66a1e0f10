// SPDX-License-Identifier: Apache-2.0
// This file is empty on purpose. librdmacm.so.1 defines only its name and the versions RDMACM_*,
// for programs that are linked to it. It depends on this project's libibverbs.so.1, which contains
// the functions.
