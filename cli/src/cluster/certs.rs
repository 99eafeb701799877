//! `rlbayes certs`: an authority of one's own, a certificate for the coordinator, and one for each
//! worker or person, whose role and name it states.

use crate::failure::Failure;
use crate::target::words;
use crate::terminal::Messages;
use clap::Args;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rlbayes_common::files::{make_private_folder, write_private, write_whole};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Makes certificates for mutual TLS: an authority, the coordinator's, and one for each client.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CertsArgs {
    /// Folder for the files; with ca.pem and ca.key in it, that authority signs further certificates
    folder: PathBuf,
    /// Names and addresses of the coordinator; may be given several times [default: localhost,
    /// 127.0.0.1, coordinator]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Makes work-NAME.pem for a worker; may be given several times
    #[arg(long, value_name = "NAME")]
    worker: Vec<String>,
    /// Makes read-NAME.pem for somebody who may look; may be given several times
    #[arg(long, value_name = "NAME")]
    reader: Vec<String>,
    /// Makes admin-NAME.pem for somebody who may also stop the search; may be given several times
    #[arg(long, value_name = "NAME")]
    admin: Vec<String>,
    /// For how many days the certificates are valid; the authority is for ten times as long
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..=825))]
    days: u16,
    /// Replaces the certificates that the same command has made before; the authority stays
    #[arg(long)]
    renew: bool,
}

const EXAMPLES: &str = "\
Example:
  rlbayes certs certs --name coordinator.example.org --worker machine1 --worker machine2 --admin me
  rlbayes coordinator --data data.csv --state run --tls-cert certs/server.pem \\
      --tls-key certs/server.key --tls-ca certs/ca.pem
  rlbayes worker --coordinator https://coordinator.example.org:7400 --tls-ca certs/ca.pem \\
      --tls-cert certs/work-machine1.pem --tls-key certs/work-machine1.key

A certificate's common name says what its owner may do, and who that is: work:machine1. Without
--worker, --reader and --admin there is one certificate for all clients, client.pem.

Later: certs DIR --worker machine3 adds a certificate, and the first command with --renew makes all
of them anew, before they are out of date. Programs read them when they start.";

/// How many times as long as its certificates an authority is valid.
const AUTHORITY_TIMES: u32 = 10;
/// Clocks differ: a certificate is valid a little before it is made.
const EARLIER: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// What fits a common name beside the role.
const MOST_NAME: usize = 48;

/// A certificate to make.
struct Wanted {
    file: String,
    common_name: String,
    names: Vec<String>,
    usages: Vec<ExtendedKeyUsagePurpose>,
}

/// Runs the command.
pub(crate) fn certs(args: &CertsArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    if folder.exists() && !folder.is_dir() {
        let what = "is a file (expected a folder for certificates)";
        return Err(Failure::file(folder, what));
    }
    make_private_folder(folder).map_err(|error| Failure::file(folder, words(&error)))?;
    let is_new = !folder.join("ca.pem").exists();
    if is_new && args.renew {
        let what = "holds no authority (expected ca.pem and ca.key of an earlier rlbayes certs)";
        return Err(Failure::file(folder, what));
    }
    let wanted = wanted(args, is_new)?;
    if wanted.is_empty() {
        let what = "holds ca.pem already (expected --worker, --reader or --admin for a further \
                    certificate, --renew, or a folder without certificates)";
        return Err(Failure::file(folder, what));
    }
    let authority_key = is_new.then(|| "ca.key".to_owned());
    let files = wanted.iter().flat_map(|wanted| {
        let file = &wanted.file;
        [format!("{file}.pem"), format!("{file}.key")]
    });
    let mut files = files.chain(authority_key);
    if let Some(found) = files.find(|file| !args.renew && folder.join(file).exists()) {
        let what = format!("holds {found} already (expected --renew, or another folder)");
        return Err(Failure::file(folder, what));
    }
    let valid = DAY * u32::from(args.days);
    let (issuer, authority) = authority(folder, is_new, valid * AUTHORITY_TIMES)?;
    for certificate in &wanted {
        make(folder, certificate, &issuer, valid)?;
    }
    if let Some(pem) = authority {
        write_secret(folder, "ca.key", &issuer.key().serialize_pem())?;
        // Last: it says that the rest is there.
        write(folder, "ca.pem", &pem)?;
    }
    let made: Vec<String> = wanted
        .iter()
        .map(|made| format!("{}.pem", made.file))
        .collect();
    Messages::new(false).line(&format!(
        "{}: {} and their keys, valid for {} days from now; keep ca.key away from the cluster",
        folder.display(),
        made.join(", "),
        args.days
    ));
    Ok(())
}

/// Lists the certificates to make: the coordinator's with a new authority, when it is named, or when
/// everything is renewed.
fn wanted(args: &CertsArgs, is_new: bool) -> Result<Vec<Wanted>, Failure> {
    let (serves, calls) = (
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    );
    let roles = [
        ("work", &args.worker),
        ("read", &args.reader),
        ("admin", &args.admin),
    ];
    let has_roles = roles.iter().any(|(_, names)| !names.is_empty());
    let mut wanted = Vec::new();
    if is_new || args.renew || !args.name.is_empty() {
        let names = match args.name.as_slice() {
            [] => ["localhost", "127.0.0.1", "coordinator"]
                .map(str::to_owned)
                .to_vec(),
            names => names.to_vec(),
        };
        wanted.push(Wanted {
            file: "server".into(),
            common_name: "RLBayes server".into(),
            names,
            // The coordinator's machine asks itself for its health and status.
            usages: vec![serves, calls.clone()],
        });
    }
    if !has_roles && (is_new || args.renew) {
        wanted.push(Wanted {
            file: "client".into(),
            common_name: "RLBayes client".into(),
            names: Vec::new(),
            usages: vec![calls.clone()],
        });
    }
    for (role, names) in roles {
        for name in names {
            check_name(name)?;
            wanted.push(Wanted {
                file: format!("{role}-{name}"),
                common_name: format!("{role}:{name}"),
                // What the coordinator goes by.
                names: vec![format!("{name}.{role}.rlbayes")],
                usages: vec![calls.clone()],
            });
        }
    }
    Ok(wanted)
}

