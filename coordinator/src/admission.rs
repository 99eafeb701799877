//! What stands before every gRPC call: who calls and whether it may, how many bytes it may bring, and
//! how many answers it may leave unread. A call that is refused here is never decoded.

use crate::access::{Access, Role, Roles, of_certificate};
use crate::budget::{Budget, Hold, Payer};
use crate::connections::Place;
use crate::peer::Peer;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use rlbayes_common::ids::{Incarnation, WorkerId};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, header};
use tonic::transport::server::TlsConnectInfo;
use tower::{Layer, Service};

/// Bytes of a call that do not count: whoever brings little always finds room.
const FREE_BYTES: usize = 32 << 10;
/// How long a message may take to come, and the next part of it. States of chains take longer, and
/// their handler has limits of its own.
const MESSAGE: Duration = Duration::from_secs(30);
const PROGRESS: Duration = Duration::from_secs(10);
/// Answers that are sent in many messages and not read to their end yet.
const MAX_ANSWERS: usize = 256;
/// How long such an answer may take.
const ANSWER: Duration = Duration::from_secs(300);
/// Bytes of the states of lockstep chains that are on their way in.
const MAX_UPLOAD_BYTES: usize = 256 << 20;

/// Who calls, as the handlers of calls see it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// What is shared among peers is shared by this.
    pub(crate) peer: Peer,
    /// What the log calls it.
    pub(crate) name: Arc<str>,
    /// Its connection, if it has one of ours.
    pub(crate) place: Option<Place>,
    holds: Arc<Mutex<Holds>>,
    members: Arc<Budget>,
}

/// The room that a call takes.
#[derive(Debug)]
struct Holds {
    /// Bytes that do not count.
    free: usize,
    /// What came, and what was made of it.
    hold: Hold,
    /// What was made of it, of a member.
    of_member: Option<Hold>,
}

impl Holds {
    fn grow(&mut self, bytes: usize) -> Result<(), Status> {
        let counted = bytes.saturating_sub(self.free);
        self.free = self.free.saturating_sub(bytes);
        let hold = self.of_member.as_mut().unwrap_or(&mut self.hold);
        match counted == 0 || hold.grow(counted) {
            true => Ok(()),
            false => Err(no_room()),
        }
    }
}

impl Caller {
    /// Returns the caller of a request.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Result<Self, Status> {
        let caller = request.extensions().get::<Self>().cloned();
        caller.ok_or_else(|| Status::internal("the call was not admitted"))
    }

    /// Takes room for what was made of the call's bytes: of a member, what members have.
    pub(crate) fn hold(&self, bytes: usize, member: Option<WorkerId>) -> Result<(), Status> {
        let mut holds = lock(&self.holds);
        if let Some(member) = member {
            holds.of_member = Some(self.members.hold(Payer::Member(member)));
        }
        holds.grow(bytes)
    }

    /// Returns which member called by this connection last.
    pub(crate) fn member(&self) -> Option<(WorkerId, Incarnation)> {
        self.place.as_ref().and_then(Place::member)
    }

    /// Notes which member calls by this connection.
    pub(crate) fn serves(&self, member: Option<(WorkerId, Incarnation)>) {
        if let Some(place) = &self.place {
            place.serve(member);
        }
    }

    /// Returns a number that other connections do not have.
    pub(crate) fn connection(&self) -> usize {
        self.place.as_ref().map_or(0, Place::number)
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.peer {
            Peer::Certificate(name) => f.write_str(name),
            Peer::Address(address) => write!(f, "{} at {address}", self.name),
        }
    }
}

/// Admits calls.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    access: Access,
    /// Of members, and of everybody else: nobody can take the room that members need.
    members: Arc<Budget>,
    messages: Arc<Budget>,
    uploads: Arc<Budget>,
    answers: Arc<Budget>,
}

impl Admission {
    /// Makes it; `bytes`: what the messages that wait may take in all.
    pub(crate) fn new(access: Access, bytes: usize) -> Self {
        Self {
            access,
            members: Budget::new(bytes / 2),
            messages: Budget::new(bytes / 2),
            uploads: Budget::new(MAX_UPLOAD_BYTES),
            answers: Budget::new(MAX_ANSWERS),
        }
    }

