// SPDX-License-Identifier: Apache-2.0
/// The variant that the suite measures: the one line to change.
#pragma once

#include "flush_vbucket/per_item_callback.h"
#include "flush_vbucket/per_transaction_callback.h"

namespace flush_vbucket {

using SelectedCallback = PerItemCallback;

}  // namespace flush_vbucket
