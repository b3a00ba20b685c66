// SPDX-License-Identifier: Apache-2.0
/// A shared pointer as small as a pointer: the object holds the count.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace flush_vbucket {

/// The base of objects that a RefPtr can point to.
class RefCounted {
   public:
    RefCounted() = default;
    RefCounted(const RefCounted&) = delete;
    RefCounted& operator=(const RefCounted&) = delete;
    RefCounted(RefCounted&&) = delete;
    RefCounted& operator=(RefCounted&&) = delete;

   protected:
    ~RefCounted() = default;

   private:
    template <typename T>
    friend class RefPtr;

    mutable std::atomic<std::int32_t> owners_{0};
};

/// One of the owners of a `T`; the last owner deletes it.
template <typename T>
class RefPtr {
   public:
    RefPtr() = default;
    explicit RefPtr(T* object) : object_{object} {
        if (object_ != nullptr) {
            object_->owners_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    RefPtr(const RefPtr& other) : RefPtr{other.object_} {}
    RefPtr(RefPtr&& other) noexcept : object_{std::exchange(other.object_, nullptr)} {}
    RefPtr& operator=(const RefPtr& other) {
        if (this != &other) {
            RefPtr copy{other};
            std::swap(object_, copy.object_);
        }
        return *this;
    }
    RefPtr& operator=(RefPtr&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~RefPtr() {
        if (object_ != nullptr && object_->owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete object_;
        }
    }

    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }
    [[nodiscard]] T* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    T* object_ = nullptr;
};

template <typename T, typename... Arguments>
RefPtr<T> makeRef(Arguments&&... arguments) {
    return RefPtr<T>{new T(std::forward<Arguments>(arguments)...)};
}

}  // namespace flush_vbucket
