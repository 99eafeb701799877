//! A TCP proxy that misbehaves on request: cuts connections, lets nobody in, holds bytes back,
//! loses answers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A proxy in front of one address. It ends when it is dropped.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From who connects to the server.
    ToServer,
    /// From the server to who connects.
    FromServer,
}

#[derive(Default)]
struct Conduct {
    refuses: bool,
    holds: Option<Way>,
    /// How many bytes pass until one direction is held back.
    holds_after: Option<(Way, u64)>,
    swallows_answers: bool,
    swallowed: u64,
    carried: u64,
    ends: bool,
    /// Both ends of every connection, to cut them.
    open: Vec<TcpStream>,
}

struct Shared {
    server: SocketAddr,
    conduct: Mutex<Conduct>,
    changed: Condvar,
}

impl Proxy {
    /// Starts a proxy in front of a port of this machine.
    #[must_use]
    pub fn before(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: (Ipv4Addr::LOCALHOST, port).into(),
            conduct: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for client in listener.incoming() {
                if serving.lock().ends {
                    return;
                }
                if let Ok(client) = client {
                    serving.connect(client);
                }
            }
        });
        Self {
            address,
            shared,
            listening: Some(listening),
        }
    }

    /// Returns where to connect.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts all connections and lets nobody in.
    pub fn cut(&self) {
        let mut conduct = self.shared.lock();
        conduct.refuses = true;
        conduct.close_all();
        self.shared.changed.notify_all();
    }

    /// Lets everybody in again and everything through. Connections that lost bytes are cut.
    pub fn heal(&self) {
        let mut conduct = self.shared.lock();
        conduct.refuses = false;
        conduct.holds = None;
        if conduct.swallows_answers {
            conduct.swallows_answers = false;
            conduct.close_all();
        }
        self.shared.changed.notify_all();
    }

    /// Holds the bytes of one direction back until the proxy is healed.
    pub fn hold(&self, way: Way) {
        self.shared.lock().holds = Some(way);
    }

    /// Holds the bytes of one direction back as soon as a number of them have passed.
    pub fn hold_after(&self, way: Way, bytes: u64) {
        self.shared.lock().holds_after = Some((way, bytes));
    }

    /// Returns whether bytes are held back now.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.shared.lock().holds.is_some()
    }

    /// Loses what the server answers from now on.
    pub fn swallow_answers(&self) {
        self.shared.lock().swallows_answers = true;
    }

    /// Returns how many bytes of answers were lost.
    #[must_use]
    pub fn swallowed(&self) -> u64 {
        self.shared.lock().swallowed
    }

    /// Returns how many bytes have passed.
    #[must_use]
    pub fn carried(&self) -> u64 {
        self.shared.lock().carried
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        {
            let mut conduct = self.shared.lock();
            conduct.ends = true;
            conduct.close_all();
        }
        self.shared.changed.notify_all();
        // Wakes the listener, which then sees that it is over.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(listening) = self.listening.take()
            && woken
        {
            let _ = listening.join();
        }
    }
}

impl Conduct {
    fn close_all(&mut self) {
        for stream in self.open.drain(..) {
            // One that is closed already is what is wanted.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Conduct> {
        self.conduct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(self: &Arc<Self>, client: TcpStream) {
        if self.lock().refuses {
            return;
        }
        let Ok(server) = TcpStream::connect(self.server) else {
            return;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        {
            let mut conduct = self.lock();
            conduct.open.push(client.try_clone().unwrap());
            conduct.open.push(server.try_clone().unwrap());
        }
        let pumps = [
            (
                client.try_clone().unwrap(),
                server.try_clone().unwrap(),
                Way::ToServer,
            ),
            (server, client, Way::FromServer),
        ];
        for (from, to, way) in pumps {
            let shared = Arc::clone(self);
            thread::spawn(move || shared.pump(from, to, way));
        }
    }

    /// Carries bytes one way until either end closes.
    fn pump(&self, mut from: TcpStream, mut to: TcpStream, way: Way) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let mut conduct = self.lock();
            while conduct.holds == Some(way) && !conduct.ends && !conduct.refuses {
                conduct = self
                    .changed
                    .wait(conduct)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if conduct.swallows_answers && way == Way::FromServer {
                conduct.swallowed += count as u64;
                continue;
            }
            conduct.carried += count as u64;
            if let Some((held, after)) = &mut conduct.holds_after
                && *held == way
            {
                *after = after.saturating_sub(count as u64);
                if *after == 0 {
                    conduct.holds_after = None;
                    conduct.holds = Some(way);
                }
            }
            drop(conduct);
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
