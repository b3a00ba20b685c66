// SPDX-License-Identifier: Apache-2.0
#include "send_buffer/server.h"

#include <system_error>
#include <utility>

namespace send_buffer {

Server::Server(ServerOptions options)
    : options_{std::move(options)},
      bucket_{options_.limits},
      listener_{listenOnLoopback()},
      port_{portOf(listener_)},
      acceptor_{[this] { acceptClients(); }} {}

Server::~Server() {
    listener_.shutDown();
    acceptor_.join();
    // From here on no other thread uses the list.
    for (Served& served : served_) {
        served.socket.shutDown();
        served.thread.join();
    }
}

Socket Server::connectPair() {
    auto [ours, theirs] = socketPair();
    startServing(std::move(ours));
    return std::move(theirs);
}

void Server::acceptClients() {
    while (true) {
        Socket client = acceptOn(listener_);
        if (client.descriptor() < 0) {
            return;
        }
        startServing(std::move(client));
    }
}

void Server::startServing(Socket client) {
    const std::lock_guard lock{mutex_};
    sweep();
    if (served_.size() >= options_.limits.connections) {
        return;
    }
    Served& served = served_.emplace_back(std::move(client));
    try {
        served.thread = std::thread{[this, &served] { serve(served); }};
    } catch (const std::system_error&) {
        served_.pop_back();  // no thread was available: the client's connection ends
    }
}

void Server::serve(Served& served) {
    if (options_.prepareThread) {
        options_.prepareThread();
    }
    Connection{served.socket, options_.limits, bucket_, counts_, options_.observer}.serve();
    // Lets the client see the end now, and not only when the socket is closed.
    served.socket.finishSending();
    // A client that is still sending a refused packet would otherwise wait for ever for the server to read it, and
    // never read the answer.
    discardIncoming(served.socket);
    served.isOver = true;
}

void Server::sweep() {
    served_.remove_if([](Served& served) {
        if (!served.isOver) {
            return false;
        }
        served.thread.join();
        return true;
    });
}

}  // namespace send_buffer