    /// Returns who makes a call, if it may.
    fn caller<B>(&self, request: &Request<B>, call: Call) -> Result<Caller, Status> {
        let extensions = request.extensions();
        let tls = extensions.get::<TlsConnectInfo<Place>>();
        let place = extensions
            .get::<Place>()
            .or(tls.map(TlsConnectInfo::get_ref));
        let certificate = tls.and_then(TlsConnectInfo::peer_certs);
        let certificate = certificate.as_ref().and_then(|chain| chain.first());
        let (by_certificate, named) = match certificate {
            Some(certificate) => of_certificate(certificate),
            None => (Roles::ALL, None),
        };
        let header = request.headers().get(header::AUTHORIZATION);
        let by_token = self.access.of(header.map(|value| value.as_bytes()));
        let Some((by_token, name)) = by_token else {
            return Err(Status::unauthenticated(match header {
                None => "a token is needed",
                Some(_) => "the token is wrong",
            }));
        };
        let roles = by_token.and(by_certificate);
        let peer = match (&named, place.and_then(Place::address)) {
            (Some(name), _) => Peer::Certificate(name.as_str().into()),
            (None, Some(address)) => Peer::at(address),
            (None, None) => Peer::unknown(),
        };
        let name = named.as_deref().unwrap_or(name);
        if let Some(role) = call.role()
            && !roles.allow(role)
        {
            return Err(Status::permission_denied(format!(
                "this needs the role {role}, which the {} of {name} does not give",
                if certificate.is_some() && by_token.allow(role) {
                    "certificate"
                } else {
                    "token"
                }
            )));
        }
        if let Some(place) = place {
            place.prove();
        }
        let by_peer = || Payer::Peer(peer.clone());
        let hold = match (call, place.and_then(Place::member)) {
            (Call::Upload, _) => self.uploads.hold(by_peer()),
            (_, Some((member, _))) => self.members.hold(Payer::Member(member)),
            (_, None) => self.messages.hold(by_peer()),
        };
        let holds = Holds {
            free: FREE_BYTES,
            hold,
            of_member: None,
        };
        Ok(Caller {
            holds: Arc::new(Mutex::new(holds)),
            members: Arc::clone(&self.members),
            peer,
            name: name.into(),
            place: place.cloned(),
        })
    }
}

/// What a call is, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Health, which everybody may ask for.
    Health,
    /// What the service offers.
    Reflection,
    /// One message of a worker.
    Work,
    /// A state in many messages.
    Upload,
    /// An answer to a worker in many messages.
    Fetch,
    Status,
    /// The status or the result, in many messages.
    Watch,
    Stop,
}

impl Call {
    fn of(path: &str) -> Self {
        if path.starts_with("/grpc.health.v1.") {
            return Self::Health;
        }
        match path.strip_prefix("/rlbayes.v1.Coordinator/") {
            Some("Stop") => Self::Stop,
            Some("Status") => Self::Status,
            Some("Watch" | "Result") => Self::Watch,
            Some("StoreChain") => Self::Upload,
            Some("FetchData" | "FetchChain") => Self::Fetch,
            Some(_) => Self::Work,
            None => Self::Reflection,
        }
    }

    fn role(self) -> Option<Role> {
        match self {
            Self::Health | Self::Reflection => None,
            Self::Work | Self::Upload | Self::Fetch => Some(Role::Work),
            Self::Status | Self::Watch => Some(Role::Read),
            Self::Stop => Some(Role::Admin),
        }
    }
}

