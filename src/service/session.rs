//! `org.obligato.Harness1.Session`: one conversation.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use zbus::Connection;
use zbus::Variant;
use zbus::message::Header;
use zbus::names::OwnedUniqueName;
use zbus::object_server::{ResponseDispatchNotifier, SignalEmitter};

use super::Refusal;
use super::access::{caller, holds, may_report, require_ears, require_holder};
use super::fit;
use super::harness::Harness;
use super::heard::{heard, words};
use super::in_order::{self, step_aside};
use super::offers::{TEXT_BYTES, told};
use super::open::OpenSession;
use super::relay::Ended;
use super::words::Report;
use super::work::Task;
use crate::model::{Draft, Limits};
use crate::policy::OfferError;
use crate::turn::Heard;

/// Largest draft as JSON text: what the caps of a draft add up to, twice over for escapes.
pub(super) const MAX_DRAFT_BYTES: usize = 4 * 1024 * 1024;

/// So many times its length an offered text takes in a session: as text, as rules, and in the record.
const OFFERED: usize = 8;

/// One conversation on the bus.
pub(super) struct Session {
    harness: Arc<Harness>,
    session: Arc<OpenSession>,
}

impl Session {
    pub(super) fn new(harness: Arc<Harness>, session: Arc<OpenSession>) -> Self {
        Self { harness, session }
    }

    pub(super) fn open(&self) -> &OpenSession {
        &self.session
    }

    /// Words have come down the bus. Where somebody sent them who may, no yes of before holds from now on.
    pub(super) async fn overhear(
        &self,
        connection: &Connection,
        caller: &OwnedUniqueName,
        report: Report,
        number: u64,
    ) {
        let speech = self.harness.config.service.speech.as_deref();
        if may_report(connection, &self.session, caller, speech, report).await {
            self.session.words.reported(number);
        }
    }

    /// Words of somebody who may report them: what is refused lets no yes of before hold.
    fn of_words<R>(&self, taken: Result<R, Refusal>) -> Result<R, Refusal> {
        taken.map_err(|refusal| {
            self.session.lose_words(in_order::words());
            refusal.of_words()
        })
    }

    async fn require_holder(&self, connection: &Connection, header: &Header<'_>) -> Result<(), Refusal> {
        require_holder(connection, &self.session, &caller(header)?).await
    }

    /// What begins a turn. Where a speech service is configured, words from it are the driver's own; from
    /// the holder they are a request that was passed on, and answer no question (design §6).
    async fn utterance(&self, text: &str, connection: &Connection, header: &Header<'_>) -> Result<Heard, Refusal> {
        let (caller, speech) = (caller(header)?, self.harness.config.service.speech.as_deref());
        let heard = require_ears(connection, &self.session, &caller, speech).await;
        if speech.is_none() || heard.is_err() {
            require_holder(connection, &self.session, &caller).await?;
        }
        self.session.words.settled().await;
        let taken = words(text).and_then(|words| self.session.take_in(words.len()).map(|()| words));
        Ok(Heard { relayed: heard.is_err(), ..Heard::text(self.of_words(taken)?) })
    }

    /// Starts a turn on words.
    fn answer(
        &self,
        heard: Heard,
        connection: &Connection,
        caller: OwnedUniqueName,
        after: Option<oneshot::Receiver<()>>,
    ) -> Result<(u32, oneshot::Receiver<Ended>), Refusal> {
        let task = Task::Turn(heard, in_order::words());
        self.of_words(self.harness.start(connection, &self.session, caller, task, after))
    }
}

fn draft(text: &str) -> Result<Draft, Refusal> {
    if text.len() > MAX_DRAFT_BYTES {
        return Err(Refusal::too_long("draft", text.len(), MAX_DRAFT_BYTES));
    }
    Ok(Draft::from_bytes(text.as_bytes(), &Limits::default())?)
}

