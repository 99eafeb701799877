//! `rlbayes certs`: an authority of one's own, a certificate for the coordinator and one for its
//! workers.

use crate::failure::Failure;
use crate::target::words;
use crate::terminal::Messages;
use clap::Args;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rlbayes_common::files::write_whole;
use std::path::{Path, PathBuf};

/// Makes certificates for mutual TLS: ca.pem, server.pem, client.pem and their keys.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CertsArgs {
    /// Folder for the files, without certificates so far
    folder: PathBuf,
    /// Names and addresses of the coordinator; may be given several times [default: localhost,
    /// 127.0.0.1, coordinator]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
}

/// The files that are made.
const FILES: [&str; 6] = [
    "ca.pem",
    "ca.key",
    "server.pem",
    "server.key",
    "client.pem",
    "client.key",
];

const EXAMPLES: &str = "\
Example:
  rlbayes certs certs --name coordinator.example.org
  rlbayes coordinator --data data.csv --state run --tls-cert certs/server.pem \\
      --tls-key certs/server.key --tls-ca certs/ca.pem
  rlbayes worker --coordinator https://coordinator.example.org:7400 --tls-ca certs/ca.pem \\
      --tls-cert certs/client.pem --tls-key certs/client.key";

/// Runs the command.
pub(crate) fn certs(args: &CertsArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    if folder.exists() && !folder.is_dir() {
        let what = "is a file (expected a folder for certificates)";
        return Err(Failure::file(folder, what));
    }
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, words(&error)))?;
    if let Some(found) = FILES.iter().find(|name| folder.join(name).exists()) {
        let what = format!("holds {found} already (expected a folder without certificates)");
        return Err(Failure::file(folder, what));
    }
    let names = if args.name.is_empty() {
        ["localhost", "127.0.0.1", "coordinator"]
            .map(str::to_owned)
            .to_vec()
    } else {
        args.name.clone()
    };
    let bad = |error: rcgen::Error| Failure::input(format!("cannot make certificates: {error}"));
    let ca_key = KeyPair::generate().map_err(bad)?;
    let mut ca = CertificateParams::new(Vec::new()).map_err(bad)?;
    ca.distinguished_name
        .push(DnType::CommonName, "RLBayes authority");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_cert = ca.self_signed(&ca_key).map_err(bad)?;
    let issuer = Issuer::new(ca, ca_key);
    let signed = |name: &str, names: Vec<String>, usages| -> Result<(), Failure> {
        let key = KeyPair::generate().map_err(bad)?;
        let mut params = CertificateParams::new(names).map_err(bad)?;
        params
            .distinguished_name
            .push(DnType::CommonName, format!("RLBayes {name}"));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = usages;
        let cert = params.signed_by(&key, &issuer).map_err(bad)?;
        write(folder, &format!("{name}.pem"), &cert.pem())?;
        write_secret(folder, &format!("{name}.key"), &key.serialize_pem())
    };
    let (serves, calls) = (
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    );
    // The coordinator's machine asks itself for its health and status.
    signed("server", names, vec![serves, calls.clone()])?;
    signed("client", Vec::new(), vec![calls])?;
    write_secret(folder, "ca.key", &issuer.key().serialize_pem())?;
    // Last: it says that the rest is there.
    write(folder, "ca.pem", &ca_cert.pem())?;
    Messages::new(false).line(&format!(
        "{}: ca.pem, server.pem and client.pem, with their keys; keep ca.key away from the cluster",
        folder.display()
    ));
    Ok(())
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, words(&error)))
}

fn write_secret(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let path = folder.join(name);
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::file(&path, words(&error)))
}
