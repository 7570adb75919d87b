// The clock loop around a unit that Verilator has compiled, with a C interface.
//
// ports.h, written for each unit, names its ports as INPUT_STREAM(payload, valid, ready, width),
// OUTPUT_STREAM(likewise) and PORT(name, width), in the order that Python has them.

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "Vdut.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using Waves = VerilatedFstC;
#elif VM_TRACE
#include "verilated_vcd_c.h"
using Waves = VerilatedVcdC;
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr vluint64_t kHalfPeriod = 5000;  // ps

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

struct Stream {
    Port payload;
    CData* valid;
    CData* ready;
};

class Random {  // xorshift64
   public:
    bool chance(uint32_t of_256) {
        if (!of_256) return false;
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 32 & 255) < of_256;
    }
    void seed(uint64_t seed) { state_ = seed * 2 + 1; }

   private:
    uint64_t state_ = 1;
};

// Units without registers have no clock, those without resettable ones no reset.
template <typename Top>
void set_clock(Top& top, bool level) {
    if constexpr (requires { top.clk; }) top.clk = level;
}
template <typename Top>
void set_reset(Top& top, bool level) {
    if constexpr (requires { top.rst; }) top.rst = level;
}

}  // namespace

// What a run is to move through one stream. `done` is the answer.
struct Transfer {
    char* data;
    uint64_t count;
    uint64_t done;
    uint32_t chance;  // of 256: an input is held back, an output is not ready
    uint32_t offered;
};

// When a run ends before all is moved: after `count` elements equal to `value` from an output.
struct Stop {
    int64_t output;  // below 0: never
    uint64_t value;
    uint64_t count;
};

class Unit {
   public:
    explicit Unit(const char* waves) : top_(&context_) {
#define INPUT_STREAM(payload, valid, ready, width) \
    inputs_.push_back({Port(top_.payload, width), &top_.valid, &top_.ready});
#define OUTPUT_STREAM(payload, valid, ready, width) \
    outputs_.push_back({Port(top_.payload, width), &top_.valid, &top_.ready});
#define PORT(name, width) ports_.emplace_back(top_.name, width);
#include "ports.h"
#if VM_TRACE
        if (*waves) {
            context_.traceEverOn(true);
            waves_ = std::make_unique<Waves>();
            top_.trace(waves_.get(), 99);
            waves_->open(waves);
        }
#endif
        reset();
    }

    ~Unit() { top_.final(); }

    void reset() {
        set_reset(top_, true);
        for (int i = 0; i < 2; ++i) cycle();
        set_reset(top_, false);
        settle();
    }

    void step(uint64_t cycles) {
        while (cycles--) cycle();
        flush();
    }

    bool run(Transfer* inputs, Transfer* outputs, Stop stop, uint64_t seed, uint64_t limit,
             uint64_t* cycles) {
        random_.seed(seed);
        uint64_t waiting = 0;
        for (size_t s = 0; s < inputs_.size(); ++s) waiting += inputs[s].count;
        for (size_t s = 0; s < outputs_.size(); ++s) waiting += outputs[s].count;
        bool ended = !waiting;
        for (*cycles = 0; !ended && *cycles < limit; ++*cycles) {
            for (size_t s = 0; s < inputs_.size(); ++s) offer(inputs_[s], inputs[s]);
            for (size_t s = 0; s < outputs_.size(); ++s) invite(outputs_[s], outputs[s]);
            settle();
            for (size_t s = 0; s < inputs_.size(); ++s) waiting -= accept(inputs_[s], inputs[s]);
            for (size_t s = 0; s < outputs_.size(); ++s) {
                if (!deliver(outputs_[s], outputs[s])) continue;
                --waiting;
                if (int64_t(s) == stop.output && outputs_[s].payload.equals(stop.value) &&
                    !--stop.count)
                    ended = true;
            }
            ended |= !waiting;
            tick();
        }
        for (auto& stream : inputs_) *stream.valid = 0;
        for (auto& stream : outputs_) *stream.ready = 0;
        settle();
        flush();
        return ended;
    }

    void set(size_t port, const char* value) {
        ports_[port].load(value);
        settle();
    }

    void get(size_t port, char* value) const { ports_[port].store(value); }

   private:
    // An element once offered stays until the unit has taken it.
    void offer(const Stream& stream, Transfer& transfer) {
        if (!transfer.offered && transfer.done < transfer.count &&
            !random_.chance(transfer.chance)) {
            stream.payload.load(transfer.data + transfer.done * stream.payload.bytes);
            transfer.offered = 1;
        }
        *stream.valid = transfer.offered;
    }

    void invite(const Stream& stream, const Transfer& transfer) {
        *stream.ready = transfer.done < transfer.count && !random_.chance(transfer.chance);
    }

    static bool accept(const Stream& stream, Transfer& transfer) {
        if (!(*stream.valid && *stream.ready)) return false;
        ++transfer.done;
        transfer.offered = 0;
        return true;
    }

    static bool deliver(const Stream& stream, Transfer& transfer) {
        if (!(*stream.valid && *stream.ready)) return false;
        stream.payload.store(transfer.data + transfer.done++ * stream.payload.bytes);
        return true;
    }

    void cycle() {
        settle();
        tick();
    }

    void settle() {
        set_clock(top_, false);
        top_.eval();
        dump();
    }

    void tick() {
        set_clock(top_, true);
        top_.eval();
        dump();
    }

    void dump() {
#if VM_TRACE
        if (waves_) waves_->dump(time_ += kHalfPeriod);
#endif
    }

    void flush() {
#if VM_TRACE
        if (waves_) waves_->flush();
#endif
    }

    VerilatedContext context_;
    Vdut top_;
    std::vector<Stream> inputs_, outputs_;
    std::vector<Port> ports_;
    Random random_;
#if VM_TRACE
    std::unique_ptr<Waves> waves_;
    vluint64_t time_ = 0;
#endif
};

EXPORT Unit* unit_new(const char* waves) { return new Unit(waves); }
EXPORT void unit_delete(Unit* unit) { delete unit; }
EXPORT void unit_reset(Unit* unit) { unit->reset(); }
EXPORT void unit_step(Unit* unit, uint64_t cycles) { unit->step(cycles); }
EXPORT void unit_set(Unit* unit, size_t port, const char* value) { unit->set(port, value); }
EXPORT void unit_get(Unit* unit, size_t port, char* value) { unit->get(port, value); }
EXPORT bool unit_run(Unit* unit, Transfer* inputs, Transfer* outputs, const Stop* stop,
                     uint64_t seed, uint64_t limit, uint64_t* cycles) {
    return unit->run(inputs, outputs, *stop, seed, limit, cycles);
}
