//! The messages, byte by byte, and what the kernel says of real sockets.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use super::{request, uid, user};

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// An answer about the socket at 127.0.0.1:1, connected to 127.0.0.1:2.
fn answer(family: u8, state: u8, uid: u32, inode: u32) -> Vec<u8> {
    let mut answer = vec![0; 88];
    answer[4] = 20;
    answer[16] = family;
    answer[17] = state;
    answer[20..24].copy_from_slice(&[0, 1, 0, 2]);
    for address in [24, 40] {
        let place = if family == 2 {
            address
        } else {
            answer[address + 10..address + 12].fill(0xff);
            address + 12
        };
        answer[place..place + 4].copy_from_slice(&[127, 0, 0, 1]);
    }
    answer[80..84].copy_from_slice(&uid.to_ne_bytes());
    answer[84..88].copy_from_slice(&inode.to_ne_bytes());
    answer
}

#[test]
fn asks_for_one_socket_by_both_addresses() {
    let message = request(at("127.0.0.1:258"), at("127.0.0.2:772"));
    assert_eq!(message.len(), 72);
    assert_eq!(message[..4], 72_u32.to_ne_bytes());
    assert_eq!(message[4..6], 20_u16.to_ne_bytes());
    assert_eq!(message[6..8], 1_u16.to_ne_bytes());
    assert_eq!(message[16..20], [2, 6, 0, 0]);
    assert_eq!(message[24..28], [1, 2, 3, 4]);
    assert_eq!(message[28..32], [127, 0, 0, 1]);
    assert_eq!(message[44..48], [127, 0, 0, 2]);
    assert_eq!(
        message[60..],
        [0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    let message = request(at("[::1]:1"), at("[::1]:2"));
    assert_eq!((message[16], message[43], message[59]), (10, 1, 1));
}

#[test]
fn believes_only_an_open_socket_of_this_connection() {
    let (client, server) = (at("127.0.0.1:1"), at("127.0.0.1:2"));
    let read = |answer: &[u8]| user(answer, client, server);
    for family in [2, 10] {
        assert_eq!(read(&answer(family, 1, 1_000, 5)), Some(1_000));
        assert_eq!(read(&answer(family, 1, 0, 5)), Some(0));
    }
    // Closed by one end, by both, or waiting for a connection.
    for state in (0..=12).filter(|state| *state != 1) {
        assert_eq!(read(&answer(2, state, 1_000, 5)), None, "{state}");
    }
    // Left by its program: the kernel then says that it is the superuser's.
    assert_eq!(read(&answer(2, 1, 0, 0)), None);
    // Nobody's, as far as this namespace knows.
    assert_eq!(read(&answer(2, 1, 65_534, 5)), None);
    for at in [4, 16, 20, 21, 22, 23, 24, 27, 40, 43] {
        let mut other = answer(2, 1, 1_000, 5);
        other[at] ^= 1;
        assert_eq!(read(&other), None, "{at}");
    }
    let whole = answer(2, 1, 1_000, 5);
    for length in 0..whole.len() {
        assert_eq!(read(&whole[..length]), None, "{length}");
    }
}

#[test]
fn kernel_tells_the_user_of_a_connection() {
    let own = rustix::process::geteuid().as_raw();
    for address in [
        "127.0.0.1:0",
        "[::1]:0",
        "[::ffff:127.0.0.1]:0",
        "127.9.9.9:0",
    ] {
        let Ok(listener) = TcpListener::bind(address) else {
            eprintln!("not tried, as this machine has no such address: {address}");
            continue;
        };
        let server = listener.local_addr().unwrap();
        // IPv6 knows an address of IPv4 by a form of its own.
        let plain = SocketAddr::new(server.ip().to_canonical(), server.port());
        let other = TcpStream::connect(plain).unwrap();
        let (taken, seen) = listener.accept().unwrap();
        assert_eq!(uid(seen, server), Some(own), "{address}");
        drop((other, taken));
        let client = TcpStream::connect(server).unwrap();
        let (accepted, seen) = listener.accept().unwrap();
        assert_eq!(uid(seen, server), Some(own), "{address}");
        // The other end of the connection, and no connection at all.
        assert_eq!(uid(server, seen), Some(own), "{address}");
        assert_eq!(uid(server, server), None, "{address}");
        // A client that has closed one end is nobody, and so is one that has gone: its addresses are
        // still known then.
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(uid(seen, server), None, "{address}");
        drop(client);
        assert_eq!(uid(seen, server), None, "{address}");
        drop(accepted);
    }
    assert_eq!(uid(at("192.0.2.1:1"), at("127.0.0.1:1")), None);
}
