//! Our protocol file against the messages that the published Python client generates.

use std::collections::HashMap;
use std::process::Command;

use prost::Message;

use crate::proto::value::TypedValue;
use crate::proto::*;
use crate::provider::by_path;
use crate::support::there;
use crate::tree::{float, int, switch, text, uint, value};

/// Prints the name and the bytes of some messages as its classes write them, then writes back what it
/// reads of ours, one `Message hex` a line.
const SCRIPT: &str = r#"
import sys
from google.protobuf.timestamp_pb2 import Timestamp
from kuksa.val.v2 import types_pb2 as t, val_pb2 as v
path = lambda p: t.SignalID(path=p)
point = t.Datapoint(timestamp=Timestamp(seconds=7, nanos=9), value=t.Value(float=21.5))
order = v.ActuateRequest(signal_id=t.SignalID(id=-3), value=t.Value(int32=-66))
meta = t.Metadata(path="V.A", id=4, data_type=t.DATA_TYPE_UINT8, entry_type=t.ENTRY_TYPE_ACTUATOR, unit="percent",
    allowed_values=t.Value(string_array=t.StringArray(values=["UP", "DOWN"])), min=t.Value(uint32=1), max=t.Value(uint32=100))
told = v.OpenProviderStreamResponse(batch_actuate_stream_request=v.BatchActuateStreamRequest(actuate_requests=[order]))
done = v.BatchActuateStreamResponse(signal_id=path("V.A"), error=t.Error(code=t.ERROR_CODE_NOT_FOUND, message="no"))
for name, message in [("order", order), ("point", point), ("meta", v.ListMetadataResponse(metadata=[meta])),
        ("news", v.SubscribeResponse(entries={"V.A": point})),
        ("subscribe", v.SubscribeRequest(signal_paths=["V.A"], buffer_size=1000)),
        ("values", v.GetValuesResponse(data_points=[point])), ("told", told),
        ("claim", v.OpenProviderStreamRequest(provide_actuation_request=v.ProvideActuationRequest(actuator_identifiers=[path("V.A")]))),
        ("done", v.OpenProviderStreamRequest(batch_actuate_stream_response=done)),
        ("info", v.GetServerInfoResponse(name="n", version="1", commit_hash="c"))]:
    print(name, message.SerializeToString(deterministic=True).hex())
for line in sys.argv[1:]:
    name, data = line.split(" ")
    module = t if hasattr(t, name) else v
    print("back:" + name, getattr(module, name).FromString(bytes.fromhex(data)).SerializeToString(deterministic=True).hex())
"#;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn python(ours: &[(&str, Vec<u8>)]) -> Option<HashMap<String, Vec<u8>>> {
    let python = std::env::var("KUKSA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let known = Command::new(&python).args(["-c", "from kuksa.val.v2 import val_pb2"]).output();
    let known = known.as_ref().is_ok_and(|output| output.status.success());
    let what = format!(
        "{python} with kuksa-client (pip install kuksa-client==0.6.0; KUKSA_PYTHON names a Python that has it)"
    );
    if !there(&what, known) {
        return None;
    }
    let lines = ours.iter().map(|(name, bytes)| format!("{name} {}", hex(bytes)));
    let output = Command::new(&python).args(["-c", SCRIPT]).args(lines).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|l| l.split_once(' ').unwrap_or((l, ""))).map(|(n, h)| (n.to_owned(), bytes(h))).collect())
}

