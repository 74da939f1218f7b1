//! Sentences with holes: `@consent`, `@disclose`.

use super::calls::Templates;
use super::fault::TemplateFault;
use crate::compile::rules::{Root, reading};
use crate::policy::{Piece, TextTemplate, Trigger};

impl Templates<'_> {
    /// Reads `The {resource} window is {resource.position} percent open.`
    pub(crate) fn text(&mut self, text: &str) -> Result<TextTemplate, TemplateFault> {
        let unpaired = || TemplateFault::Brace(text.to_owned());
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((plain, after)) = rest.split_once('{') {
            let (hole, behind) = after.split_once('}').ok_or_else(unpaired)?;
            if plain.contains('}') || hole.contains('{') {
                return Err(unpaired());
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(plain.to_owned()));
            }
            pieces.push(self.piece(hole.trim())?);
            rest = behind;
        }
        if rest.contains('}') {
            return Err(unpaired());
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(TextTemplate { pieces })
    }

    fn piece(&mut self, hole: &str) -> Result<Piece, TemplateFault> {
        if hole == "resource" {
            return match self.ground.model.entity(self.scope.entity) {
                Some(entity) if entity.is_singleton() => Err(TemplateFault::NoItem(entity.name.clone())),
                _ => Ok(Piece::Resource),
            };
        }
        if hole == "call" {
            return match self.scope.trigger {
                Trigger::Calls(_) => Ok(Piece::Call),
                Trigger::Reply => Err(TemplateFault::NoCall),
            };
        }
        let path: Vec<&str> = hole.split('.').collect();
        let (root, path) = match path.as_slice() {
            ["resource", rest @ ..] => (Root::Resource, rest),
            ["context", rest @ ..] => (Root::Context, rest),
            all => (Root::Context, all),
        };
        let fault = |why: String| TemplateFault::Path { hole: hole.to_owned(), why };
        let reading = reading::read(self.ground, self.scope, root, path).map_err(|e| fault(e.to_string()))?;
        self.tables.slot(reading.slot).map(Piece::Slot).map_err(|e| fault(e.to_string()))
    }
}
