//! From notes to spans.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks, SpanProcessor,
};

use crate::journal::{Entry, Judgement, Kind, Note, Place};
use crate::model::ReportedFinding;

/// Sessions with something open that are remembered; the service has fewer.
const SESSIONS: usize = 256;
/// How long the end of the service waits for the collector.
const PARTING: Duration = Duration::from_millis(500);

/// Makes spans of what is noted.
pub(in crate::service) struct Traces {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
    ids: RandomIdGenerator,
    open: BTreeMap<String, Open>,
}

/// What is going on in a session.
struct Open {
    trace: TraceId,
    /// The turn, while the driver waits for its end.
    turn: Option<Turn>,
    /// The latest judgement, which what is carried out belongs to where no turn is open.
    judged: SpanId,
}

struct Turn {
    span: SpanId,
    number: u32,
    began: SystemTime,
    last: SystemTime,
    asked: bool,
    fault: Option<String>,
}

impl Traces {
    pub(super) fn new(processor: BatchSpanProcessor) -> Self {
        let scope = InstrumentationScope::builder("obligato").with_version(env!("CARGO_PKG_VERSION")).build();
        Self { processor, scope, ids: RandomIdGenerator::default(), open: BTreeMap::new() }
    }

    /// Takes in what was noted at a time.
    pub(in crate::service) fn note(&mut self, note: &Note, at: SystemTime) {
        match note {
            Note::Judged { place, judgement, .. } => self.judged(place, judgement, at),
            Note::Entry(Entry { kind, place: Some(place), body }) => {
                let text = |name: &str| body.get(name).and_then(|v| v.as_str()).unwrap_or_default();
                match kind {
                    Kind::Turn => self.begin(place, at),
                    Kind::Executed => self.executed(place, body, at),
                    Kind::Question => self.turn(place, at, |turn| turn.asked = true),
                    Kind::Fault => self.turn(place, at, |turn| turn.fault = Some(text("what").to_owned())),
                    Kind::Reply => {
                        self.turn(place, at, |_| {});
                        self.end(&place.session);
                    }
                    Kind::Session if text("what") == "closed" => {
                        self.end(&place.session);
                        self.open.remove(&place.session);
                    }
                    _ => {}
                }
            }
            Note::Entry(_) | Note::Acted(_) => {}
        }
    }

    /// Sends what is still there and ends.
    pub(in crate::service) fn stop(&mut self) {
        let sessions: Vec<String> = self.open.keys().cloned().collect();
        sessions.iter().for_each(|session| self.end(session));
        if let Err(error) = self.processor.shutdown_with_timeout(PARTING) {
            tracing::warn!(%error, "the last traces did not reach the collector");
        }
    }

    /// The driver spoke.
    fn begin(&mut self, place: &Place, at: SystemTime) {
        self.end(&place.session);
        let span = self.ids.new_span_id();
        let turn = Turn { span, number: place.turn, began: at, last: at, asked: false, fault: None };
        self.trace(&place.session, Some(turn));
    }

    /// Begins a trace in a session.
    fn trace(&mut self, session: &str, turn: Option<Turn>) {
        if self.open.len() >= SESSIONS && !self.open.contains_key(session) {
            self.open.pop_first();
        }
        let open = Open { trace: self.ids.new_trace_id(), turn, judged: SpanId::INVALID };
        self.open.insert(session.to_owned(), open);
    }

    /// Something happened in the turn that is open.
    fn turn(&mut self, place: &Place, at: SystemTime, change: impl FnOnce(&mut Turn)) {
        if let Some(turn) = self.open.get_mut(&place.session).and_then(|open| open.turn.as_mut()) {
            (turn.last, turn.number) = (at, place.turn);
            change(turn);
        }
    }

    /// The turn that is open in a session is over.
    fn end(&mut self, session: &str) {
        let Some(open) = self.open.get_mut(session) else { return };
        let Some(turn) = open.turn.take() else { return };
        let attributes = vec![
            KeyValue::new("obligato.session", session.to_owned()),
            KeyValue::new("obligato.turn", i64::from(turn.number)),
            KeyValue::new("obligato.asked", turn.asked),
        ];
        let status = turn.fault.map_or(Status::Unset, Status::error);
        let (trace, during) = (open.trace, (turn.began, turn.last));
        self.span("turn", (trace, turn.span, SpanId::INVALID), during, attributes, status);
    }

