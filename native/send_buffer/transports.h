/// The ways to reach the server that are measured.
#pragma once

#include "send_buffer/server.h"
#include "send_buffer/socket.h"

namespace send_buffer {

struct Loopback {
    static Socket connect(Server& server) { return connectToLoopback(server.port()); }
};

struct SocketPair {
    static Socket connect(Server& server) { return server.connectPair(); }
};

}  // namespace send_buffer
