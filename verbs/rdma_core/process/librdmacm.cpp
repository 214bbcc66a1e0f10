// SPDX-License-Identifier: Apache-2.0
// librdmacm.so.1 has only its name and the versions RDMACM_*, for programs that are linked to it.
// Its functions are in this project's libibverbs.so.1, on which it depends; nothing may be defined
// here.
