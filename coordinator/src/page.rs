//! The live page: its shell, script and style, served from the program. They hold nothing about the
//! search, which the page asks for with the token.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use rlbayes_common::io::viewer;

const SHELL: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");

/// Nothing from elsewhere, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn answer(kind: &'static str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, text).into_response()
}

/// Returns the page, which tells programs where the other port is, and its script whether a token is
/// needed.
pub(crate) fn shell(grpc: u16, needs_token: bool) -> Response {
    let about = format!("rlbayes coordinator: /status /metrics /health; gRPC is on port {grpc}");
    let text = SHELL
        .replace("{{about}}", &about)
        .replace("{{token}}", if needs_token { "needed" } else { "none" });
    answer("text/html; charset=utf-8", text)
}

/// Returns the page's script.
pub(crate) fn script() -> Response {
    answer("text/javascript; charset=utf-8", SCRIPT.to_owned())
}

/// Returns the page's style.
pub(crate) fn style() -> Response {
    answer("text/css; charset=utf-8", STYLE.to_owned())
}

/// Returns the script of the network's viewer, the one that reports have.
pub(crate) fn viewer_script() -> Response {
    answer("text/javascript; charset=utf-8", viewer::SCRIPT.to_owned())
}

/// Returns the viewer's style.
pub(crate) fn viewer_style() -> Response {
    answer("text/css; charset=utf-8", viewer::STYLE.to_owned())
}
