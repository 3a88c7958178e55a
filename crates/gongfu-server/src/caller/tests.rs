//! The user of a connection that ends while the system is asked.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use tokio::net::{TcpListener, TcpStream};

use super::{Caller, is_own_by};

/// A connection: the client's end and the server's.
async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = TcpStream::connect(address).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

#[tokio::test]
async fn open_connection_is_its_users() {
    let own = rustix::process::geteuid().as_raw();
    let (_client, server) = connection().await;
    assert_eq!(Caller::of(&server), Caller::Own);
    assert_eq!(is_own_by(&server, |_, _| Some(own)), Some(true));
    assert_eq!(is_own_by(&server, |_, _| Some(own + 1)), Some(false));
    assert_eq!(is_own_by(&server, |_, _| None), None);
}

#[tokio::test]
async fn connection_that_is_reset_meanwhile_is_nobodys() {
    let own = rustix::process::geteuid().as_raw();
    let (client, server) = connection().await;
    // Another client may have its port by then, and be the server's user.
    let ask = |_: SocketAddr, _: SocketAddr| {
        set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        while server.peer_addr().is_ok() {
            std::thread::yield_now();
        }
        Some(own)
    };
    assert_eq!(is_own_by(&server, ask), None);
    assert_eq!(Caller::of(&server), Caller::Unknown);
}
