// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/selected_sender.h"

namespace send_buffer {

std::unique_ptr<Sender> makeSender() { return std::make_unique<SelectedSender>(); }

std::string_view senderVariant() { return SelectedSender::variant; }

}  // namespace send_buffer
