//! The address under which other machines reach a coordinator that listens on all of its own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Returns host and port for others: a coordinator that listens on every address is reached by the one
/// that this machine uses towards others, or by its name.
pub(super) fn for_others(address: SocketAddr, host_name: impl FnOnce() -> String) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let port = address.port();
    match outgoing(address.ip()) {
        Some(ip) => SocketAddr::new(ip, port).to_string(),
        None => format!("{}:{port}", host_name()),
    }
}

/// Returns the address that this machine would use to reach others. Nothing is sent: to connect a
/// datagram socket only chooses a route. The far ends are addresses for documentation.
fn outgoing(listening: IpAddr) -> Option<IpAddr> {
    let towards = |own: SocketAddr, other: SocketAddr| {
        let socket = UdpSocket::bind(own).ok()?;
        socket.connect(other).ok()?;
        let ip = socket.local_addr().ok()?.ip();
        (!ip.is_unspecified() && !ip.is_loopback()).then_some(ip)
    };
    let v4 = || {
        let far = Ipv4Addr::new(192, 0, 2, 1);
        towards((Ipv4Addr::UNSPECIFIED, 0).into(), (far, 9).into())
    };
    let v6 = || {
        let far = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        towards((Ipv6Addr::UNSPECIFIED, 0).into(), (far, 9).into())
    };
    match listening {
        IpAddr::V4(_) => v4(),
        IpAddr::V6(_) => v4().or_else(v6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_nobody_can_connect_to_is_replaced() {
        let name = || "coordinator.example.org".to_owned();
        let given = |text: &str| for_others(text.parse().unwrap(), name);
        assert_eq!(given("127.0.0.1:7400"), "127.0.0.1:7400");
        assert_eq!(given("192.0.2.7:7400"), "192.0.2.7:7400");
        assert_eq!(given("[::1]:7400"), "[::1]:7400");
        for all in ["0.0.0.0:7400", "[::]:7400"] {
            let shown = given(all);
            assert!(shown.ends_with(":7400"), "{shown}");
            assert!(
                !shown.contains("0.0.0.0") && !shown.contains("[::]"),
                "{shown}"
            );
        }
    }
}
