// SPDX-License-Identifier: Apache-2.0
#include "flush_vbucket/selected_callback.h"

#include "flush_vbucket/flusher.h"

namespace flush_vbucket {

std::unique_ptr<Flusher> makeFlusher() { return std::make_unique<FlusherOf<SelectedCallback>>(); }

std::string_view callbackVariant() { return SelectedCallback::variant; }

}  // namespace flush_vbucket
