// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace send_buffer {
namespace {

int successOf(int result, const char* what) {
    if (result < 0) {
        throw std::system_error{errno, std::generic_category(), what};
    }
    return result;
}

sockaddr* generic(sockaddr_in& address) { return static_cast<sockaddr*>(static_cast<void*>(&address)); }

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

Socket tcpSocket() {
    return Socket{successOf(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "cannot make a socket")};
}

/// Sends each packet at once, for every variant.
void sendWithoutDelay(const Socket& socket) {
    const int on = 1;
    successOf(::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "cannot set TCP_NODELAY");
}

void shutDownIfOpen(int descriptor, int direction) {
    if (descriptor >= 0) {
        // Fails only if the socket is not connected any more.
        ::shutdown(descriptor, direction);
    }
}

}  // namespace

Socket::~Socket() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

Socket& Socket::operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

void Socket::shutDown() const { shutDownIfOpen(descriptor_, SHUT_RDWR); }

void Socket::finishSending() const { shutDownIfOpen(descriptor_, SHUT_WR); }

std::pair<Socket, Socket> socketPair() {
    std::array<int, 2> ends{};
    successOf(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "cannot make a socketpair");
    return {Socket{ends[0]}, Socket{ends[1]}};
}

Socket listenOnLoopback() {
    Socket listener = tcpSocket();
    sockaddr_in address = loopback(0);
    successOf(::bind(listener.descriptor(), generic(address), sizeof address), "cannot bind to 127.0.0.1");
    successOf(::listen(listener.descriptor(), SOMAXCONN), "cannot listen");
    return listener;
}

std::uint16_t portOf(const Socket& listener) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    successOf(::getsockname(listener.descriptor(), generic(address), &size), "cannot tell the port");
    return ntohs(address.sin_port);
}

Socket acceptOn(const Socket& listener) {
    while (true) {
        Socket client{::accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (client.descriptor() >= 0) {
            sendWithoutDelay(client);
            return client;
        }
        if (errno != EINTR && errno != ECONNABORTED) {
            return {};
        }
    }
}

Socket connectToLoopback(std::uint16_t port) {
    Socket socket = tcpSocket();
    sockaddr_in address = loopback(port);
    successOf(::connect(socket.descriptor(), generic(address), sizeof address), "cannot connect to 127.0.0.1");
    sendWithoutDelay(socket);
    return socket;
}

bool receiveAll(const Socket& socket, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t received = ::recv(socket.descriptor(), bytes.data(), bytes.size(), 0);
        if (received > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(received));
        } else if (received == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

void discardIncoming(const Socket& socket) {
    std::array<std::byte, 16384> ignored{};
    while (receiveAll(socket, ignored)) {
    }
}

}  // namespace send_buffer