    /// The trace and the span that something in a session belongs to.
    fn above(&self, place: &Place) -> (TraceId, SpanId) {
        match self.open.get(&place.session) {
            Some(Open { trace, turn: Some(turn), .. }) => (*trace, turn.span),
            Some(Open { trace, turn: None, judged }) => (*trace, *judged),
            None => (self.ids.new_trace_id(), SpanId::INVALID),
        }
    }

    fn judged(&mut self, place: &Place, judgement: &Judgement, at: SystemTime) {
        let report = &judgement.report;
        let names = |of: &dyn Fn(&ReportedFinding) -> Option<String>| {
            let mut names: Vec<String> = report.findings.iter().filter_map(of).collect();
            names.sort_unstable();
            names.dedup();
            Value::Array(Array::String(names.into_iter().map(StringValue::from).collect()))
        };
        let attributes = vec![
            KeyValue::new("obligato.session", place.session.clone()),
            KeyValue::new("obligato.turn", i64::from(place.turn)),
            KeyValue::new("obligato.verdict", report.verdict.as_str()),
            KeyValue::new("obligato.gates", names(&|f| Some(f.gate.clone()))),
            KeyValue::new("obligato.rules", names(&|f| f.rule.clone())),
            KeyValue::new("obligato.policy", judgement.policy.to_string()),
        ];
        let took = Duration::try_from_secs_f64(report.micros / 1e6).unwrap_or_default();
        // Without a turn an assistant asks for something that nobody spoke for.
        if self.open.get(&place.session).is_none_or(|open| open.turn.is_none()) {
            self.trace(&place.session, None);
        }
        self.turn(place, at, |_| {});
        let ((trace, above), span) = (self.above(place), self.ids.new_span_id());
        if let Some(open) = self.open.get_mut(&place.session) {
            open.judged = span;
        }
        let status = judgement.faults.first().map_or(Status::Unset, |_| Status::error("a check broke down"));
        self.span("verify", (trace, span, above), (earlier(at, took), at), attributes, status);
    }

    fn executed(&mut self, place: &Place, body: &serde_json::Map<String, serde_json::Value>, at: SystemTime) {
        let call = |name: &str| body.get("call").and_then(|call| call.get(name)).and_then(|v| v.as_str());
        let outcome = body.get("outcome").and_then(|v| v.as_str()).unwrap_or_default();
        let mut attributes = vec![
            KeyValue::new("obligato.session", place.session.clone()),
            KeyValue::new("obligato.turn", i64::from(place.turn)),
            KeyValue::new("obligato.tool", call("tool").unwrap_or_default().to_owned()),
            KeyValue::new("obligato.outcome", outcome.to_owned()),
        ];
        attributes.extend(call("by").map(|rule| KeyValue::new("obligato.rule", rule.to_owned())));
        let took = Duration::from_micros(body.get("micros").and_then(|v| v.as_u64()).unwrap_or_default());
        let status = if outcome == "done" { Status::Unset } else { Status::error(outcome.to_owned()) };
        let ((trace, above), span) = (self.above(place), self.ids.new_span_id());
        self.turn(place, at, |_| {});
        self.span("execute", (trace, span, above), (earlier(at, took), at), attributes, status);
    }

    /// Hands a finished span over; nothing waits.
    fn span(
        &self,
        name: &'static str,
        (trace, span, parent): (TraceId, SpanId, SpanId),
        (start_time, end_time): (SystemTime, SystemTime),
        attributes: Vec<KeyValue>,
        status: Status,
    ) {
        self.processor.on_end(SpanData {
            span_context: SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: parent,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time,
            end_time,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status,
            instrumentation_scope: self.scope.clone(),
        });
    }
}

fn earlier(at: SystemTime, took: Duration) -> SystemTime {
    at.checked_sub(took).unwrap_or(at)
}
