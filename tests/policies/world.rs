//! Random requests over a set: one description, read both by Cedar and by our programs.

use std::collections::HashMap;
use std::sync::Arc;

use obligato::policy::{Derived, DerivedFn, DraftFeature, Frame, LegFeature, PolicyParts, Slot, SlotIx, Val, When};
use obligato::state::{AttrIx, AttrType, EntityIx, GroupIx, Literal, NowField};
use obligato::tools::{Kind, Param, ParamType, ToolIx};
use serde_json::{Map, Value as Json, json};

/// SplitMix64: the same requests on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A value of a slot.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Plain(Json),
    Parts(String),
    List(Vec<Arc<str>>),
}

impl Value {
    fn to_json(&self) -> Json {
        match self {
            Self::Plain(json) => json.clone(),
            Self::Parts(joined) => joined.split('_').filter(|p| !p.is_empty()).collect(),
            Self::List(items) => items.iter().map(|i| i.as_ref()).collect(),
        }
    }

    pub(crate) fn val(&self) -> Val<'_> {
        match self {
            Self::Plain(json) => val(json),
            Self::Parts(joined) => Val::Parts(joined),
            Self::List(items) => Val::List(items),
        }
    }
}

fn val(json: &Json) -> Val<'_> {
    match json {
        Json::Bool(b) => Val::Bool(*b),
        Json::Number(n) => Val::Int(n.as_i64().unwrap()),
        Json::String(s) => Val::Word(s),
        Json::Array(items) => Val::Json(items),
        // Present, and nothing that could be compared.
        Json::Object(_) | Json::Null => Val::Unknown,
    }
}

/// Values that a set's conditions can tell apart: its constants, and what lies beside them.
pub(crate) struct Pool {
    numbers: Vec<i64>,
    words: Vec<String>,
}

impl Pool {
    pub(crate) fn of(parts: &PolicyParts) -> Self {
        let mut pool = Self { numbers: vec![0, 1, -1], words: vec![String::new(), "nothing".to_owned()] };
        let literals = parts.tables.constants.iter().chain(parts.tables.sets.iter().flatten());
        for literal in literals {
            match literal {
                Literal::Int(i) => pool.numbers.extend([i - 1, *i, i + 1]),
                Literal::Text(t) => pool.words.push(t.clone()),
                Literal::Bool(_) | Literal::Number(_) => {}
            }
        }
        for pattern in &parts.tables.patterns {
            pool.words.extend([pattern.join("x"), pattern.concat(), format!("a{}", pattern.join("*"))]);
        }
        for tool in &parts.inventory {
            pool.words.extend(tool.params.iter().flat_map(|p| p.members()).cloned());
        }
        pool.words.sort();
        pool.words.dedup();
        pool
    }

    /// A few of its values: what is drawn from them comes out equal now and then.
    fn narrowed(&self, random: &mut Random) -> Self {
        let numbers = (0..2).map(|_| *random.pick(&self.numbers)).collect();
        Self { numbers, words: (0..3).map(|_| random.pick(&self.words).clone()).collect() }
    }

    fn number(&self, random: &mut Random) -> Json {
        match random.below(40) {
            0 => i64::MAX.into(),
            1 => i64::MIN.into(),
            _ => (*random.pick(&self.numbers)).into(),
        }
    }

    fn attribute(&self, kind: &AttrType, random: &mut Random) -> Value {
        match kind {
            AttrType::Bool => Value::Plain(random.one_in(2).into()),
            AttrType::Int => Value::Plain(self.number(random)),
            AttrType::Word => Value::Plain(random.pick(&self.words).as_str().into()),
            AttrType::Parts(parts) => {
                let joined: Vec<&str> = parts.iter().filter(|_| random.one_in(2)).map(String::as_str).collect();
                Value::Parts(joined.join("_"))
            }
            AttrType::List => {
                Value::List((0..random.below(4)).map(|_| Arc::from(random.pick(&self.words).as_str())).collect())
            }
        }
    }

    fn argument(&self, param: &Param, random: &mut Random) -> Option<Json> {
        Some(match &param.kind {
            ParamType::Bool => random.one_in(2).into(),
            ParamType::Number => self.number(random),
            ParamType::Enum(members) if !random.one_in(6) => random.pick(members).as_str().into(),
            ParamType::Text | ParamType::Enum(_) => random.pick(&self.words).as_str().into(),
            ParamType::List(item) => match item.as_ref() {
                ParamType::Text | ParamType::Enum(_) => {
                    (0..random.below(4)).map(|_| random.pick(&self.words).as_str()).collect()
                }
                ParamType::Number => Json::Array((0..random.below(4)).map(|_| self.number(random)).collect()),
                _ => return None,
            },
            ParamType::Object(members) => self.arguments(members, random),
            ParamType::Any => return None,
        })
    }

    /// Arguments of a call; optional ones half of the time.
    fn arguments(&self, params: &[Param], random: &mut Random) -> Json {
        let mut map = Map::new();
        for param in params {
            if (param.required || random.one_in(2))
                && let Some(value) = self.argument(param, random)
            {
                map.insert(param.name.clone(), value);
            }
        }
        map.into()
    }
}

