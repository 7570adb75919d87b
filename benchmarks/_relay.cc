// Carries IP packets between network namespaces, over links of a given rate and delay.
//
// Arguments: workers, bits per second, delay and jitter in nanoseconds, bytes of a queue, bytes of
// the largest packet that a worker may leave to be cut into segments (0: none). Each worker gets a
// namespace without a name, and in it the device lab0. The first line on stdout has the numbers of
// the namespaces' files among those of this process. Commands come on stdin, a line each, and each
// is answered by a line. After "end", or at the end of stdin, all processes in the namespaces are
// killed; then nothing is left of them.

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Time = int64_t;  // ns

constexpr Time kNever = INT64_MAX;
constexpr Time kSecond = 1'000'000'000;
constexpr Time kSameJitter = 10'000'000;  // for so long a delay stays
constexpr int kAtOnce = 64;               // packets that are read before any is delivered
constexpr uint32_t kNetwork = 0x0a4d0000;  // 10.77.0.0; worker i has the address that ends in i + 1

// What stands before a packet: virtio_net_hdr, whose header is not C++.
struct Header {
    uint8_t flags, segmented;
    uint16_t linear, segment, checksum_start, checksum_offset;
};

constexpr size_t kHeader = sizeof(Header);

struct Packet {
    Time due;
    int to;
    size_t wire;  // bytes that its segments take
    std::vector<char> data;
};

struct Worker {
    int place;                    // its namespace
    int device;
    bool cut = false;
    Time up = 0, down = 0;        // until when its line is busy, to the others and from them
    Time last = 0;                // when the last packet under way comes to the other side
    Time drawn = 0, jitter = 0;   // when the jitter was drawn, and the jitter
    std::deque<Packet> under_way; // of this sender, on its line or behind it
    std::deque<Packet> arriving;  // at this receiver
    uint64_t sent = 0, received = 0, lost = 0;
};

struct Link {
    double rate;  // bits per second
    Time delay, jitter;
    double queue;  // bytes

    Time takes(size_t bytes) const { return Time(8e9 * bytes / rate); }
    bool is_full(Time waits) const { return waits * rate / 8e9 > queue; }
};

Link link_;
std::vector<Worker> workers;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

int checked(int result, const char* what) {
    if (result < 0) fail(what);
    return result;
}

Time now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * kSecond + time.tv_nsec;
}

Worker made(unsigned offload) {
    Worker worker;
    checked(unshare(CLONE_NEWNET), "a network namespace cannot be made");
    worker.place = checked(open("/proc/self/ns/net", O_RDONLY), "/proc/self/ns/net");
    worker.device = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK), "/dev/net/tun");
    ifreq request{};
    std::strcpy(request.ifr_name, "lab0");
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    checked(ioctl(worker.device, TUNSETIFF, &request), "TUNSETIFF");
    checked(ioctl(worker.device, TUNSETOFFLOAD, offload), "TUNSETOFFLOAD");
    return worker;
}

// The number of the worker that a packet is for, or -1.
int receiver(const char* packet, size_t size) {
    if (size < 20 || packet[0] >> 4 != 4) return -1;
    uint32_t address;
    std::memcpy(&address, packet + 16, 4);
    int to = int(ntohl(address) - kNetwork) - 1;
    return to >= 0 && to < int(workers.size()) ? to : -1;
}

// Bytes of all segments of a packet of TCP, each with headers of its own.
size_t on_the_wire(const Header& header, const char* packet, size_t size) {
    if (!header.segmented) return size;
    size_t network = 4 * (packet[0] & 15);
    size_t headers = network + 4 * (uint8_t(packet[network + 12]) >> 4);
    size_t segments = (size - headers + header.segment - 1) / header.segment;
    return size + (segments - 1) * headers;
}

Time jitter_of(Worker& worker, Time time) {
    static std::mt19937_64 random(std::random_device{}());
    if (link_.jitter && time >= worker.drawn + kSameJitter) {
        worker.drawn = time;
        worker.jitter = std::uniform_int_distribution<Time>(-link_.jitter, link_.jitter)(random);
    }
    return worker.jitter;
}

void send(Worker& from, const char* data, size_t size, Time time) {
    Header header;
    std::memcpy(&header, data, kHeader);
    int to = receiver(data + kHeader, size - kHeader);
    if (to < 0) return;
    size_t wire = on_the_wire(header, data + kHeader, size - kHeader);
    if (from.cut || workers[to].cut || link_.is_full(from.up - time)) {
        from.lost++;
        return;
    }
    from.up = std::max(time, from.up) + link_.takes(wire);
    from.last = std::max(from.last, from.up + link_.delay + jitter_of(from, from.up));
    from.sent += wire;
    from.under_way.push_back({from.last, to, wire, {data, data + size}});
}

void read_from(Worker& from) {
    static char data[kHeader + 65536];
    for (int count = 0; count < kAtOnce; count++) {
        ssize_t size = read(from.device, data, sizeof data);
        if (size < 0) return;
        if (size_t(size) > kHeader) send(from, data, size, now());
    }
}

