//! A server that answers without doing anything: what `exchange` measures a coordinator
//! against. It decodes the same messages and answers with one of the same size.

use crate::failure::Failure;
use rlbayes_common::files::write_whole;
use rlbayes_proto::v1;
use rlbayes_proto::v1::coordinator_server::{Coordinator, CoordinatorServer};
use std::path::Path;
use tokio::net::TcpListener;
use tokio_stream::{Empty, empty};
use tonic::{Request, Response, Status, Streaming};

struct EmptyHandler;

type Nothing<T> = Empty<Result<T, Status>>;

#[tonic::async_trait]
impl Coordinator for EmptyHandler {
    async fn join(&self, _: Request<v1::JoinRequest>) -> Result<Response<v1::JoinReply>, Status> {
        Ok(Response::new(v1::JoinReply::default()))
    }

    type FetchDataStream = Nothing<v1::Chunk>;

    async fn fetch_data(
        &self,
        _: Request<v1::FetchDataRequest>,
    ) -> Result<Response<Self::FetchDataStream>, Status> {
        Ok(Response::new(empty()))
    }

    async fn store_chain(
        &self,
        _: Request<Streaming<v1::StoreChainChunk>>,
    ) -> Result<Response<v1::StoreChainReply>, Status> {
        Ok(Response::new(v1::StoreChainReply {}))
    }

    type FetchChainStream = Nothing<v1::Chunk>;

    async fn fetch_chain(
        &self,
        _: Request<v1::FetchChainRequest>,
    ) -> Result<Response<Self::FetchChainStream>, Status> {
        Ok(Response::new(empty()))
    }

    async fn exchange(
        &self,
        request: Request<v1::ExchangeRequest>,
    ) -> Result<Response<v1::ExchangeReply>, Status> {
        let request = request.into_inner();
        let reports = request.reports.into_iter();
        let answers = reports.map(|report| {
            // Where a coordinator would send two rows as seeds, two of the sender's go back.
            let mut rows = report.finds.into_iter().filter_map(|find| find.row);
            let (first, second) = (rows.next(), rows.next());
            let (best, mate) = match second {
                Some(mate) => (first, Some(mate)),
                None => (None, first),
            };
            let wanted = report.wants_seeds && mate.is_some();
            let seeds = wanted.then_some(v1::Seeds { best, mate });
            v1::Answer {
                chain: report.chain,
                sequence: report.sequence,
                next: Some(v1::answer::Next::Continue(v1::Continue {
                    seeds,
                    snapshot: false,
                })),
            }
        });
        Ok(Response::new(v1::ExchangeReply {
            answers: answers.collect(),
            lease_millis: 15_000,
            ..Default::default()
        }))
    }

    async fn leave(
        &self,
        _: Request<v1::ExchangeRequest>,
    ) -> Result<Response<v1::LeaveReply>, Status> {
        Ok(Response::new(v1::LeaveReply {}))
    }

    async fn status(
        &self,
        _: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        Ok(Response::new(v1::StatusReply::default()))
    }

    type WatchStream = Nothing<v1::StatusReply>;

    async fn watch(
        &self,
        _: Request<v1::StatusRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(empty()))
    }

    async fn stop(&self, _: Request<v1::StopRequest>) -> Result<Response<v1::StatusReply>, Status> {
        Ok(Response::new(v1::StatusReply::default()))
    }

    type ResultStream = Nothing<v1::ResultChunk>;

    async fn result(
        &self,
        _: Request<v1::ResultRequest>,
    ) -> Result<Response<Self::ResultStream>, Status> {
        Ok(Response::new(empty()))
    }
}

/// Serves until it is killed, with as many threads as a coordinator.
pub(crate) fn empty_server(address_file: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::input)?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(Failure::input)?;
        let address = listener.local_addr().map_err(Failure::input)?;
        write_whole(address_file, format!("http://{address}\n").as_bytes())
            .map_err(Failure::input)?;
        tonic::transport::Server::builder()
            .add_service(CoordinatorServer::new(EmptyHandler))
            .serve_with_incoming(rlbayes_coordinator::guard::accept(
                listener,
                rlbayes_coordinator::guard::MAX_CONNECTIONS,
            ))
            .await
            .map_err(Failure::input)
    })
}
