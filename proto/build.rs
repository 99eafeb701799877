//! Turns the .proto files into Rust without a system protoc, and keeps their descriptors for the
//! reflection service.

use prost::Message;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = ["rlbayes/v1/coordinator.proto", "rlbayes/v1/model.proto"];
    for file in files {
        println!("cargo:rerun-if-changed={file}");
    }
    let descriptors = protox::compile(files, ["."])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".")
        .codec_path("crate::codec::BoundedCodec")
        .compile_fds(descriptors)?;
    Ok(())
}
