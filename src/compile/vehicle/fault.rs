//! What can be wrong with an effect model.

use super::super::names::Near;

/// One mistake in `vehicle.toml`, or between it and the tool inventory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VehicleFault {
    /// A name that nothing has.
    #[error("there is no {what} `{name}`; {near}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// What was probably meant.
        near: Near,
    },
    /// A name that rules could not write.
    #[error("`{name}` cannot name {what}; use letters, digits and `_`, a letter first")]
    NotAName {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name with a meaning of its own.
    #[error("{what} cannot be called `{name}`, which already means something in rules; choose another name")]
    Reserved {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An attribute without its entity.
    #[error("`{0}` names no attribute; write `Entity.attribute`, such as `Car.temperature`")]
    NotDotted(String),
    /// The inventory leaves open what a tool does.
    #[error(
        "neither the inventory (`readOnlyHint`) nor `[tool.{0}]` says whether `{0}` reads or writes; add `kind = \"read\"` or `kind = \"write\"` there"
    )]
    KindMissing(String),
    /// The inventory says otherwise.
    #[error(
        "`{tool}` is declared as {kind}, but its `readOnlyHint` in the inventory says otherwise; correct one of them"
    )]
    KindContradicts {
        /// The tool.
        tool: String,
        /// What the effect model says.
        kind: &'static str,
    },
    /// A reading by something that is no read.
    #[error(
        "`{0}` changes things, so it cannot be the read of a field; name the tool that observes it, and put `{0}` under `also` if its result carries the field"
    )]
    NotARead(String),
    /// Effects of something that is no write.
    #[error("`{0}` is no write, so it sets and touches nothing; remove that or correct its `kind`")]
    NotAWrite(String),
    /// All items would read the same field.
    #[error(
        "the field `{field}` has no `*`, so all {items} items of `{entity}` would read the same value; put `*` where the item's name stands"
    )]
    NoStar {
        /// The field pattern.
        field: String,
        /// The entity.
        entity: String,
        /// How many items it has.
        items: usize,
    },
    /// Nothing to put for the star.
    #[error(
        "the field `{field}` has a `*`, but `{entity}` has no items; write the field's whole name or declare `items`"
    )]
    Star {
        /// The field pattern.
        field: String,
        /// The entity.
        entity: String,
    },
    /// An entity that exists zero times.
    #[error("`{0}` has an empty list of items; name them, or leave `items` out where there is only one")]
    NoItems(String),
    /// An item argument for something that exists once.
    #[error("`{0}` has no items, so no argument can name one; declare `items` or leave `item` out")]
    Singleton(String),
    /// `parts` and the type do not belong together.
    #[error("`parts` belongs to type `parts` and is needed there: list the words that a value joins with `_`")]
    Parts,
    /// `resolution` on something that is no number.
    #[error("only a number (type `int`) has a `resolution`, and it is at least 1; remove or correct it")]
    Resolution,
    /// A result does not carry the field.
    #[error("the result of `{tool}` has no field `{field}`; {near}")]
    FieldMissing {
        /// The read.
        tool: String,
        /// The field.
        field: String,
        /// What was probably meant.
        near: Near,
    },
    /// A result carries the field with another type.
    #[error("`{tool}` returns `{field}` as {found}, but it is declared as `{declared}`; correct the type")]
    FieldType {
        /// The read.
        tool: String,
        /// The field.
        field: String,
        /// The JSON type.
        found: String,
        /// The declared type.
        declared: &'static str,
    },
    /// An item argument that is no word.
    #[error("`{argument}` of `{tool}` is no word, so it cannot name an item")]
    ItemArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// An item argument with foreign words.
    #[error(
        "no word of `{argument}` ({words}) names an item of `{entity}`; name the items as the tool does, or give `aliases`"
    )]
    NoItemWord {
        /// The argument.
        argument: String,
        /// Its words.
        words: String,
        /// The entity.
        entity: String,
    },
    /// A write without a new value.
    #[error("`{0}` needs `argument` or `value`, one of the two: where does its new value come from?")]
    SetSource(String),
    /// A new value of another type.
    #[error("`{attribute}` is a `{expected}`, but {what} is {found}; {advice}")]
    SetType {
        /// The attribute.
        attribute: String,
        /// Its type.
        expected: &'static str,
        /// The argument or constant.
        what: String,
        /// Its type.
        found: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A word that the reading never shows.
    #[error(
        "`{argument}` can be `{word}`, but `{read}` reports `{attribute}` only as {words}; translate it under `map`"
    )]
    WordNeverRead {
        /// The argument.
        argument: String,
        /// The word.
        word: String,
        /// The read.
        read: String,
        /// The attribute.
        attribute: String,
        /// The words it reports.
        words: String,
    },
    /// One argument in two resolutions, or in finer steps than the attribute.
    #[error(
        "`{argument}` of `{tool}` has {argument_steps} steps per unit and `{attribute}` has {attribute_steps}; give `{attribute}` the `resolution` of the finer one"
    )]
    Steps {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// Its steps.
        argument_steps: u32,
        /// The attribute.
        attribute: String,
        /// Its steps.
        attribute_steps: u32,
    },
    /// A condition on a value that the argument never has.
    #[error("`{argument}` of `{tool}` can never be `{value}`, so this effect never happens; {near}")]
    Condition {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// The value.
        value: String,
        /// What was probably meant.
        near: Near,
    },
    /// A derived feature with none or several functions.
    #[error("`{0}` needs exactly one function: `{{ count = \"Entity.attribute\" }}`")]
    DerivedForm(String),
    /// A function over an attribute of another type.
    #[error("`{function}` is a function of {wanted}, and `{attribute}` is none")]
    DerivedType {
        /// The function.
        function: &'static str,
        /// What it takes.
        wanted: &'static str,
        /// The attribute.
        attribute: String,
    },
    /// An observation without its read.
    #[error("the observation `{0}` needs `read = \"tool\"`: which tool returns it?")]
    ObservationRead(String),
    /// A member that is neither read nor field.
    #[error("`{0}` is no field of an observation; write `{0} = {{ field = \"…\", type = \"…\" }}`")]
    ObservationField(String),
    /// A place of the time that is no path.
    #[error("`{0}` does not say where it stands; write `NAME.member`, for `NAME = {{json}}` in the system message")]
    NowPath(String),
    /// Stops that are no list.
    #[error("`{0}` is no list, so it cannot hold the stops of a tour; name an attribute of type `list`")]
    TourStops(String),
    /// A stop in a form that nothing has.
    #[error("`{0}` names no stop; write an argument, `before ARGUMENT`, `after ARGUMENT`, `before last` or `here`")]
    Stop(String),
    /// A category of preferences without a read of them.
    #[error("`preference = \"{0}\"` needs the tool that reads preferences; name it under `[role]`")]
    NoPreferences(String),
    /// A name that several categories of preferences have.
    #[error("`{name}` may be `{first}` or `{second}`; write as much of the dotted name as tells them apart")]
    PreferenceTwice {
        /// The name.
        name: String,
        /// One that it may be.
        first: String,
        /// Another.
        second: String,
    },
    /// A signal without a path, or with both forms of it.
    #[error("the signal of `{0}` needs `path`, or `paths` where several carry the same value")]
    SignalPath(String),
    /// A path with a star for something that exists once, or none for several.
    #[error("the path `{path}` of `{attribute}` {what}")]
    SignalStar {
        /// The path.
        path: String,
        /// The attribute.
        attribute: String,
        /// What is wrong with it, and what to do.
        what: &'static str,
    },
    /// An item without a place in the tree.
    #[error("`[vss.place.{entity}]` does not say where `{item}` is; add `{item} = \"…\"`")]
    SignalPlace {
        /// The entity.
        entity: String,
        /// The item.
        item: String,
    },
    /// A form that does not belong to the attribute's type.
    #[error("`{attribute}` is a `{kind}`, so {what}")]
    SignalForm {
        /// The attribute.
        attribute: String,
        /// Its type.
        kind: &'static str,
        /// What does not go with it.
        what: &'static str,
    },
    /// A number that can be sent without bounds.
    #[error(
        "`{0}` can be set and neither `range` nor the result of its read bounds it; give `range = [least, greatest]`"
    )]
    SignalRange(String),
    /// More than a blob can count.
    #[error("the car has more than {} fields; split the set", u16::MAX)]
    TooMany,
}
