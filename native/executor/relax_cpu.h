/// The body of a spin loop.
#pragma once

namespace executor {

/// Tells the core that this is a spin loop, which leaves it to its sibling thread for a moment.
inline void relaxCpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace executor
