// SPDX-License-Identifier: Apache-2.0
/// The variant that the suite measures: the one line to change.
#pragma once

#include "send_buffer/copy_and_send.h"
#include "send_buffer/send_message.h"
#include "send_buffer/send_per_chunk.h"

namespace send_buffer {

using SelectedSender = CopyAndSend;

}  // namespace send_buffer
