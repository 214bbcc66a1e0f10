// SPDX-License-Identifier: Apache-2.0
// This file is empty on purpose. librdmacm.so.1 contains no functions. It defines only its name and
// the versions RDMACM_*, which programs that are linked to it require. It depends on the
// libibverbs.so.1 of this project, which contains the functions of both libraries.
