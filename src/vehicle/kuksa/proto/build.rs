//! Compiles the protocol of the KUKSA databroker where the feature `kuksa` is on. No `protoc` is needed.

fn main() {
    println!("cargo::rerun-if-changed=src/vehicle/kuksa/proto");
    #[cfg(feature = "kuksa")]
    if let Err(error) = compile() {
        println!("cargo::error=the protocol of the databroker does not compile: {error}");
    }
}

/// Two outputs: the client that the crate uses, and client and server together for its tests.
#[cfg(feature = "kuksa")]
fn compile() -> Result<(), Box<dyn std::error::Error>> {
    const FOLDER: &str = "src/vehicle/kuksa/proto";
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    for (folder, server) in [("client", false), ("both", true)] {
        let out = out.join(folder);
        std::fs::create_dir_all(&out)?;
        let descriptors = protox::compile(["kuksa.proto"], [FOLDER])?;
        tonic_prost_build::configure().build_server(server).out_dir(out).compile_fds(descriptors)?;
    }
    Ok(())
}
