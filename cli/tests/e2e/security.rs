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

#[test]
fn a_token_allows_what_its_role_says() {
    let folder = tempfile::tempdir().unwrap();
    let roles = "\
# who may do what
work  works-0123456789abc
read  reads-0123456789abc grafana
admin admin-0123456789abc
";
    let roles = write(folder.path(), "roles", roles);
    let token = |name: &str| {
        let secret = format!("{name}-0123456789abc\n");
        let path = write(folder.path(), name, secret);
        path.to_str().unwrap().to_owned()
    };
    let [works, reads, admin] = ["works", "reads", "admin"].map(token);
    let http = format!("127.0.0.1:{}", own_port());
    let roles = roles.to_str().unwrap();
    let flags = [
        "--time",
        "1h",
        "--token-file",
        roles,
        "--http",
        &http,
        "--http-token",
    ];
    let mut cluster = start_cluster(ASIA, &flags);
    let url = cluster.url();
    let with = |command: &str, token: &str| rlbayes([command, &url, "--token-file", token]);
    rlbayes_tests::wait_until("it serves", SOON, || with("status", &reads).code == Some(0));

    for command in ["status", "stop"] {
        let ran = with(command, &works);
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        assert!(ran.stderr.contains("needs the role"), "{ran:?}");
    }
    let ran = with("stop", &reads);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("role admin"), "{ran:?}");
    for token in [&reads, &admin] {
        let ran = cluster
            .worker_with("no worker", &url, &["--token-file", token], &[])
            .wait(SOON);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("role work"), "{ran:?}");
    }
    let get = |secret: &str| {
        let mut stream = TcpStream::connect(&http).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let header = format!("Authorization: Bearer {secret}-0123456789abc");
        write!(
            stream,
            "GET /status HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{header}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[..12].to_owned()
    };
    assert_eq!(get("reads"), "HTTP/1.1 200");
    assert_eq!(get("works"), "HTTP/1.1 403");
    assert_eq!(get("wrong"), "HTTP/1.1 401");

    let worker = cluster.worker_with("worker", &url, &["--token-file", &works], &[]);
    rlbayes_tests::wait_until("it works", SOON, || {
        let ran = with("status", &admin);
        ran.stdout.contains("running")
    });
    with("stop", &admin).ok();
    worker.wait(SOON).ok();
    let log = cluster.coordinator().logged();
    assert!(log.contains("the search was ended"), "{log}");
    assert!(
        log.contains("admin at 127.0.0.1"),
        "who did it is in the log: {log}"
    );
    assert!(!log.contains("0123456789abc"), "no secret is");
}

#[test]
fn files_of_tokens_that_say_too_little_are_refused_with_2() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, holds) in [
        ("short", "abc\n", "at least 16"),
        ("empty", "# nothing\n\n", "holds no token"),
        (
            "no-role",
            "works-0123456789abc\nreads-0123456789abc\n",
            "line 1",
        ),
    ] {
        let path = write(folder.path(), name, text);
        let state = folder.path().join("state");
        let data = rlbayes_tests::data(ASIA);
        let ran = rlbayes([
            "coordinator",
            "--data",
            data.to_str().unwrap(),
            "--state",
            state.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            path.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(holds), "{ran:?}");
    }
}

#[test]
fn the_http_port_speaks_tls_where_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    rlbayes(["certs", certs.to_str().unwrap()]).ok();
    let file = |name: &str| certs.join(name).to_str().unwrap().to_owned();
    let http = format!("127.0.0.1:{}", own_port());
    let [cert, key] = ["server.pem", "server.key"].map(file);
    let flags = [
        "--time",
        "1h",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--http",
        &http,
        "--http-tls",
    ];
    let cluster = start_cluster(ASIA, &flags);
    let authority = std::fs::read(file("ca.pem")).unwrap();
    rlbayes_tests::wait_until("it serves", SOON, || {
        get_by_tls(&http, &authority, "/health").is_some_and(|answer| answer.contains("200 OK"))
    });
    let answer = get_by_tls(&http, &authority, "/status").unwrap();
    assert!(answer.contains("\"state\": \"waiting\""), "{answer}");
    let mut plain = TcpStream::connect(&http).unwrap();
    plain.set_read_timeout(Some(SOON)).unwrap();
    write!(plain, "GET /status HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // Closed or reset: it gets nothing.
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("state"));
    drop(cluster);
}

/// Asks a port with TLS; none: it cannot be reached, or its certificate is not signed by the authority.
fn get_by_tls(address: &str, authority: &[u8], path: &str) -> Option<String> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::{TlsConnector, rustls};
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority).unwrap())
        .unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.ok()?;
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(std::sync::Arc::new(config));
        let mut stream = connector.connect(name, stream).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        // The other side may close without saying so.
        let _ = stream.read_to_end(&mut answer).await;
        Some(String::from_utf8_lossy(&answer).into_owned())
    })
}

#[test]
fn a_certificate_allows_what_its_role_says() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    let made = [
        "certs",
        certs.to_str().unwrap(),
        "--worker",
        "m1",
        "--reader",
        "me",
        "--admin",
        "ada",
    ];
    rlbayes(made).ok();
    let file = |name: &str| certs.join(name).to_str().unwrap().to_owned();
    let [ca, cert, key] = ["ca.pem", "server.pem", "server.key"].map(file);
    let flags = [
        "--time",
        "1h",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--tls-ca",
        &ca,
    ];
    let mut cluster = start_cluster(ASIA, &flags);
    let url = format!("https://localhost:{}", cluster.port());
    let with = |command: &str, who: &str| {
        let [cert, key] = ["pem", "key"].map(|ending| file(&format!("{who}.{ending}")));
        rlbayes([
            command,
            &url,
            "--tls-ca",
            &ca,
            "--tls-cert",
            &cert,
            "--tls-key",
            &key,
        ])
    };
    rlbayes_tests::wait_until("it serves", SOON, || {
        with("status", "read-me").code == Some(0)
    });
    for (command, who) in [
        ("status", "work-m1"),
        ("stop", "work-m1"),
        ("stop", "read-me"),
    ] {
        let ran = with(command, who);
        assert_eq!(ran.code, Some(2), "{command} by {who}: {ran:?}");
        assert!(ran.stderr.contains("certificate of"), "{ran:?}");
    }
    let [cert, key] = ["work-m1.pem", "work-m1.key"].map(file);
    let flags = ["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key];
    let worker = cluster.worker_with("worker", &url, &flags, &[]);
    rlbayes_tests::wait_until("it works", SOON, || {
        with("status", "admin-ada").stdout.contains("running")
    });
    with("stop", "admin-ada").ok();
    worker.wait(SOON).ok();
    let log = cluster.coordinator().logged();
    assert!(
        log.contains("work:m1") && log.contains("admin:ada"),
        "{log}"
    );
}
