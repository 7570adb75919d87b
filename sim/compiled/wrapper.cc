// The clock loop around a unit that Verilator has compiled, with a C interface.
//
// ports.h, written for each unit, names its ports as INPUT_STREAM(payload, valid, ready, width),
// OUTPUT_STREAM(likewise) and PORT(name, width), in the order that Python has them.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "Vdut.h"
#include "common.h"
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

struct Stream {
    Port payload;
    CData* valid;
    CData* ready;
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
    uint32_t may_retract;  // of an output: what it offers need not stay
};

// When a run ends before all is moved: after `count` elements equal to `value` from an output.
struct Stop {
    int64_t output;  // below 0: never
    uint64_t value;
    uint64_t count;
};

// How a run ended.
struct End {
    uint64_t cycles;
    int64_t retracted;  // output that took back, or changed, what it had offered; below 0: none
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
        size_t widest = 0;
        for (auto& stream : inputs_) widest = std::max(widest, stream.payload.bytes);
        noise_.resize(widest + sizeof(uint64_t));
        held_.resize(outputs_.size());
#if VM_TRACE
        if (*waves) {
            context_.traceEverOn(true);
            waves_ = std::make_unique<Waves>();
            top_.trace(waves_.get(), 99);
            waves_->open(waves);
        }
#endif
        reset();
        rest();
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
             End* end) {
        random_.seed(seed);
        for (auto& held : held_) held.clear();
        uint64_t waiting = 0;
        for (size_t s = 0; s < inputs_.size(); ++s) waiting += inputs[s].count;
        for (size_t s = 0; s < outputs_.size(); ++s) waiting += outputs[s].count;
        bool ended = !waiting;
        *end = {0, -1};
        for (; !ended && end->cycles < limit; ++end->cycles) {
            for (size_t s = 0; s < inputs_.size(); ++s) offer(inputs_[s], inputs[s]);
            for (size_t s = 0; s < outputs_.size(); ++s) invite(outputs_[s], outputs[s]);
            settle();
            for (size_t s = 0; s < outputs_.size(); ++s)
                if (!outputs[s].may_retract && !keeps(outputs_[s], held_[s])) end->retracted = s;
            if (end->retracted >= 0) break;
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
        rest();
        flush();
        return ended;
    }

    void set(size_t port, const char* value) {
        ports_[port].load(value);
        settle();
    }

    void get(size_t port, char* value) const { ports_[port].store(value); }

   private:
    // No stream moves.
    void rest() {
        for (auto& stream : inputs_) withdraw(stream);
        for (auto& stream : outputs_) *stream.ready = 0;
        settle();
    }

    // A payload that counts for nothing is noise, another one each time.
    void withdraw(const Stream& stream) {
        *stream.valid = 0;
        for (size_t at = 0; at < stream.payload.bytes; at += sizeof(uint64_t)) {
            uint64_t bits = random_.bits();
            std::memcpy(&noise_[at], &bits, sizeof bits);
        }
        stream.payload.load(noise_.data());
    }

    // An element once offered stays until the unit has taken it.
    void offer(const Stream& stream, Transfer& transfer) {
        if (transfer.offered) return;
        if (transfer.done < transfer.count && !random_.chance(transfer.chance)) {
            stream.payload.load(transfer.data + transfer.done * stream.payload.bytes);
            *stream.valid = transfer.offered = 1;
        } else if (*stream.valid) {
            withdraw(stream);
        }
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

    // Whether an element that was not taken is still offered; the one that is not taken now is held.
    static bool keeps(const Stream& stream, std::vector<char>& held) {
        const Port& payload = stream.payload;
        if (!held.empty() && !(*stream.valid && payload.holds(held.data()))) return false;
        if (!*stream.valid || *stream.ready)
            held.clear();
        else if (held.empty())
            held.assign(payload.data, payload.data + payload.bytes);
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
    std::vector<char> noise_;
    std::vector<std::vector<char>> held_;  // by output; empty where nothing waits
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
                     uint64_t seed, uint64_t limit, End* end) {
    return unit->run(inputs, outputs, *stop, seed, limit, end);
}
