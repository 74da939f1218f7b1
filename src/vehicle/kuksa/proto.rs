//! The messages of `kuksa.val.v2`, generated from `proto/kuksa.proto`.
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

include!(concat!(env!("OUT_DIR"), "/client/kuksa.val.v2.rs"));
