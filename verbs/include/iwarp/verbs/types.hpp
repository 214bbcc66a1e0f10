// SPDX-License-Identifier: Apache-2.0
// The types of work requests and completions.
#pragma once

#include "iwarp/verbs/work_completion.hpp"
#include "iwarp/verbs/work_request.hpp"
