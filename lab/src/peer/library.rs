//! All skills of a server: listed whole, page after page, and one of them read.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

use super::contender::{Contender, Listing, Serving};
use super::figure::{Row, Whole, megabytes};
use super::fixture::{Fixture, SKILL};
use super::round::{Round, is_right};
use crate::http::client::Client;
use crate::http::load::Load;
use crate::http::wire::{Call, Path};

/// A list of more pages never ends.
const PAGES: usize = 10_000;

/// A list that takes longer is asked for once in a run.
const SLOW: Duration = Duration::from_secs(5);

/// All pages of a list.
struct SkillList {
    addresses: Vec<String>,
    pages: usize,
    size: usize,
    took: Duration,
}

/// Everything of a row with the large library. A list that failed or was slow is not asked for again.
pub(super) fn measure_lists(round: &Round, row: &mut Row<'_>, large: &Fixture) {
    let slow = SLOW.as_secs_f64() * 1000.0;
    for whole in &mut row.wholes {
        let is_slow = whole.again.median().is_some_and(|millis| millis > slow);
        if whole.trouble.is_none() && !is_slow {
            let measured = measure(round, row.contender, row.path, large, whole);
            whole.trouble = measured.err().map(|error| format!("{error:#}"));
        }
    }
}

/// Lists all skills of a server as often as there is time for, then reads one.
fn measure(
    round: &Round,
    contender: &Contender,
    path: Path,
    fixture: &Fixture,
    whole: &mut Whole,
) -> Result<()> {
    let listing = whole.listing;
    let started = round.start(contender, fixture, Serving::Library(path, listing))?;
    let listed = round.runtime.block_on(async {
        let mut client = Client::open(&started.address, path).await?;
        let first = list(&mut client, listing).await?;
        whole.first.time(first.took);
        let begun = Instant::now();
        if first.took > SLOW {
            whole.again.time(first.took);
            return anyhow::Ok(first);
        }
        loop {
            let again = list(&mut client, listing).await?;
            whole.again.time(again.took);
            if begun.elapsed() > round.length {
                return anyhow::Ok(again);
            }
        }
    })?;
    let different: HashSet<&str> = listed.addresses.iter().map(String::as_str).collect();
    let documents = different
        .iter()
        .filter(|address| address.ends_with("/SKILL.md"))
        .count();
    if documents != fixture.skills {
        bail!("{documents} of {} skills are listed", fixture.skills);
    }
    whole.entries = listed.addresses.len();
    whole.pages = listed.pages;
    whole.size = listed.size;
    let wanted = format!("/{SKILL}/SKILL.md");
    let address = different
        .iter()
        .find(|address| address.ends_with(&wanted))
        .context("the skill to read isn't listed")?;
    let load = Load {
        address: &started.address,
        path,
        call: Rc::new(Call::new(
            path,
            "resources/read",
            json!({ "uri": address }),
        )?),
        expected: Rc::clone(&fixture.document),
        in_flight: 1,
        length: round.length,
    };
    let outcome = round.runtime.block_on(load.run()).and_then(is_right)?;
    whole.half.value(outcome.quantile(0.5));
    whole.tail.value(outcome.quantile(0.99));
    whole.peak.value(megabytes(started.process.memory()?.peak));
    Ok(())
}

/// All pages of a list; the time is what a client waits for them.
async fn list(client: &mut Client, listing: Listing) -> Result<SkillList> {
    let mut listed = SkillList {
        addresses: Vec::new(),
        pages: 0,
        size: 0,
        took: Duration::ZERO,
    };
    let mut parameters = Map::new();
    while listed.pages < PAGES {
        let answer = client
            .ask(listing.method(), Value::Object(parameters.clone()))
            .await?;
        listed.pages += 1;
        listed.size += answer.size;
        listed.took += answer.took;
        let entries = answer.result.get(listing.field()).and_then(Value::as_array);
        for entry in entries.context("a page without its list")? {
            let address = entry.get("uri").and_then(Value::as_str);
            listed
                .addresses
                .push(address.context("an entry without `uri`")?.to_owned());
        }
        match answer.result.get("nextCursor") {
            Some(Value::String(cursor)) => {
                parameters.insert("cursor".to_owned(), cursor.clone().into());
            }
            _ => return Ok(listed),
        }
    }
    bail!("the list has more than {PAGES} pages")
}
