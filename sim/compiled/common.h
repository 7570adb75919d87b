// What the clock loop needs that is the same for all units: bits of ports, and random numbers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// A port's storage: 1, 2, 4 or 8 bytes, or more in steps of 4.
struct Port {
    char* data;
    size_t bytes;
    uint32_t top_mask;  // of the most significant 32-bit word, where it is wide
    uint64_t mask;      // of all, where it is not

    template <typename T>
    Port(T& storage, unsigned width)
        : data(reinterpret_cast<char*>(&storage)),
          bytes(sizeof storage),
          top_mask(width % 32 ? (1u << width % 32) - 1 : ~0u),
          mask(width < 64 ? (1ull << width) - 1 : ~0ull) {}

    void load(const char* source) const {
        if (bytes <= 8) {
            uint64_t bits = 0;
            copy(&bits, source);
            bits &= mask;
            copy(data, &bits);
        } else {
            copy(data, source);
            uint32_t top;
            std::memcpy(&top, data + bytes - 4, 4);
            top &= top_mask;
            std::memcpy(data + bytes - 4, &top, 4);
        }
    }

    void store(char* target) const { copy(target, data); }

    bool holds(const char* value) const { return !std::memcmp(data, value, bytes); }

    bool equals(uint64_t value) const {
        uint64_t bits = 0;
        copy(&bits, data);
        return bits == value;
    }

    // memcpy with the usual sizes known to the compiler
    void copy(void* target, const void* source) const {
        switch (bytes) {
            case 1: std::memcpy(target, source, 1); break;
            case 2: std::memcpy(target, source, 2); break;
            case 4: std::memcpy(target, source, 4); break;
            case 8: std::memcpy(target, source, 8); break;
            case 16: std::memcpy(target, source, 16); break;
            default: std::memcpy(target, source, bytes);
        }
    }
};

class Random {  // xorshift64*
   public:
    bool chance(uint32_t of_256) {
        if (!of_256) return false;
        step();
        return (state_ >> 32 & 255) < of_256;
    }
    uint64_t bits() {
        step();
        return state_ * 0x2545F4914F6CDD1D;
    }
    void seed(uint64_t seed) { state_ = seed * 2 + 1; }

   private:
    void step() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
    }

    uint64_t state_ = 1;
};

}  // namespace