#[test]
fn the_published_client_reads_and_writes_the_same_bytes() {
    let kinds = [
        ("string", text("a")),
        ("bool", switch(true)),
        ("int32", int(-5)),
        ("int64", value(TypedValue::Int64(-6))),
        ("uint32", uint(7)),
        ("uint64", value(TypedValue::Uint64(8))),
        ("float", float(1.5)),
        ("double", value(TypedValue::Double(2.5))),
    ];
    let request = |value| ActuateRequest { signal_id: Some(by_path("V.A")), value: Some(value) };
    let mut ours: Vec<(&str, Vec<u8>)> = Vec::new();
    let batch = kinds.iter().map(|(_, value)| request(value.clone())).collect();
    ours.push(("BatchActuateRequest", BatchActuateRequest { actuate_requests: batch }.encode_to_vec()));
    let list = ListMetadataRequest { root: "Vehicle".into(), filter: "x".into() };
    ours.push(("ListMetadataRequest", list.encode_to_vec()));
    ours.push(("GetValuesRequest", GetValuesRequest { signal_ids: vec![by_path("V.A")] }.encode_to_vec()));
    let subscribe = SubscribeRequest { signal_paths: vec!["V.A".into(), "V.B".into()], buffer_size: 9 };
    ours.push(("SubscribeRequest", subscribe.encode_to_vec()));
    let time = prost_types::Timestamp { seconds: 7, nanos: 9 };
    let point = Datapoint { timestamp: Some(time), value: Some(float(21.5)) };
    let publish = PublishValueRequest { signal_id: Some(by_path("V.A")), data_point: Some(point.clone()) };
    ours.push(("PublishValueRequest", publish.encode_to_vec()));
    let Some(theirs) = python(&ours) else { return };
    for (name, bytes) in &ours {
        assert_eq!(&theirs[&format!("back:{name}")], bytes, "{name} is the same after the client read it");
    }

    fn same<M: Message + Default + PartialEq + std::fmt::Debug>(
        theirs: &HashMap<String, Vec<u8>>,
        name: &str,
        expected: M,
    ) {
        assert_eq!(M::decode(theirs[name].as_slice()).unwrap(), expected, "{name}");
        assert_eq!(expected.encode_to_vec(), theirs[name], "{name}");
    }
    let order =
        ActuateRequest { signal_id: Some(SignalId { signal: Some(signal_id::Signal::Id(-3)) }), value: Some(int(-66)) };
    same(&theirs, "order", order.clone());
    same(&theirs, "point", point.clone());
    let allowed = StringArray { values: vec!["UP".into(), "DOWN".into()] };
    let metadata = Metadata {
        path: "V.A".into(),
        id: 4,
        data_type: DataType::Uint8.into(),
        entry_type: EntryType::Actuator.into(),
        unit: "percent".into(),
        allowed_values: Some(value(TypedValue::StringArray(allowed))),
        min: Some(uint(1)),
        max: Some(uint(100)),
    };
    same(&theirs, "meta", ListMetadataResponse { metadata: vec![metadata] });
    same(&theirs, "news", SubscribeResponse { entries: [("V.A".to_owned(), point.clone())].into() });
    same(&theirs, "subscribe", SubscribeRequest { signal_paths: vec!["V.A".into()], buffer_size: 1000 });
    same(&theirs, "values", GetValuesResponse { data_points: vec![point] });
    let batch = BatchActuateStreamRequest { actuate_requests: vec![order] };
    let action = Some(open_provider_stream_response::Action::BatchActuateStreamRequest(batch));
    same(&theirs, "told", OpenProviderStreamResponse { action });
    let claim = ProvideActuationRequest { actuator_identifiers: vec![by_path("V.A")] };
    let action = Some(open_provider_stream_request::Action::ProvideActuationRequest(claim));
    same(&theirs, "claim", OpenProviderStreamRequest { action });
    let error = Some(Error { code: ErrorCode::NotFound.into(), message: "no".into() });
    let done = BatchActuateStreamResponse { signal_id: Some(by_path("V.A")), error };
    let action = Some(open_provider_stream_request::Action::BatchActuateStreamResponse(done));
    same(&theirs, "done", OpenProviderStreamRequest { action });
    let info = GetServerInfoResponse { name: "n".into(), version: "1".into(), commit_hash: "c".into() };
    same(&theirs, "info", info);
}
