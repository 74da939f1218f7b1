//! The part of a vocabulary that one sentence can be about.

use crate::compile::ground::Ground;
use crate::policy::Derived;
use crate::state::{AttrIx, Attribute, EntityIx, Observation, ObservationField};
use crate::student::Retriever;
use crate::tools::{Removed, Tool, ToolIx};

/// Tools that a sentence is offered.
const TOOLS: usize = 5;
/// Attributes, and fields of observations, that it is offered.
const ATTRIBUTES: usize = 12;
/// Letters by which two words are taken for one: `window` and `windows`, `heat` and `heating`.
const STEM: usize = 4;

/// Names for one sentence.
pub(super) struct Words<'g> {
    pub(super) ground: &'g Ground,
    pub(super) tools: Vec<(ToolIx, &'g Tool)>,
    pub(super) attributes: Vec<&'g Attribute>,
    pub(super) observed: Vec<(&'g Observation, &'g ObservationField)>,
    pub(super) derived: Vec<&'g Derived>,
}

impl<'g> Words<'g> {
    /// The names that share words with a sentence and with what leads to it.
    pub(super) fn of(ground: &'g Ground, retriever: &Retriever, sentence: &str, under: &[String]) -> Self {
        let texts: Vec<(&str, f32)> =
            std::iter::once((sentence, 1.0)).chain(under.iter().map(|text| (text.as_str(), 0.3))).collect();
        let found = retriever.relevant(&ground.inventory, &Removed::default(), &texts, TOOLS);
        let tools: Vec<(ToolIx, &Tool)> =
            found.into_iter().filter_map(|ix| Some((ix, ground.inventory.at(ix)?))).take(TOOLS).collect();
        let set: Vec<AttrIx> =
            tools.iter().filter_map(|(ix, _)| ground.model.tool(*ix)).flat_map(|e| e.attributes()).collect();
        let stems = stems(sentence);
        let named = |name: &str| name.split('_').any(|word| stem(word).is_some_and(|s| stems.contains(&s)));
        let entity = |a: &Attribute| ground.model.entity(a.entity).is_some_and(|e| named(&e.name));
        let mut attributes: Vec<(bool, &Attribute)> = ground
            .model
            .attributes()
            .filter(|(ix, a)| named(&a.name) || entity(a) || set.contains(ix))
            .map(|(_, a)| (!named(&a.name), a))
            .collect();
        attributes.sort_by_key(|(other, _)| *other);
        let free =
            |o: &&Observation| ground.inventory.at(o.read).is_some_and(|tool| tool.params.iter().all(|p| !p.required));
        let observed = ground.model.observations.iter().filter(free);
        let observed = observed.flat_map(|o| o.fields.iter().map(move |f| (o, f)));
        Self {
            ground,
            tools,
            attributes: attributes.into_iter().map(|(_, a)| a).take(ATTRIBUTES).collect(),
            observed: observed.filter(|(o, f)| named(&o.name) && named(&f.name)).take(ATTRIBUTES).collect(),
            derived: ground.derived.iter().filter(|d| named(&d.name)).take(ATTRIBUTES).collect(),
        }
    }

    /// The entities that a rule can be about: the car, and those with an attribute here.
    pub(super) fn entities(&self) -> Vec<EntityIx> {
        let mut all = vec![EntityIx::CAR];
        for attribute in &self.attributes {
            if !all.contains(&attribute.entity) {
                all.push(attribute.entity);
            }
        }
        all
    }
}

fn stems(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter_map(stem).collect()
}

fn stem(word: &str) -> Option<String> {
    let letters: Vec<char> = word.chars().flat_map(char::to_lowercase).take(STEM).collect();
    (letters.len() >= 3).then(|| letters.into_iter().collect())
}