/// One request: a value for every slot there is.
pub(crate) struct Request<'a> {
    parts: &'a PolicyParts,
    pub(crate) tool: Option<ToolIx>,
    pub(crate) entity: EntityIx,
    input: Json,
    addressed: bool,
    attributes: HashMap<(AttrIx, When), Value>,
    car: HashMap<(AttrIx, When), Value>,
    observed: HashMap<(u16, u16), Value>,
    derived: HashMap<(u16, When), Json>,
    draft: Vec<i64>,
    reads: Vec<ToolIx>,
    called: Vec<ToolIx>,
    last_error: bool,
    question: bool,
    open: i64,
    others: i64,
    legs: Vec<bool>,
    listed: Vec<(i64, i64)>,
    now: HashMap<NowField, Json>,
}

impl<'a> Request<'a> {
    /// A random request for an action and an entity.
    pub(crate) fn new(
        parts: &'a PolicyParts,
        pool: &Pool,
        tool: Option<ToolIx>,
        entity: EntityIx,
        random: &mut Random,
    ) -> Self {
        let narrow = pool.narrowed(random);
        let pool = if random.one_in(4) { &narrow } else { pool };
        let mut attributes = HashMap::new();
        let mut car = HashMap::new();
        for (ix, attribute) in parts.model.attributes() {
            for when in [When::Before, When::After] {
                if attribute.entity == entity {
                    attributes.insert((ix, when), pool.attribute(&attribute.kind, random));
                }
                if attribute.entity == EntityIx::CAR {
                    car.insert((ix, when), pool.attribute(&attribute.kind, random));
                }
            }
        }
        let mut observed = HashMap::new();
        for (observation, o) in parts.model.observations.iter().zip(0_u16..) {
            for (field, f) in observation.fields.iter().zip(0_u16..) {
                observed.insert((o, f), pool.attribute(&field.kind, random));
            }
        }
        let mut derived = HashMap::new();
        for (feature, d) in parts.derived.iter().zip(0_u16..) {
            for when in [When::Before, When::After] {
                let Value::Plain(json) = pool.attribute(&derived_type(feature), random) else {
                    panic!("a plain value")
                };
                derived.insert((d, when), json);
            }
        }
        let some = |random: &mut Random, kind: Option<Kind>| -> Vec<ToolIx> {
            let tools = parts.inventory.iter().zip((0_u16..).map(ToolIx));
            tools.filter(|(t, _)| kind.is_none_or(|k| k == t.kind) && random.one_in(2)).map(|(_, ix)| ix).collect()
        };
        let input = tool.map_or(Json::Null, |ix| pool.arguments(&parts.inventory[usize::from(ix.0)].params, random));
        Self {
            parts,
            tool,
            entity,
            input,
            addressed: random.one_in(2),
            attributes,
            car,
            observed,
            derived,
            draft: (0..parts.model.groups.len() + 2).map(|_| random.below(4) as i64).collect(),
            reads: some(random, Some(Kind::Read)),
            called: some(random, None),
            last_error: random.one_in(2),
            question: random.one_in(2),
            open: random.below(4) as i64,
            others: random.below(4) as i64,
            listed: parts.model.listings.iter().map(|_| (random.below(3) as i64, random.below(3) as i64)).collect(),
            legs: parts.model.tour.iter().flat_map(|t| &t.facts).map(|_| random.one_in(2)).collect(),
            now: NowField::ALL
                .into_iter()
                .map(|f| match f {
                    NowField::Location => (f, random.pick(&pool.words).as_str().into()),
                    _ => (f, pool.number(random)),
                })
                .collect(),
        }
    }

    /// The attributes of the resource, as Cedar's entity JSON.
    pub(crate) fn resource(&self) -> Json {
        let mut attrs = Map::new();
        attrs.insert("addressed".into(), self.addressed.into());
        for ((ix, when), value) in &self.attributes {
            let name = &self.parts.model.attribute(*ix).unwrap().name;
            attrs.insert(at(name, *when), value.to_json());
        }
        let uid = json!({"type": self.parts.model.entity(self.entity).unwrap().name, "id": "it"});
        json!([{"uid": uid, "attrs": attrs, "parents": []}])
    }

