/// Goes round a fixed number of places, from one iteration into the next.
#pragma once

#include <cstddef>

namespace known_effects {

class Turn {
   public:
    explicit Turn(std::size_t places) : places_{places} {}

    /// 0, 1, … `places` - 1, and again.
    std::size_t next() {
        const std::size_t current = next_;
        next_ = current + 1 < places_ ? current + 1 : 0;
        return current;
    }

   private:
    std::size_t places_;
    std::size_t next_ = 0;
};

}  // namespace known_effects
