// SPDX-License-Identifier: Apache-2.0
/// A small memcached server inside this process, for one test or benchmark.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "send_buffer/bucket.h"
#include "send_buffer/connection.h"
#include "send_buffer/limits.h"
#include "send_buffer/response.h"
#include "send_buffer/socket.h"

namespace send_buffer {

struct ServerOptions {
    Limits limits = {};
    /// Runs on the connection's thread.
    PacketObserver observer = {};
    /// The first function that each connection's thread runs.
    std::function<void()> prepareThread = {};
};

/// A server that listens on IPv4 loopback during its lifetime. One thread accepts clients, and each connection has its
/// own thread. Clients beyond the limit are rejected.
class Server {
   public:
    explicit Server(ServerOptions options = {});
    /// Ends all connections and waits for their threads.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    Server(Server&&) = delete;
    Server& operator=(Server&&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }

    /// Returns the other end of a socketpair that the server serves too.
    Socket connectPair();

   private:
    struct Served {
        explicit Served(Socket client) : socket{std::move(client)} {}

        Socket socket;
        std::atomic<bool> isOver{false};
        std::thread thread;
    };

    void acceptClients();
    void startServing(Socket client);
    void serve(Served& served);
    /// Closes the connections whose clients have gone.
    void sweep();

    const ServerOptions options_;
    Bucket bucket_;
    ResponseCounts counts_;
    Socket listener_;
    std::uint16_t port_;
    std::mutex mutex_;
    std::list<Served> served_;
    std::thread acceptor_;
};

/// The measured ways to connect to the server.
struct Loopback {
    static Socket connect(Server& server) { return connectToLoopback(server.port()); }
};

struct SocketPair {
    static Socket connect(Server& server) { return server.connectPair(); }
};

}  // namespace send_buffer