    /// The context, as Cedar's JSON.
    pub(crate) fn context(&self) -> Json {
        let model = &self.parts.model;
        let state = |when: When| -> Json {
            let members = self.car.iter().filter(|((_, w), _)| *w == when);
            members.map(|((ix, _), v)| (model.attribute(*ix).unwrap().name.clone(), v.to_json())).collect()
        };
        let names = |tools: &[ToolIx]| -> Json {
            tools.iter().map(|t| self.parts.inventory[usize::from(t.0)].name.as_str()).collect()
        };
        let mut context = Map::new();
        match self.tool {
            Some(_) => context.insert("input".into(), self.input.clone()),
            None => context.insert("reply".into(), json!({"question": self.question})),
        };
        context.insert("before".into(), state(When::Before));
        context.insert("car".into(), state(When::After));
        let groups = model.groups.iter().map(|(name, _)| name.as_str());
        let draft: Map<String, Json> = ["calls", "writes"]
            .into_iter()
            .chain(groups)
            .zip(&self.draft)
            .map(|(n, v)| (n.into(), (*v).into()))
            .collect();
        context.insert("draft".into(), draft.into());
        let session =
            json!({"reads": names(&self.reads), "called": names(&self.called), "last_error": self.last_error});
        context.insert("session".into(), session);
        let now: Map<String, Json> = self.now.iter().map(|(f, v)| (f.name().into(), v.clone())).collect();
        context.insert("now".into(), now.into());
        if !model.listings.is_empty() {
            let each = |pick: fn(&(i64, i64)) -> i64| -> Map<String, Json> {
                model.listings.iter().zip(&self.listed).map(|(l, n)| (l.name.clone(), pick(n).into())).collect()
            };
            context.insert("told".into(), each(|n| n.0).into());
            context.insert("untold".into(), each(|n| n.1).into());
        }
        if let Some(tour) = &model.tour {
            let facts = tour.facts.iter().zip(&self.legs).map(|(fact, is)| (fact.name.clone(), Json::from(*is)));
            let counts = [("open".to_owned(), self.open.into()), ("others".to_owned(), self.others.into())];
            context.insert("legs".into(), counts.into_iter().chain(facts).collect::<Map<_, _>>().into());
        }
        for (observation, o) in model.observations.iter().zip(0_u16..) {
            let field = |(f, ix): (&obligato::state::ObservationField, u16)| {
                (f.name.clone(), self.observed[&(o, ix)].to_json())
            };
            let fields: Map<String, Json> = observation.fields.iter().zip(0_u16..).map(field).collect();
            context.insert(observation.name.clone(), fields.into());
        }
        for ((d, when), value) in &self.derived {
            context.insert(at(&self.parts.derived[usize::from(*d)].name, *when), value.clone());
        }
        context.into()
    }
}

fn at(name: &str, when: When) -> String {
    match when {
        When::Before => format!("before_{name}"),
        When::After => name.to_owned(),
    }
}

fn derived_type(derived: &Derived) -> AttrType {
    match derived.function {
        DerivedFn::First | DerivedFn::Last => AttrType::Word,
        DerivedFn::Any | DerivedFn::All => AttrType::Bool,
        _ => AttrType::Int,
    }
}

impl Frame for Request<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        match self.parts.tables.slot(slot).unwrap() {
            Slot::Input { path, .. } => {
                path.split('.').try_fold(&self.input, |at, key| at.get(key)).map_or(Val::Absent, val)
            }
            Slot::Resource { attribute, when } => self.attributes[&(*attribute, *when)].val(),
            Slot::Addressed => Val::Bool(self.addressed),
            Slot::Car { attribute, when } => self.car[&(*attribute, *when)].val(),
            Slot::Draft(DraftFeature::Calls) => Val::Int(self.draft[0]),
            Slot::Draft(DraftFeature::Writes) => Val::Int(self.draft[1]),
            Slot::Draft(DraftFeature::Group(GroupIx(g))) => Val::Int(self.draft[usize::from(*g) + 2]),
            Slot::Read(tool) => Val::Bool(self.reads.contains(tool)),
            Slot::Called(tool) => Val::Bool(self.called.contains(tool)),
            Slot::LastError => Val::Bool(self.last_error),
            Slot::Now(field) => val(&self.now[field]),
            Slot::Observed { observation, field } => self.observed[&(*observation, *field)].val(),
            Slot::Derived { derived, when } => val(&self.derived[&(*derived, *when)]),
            Slot::Reply(_) => Val::Bool(self.question),
            Slot::Listed { listing, told: true } => Val::Int(self.listed[usize::from(*listing)].0),
            Slot::Listed { listing, told: false } => Val::Int(self.listed[usize::from(*listing)].1),
            Slot::Legs(LegFeature::Open) => Val::Int(self.open),
            Slot::Legs(LegFeature::Others) => Val::Int(self.others),
            Slot::Legs(LegFeature::Declared(at)) => Val::Bool(self.legs[usize::from(*at)]),
            Slot::Context(_) => panic!("only foreign sets read the context by name"),
        }
    }
}

/// The same request with some slots unknown. What a draft and a call hold is always known.
pub(crate) struct Partly<'a> {
    pub(crate) whole: &'a Request<'a>,
    pub(crate) hidden: u64,
}

impl Frame for Partly<'_> {
    fn load(&self, slot: SlotIx) -> Val<'_> {
        let hideable = !matches!(
            self.whole.parts.tables.slot(slot),
            Some(Slot::Input { .. } | Slot::Addressed | Slot::Draft(_) | Slot::Reply(_))
        );
        if hideable && self.hidden >> (slot.0 % 64) & 1 == 1 { Val::Unknown } else { self.whole.load(slot) }
    }
}