// The worker whose packet comes to the other side first.
Worker* first_under_way() {
    Worker* first = nullptr;
    for (auto& worker : workers)
        if (!worker.under_way.empty() &&
            (!first || worker.under_way.front().due < first->under_way.front().due))
            first = &worker;
    return first;
}

// What has come to the other side takes its receiver's line, which others may be using.
void arrive(Time time) {
    for (Worker* from; (from = first_under_way()) && from->under_way.front().due <= time;) {
        Packet packet = std::move(from->under_way.front());
        from->under_way.pop_front();
        Worker& to = workers[packet.to];
        if (to.cut || link_.is_full(to.down - packet.due)) {
            from->lost++;
            continue;
        }
        packet.due = to.down = std::max(packet.due, to.down + link_.takes(packet.wire));
        to.arriving.push_back(std::move(packet));
    }
}

void deliver(Worker& to, Time time) {
    while (!to.arriving.empty() && to.arriving.front().due <= time) {
        const Packet& packet = to.arriving.front();
        if (write(to.device, packet.data.data(), packet.data.size()) < 0)
            to.lost++;
        else
            to.received += packet.wire;
        to.arriving.pop_front();
    }
}

Time next_event() {
    Worker* first = first_under_way();
    Time next = first ? first->under_way.front().due : kNever;
    for (auto& worker : workers)
        if (!worker.arriving.empty()) next = std::min(next, worker.arriving.front().due);
    return next;
}

// Send a signal to all processes in a worker's namespace; how many there were.
int signal_inside(const Worker& worker, int signal) {
    struct stat own, other;
    checked(fstat(worker.place, &own), "fstat");
    int found = 0;
    DIR* processes = opendir("/proc");
    while (dirent* entry = readdir(processes)) {
        int process = std::atoi(entry->d_name);
        std::string place = "/proc/" + std::string(entry->d_name) + "/ns/net";
        if (process <= 0 || stat(place.c_str(), &other) || other.st_ino != own.st_ino) continue;
        found += kill(process, signal) == 0;
    }
    closedir(processes);
    return found;
}

// Kill what runs in the namespaces. Who comes later finds no device, and ends by itself.
void end() {
    for (auto& worker : workers) close(worker.device);
    for (auto& worker : workers)
        for (int left = 1000; left && signal_inside(worker, SIGKILL); left--) usleep(1000);
}

// Do what a line says; the answer.
std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::ostringstream answer;
    std::string command;
    size_t number = 0;
    int signal = 0;
    words >> command;
    if (command == "counts") {
        for (auto& own : workers) answer << own.sent << ' ' << own.received << ' ' << own.lost << ' ';
        return answer.str();
    }
    words >> number >> signal;
    if (command == "cut" || command == "mend")
        workers.at(number).cut = command == "cut";
    else if (command == "signal")
        answer << signal_inside(workers.at(number), signal);
    return answer.str();
}

// Do what has come on stdin; false at the end.
bool listen() {
    static std::string heard;
    char some[256];
    ssize_t size = read(STDIN_FILENO, some, sizeof some);
    if (size <= 0) return false;
    heard.append(some, size);
    for (size_t length; (length = heard.find('\n')) != std::string::npos;) {
        std::string line = heard.substr(0, length);
        if (line == "end") return false;
        std::printf("%s\n", obey(line).c_str());
        heard.erase(0, length + 1);
    }
    std::fflush(stdout);
    return true;
}

void run() {
    std::vector<pollfd> files{{STDIN_FILENO, POLLIN, 0}};
    for (auto& worker : workers) files.push_back({worker.device, POLLIN, 0});
    while (true) {
        Time next = next_event();
        Time wait = std::max<Time>(0, next - now());
        timespec until{wait / kSecond, wait % kSecond};
        ppoll(files.data(), files.size(), next == kNever ? nullptr : &until, nullptr);
        if (files[0].revents && !listen()) return;
        for (size_t own = 0; own < workers.size(); own++)
            if (files[own + 1].revents & POLLIN) read_from(workers[own]);
        Time time = now();
        arrive(time);
        for (auto& worker : workers) deliver(worker, time);
    }
}

// A line does not wait for the workers' computations; where that is not allowed, it may.
void hurry() {
    sched_param first{1};
    sched_setscheduler(0, SCHED_FIFO, &first);
    prctl(PR_SET_TIMERSLACK, 1);
}

}  // namespace

int main(int, char** arguments) {
    int count = std::atoi(arguments[1]);
    link_ = {std::atof(arguments[2]), std::atoll(arguments[3]), std::atoll(arguments[4]),
             std::atof(arguments[5])};
    unsigned offload = std::atoi(arguments[6]) ? TUN_F_CSUM | TUN_F_TSO4 : TUN_F_CSUM;
    int home = checked(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "/proc/self/ns/net");
    for (int own = 0; own < count; own++) workers.push_back(made(offload));
    checked(setns(home, CLONE_NEWNET), "setns");
    for (auto& worker : workers) std::printf("%d ", worker.place);
    std::printf("\n");
    std::fflush(stdout);
    hurry();
    run();
    end();
}
