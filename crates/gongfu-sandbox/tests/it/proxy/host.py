# A host of the internet that speaks TLS: the socket that it listens by is its standard input.
import http.server
import socket
import ssl


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/to?"):
            return self.say(302, Location=self.path[4:])
        if self.headers.get("Upgrade"):
            return self.say(101, Upgrade=self.headers["Upgrade"], Connection="Upgrade")
        return self.say(200)

    def say(self, status, **fields):
        body = b"" if status == 101 else b"hi"
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 101:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = status == 101

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # A greeting that ends early is nothing to tell of.


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("host.pem", "key.pem")
server = Server(("", 0), Answer, bind_and_activate=False)
server.socket.close()
listener = socket.socket(fileno=0)
server.socket = context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