/// One conversation with the driver.
///
/// The session belongs to whoever opened it. The signals of a turn and the changes of properties go
/// to the connection that started the turn, and to nobody else. One turn runs at a time. Calls are taken in the
/// order in which they come in, whether or not each answer is waited for: `Start`, `Say`, `Execute` and `Offer`
/// let the next one begin once they have begun themselves.
#[zbus::interface(
    name = "org.obligato.Harness1.Session",
    proxy(default_service = "org.obligato.Harness1", visibility = "pub")
)]
impl Session {
    /// Starts a turn: the driver said this. Returns the turn's number at once; `Progress`,
    /// `Question` and `Outcome` tell how it goes, and one `Reply` ends it.
    ///
    /// Errors: Busy, NotReady, NoModel, BadArgument, TooMany, NotYours, Stopping.
    #[zbus(out_args("turn"))]
    async fn start(
        &self,
        utterance: &str,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<ResponseDispatchNotifier<u32>, Refusal> {
        let heard = self.utterance(utterance, connection, &header).await?;
        // The signals wait until the caller was sent the number that they carry.
        let (open, gate) = oneshot::channel();
        let (turn, _) = self.answer(heard, connection, caller(&header)?, Some(gate))?;
        step_aside();
        let (response, sent) = ResponseDispatchNotifier::new(turn);
        tokio::spawn(async move {
            sent.await;
            drop(open);
        });
        Ok(response)
    }

    /// Starts a turn and waits for its end. `done` is `replied`, `asked`, `refused` or `cancelled`,
    /// `text` what was said last. A turn may take as long as its budget allows: call without a timeout.
    ///
    /// Errors: as of `Start`, and Internal.
    #[zbus(out_args("done", "text"))]
    async fn say(
        &self,
        utterance: &str,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(String, String), Refusal> {
        let heard = self.utterance(utterance, connection, &header).await?;
        let (_, ended) = self.answer(heard, connection, caller(&header)?, None)?;
        step_aside();
        match ended.await {
            Ok(Ended::Replied(report)) => Ok((report.done.as_str().to_owned(), fit::text(&report.text))),
            Ok(Ended::Broke(why)) => Err(Refusal::Internal(why)),
            Ok(Ended::Judged(_)) | Err(_) => Err(Refusal::broken()),
        }
    }

    /// Stops a turn at once, because the driver said so: what moves may be what he means. It ends with a `Reply`, whose
    /// `done` is `cancelled` where nothing was carried out yet. What was carried out stays so; where the policy owes
    /// more for it the reply names that.
    ///
    /// Errors: NoTurn, NotYours.
    async fn cancel(
        &self,
        turn: u32,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        self.require_holder(connection, &header).await?;
        self.session.cancel(turn)
    }

    /// The driver said this; for assistants with their own model. Options: `language` (s, ISO 639-1),
    /// `zone` (s), `confidence` (d, 0 to 1). Where a speech service is configured, only it may call this.
    ///
    /// From the moment in which it comes down the bus no yes of before holds, also where it is refused: tell it again
    /// then. While a draft of the session runs it waits for its end.
    ///
    /// Errors: BadArgument, TooMany, NotYours, NoSession.
    async fn heard(
        &self,
        text: &str,
        options: HashMap<&str, Variant<'_>>,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        let speech = self.harness.config.service.speech.as_deref();
        require_ears(connection, &self.session, &caller(&header)?, speech).await?;
        let number = in_order::words();
        let heard = self.of_words(heard(text, &options))?;
        let taken = self.session.when_free(text.len(), |conversation| {
            conversation.take_up(number);
            conversation.heard(&heard);
        });
        self.of_words(taken.await)?;
        self.session.drop_question();
        Ok(())
    }

    /// The assistant said this to the driver; for assistants with their own model. A question of `Execute` counts
    /// as asked once it was spoken: until then no yes answers it. While a draft of the session runs it waits for its end.
    ///
    /// Errors: BadArgument, TooMany, NotYours, NoSession.
    async fn spoken(
        &self,
        text: &str,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        self.require_holder(connection, &header).await?;
        let limit = Limits::default().reply_bytes;
        if text.len() > limit {
            return Err(Refusal::too_long("text", text.len(), limit));
        }
        self.session.when_free(text.len(), |conversation| conversation.spoken(text)).await
    }

    /// Judges a draft (an OpenAI assistant message) and changes nothing. The answer is the JSON that
    /// `obligato verify --json` prints; where it would take more than 192 KiB its texts and lists are cut, and
    /// `shortened` is true.
    ///
    /// Errors: Busy, BadDraft, BadArgument, NotYours.
    #[zbus(out_args("report"))]
    async fn verify(
        &self,
        draft: &str,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, Refusal> {
        self.require_holder(connection, &header).await?;
        let draft = self::draft(draft)?;
        let report = self.session.between_turns(|conversation| conversation.verify(&draft))?;
        fit::json(&report).map_err(|e| Refusal::Internal(e.to_string()))
    }

    /// Judges a draft and carries it out only if it is cleared. The answer is the JSON of `Verify`
    /// with `executed`, the calls that were carried out and what became of each. Where it holds a `question`, put
    /// it to the driver, say so by `Spoken`, tell the answer by `Heard`, and hand the same draft in again; where
    /// `amended` is empty then, the question is no yes or no, and the next draft follows from the answer. What a yes
    /// would settle is `revise` at the first draft to the driver's words, and asked at the next one.
    ///
    /// Errors: Busy, BadDraft, BadArgument, TooMany, NotYours, Stopping, Internal.
    #[zbus(out_args("report"))]
    async fn execute(
        &self,
        draft: &str,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<String, Refusal> {
        self.require_holder(connection, &header).await?;
        let task = Task::Draft(self::draft(draft)?);
        self.session.words.settled().await;
        self.session.take_in(draft.len())?;
        let (_, ended) = self.harness.start(connection, &self.session, caller(&header)?, task, None)?;
        step_aside();
        match ended.await {
            Ok(Ended::Judged(report)) => fit::json(&report).map_err(|e| Refusal::Internal(e.to_string())),
            Ok(Ended::Broke(why)) => Err(Refusal::Internal(why)),
            // A draft that was cancelled while it waited.
            Ok(Ended::Replied(_)) => Err(Refusal::NoTurn("the draft was cancelled before it was looked at".into())),
            Err(_) => Err(Refusal::broken()),
        }
    }

    /// Brings policy text along: what it compiles to can only add forbids to the signed policy, for this
    /// session. `origin` is `compiled`, `cached` or `advisory` (no compiler on board: its lines are hints for
    /// the critic and deny nothing), `report` JSON with `rules`, `advice` and `unkept`, the sentences that
    /// nothing keeps with the reason. A text that is compiled takes as long as a model takes: call without a
    /// timeout.
    ///
    /// A session takes in so many sentences in all; one that it has already changes nothing.
    ///
    /// Errors: Busy, BadArgument, NoCompiler, NotCompiled, TooMany, NotYours, Internal.
    #[zbus(out_args("origin", "report"))]
    async fn offer(
        &self,
        text: &str,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(String, String), Refusal> {
        self.require_holder(connection, &header).await?;
        if text.len() > TEXT_BYTES {
            return Err(Refusal::too_long("text", text.len(), TEXT_BYTES));
        }
        self.session.take_in(text.len() * OFFERED)?;
        let policy = self.session.between_turns(|conversation| conversation.policy().clone())?;
        step_aside();
        let (offers, text, under) = (self.harness.offers.clone(), text.to_owned(), policy.hash);
        let taken = tokio::task::spawn_blocking(move || offers.take(&policy, &text)).await;
        let (origin, made) = taken.map_err(|e| Refusal::Internal(format!("the compiler broke down: {e}")))??;
        self.session.between_turns(|conversation| {
            if conversation.policy().hash != under {
                return Err(Refusal::BadArgument(
                    "the policy changed in the meantime; offer the text again".to_owned(),
                ));
            }
            conversation.adopt(&made.offer).map_err(|error| match error {
                OfferError::TooMany(_) => Refusal::TooMany(error.to_string()),
                other => Refusal::BadArgument(other.to_string()),
            })
        })??;
        tracing::info!(session = self.session.path.as_str(), origin = origin.as_str(), "an offer was taken");
        Ok((origin.as_str().to_owned(), told(&made)))
    }

    /// Ends the session. A running turn ends; what the policy owes for what it did is still done.
    ///
    /// Errors: NotYours.
    async fn close(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> Result<(), Refusal> {
        self.require_holder(connection, &header).await?;
        self.harness.close(connection, &self.session, "its holder closed it").await;
        Ok(())
    }

    /// One step of a turn. `event` is `asks`, `answered`, `drafted`, `judged`, `executed`, `question`,
    /// `reply`, `fault` or `finished`; `json` has its fields.
    #[zbus(signal)]
    async fn progress(emitter: &SignalEmitter<'_>, turn: u32, event: &str, json: &str) -> zbus::Result<()>;

    /// The driver is asked. `bound` is the JSON list of the calls that a yes covers.
    #[zbus(signal)]
    async fn question(emitter: &SignalEmitter<'_>, turn: u32, question: &str, bound: &str) -> zbus::Result<()>;

    /// A call was carried out. `outcome` is `done`, `failed` or `unknown`, `detail` what was read back
    /// or why it failed.
    #[zbus(signal)]
    async fn outcome(
        emitter: &SignalEmitter<'_>,
        turn: u32,
        call: &str,
        outcome: &str,
        detail: &str,
    ) -> zbus::Result<()>;

    /// The turn is over. `done` is `replied`, `asked`, `refused`, `cancelled` or `broken` (the session
    /// is closed then), `text` what was said last.
    #[zbus(signal)]
    async fn reply(emitter: &SignalEmitter<'_>, turn: u32, done: &str, text: &str) -> zbus::Result<()>;

    /// The number of the latest turn; 0 before the first.
    #[zbus(property)]
    async fn turn(&self) -> u32 {
        self.session.turn()
    }

    /// Whether a turn is waiting or running.
    #[zbus(property)]
    async fn busy(&self) -> bool {
        self.session.busy()
    }

    /// The question that waits to be asked, or for the driver's answer; empty when none does, and for everybody but
    /// the holder of the session. An assistant with its own model says by `Spoken` that it was asked.
    #[zbus(property)]
    async fn pending(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Option<Header<'_>>,
    ) -> String {
        let caller = header.as_ref().and_then(|h| caller(h).ok());
        match caller {
            Some(caller) if holds(connection, &self.session, &caller).await => self.session.question(),
            _ => String::new(),
        }
    }
}
