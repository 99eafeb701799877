//! What stands before every gRPC call: who calls and whether it may, how many bytes it may bring, and
//! how many answers it may leave unread. A call that is refused here is never decoded.

use crate::access::{Access, Role, Roles, of_certificate};
use crate::answers::{Answers, Long, LongAnswer, To};
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
    answers: Answers,
}

impl Admission {
    /// Makes it; `bytes`: what the messages that wait may take in all.
    pub(crate) fn new(access: Access, bytes: usize) -> Self {
        Self {
            access,
            members: Budget::new(bytes / 2),
            messages: Budget::new(bytes / 2),
            uploads: Budget::new(MAX_UPLOAD_BYTES),
            answers: Answers::default(),
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
    /// The status, again and again.
    Watch,
    /// The result, in many messages.
    Result,
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
            Some("Watch") => Self::Watch,
            Some("Result") => Self::Result,
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
            Self::Status | Self::Watch | Self::Result => Some(Role::Read),
            Self::Stop => Some(Role::Admin),
        }
    }

    /// Returns what its answer is, if that is a long one.
    fn long_answer(self) -> Option<Long> {
        match self {
            Self::Fetch => Some(Long::Fetch),
            Self::Watch => Some(Long::Watch),
            Self::Result => Some(Long::Result),
            Self::Health
            | Self::Reflection
            | Self::Work
            | Self::Upload
            | Self::Status
            | Self::Stop => None,
        }
    }

    /// Returns whom its answer is for, if that is one message.
    fn whole_answer(self) -> Option<To> {
        match self {
            Self::Work | Self::Upload => Some(To::Worker),
            Self::Status | Self::Stop => Some(To::Reader),
            Self::Health | Self::Reflection | Self::Fetch | Self::Watch | Self::Result => None,
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
        let by_peer = Payer::Peer(caller.peer.clone());
        let payer = match (call, caller.member()) {
            (Call::Work | Call::Upload, Some((member, _))) => Payer::Member(member),
            _ => by_peer.clone(),
        };
        let answers = self.admission.answers.clone();
        let long = match call.long_answer() {
            Some(what) => match answers.begin(what, by_peer) {
                Ok(hold) => Some((what, hold)),
                Err(status) => return refused(status),
            },
            None => None,
        };
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
            if let Some(to) = call.whole_answer() {
                return match answered {
                    Ok(response) => Ok(answers.whole(response, to, payer, place).await),
                    Err(error) => Err(error),
                };
            }
            let Some((what, hold)) = long else {
                return answered;
            };
            answered.map(|response| {
                response.map(|body| Body::new(LongAnswer::new(what, body, hold, place)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{LONG, WHOLE};
    use crate::connections::{Connections, Limits};
    use std::convert::Infallible;

    /// Answers every call with a body that goes on for ever.
    #[derive(Clone)]
    struct Endless;

    /// A body that always has to be waited for.
    struct Waits;

    impl HttpBody for Waits {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Pending
        }
    }

    impl Service<Request<Body>> for Endless {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            std::future::ready(Ok(Response::new(Body::new(Waits))))
        }
    }

    fn connection(last: u8) -> Place {
        let connections = Connections::new(Limits::of(8));
        connections.enter(Some([10, 0, 0, last].into()))
    }

    fn admission() -> Admission {
        Admission::new(Access::default(), 16 << 20)
    }

    /// Makes a call; none if it was refused.
    async fn called(admission: &Admission, name: &str, place: &Place) -> Option<Response<Body>> {
        called_of(Endless, admission, name, place).await
    }

    async fn called_of<S>(
        service: S,
        admission: &Admission,
        name: &str,
        place: &Place,
    ) -> Option<Response<Body>>
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = format!("/rlbayes.v1.Coordinator/{name}").parse().unwrap();
        request.extensions_mut().insert(place.clone());
        let response = admission.layer(service).call(request).await.unwrap();
        let refused = response.headers().contains_key("grpc-status");
        (!refused).then_some(response)
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_answer_that_is_not_read_in_time_ends_its_connection() {
        for name in ["FetchData", "FetchChain", "Result"] {
            let (slow, quick) = (connection(1), connection(1));
            let admission = admission();
            let unread = called(&admission, name, &slow).await.unwrap();
            drop(called(&admission, name, &quick).await.unwrap());
            tokio::time::sleep(LONG - Duration::from_secs(1)).await;
            assert!(!slow.is_closed(), "{name}");
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert!(slow.is_closed() && !quick.is_closed(), "{name}");
            drop(unread);
        }
    }

    #[tokio::test]
    async fn watchers_keep_neither_workers_nor_readers_of_the_result_out() {
        let admission = admission();
        let mut watchers = Vec::new();
        for last in 1..40 {
            let place = connection(last);
            let before = watchers.len();
            while let Some(watcher) = called(&admission, "Watch", &place).await {
                watchers.push(watcher);
            }
            assert!(watchers.len() - before <= 32, "one peer may be so many");
        }
        assert_eq!(watchers.len(), 128);
        // Neither those of others, nor those at the same address.
        for place in [connection(99), connection(1)] {
            for name in ["FetchData", "FetchChain", "Result"] {
                assert!(called(&admission, name, &place).await.is_some(), "{name}");
            }
            assert!(called(&admission, "Watch", &place).await.is_none());
        }
        drop(watchers);
        assert!(called(&admission, "Watch", &connection(1)).await.is_some());
    }

    /// Answers every call with as many bytes.
    #[derive(Clone)]
    struct Large(usize);

    /// A body with some bytes.
    struct Once(Option<Bytes>);

    impl HttpBody for Once {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    impl Service<Request<Body>> for Large {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            let body = Body::new(Once(Some(vec![1; self.0].into())));
            std::future::ready(Ok(Response::new(body)))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_nobody_reads_are_bounded_by_their_bytes() {
        const BYTES: usize = 1 << 20;
        let admission = admission();
        let status = |last| {
            let place = connection(last);
            let admission = &admission;
            async move {
                called_of(Large(BYTES), admission, "Status", &place)
                    .await
                    .map(|it| (it, place))
            }
        };
        let mut unread = Vec::new();
        for last in 1..9 {
            let before = unread.len();
            while let Some(answer) = status(last).await {
                unread.push(answer);
            }
            assert!(unread.len() - before <= 16, "of one peer");
        }
        assert_eq!(unread.len(), 32);
        // Workers have room of their own, and what is short is answered.
        let place = connection(1);
        for (name, bytes) in [("Exchange", BYTES), ("Join", BYTES), ("Status", 1000)] {
            assert!(
                called_of(Large(bytes), &admission, name, &place)
                    .await
                    .is_some(),
                "{name}"
            );
        }
        // Bytes count until the connection has written them, not only until it has taken them.
        let (answer, _) = unread.pop().unwrap();
        let mut body = answer.into_body();
        let taken = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        drop(body);
        assert!(status(99).await.is_none());
        assert_eq!(taken.unwrap().unwrap().into_data().unwrap().len(), BYTES);
        assert!(status(99).await.is_some());
        tokio::time::sleep(WHOLE + Duration::from_secs(1)).await;
        assert!(unread.iter().all(|(_, place)| place.is_closed()));
        assert!(!place.is_closed());
    }

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
