// SPDX-License-Identifier: Apache-2.0
// librdmacm.so.1 is a name and the versions RDMACM_*, for programs that ask for that library. Its
// functions are in our libibverbs.so.1, which it needs; nothing may be defined here.