/// A name is part of a file's name and of a certificate's.
fn check_name(name: &str) -> Result<(), Failure> {
    // As names of machines are.
    let is_plain = |part: &str| {
        let within = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !part.is_empty() && part.chars().all(within) && part.trim_matches('-') == part
    };
    if name.len() > MOST_NAME || !name.split('.').all(is_plain) {
        let message = format!(
            "\"{name}\" is no name for a certificate (expected up to {MOST_NAME} letters, digits and \
             hyphens, in parts that dots separate, as names of machines have them)"
        );
        return Err(Failure::input(message));
    }
    Ok(())
}

/// Makes the authority, or finds it again by its key; returns its certificate if it is new.
fn authority(
    folder: &Path,
    is_new: bool,
    valid: Duration,
) -> Result<(Issuer<'static, KeyPair>, Option<String>), Failure> {
    let mut params = CertificateParams::new(Vec::new()).map_err(bad)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "RLBayes authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    if is_new {
        let key = KeyPair::generate().map_err(bad)?;
        limit(&mut params, valid);
        let pem = params.self_signed(&key).map_err(bad)?.pem();
        return Ok((Issuer::new(params, key), Some(pem)));
    }
    // An issuer is its name and its key, and the name is always the same.
    let path = folder.join("ca.key");
    let text =
        std::fs::read_to_string(&path).map_err(|error| Failure::file(&path, words(&error)))?;
    let key = KeyPair::from_pem(&text)
        .map_err(|error| Failure::file(&path, format!("is not the authority's key: {error}")))?;
    Ok((Issuer::new(params, key), None))
}

fn make(
    folder: &Path,
    wanted: &Wanted,
    issuer: &Issuer<'_, KeyPair>,
    valid: Duration,
) -> Result<(), Failure> {
    let key = KeyPair::generate().map_err(bad)?;
    let mut params = CertificateParams::new(wanted.names.clone()).map_err(bad)?;
    params
        .distinguished_name
        .push(DnType::CommonName, wanted.common_name.as_str());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = wanted.usages.clone();
    params.use_authority_key_identifier_extension = true;
    limit(&mut params, valid);
    let cert = params.signed_by(&key, issuer).map_err(bad)?;
    write_secret(
        folder,
        &format!("{}.key", wanted.file),
        &key.serialize_pem(),
    )?;
    write(folder, &format!("{}.pem", wanted.file), &cert.pem())
}

/// Limits a certificate to a time from now on.
fn limit(params: &mut CertificateParams, valid: Duration) {
    let since_1970 = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let now = date_time_ymd(1970, 1, 1) + Duration::from_secs(since_1970.as_secs());
    params.not_before = now - EARLIER;
    params.not_after = now + valid;
}

fn bad(error: rcgen::Error) -> Failure {
    Failure::input(format!("cannot make certificates: {error}"))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, words(&error)))
}

fn write_secret(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    write_private(&path, text.as_bytes()).map_err(|error| Failure::file(&path, words(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn args(folder: &Path) -> CertsArgs {
        CertsArgs {
            folder: folder.to_owned(),
            name: Vec::new(),
            worker: Vec::new(),
            reader: Vec::new(),
            admin: Vec::new(),
            days: 90,
            renew: false,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn each_worker_has_a_certificate_and_more_can_follow() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("certs");
        let first = CertsArgs {
            worker: vec!["a".into()],
            admin: vec!["me".into()],
            ..args(&folder)
        };
        certs(&first).unwrap();
        let made = [
            "admin-me.key",
            "admin-me.pem",
            "ca.key",
            "ca.pem",
            "server.key",
            "server.pem",
            "work-a.key",
            "work-a.pem",
        ];
        assert_eq!(names(&folder), made);
        let authority = fs::read(folder.join("ca.pem")).unwrap();
        let server = fs::read(folder.join("server.pem")).unwrap();
        // What is there is not replaced without being asked for.
        certs(&first).unwrap_err();
        certs(&args(&folder)).unwrap_err();
        certs(&CertsArgs {
            worker: vec!["b".into()],
            ..args(&folder)
        })
        .unwrap();
        assert_eq!(names(&folder).len(), made.len() + 2);
        assert_eq!(fs::read(folder.join("server.pem")).unwrap(), server);
        certs(&CertsArgs {
            renew: true,
            ..first
        })
        .unwrap();
        assert_ne!(fs::read(folder.join("server.pem")).unwrap(), server);
        assert_eq!(fs::read(folder.join("ca.pem")).unwrap(), authority);
        for name in ["", "../x", "a b", "a:b"] {
            let odd = CertsArgs {
                worker: vec![name.into()],
                ..args(&folder)
            };
            assert!(certs(&odd).is_err(), "{name}");
        }
    }
}