fn no_room() -> Status {
    Status::resource_exhausted("too many bytes of calls are waiting; try again")
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S> Layer<S> for Admission {
    type Service = Admitted<S>;

    fn layer(&self, inner: S) -> Admitted<S> {
        Admitted {
            inner,
            admission: self.clone(),
        }
    }
}

/// A service behind admission.
#[derive(Clone, Debug)]
pub(crate) struct Admitted<S> {
    inner: S,
    admission: Admission,
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<Body>, E>> + Send>>;

impl<S> Service<Request<Body>> for Admitted<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let call = Call::of(request.uri().path());
        if call == Call::Health {
            return Box::pin(self.inner.call(request));
        }
        let refused = |status: Status| -> Self::Future {
            Box::pin(std::future::ready(Ok(status.into_http())))
        };
        let caller = match self.admission.caller(&request, call) {
            Ok(caller) => caller,
            Err(status) => return refused(status),
        };
        let mut unread = None;
        if matches!(call, Call::Fetch | Call::Watch) {
            let mut answer = self
                .admission
                .answers
                .hold(Payer::Peer(caller.peer.clone()));
            if !answer.grow(1) {
                return refused(Status::resource_exhausted(
                    "too many answers are being sent; try again",
                ));
            }
            unread = Some(answer);
        }
        let holds = Arc::clone(&caller.holds);
        let place = caller.place.as_ref().map(Place::downgrade);
        request.extensions_mut().insert(caller);
        let request = request.map(|body| {
            Body::new(Metered {
                body,
                holds: Arc::clone(&holds),
                due: (call != Call::Upload).then(Due::new),
            })
        });
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answered = answer.await;
            // Until now the handler may have had what was read.
            drop(holds);
            let Some(unread) = unread else {
                return answered;
            };
            let unread = Arc::new(unread);
            if call == Call::Fetch
                && let Some(place) = place
            {
                let unread = Arc::downgrade(&unread);
                tokio::spawn(async move {
                    tokio::time::sleep(ANSWER).await;
                    if unread.strong_count() > 0 {
                        place.close();
                    }
                });
            }
            answered.map(|response| {
                response.map(|body| {
                    Body::new(Unread {
                        body,
                        _hold: unread,
                    })
                })
            })
        })
    }
}

/// A body whose bytes take room from a budget, and that has to come in time: what has come and waits
/// for the rest takes room from others.
struct Metered {
    body: Body,
    holds: Arc<Mutex<Holds>>,
    /// None: its handler looks after the time.
    due: Option<Due>,
}

/// When a message, and the next part of it, has to have come.
struct Due {
    end: Instant,
    part: Instant,
    /// Made when something is waited for.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Due {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            end: now + MESSAGE,
            part: now + PROGRESS,
            alarm: None,
        }
    }

    fn note_part(&mut self) {
        self.part = Instant::now() + PROGRESS;
    }

    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let due = self.end.min(self.part);
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if alarm.deadline() != due {
            alarm.as_mut().reset(due);
        }
        alarm.as_mut().poll(context)
    }
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                let came = frame.data_ref().map_or(0, Bytes::len);
                if let Err(refused) = lock(&self.holds).grow(came) {
                    return Poll::Ready(Some(Err(refused)));
                }
                if let Some(due) = &mut self.due {
                    due.note_part();
                }
            }
            Poll::Pending => {
                let late = self.due.as_mut().map(|due| due.poll_late(context));
                if late.is_some_and(|late| late.is_ready()) {
                    let late = "the message took too long to come";
                    return Poll::Ready(Some(Err(Status::deadline_exceeded(late))));
                }
            }
            Poll::Ready(_) => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer that counts as unread until it is dropped.
struct Unread {
    body: Body,
    _hold: Arc<Hold>,
}

impl HttpBody for Unread {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_the_service_has_its_role() {
        let role = |name: &str| Call::of(&format!("/rlbayes.v1.Coordinator/{name}")).role();
        for name in [
            "Join",
            "FetchData",
            "StoreChain",
            "FetchChain",
            "Exchange",
            "Leave",
        ] {
            assert_eq!(role(name), Some(Role::Work), "{name}");
        }
        for name in ["Status", "Watch", "Result"] {
            assert_eq!(role(name), Some(Role::Read), "{name}");
        }
        assert_eq!(role("Stop"), Some(Role::Admin));
        assert_eq!(Call::of("/grpc.health.v1.Health/Check"), Call::Health);
        assert_eq!(Call::of("/grpc.reflection.v1.X/Y"), Call::Reflection);
    }
}
