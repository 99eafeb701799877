//! Who calls, by what a caller cannot choose: the name in its certificate, else the address that it
//! connects from. What is shared among callers (places, bytes, processor time, patience) is shared
//! among peers, never among numbers that a sender draws.

use rlbayes_common::ids::PeerId;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// A caller, or several that cannot be told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// The name in a certificate that our authority has signed.
    Certificate(Arc<str>),
    /// An address; of the sixth version of IP its network, in which one machine has all addresses.
    Address(IpAddr),
}

impl Peer {
    /// Returns the peer at an address.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self::Address(known_by(address))
    }

    /// Returns its number, for whoever need not know more of it; none is 0.
    #[must_use]
    pub(crate) fn number(&self) -> PeerId {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        PeerId(hasher.finish() | 1)
    }

    /// Returns the peer of a connection that has no address, as in tests.
    #[must_use]
    pub fn unknown() -> Self {
        Self::Address(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}

/// Returns what a machine is known by: its address, or of the sixth version of IP its network.
#[must_use]
pub(crate) fn known_by(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_one_peer_whichever_of_its_addresses_it_uses() {
        let peer = |text: &str| Peer::at(text.parse().unwrap());
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.2"), peer("10.0.0.1"));
    }
}
