//! Tokens and certificates: who has the right one takes part, anybody else is refused at once.

use crate::{PROGRAM, rlbayes, start_cluster};
use rlbayes_proto::PROTOCOL_VERSION;
use rlbayes_tests::peer::hello;
use rlbayes_tests::{Running, SOON, block_on, client, other_version_coordinator, own_port, write};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tonic::{Code, Request};

const ASIA: &str = "asia_n1000_s1.csv.gz";
/// A refusal comes at once: far sooner than the first retries would take on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(20);

#[test]
fn a_wrong_token_is_refused_at_once_with_2_and_the_right_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let right = write(folder.path(), "right", "open sesame 4711\n");
    let wrong = write(folder.path(), "wrong", "open barley 4711\n");
    let [right, wrong] = [&right, &wrong].map(|path| path.to_str().unwrap());
    let http = format!("127.0.0.1:{}", own_port());
    let flags = [
        "--time",
        "1h",
        "--token-file",
        right,
        "--http",
        &http,
        "--http-token",
    ];
    let mut cluster = start_cluster(ASIA, &flags);
    let url = cluster.url();
    rlbayes_tests::wait_until("it serves", SOON, || {
        rlbayes(["health", &url]).code == Some(0)
    });

    for flags in [vec![], vec!["--token-file", wrong]] {
        let begun = Instant::now();
        let ran = cluster
            .worker_with("stranger", &url, &flags, &[])
            .wait(SOON);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(begun.elapsed() < AT_ONCE);
        assert!(ran.stderr.contains("token"), "{ran:?}");
        let mut args = vec!["status", &url];
        args.extend(&flags);
        assert_eq!(rlbayes(&args).code, Some(2));
        args[0] = "stop";
        assert_eq!(rlbayes(&args).code, Some(2));
    }
    let mut raw = client(&url);
    for header in [
        None,
        Some("Bearer wrong"),
        Some("open sesame 4711"),
        Some(""),
    ] {
        let mut request = Request::new(hello(5));
        if let Some(header) = header {
            request
                .metadata_mut()
                .insert("authorization", header.parse().unwrap());
        }
        let status = block_on(raw.join(request)).unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{header:?}");
    }

    // Reflection needs it too.
    for (header, expected) in [
        (None, Err(Code::Unauthenticated)),
        (Some("Bearer open sesame 4711"), Ok(true)),
    ] {
        assert_eq!(lists_the_service(&url, header), expected);
    }

    let get = |header: &str| {
        let mut stream = TcpStream::connect(&http).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        write!(
            stream,
            "GET /status HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{header}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for header in ["", "Authorization: Bearer wrong\r\n"] {
        let answer = get(header);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        assert!(!answer.contains("best_score"), "{answer}");
    }
    let answer = get("Authorization: Bearer open sesame 4711\r\n");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

    let worker = cluster.worker_with("friend", &url, &["--token-file", right], &[]);
    let status = || {
        rlbayes(["status", &url, "--json", "--token-file", right])
            .ok()
            .json()
    };
    rlbayes_tests::wait_until("it works", SOON, || status()["best_score"].is_number());
    assert_eq!(status()["workers"].as_array().unwrap().len(), 1);
    rlbayes(["stop", &url, "--token-file", right]).ok();
    let ran = worker.wait(SOON).ok();
    let logged = cluster.coordinator().logged();
    for text in [&ran.stderr, &logged] {
        assert!(!text.contains("sesame"), "the secret is in a log: {text}");
    }
}

/// Asks for the services as grpcurl does, and returns whether ours is among them.
fn lists_the_service(url: &str, header: Option<&str>) -> Result<bool, Code> {
    use tonic::transport::Endpoint;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let asked = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut request = Request::new(tokio_stream::iter([asked]));
    if let Some(header) = header {
        let metadata = request.metadata_mut();
        metadata.insert("authorization", header.parse().unwrap());
    }
    let answer = block_on(async {
        let endpoint = Endpoint::from_shared(url.to_owned()).unwrap();
        let mut client = ServerReflectionClient::new(endpoint.connect().await.unwrap());
        let mut answers = client.server_reflection_info(request).await?.into_inner();
        answers.message().await
    });
    let answer = answer.map_err(|status| status.code())?.unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("{answer:?}");
    };
    let mut services = list.service.iter();
    Ok(services.any(|service| service.name == "rlbayes.v1.Coordinator"))
}

#[test]
fn with_certificates_of_ones_own_only_their_holders_take_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (ours, theirs) = (path("ours"), path("theirs"));
    rlbayes(["certs", &ours]).ok();
    rlbayes(["certs", &theirs]).ok();
    let file = |folder: &str, name: &str| format!("{folder}/{name}");
    let flags = [
        "--time",
        "1h",
        "--tls-cert",
        &file(&ours, "server.pem"),
        "--tls-key",
        &file(&ours, "server.key"),
        "--tls-ca",
        &file(&ours, "ca.pem"),
    ];
    let cluster = start_cluster(ASIA, &flags);
    let url = cluster.url().replace("http://", "https://");
    let authority = file(&ours, "ca.pem");
    let holder = |folder: &str| {
        ["--tls-cert", "client.pem", "--tls-key", "client.key"].map(|word| {
            match word.strip_prefix("client") {
                Some(_) => file(folder, word),
                None => word.to_owned(),
            }
        })
    };
    let with = |more: &[String]| {
        let mut flags = vec!["--tls-ca".to_owned(), authority.clone()];
        flags.extend_from_slice(more);
        flags
    };
    let friend = with(&holder(&ours));
    let ask = |command: &str, flags: &[String]| {
        let mut args = vec![command.to_owned(), url.clone()];
        args.extend_from_slice(flags);
        rlbayes(args)
    };
    rlbayes_tests::wait_until("it serves", SOON, || ask("health", &friend).code == Some(0));

    let theirs_alone = ["--tls-ca".to_owned(), file(&theirs, "ca.pem")];
    for (who, flags) in [
        ("no certificate", with(&[])),
        ("another authority's", with(&holder(&theirs))),
        ("a coordinator that it does not know", theirs_alone.to_vec()),
    ] {
        let begun = Instant::now();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let ran = cluster
            .worker_with("stranger", &url, &flags, &[])
            .wait(SOON);
        assert_eq!(ran.code, Some(2), "{who}: {ran:?}");
        assert!(begun.elapsed() < AT_ONCE);
        let flags: Vec<String> = flags.into_iter().map(str::to_owned).collect();
        for command in ["status", "stop", "watch", "result", "health"] {
            let ran = ask(command, &flags);
            assert_eq!(ran.code, Some(2), "{command}, {who}: {ran:?}");
        }
    }

    let flags: Vec<&str> = friend.iter().map(String::as_str).collect();
    let worker = cluster.worker_with("friend", &url, &flags, &[]);
    let mut json = friend.clone();
    json.push("--json".to_owned());
    rlbayes_tests::wait_until("it works", SOON, || {
        ask("status", &json).ok().json()["best_score"].is_number()
    });
    ask("stop", &friend).ok();
    worker.wait(SOON).ok();
}

#[test]
fn a_worker_that_meets_another_protocol_exits_with_4_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = other_version_coordinator::coordinator_of_another_version();
    let mut command = PROGRAM.command();
    command
        .args(["worker", "--threads", "1", "--coordinator", &server.url])
        .arg("--state")
        .arg(folder.path());
    let ran = Running::of(command).wait(SOON);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let spoken = format!("{}", PROTOCOL_VERSION + 1);
    assert!(ran.stderr.contains(&spoken), "{ran:?}");
}
